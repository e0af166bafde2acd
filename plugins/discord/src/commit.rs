//! Repeats writes to the log until they succeed: a full disk may delay them, but must not lose
//! them.

use avocet_protocol::{ChannelContext, ChannelError, PublishError, StoreError};
use avocet_supervise::patiently;

/// The reason why a write was abandoned.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum NotCommitted {
    /// The daemon stops.
    #[error("the daemon is stopping")]
    Stopping,
    /// The log failed permanently.
    #[error(transparent)]
    Log(StoreError),
}

/// Repeats a write until the log takes it, or the bus refuses its content.
///
/// # Errors
/// [`NotCommitted`] if the daemon stops, or the log failed permanently.
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
