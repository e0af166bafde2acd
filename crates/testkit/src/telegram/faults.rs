//! Faults that a test injects.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::wire::ApiError;

/// A fault of a call.
#[derive(Debug, Clone)]
pub enum InjectedFault {
    /// The call is not processed. The answer is this error.
    Refuse(ApiError),
    /// The call is not processed. The answer is a page of HTML with this status, as a proxy writes it.
    Page(u16),
    /// The call is processed. The answer is such a page nevertheless.
    PageAfter(u16),
    /// The call is not processed. The connection is reset.
    ResetBefore,
    /// The call is not processed and never answered.
    Hang,
    /// The call is processed, then the connection is reset. The client cannot know the outcome.
    ResetAfter,
    /// The call is processed but never answered.
    HangAfter,
    /// The call is processed. The connection is closed after half of the answer's body.
    CutAnswer,
    /// The call is processed at once, and answered after a permit.
    HoldAnswer(Arc<Semaphore>),
}

impl InjectedFault {
    /// Returns a 429 with this `retry_after`, in seconds.
    #[must_use]
    pub fn flood(retry_after: u32) -> Self {
        Self::Refuse(ApiError::flood(retry_after))
    }
}

/// A filter that selects the calls of a fault.
#[derive(Debug, Clone, Default)]
pub struct On {
    method: Option<String>,
    chat: Option<i64>,
}

impl On {
    /// Selects every call of the bot.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// Selects calls of this method, for example `sendMessage`.
    #[must_use]
    pub fn method(name: &str) -> Self {
        Self { method: Some(name.to_ascii_lowercase()), chat: None }
    }

    /// Restricts the filter to this chat.
    #[must_use]
    pub fn chat(self, chat: i64) -> Self {
        Self { chat: Some(chat), ..self }
    }

    fn meets(&self, method: &str, chat: Option<i64>) -> bool {
        self.method.as_deref().is_none_or(|wanted| wanted == method)
            && self.chat.is_none_or(|wanted| Some(wanted) == chat)
    }
}

/// Pending faults, the earliest first.
#[derive(Debug, Default)]
pub(super) struct Faults {
    to_come: Vec<(On, usize, InjectedFault)>,
}

impl Faults {
    pub(super) fn add(&mut self, on: On, times: usize, fault: InjectedFault) {
        self.to_come.push((on, times, fault));
    }

    pub(super) fn clear(&mut self) {
        self.to_come.clear();
    }

    /// Returns the fault of this call, and uses it up by one.
    pub(super) fn take(&mut self, method: &str, chat: Option<i64>) -> Option<InjectedFault> {
        let place = self.to_come.iter().position(|(on, _, _)| on.meets(method, chat))?;
        let (_, times, fault) = &mut self.to_come[place];
        let fault = fault.clone();
        *times = times.saturating_sub(1);
        if *times == 0 {
            self.to_come.remove(place);
        }
        Some(fault)
    }
}
