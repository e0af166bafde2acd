//! What goes wrong with requests because the test wants it to.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::error::ApiError;
use super::rest::{Call, Route};

/// What happens to a request.
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

/// Which requests a fault meets.
#[derive(Debug, Clone, Default)]
pub struct On {
    route: Option<Route>,
    channel: Option<u64>,
}

impl On {
    /// Every request.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// Requests of this kind.
    #[must_use]
    pub fn route(route: Route) -> Self {
        Self { route: Some(route), channel: None }
    }

    /// Only those of this channel.
    #[must_use]
    pub fn channel(self, channel: u64) -> Self {
        Self { channel: Some(channel), ..self }
    }

    fn meets(&self, call: &Call) -> bool {
        self.route.is_none_or(|wanted| wanted == call.route)
            && self.channel.is_none_or(|wanted| Some(wanted) == call.channel())
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

    /// What happens to this request; each fault is used up by the requests it meets.
    pub(super) fn take(&mut self, call: &Call) -> Option<Fault> {
        let place = self.to_come.iter().position(|(on, _, _)| on.meets(call))?;
        let (_, times, fault) = &mut self.to_come[place];
        let fault = fault.clone();
        *times = times.saturating_sub(1);
        if *times == 0 {
            self.to_come.remove(place);
        }
        Some(fault)
    }
}
