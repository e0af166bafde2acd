//! The receive loop: polls the inbox once a second. A file is removed only after its message is in
//! the log, so that a crash loses nothing.

use std::convert::Infallible;
use std::ffi::OsString;
use std::time::Duration;

use avocet_channel_kit::{Converted, Intake, Stopped, Taken};
use avocet_protocol::channel::{ChannelContext, ChannelError};
use avocet_supervise::run_blocking;

use crate::folders::Folders;
use crate::{DirectoryChannel, convert};

/// The time between two polls of the inbox.
const POLL: Duration = Duration::from_secs(1);

/// The receiving half of the channel.
pub(crate) struct DirectoryReceiver<'a> {
    directory: &'a DirectoryChannel,
    context: &'a ChannelContext,
    intake: Intake<'a>,
}

impl<'a> DirectoryReceiver<'a> {
    pub(crate) fn new(directory: &'a DirectoryChannel, context: &'a ChannelContext) -> Self {
        let intake = Intake::new(&directory.name, &directory.account, context);
        Self { directory, context, intake }
    }

    /// Receives until the daemon stops. After an error, the daemon runs the channel again.
    pub(crate) async fn run(&self) -> Result<(), ChannelError> {
        self.intake.run(self.receive()).await
    }

    async fn receive(&self) -> Result<Infallible, Stopped> {
        let health = &self.directory.polls;
        let fails = |error: &Stopped| health.record_failure(&error.to_string());
        self.on_disk(Folders::prepare).await.inspect_err(fails)?;
        loop {
            self.poll().await.inspect_err(fails)?;
            health.record_success();
            self.context.clock.sleep(POLL).await;
        }
    }

    /// Accepts the complete files of the inbox, in the order of their names. An error with one file
    /// leaves the others unaffected.
    async fn poll(&self) -> Result<(), Stopped> {
        let mut polled = self.on_disk(Folders::take).await;
        for name in self.on_disk(Folders::taken).await? {
            polled = polled.and(self.accept(name).await);
        }
        polled
    }

    /// Commits a file as a message, then removes it. A file that is no message is moved away.
    async fn accept(&self, name: OsString) -> Result<(), Stopped> {
        let DirectoryChannel { account, chat, sender, .. } = self.directory;
        let file = name.clone();
        let file = self.on_disk(move |folders| folders.read(&file)).await?;
        let reason = match convert::inbound(chat, sender, file) {
            Ok(message) => {
                let update = Converted::Inbound(Box::new(message));
                match self.intake.take(update, None).await? {
                    Taken::Refused(error) => error.to_string(),
                    Taken::Accepted | Taken::Settled | Taken::Repeated | Taken::Ignored => {
                        return self.on_disk(move |folders| folders.remove(&name)).await;
                    }
                }
            }
            Err(reason) => {
                self.intake.ignore("of an unsupported kind", None).await?;
                reason
            }
        };
        tracing::warn!(%account, file = ?name, reason, "cannot accept a file; moving it to `refused`");
        self.on_disk(move |folders| folders.refuse(&name, &reason)).await
    }

    /// Runs blocking work on the directories.
    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Folders) -> Result<T, String> + Send + 'static,
    ) -> Result<T, Stopped> {
        let folders = self.directory.folders.clone();
        let done = run_blocking(move || work(&folders)).await;
        let done = done.unwrap_or_else(|panicked| Err(panicked.to_string()));
        done.map_err(|error| ChannelError::Interrupted(error).into())
    }
}
