//! Faults of requests that a test injects.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::error::ApiError;
use super::rest::{ParsedRequest, Route};

/// A fault of a request.
#[derive(Debug, Clone)]
pub enum InjectedFault {
    /// The request is not processed. The answer is this error.
    Refuse(ApiError),
    /// The request is not processed. The connection is reset.
    ResetBefore,
    /// The request is not processed and never answered.
    Hang,
    /// The request is processed, then the connection is reset. The client cannot know the outcome.
    ResetAfter,
    /// The request is processed but never answered.
    HangAfter,
    /// The request is processed. The connection is closed after half of the answer's body.
    CutAnswer,
    /// The request is processed at once, and answered after a permit.
    HoldAnswer(Arc<Semaphore>),
}

/// A filter that selects the requests of a fault.
#[derive(Debug, Clone, Default)]
pub struct On {
    route: Option<Route>,
    channel: Option<u64>,
}

impl On {
    /// Selects every request.
    #[must_use]
    pub fn any() -> Self {
        Self::default()
    }

    /// Selects requests of this route.
    #[must_use]
    pub fn route(route: Route) -> Self {
        Self { route: Some(route), channel: None }
    }

    /// Restricts the filter to this channel.
    #[must_use]
    pub fn channel(self, channel: u64) -> Self {
        Self { channel: Some(channel), ..self }
    }

    fn meets(&self, call: &ParsedRequest) -> bool {
        self.route.is_none_or(|wanted| wanted == call.route)
            && self.channel.is_none_or(|wanted| Some(wanted) == call.channel())
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

    /// Returns the fault of this request, and uses it up by one.
    pub(super) fn take(&mut self, call: &ParsedRequest) -> Option<InjectedFault> {
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
