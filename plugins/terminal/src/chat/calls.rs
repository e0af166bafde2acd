//! The results of the calls of a running turn. Events name a call only, so the results come from the
//! log: after each call, and before the next step, because a refused call has no event.

use std::collections::HashSet;

use avocet_protocol::ids::{CallId, TurnId};
use avocet_protocol::turn::{LoggedCall, TurnEvent, TurnRecord};
use futures_util::FutureExt;
use futures_util::future::FusedFuture;

use super::ChatLoop;
use crate::live::CallReport;

/// The turn in the log, and the event that is shown after its calls.
pub(super) type ReadCalls = (Option<TurnRecord>, TurnEvent);

/// The calls of the running turn whose results are on the screen.
#[derive(Debug, Default)]
pub(super) struct ShownCalls {
    turn: Option<TurnId>,
    /// The step with which this chat began to follow the turn.
    first_step: Option<u32>,
    /// Steps whose calls all have their results on the screen.
    complete_steps: u32,
    shown: HashSet<CallId>,
}

impl ShownCalls {
    /// Returns `true` if results may be missing before this event.
    fn needs_results(&self, event: &TurnEvent) -> bool {
        match event {
            TurnEvent::ToolFinished { .. } | TurnEvent::Waiting { .. } => self.turn.is_some(),
            TurnEvent::Thinking { step } => self.turn.is_some() && *step > self.complete_steps,
            _ => false,
        }
    }

    fn note_event(&mut self, event: &TurnEvent) {
        match event {
            TurnEvent::Started { turn, .. } if self.turn != Some(*turn) => {
                *self = Self { turn: Some(*turn), ..Self::default() };
            }
            TurnEvent::Thinking { step } => {
                self.first_step.get_or_insert(*step);
            }
            _ => {}
        }
    }

    /// Returns the results that are not on the screen yet, each with `true` if this chat follows
    /// the turn since before the call.
    fn take_reports(&mut self, turn: &TurnRecord) -> Vec<(CallReport, bool)> {
        if self.turn != Some(turn.id) {
            return Vec::new();
        }
        let is_complete = |calls: &[LoggedCall]| calls.iter().all(|call| call.result().is_some());
        let complete = turn.steps.iter().take_while(|step| is_complete(&step.calls)).count();
        self.complete_steps = u32::try_from(complete).unwrap_or(u32::MAX);
        let calls = turn.steps.iter().flat_map(|step| &step.calls);
        let reports = calls.filter_map(CallReport::from_logged);
        let new = reports.filter(|report| self.shown.insert(report.call));
        let first = self.first_step.unwrap_or(u32::MAX);
        new.map(|report| {
            let is_new = report.call.step >= first;
            (report, is_new)
        })
        .collect()
    }
}

impl ChatLoop {
    pub(super) fn is_reading_calls(&self) -> bool {
        !self.calls.is_terminated()
    }

    /// Shows an event, after the results that come before it.
    pub(super) fn take_event(&mut self, event: TurnEvent) {
        self.shown_calls.note_event(&event);
        let follows = self.is_interactive() && self.own.is_open();
        if follows && self.shown_calls.needs_results(&event) {
            let link = self.link.clone();
            self.calls = async move { (link.last_turn().await, event) }.boxed().fuse();
        } else {
            self.show_event(event);
        }
    }

    pub(super) fn note_calls(&mut self, turn: Option<&TurnRecord>, event: TurnEvent) {
        let reports = turn.map(|turn| self.shown_calls.take_reports(turn));
        if let Some(live) = self.display.live_screen() {
            for (report, is_new) in reports.into_iter().flatten() {
                live.show_report(report, is_new);
            }
        }
        self.show_event(event);
    }
}
