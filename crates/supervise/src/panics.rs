//! Turns a panic in one task into that task's error, so that the process survives.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

/// A panic in the code of this project: a bug to be reported to the maintainers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("internal error: {0}")]
pub struct Panicked(pub String);

impl Panicked {
    pub(crate) fn from_payload(payload: &(dyn Any + Send)) -> Self {
        let text = payload
            .downcast_ref::<&str>()
            .map(ToString::to_string)
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a panic without a message".to_owned());
        Self(text)
    }
}

/// Runs `work` and turns a panic into an error. Data that the panic left behind is unusable.
///
/// # Errors
/// [`Panicked`] with the panic's message.
pub async fn catch<T>(work: impl Future<Output = T>) -> Result<T, Panicked> {
    AssertUnwindSafe(work)
        .catch_unwind()
        .await
        .map_err(|payload| Panicked::from_payload(payload.as_ref()))
}

/// Runs blocking code on a thread of tokio's pool for such code.
///
/// # Errors
/// [`Panicked`] with the panic's message.
#[expect(clippy::disallowed_methods, reason = "this is the place that spawns")]
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Panicked> {
    tokio::task::spawn_blocking(work).await.map_err(|error| match error.try_into_panic() {
        Ok(payload) => Panicked::from_payload(payload.as_ref()),
        Err(error) => Panicked(error.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn catch_and_blocking_turn_a_panic_into_an_error_with_its_message() {
        let caught: Result<(), _> = catch(async { panic!("no {}", "way") }).await;
        assert_eq!(caught, Err(Panicked("no way".to_owned())));
        let caught: Result<(), _> = blocking(|| panic!("literal")).await;
        assert_eq!(caught, Err(Panicked("literal".to_owned())));
        assert_eq!(catch(async { 1 }).await, Ok(1));
        assert_eq!(blocking(|| 2).await, Ok(2));
    }
}
