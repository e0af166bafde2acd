//! Writes to the log, done again until it takes them: what a full disk delays must not be lost.

use avocet_protocol::{ChannelContext, ChannelError, PublishError, StoreError};
use avocet_supervise::patiently;

/// Why a write did not come to an end.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum NotCommitted {
    /// The daemon stops.
    #[error("the daemon is stopping")]
    Stopping,
    /// The log cannot be written, and waiting does not help.
    #[error(transparent)]
    Log(StoreError),
}

/// Does a write until the log takes it, or the bus refuses what is to be written.
///
/// # Errors
/// [`NotCommitted`].
pub(crate) async fn committed<T, W>(
    context: &ChannelContext,
    write: impl Fn() -> W,
) -> Result<Result<T, PublishError>, NotCommitted>
where
    W: Future<Output = Result<T, PublishError>>,
{
    let write = || {
        let writing = write();
        async {
            match writing.await {
                Err(PublishError::Stopping) => Err(StoreError::Closed),
                Err(PublishError::Log(error)) => Err(error),
                done => Ok(done),
            }
        }
    };
    match patiently(context.clock.as_ref(), &context.stop, write).await {
        Ok(done) => Ok(done),
        Err(StoreError::Closed) => Err(NotCommitted::Stopping),
        Err(_) if context.stop.is_cancelled() => Err(NotCommitted::Stopping),
        Err(error) => Err(NotCommitted::Log(error)),
    }
}

impl From<NotCommitted> for Result<(), ChannelError> {
    fn from(error: NotCommitted) -> Self {
        match error {
            NotCommitted::Stopping => Ok(()),
            NotCommitted::Log(error) => Err(ChannelError::Interrupted(error.to_string())),
        }
    }
}
