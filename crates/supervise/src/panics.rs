//! Turns a panic in one task into that task's error, so that the process survives.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use parking_lot::Mutex;

/// A panic in the code of this project: a bug to be reported to the maintainers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("internal error: {0}")]
pub struct CaughtPanic(pub String);

impl CaughtPanic {
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
/// [`CaughtPanic`] with the panic's message.
pub async fn catch_panic<T>(work: impl Future<Output = T>) -> Result<T, CaughtPanic> {
    AssertUnwindSafe(work)
        .catch_unwind()
        .await
        .map_err(|payload| CaughtPanic::from_payload(payload.as_ref()))
}

/// Runs blocking code on a thread of tokio's pool for such code.
///
/// # Errors
/// [`CaughtPanic`] with the panic's message.
pub async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CaughtPanic> {
    let result = Arc::new(Mutex::new(None));
    let place = result.clone();
    let work = move || {
        let result = work();
        *place.lock() = Some(result);
    };
    run_boxed(Box::new(work)).await?;
    let result = result.lock().take();
    result.ok_or_else(|| CaughtPanic("blocking code ended without a result".to_owned()))
}

/// Work of one type, because the runtime would have its 2 kB of code for each type.
#[expect(clippy::disallowed_methods, reason = "this is the place that spawns")]
async fn run_boxed(work: Box<dyn FnOnce() + Send>) -> Result<(), CaughtPanic> {
    tokio::task::spawn_blocking(work).await.map_err(|error| match error.try_into_panic() {
        Ok(payload) => CaughtPanic::from_payload(payload.as_ref()),
        Err(error) => CaughtPanic(error.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn catch_and_blocking_turn_a_panic_into_an_error_with_its_message() {
        let caught: Result<(), _> = catch_panic(async { panic!("no {}", "way") }).await;
        assert_eq!(caught, Err(CaughtPanic("no way".to_owned())));
        let caught: Result<(), _> = run_blocking(|| panic!("literal")).await;
        assert_eq!(caught, Err(CaughtPanic("literal".to_owned())));
        assert_eq!(catch_panic(async { 1 }).await, Ok(1));
        assert_eq!(run_blocking(|| 2).await, Ok(2));
    }
}
