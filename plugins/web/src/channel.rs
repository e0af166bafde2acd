//! The channel of the console's chats.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::channel::{
    Channel, ChannelCapabilities, ChannelContext, ChannelError, ClientFile, FetchError, Health,
    OnUnknown, SendError, WEB_ACCOUNT, WEB_CHANNEL,
};
use avocet_protocol::chat::{Content, Delivery, Receipt};
use avocet_protocol::ids::{AccountName, ChannelName, IdError};

use crate::{ProgramFileStore, UploadStore};

/// The time from one removal of old files to the next.
const EVERY: Duration = Duration::from_hours(1);

/// The files that the daemon keeps for others.
#[derive(Debug, Clone)]
pub struct KeptFiles {
    /// The uploads of the console.
    pub uploads: Arc<UploadStore>,
    /// The files of programs.
    pub programs: Arc<ProgramFileStore>,
}

/// The channel `web:console`. The log is its mailbox.
#[derive(Debug)]
pub struct Web {
    name: ChannelName,
    account: AccountName,
    /// `None` if no daemon runs.
    files: Option<KeptFiles>,
}

impl Web {
    /// Makes the channel. Without `files`, messages have no files.
    ///
    /// # Errors
    /// [`IdError`] never: the names are constants.
    pub fn new(files: Option<KeptFiles>) -> Result<Self, IdError> {
        let (name, account) = (ChannelName::parse(WEB_CHANNEL)?, AccountName::parse(WEB_ACCOUNT)?);
        Ok(Self { name, account, files })
    }
}

#[async_trait]
impl Channel for Web {
    fn name(&self) -> ChannelName {
        self.name.clone()
    }

    fn account(&self) -> AccountName {
        self.account.clone()
    }

    fn capabilities(&self) -> ChannelCapabilities {
        let on_unknown = OnUnknown::RepeatSafe;
        ChannelCapabilities { on_unknown, ..ChannelCapabilities::default() }
    }

    /// Removes old files until the stop: messages arrive through the gateway.
    async fn run(&self, context: ChannelContext) -> Result<(), ChannelError> {
        let ChannelContext { clock, stop, .. } = context;
        loop {
            if let Some(KeptFiles { uploads, programs }) = &self.files {
                uploads.remove_old().await;
                programs.remove_expired().await;
            }
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = clock.sleep(EVERY) => {}
            }
        }
    }

    /// Succeeds at once: the page reads the text in the log.
    async fn deliver(&self, _: &Delivery) -> Result<Receipt, SendError> {
        Ok(Receipt { platform_id: None })
    }

    /// Keeps the whole reply in one chunk, with its Markdown, its files and its buttons.
    fn plan(&self, reply: &Content) -> Vec<Content> {
        vec![reply.clone()]
    }

    async fn fetch(&self, reference: &str, limit: u64) -> Result<Vec<u8>, FetchError> {
        let gone = || FetchError::Gone("the web console does not keep the file".to_owned());
        let file = ClientFile::parse(reference).ok_or_else(gone)?;
        self.files.as_ref().ok_or_else(gone)?.uploads.read(&file.name, limit).await
    }

    fn health(&self) -> Health {
        Health::Up
    }
}

#[cfg(test)]
mod tests {
    use avocet_protocol::channel::Uploads;
    use avocet_protocol::chat::{
        Attachment, AttachmentKind, AttachmentSource, ChatAddress, Choice,
    };
    use avocet_protocol::ids::DeliveryId;
    use avocet_testkit::ManualClock;
    use tempfile::TempDir;

    use super::*;

    fn chat() -> ChatAddress {
        "web:console:main".parse().unwrap()
    }

    #[tokio::test]
    async fn deliver_succeeds_without_a_reader() {
        let web = Web::new(None).unwrap();
        assert!(web.reachable(&chat()) && web.health() == Health::Up);
        let delivery = Delivery::new(DeliveryId(1), chat(), Content::text("hello"));
        assert_eq!(web.deliver(&delivery).await, Ok(Receipt { platform_id: None }));
    }

    #[test]
    fn plan_keeps_a_reply_whole() {
        let source = AttachmentSource::Workspace("a.pdf".to_owned());
        let reply = Content {
            choices: vec![Choice::new("Skip", "/skip w3")],
            attachments: vec![Attachment::new(AttachmentKind::Document, source)],
            ..Content::text(format!("# Title\n{}", "long ".repeat(50_000)))
        };
        assert_eq!(Web::new(None).unwrap().plan(&reply), [reply]);
    }

    #[tokio::test]
    async fn fetch_reads_an_upload_by_its_reference_only() {
        let directory = TempDir::new().unwrap();
        let uploads = Arc::new(UploadStore::new(
            directory.path().join("uploads"),
            100,
            Arc::<ManualClock>::default(),
        ));
        let programs = ProgramFileStore::new(
            directory.path().join("programs"),
            100,
            Arc::<ManualClock>::default(),
        );
        let files = KeptFiles { uploads: uploads.clone(), programs: Arc::new(programs) };
        let web = Web::new(Some(files)).unwrap();
        let mut upload = uploads.begin().await.unwrap();
        upload.write(b"hello").await.unwrap();
        let name = upload.finish().await.unwrap().reference;
        let reference = |name: &str| ClientFile { chat: chat(), name: name.to_owned() };
        let known = reference(&name).to_reference();
        assert_eq!(web.fetch(&known, 5).await, Ok(b"hello".to_vec()));
        assert_eq!(web.fetch(&known, 4).await, Err(FetchError::TooLarge { limit: 4 }));
        std::fs::write(directory.path().join("secret"), "x").unwrap();
        for other in ["../secret", "", ".", &name[1..], &format!("{name}/..")] {
            let fetched = web.fetch(&reference(other).to_reference(), 9).await;
            assert!(matches!(fetched, Err(FetchError::Gone(_))), "{other}: {fetched:?}");
        }
        for (web, reference) in [(&web, name.as_str()), (&Web::new(None).unwrap(), &known)] {
            assert!(matches!(web.fetch(reference, 9).await, Err(FetchError::Gone(_))));
        }
    }
}
