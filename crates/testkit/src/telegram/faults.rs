//! What goes wrong because the test wants it to.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::wire::ApiError;

/// What happens to a call.
#[derive(Debug, Clone)]
pub enum Fault {
    /// It is not processed, and answered with this.
    Refuse(ApiError),
    /// It is not processed, and the connection is reset.
    ResetBefore,
    /// It is not processed, and there is no answer for ever.
    Hang,
    /// It is processed, and then the connection is reset: its outcome is unknown to the client.
    ResetAfter,
    /// It is processed, and there is no answer for ever.
    HangAfter,
    /// It is processed, and the connection is closed after half of the answer's body.
    CutAnswer,
    /// It is processed at once, and answered once there is a permit.
    HoldAnswer(Arc<Semaphore>),
}

impl Fault {
    /// 429, not again for so many seconds.
    #[must_use]
    pub fn flood(retry_after: u32) -> Self {
        Self::Refuse(ApiError::flood(retry_after))
    }
}

/// Which calls a fault meets.
#[derive(Debug, Clone, Default)]
pub struct On {
    method: Option<String>,
    chat: Option<i64>,
}

impl On {
    /// Every call of the bot.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// Calls of this method: `sendMessage`.
    #[must_use]
    pub fn method(name: &str) -> Self {
        Self { method: Some(name.to_ascii_lowercase()), chat: None }
    }

    /// Only those of this chat.
    #[must_use]
    pub fn chat(self, chat: i64) -> Self {
        Self { chat: Some(chat), ..self }
    }

    fn meets(&self, method: &str, chat: Option<i64>) -> bool {
        self.method.as_deref().is_none_or(|wanted| wanted == method)
            && self.chat.is_none_or(|wanted| Some(wanted) == chat)
    }
}

/// Faults that are still to come, the earliest first.
#[derive(Debug, Default)]
pub(super) struct Faults {
    to_come: Vec<(On, usize, Fault)>,
}

impl Faults {
    pub(super) fn add(&mut self, on: On, times: usize, fault: Fault) {
        self.to_come.push((on, times, fault));
    }

    pub(super) fn clear(&mut self) {
        self.to_come.clear();
    }

    /// What happens to this call; each fault is used up by the calls it meets.
    pub(super) fn take(&mut self, method: &str, chat: Option<i64>) -> Option<Fault> {
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
