//! The record that a strict fake keeps: the requests that it accepted, and why it refused the
//! others.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::http::{Piece, whole};

/// The answer to a request that the real server refuses.
#[derive(Debug)]
pub struct FakeRefusal {
    /// The reason in the record.
    pub message: String,
    /// The whole answer.
    pub pieces: Vec<Piece>,
}

impl FakeRefusal {
    pub(crate) fn new(status: u16, media_type: &str, body: &str, message: String) -> Self {
        Self { message, pieces: whole(status, &[("content-type", media_type)], body) }
    }
}

/// Accepted requests and reasons of refusals. Clones share the record.
#[derive(Debug, Clone)]
pub(crate) struct RequestLog<T> {
    /// `None` if accepted requests are not kept.
    accepted: Option<Arc<Mutex<Vec<T>>>>,
    refusals: Arc<Mutex<Vec<String>>>,
}

impl<T> Default for RequestLog<T> {
    fn default() -> Self {
        Self { accepted: Some(Arc::default()), refusals: Arc::default() }
    }
}

impl<T: Clone> RequestLog<T> {
    /// Creates a record of refusals only, so that memory stays constant under load.
    pub(crate) fn of_refusals() -> Self {
        Self { accepted: None, refusals: Arc::default() }
    }

    /// Records a checked request, and returns its answer.
    pub(crate) fn answer(
        &self,
        checked: Result<T, FakeRefusal>,
        answer: impl FnOnce(&T) -> Vec<Piece>,
    ) -> Vec<Piece> {
        match checked {
            Ok(request) => {
                if let Some(accepted) = &self.accepted {
                    accepted.lock().push(request.clone());
                }
                answer(&request)
            }
            Err(refusal) => {
                self.refusals.lock().push(refusal.message);
                refusal.pieces
            }
        }
    }

    pub(crate) fn accepted(&self) -> Vec<T> {
        self.accepted.as_ref().map(|accepted| accepted.lock().clone()).unwrap_or_default()
    }

    pub(crate) fn refusals(&self) -> Vec<String> {
        self.refusals.lock().clone()
    }
}
