//! The caps on one turn. They are on by default, so that a model in an endless loop stays cheap.

use std::time::Duration;

use avocet_protocol::store::Family;
use avocet_protocol::turn::Step;

use crate::job_steps;

/// The caps on one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLimits {
    /// Rounds of tool calls, at least 1.
    pub max_tool_iterations: u32,
    /// Tool calls in total.
    pub max_tool_calls: u32,
    /// Running time of the turn without the waits for people. It restarts at zero with the daemon.
    pub max_duration: Duration,
    /// Tokens in total, read and written, those of its children included.
    pub max_tokens: u64,
    /// The most tokens of a request, estimated. Fewer if the model's window is smaller.
    pub context_tokens: u64,
    /// Children of the turn that may be open at the same time.
    pub max_children: u32,
    /// Children below each other: 1 if a child cannot have children.
    pub max_depth: u32,
    /// The time in which a person has to decide about an interrupted call.
    pub choice_expires_after: Duration,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self {
            max_tool_iterations: 20,
            max_tool_calls: 100,
            max_duration: Duration::from_mins(30),
            max_tokens: 1_000_000,
            context_tokens: 64_000,
            max_children: 4,
            max_depth: 2,
            choice_expires_after: Duration::from_hours(24),
        }
    }
}

/// A limit that was reached, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitNotice {
    /// The text for an owner: the limit with its numbers, and what raises it.
    pub text: String,
    /// The text for everybody else.
    pub plain: String,
    /// `true` if only an owner can do something about it.
    pub needs_owner: bool,
}

impl LimitNotice {
    /// The notice of a cap on one turn. The person can let the work go on.
    fn of_turn(text: String) -> Self {
        let plain =
            format!("This is more work than I may do for one answer, so I stopped. {SO_FAR}");
        Self { text, plain, needs_owner: false }
    }
}

const SO_FAR: &str = "What was done so far is kept; say \"continue\" to go on.";

impl TurnLimits {
    pub(crate) fn iterations(self) -> u32 {
        self.max_tool_iterations.max(1)
    }

    /// Returns the number of calls that may still be made.
    pub(crate) fn calls_left(self, steps: &[Step]) -> usize {
        let made: usize = steps.iter().map(|step| step.calls.len()).sum();
        (self.max_tool_calls as usize).saturating_sub(made)
    }

    /// Returns the text for the user if the turn has reached a cap, else `None`.
    pub(crate) fn find_reached(self, steps: &[Step], ran_for: Duration) -> Option<LimitNotice> {
        let iterations = self.iterations();
        let rounds = steps.iter().filter(|step| job_steps::is_round(step)).count();
        if rounds >= iterations as usize {
            let rounds = if iterations == 1 { "round" } else { "rounds" };
            return Some(LimitNotice::of_turn(format!(
                "I stopped after {iterations} {rounds} of tool calls without coming to an answer. \
                 {SO_FAR}"
            )));
        }
        if self.calls_left(steps) == 0 {
            return Some(LimitNotice::of_turn(format!(
                "I stopped after {} tool calls without coming to an answer. {SO_FAR}",
                self.max_tool_calls
            )));
        }
        (ran_for >= self.max_duration).then(|| self.took_too_long())
    }

    /// Returns the text for the user if the turn has used up its tokens.
    pub(crate) fn tokens_reached(self, used: u64) -> Option<LimitNotice> {
        let limit = self.max_tokens;
        (used >= limit).then(|| {
            LimitNotice::of_turn(format!(
                "I stopped after {used} tokens (the limit for one answer is {limit}). {SO_FAR}"
            ))
        })
    }

    /// Returns the reason why a turn may not start another child, `pending` of which its step starts
    /// already; `None` if it may.
    pub(crate) fn no_child(self, family: Family, pending: u32) -> Option<String> {
        let Self { max_children, max_depth, .. } = self;
        if family.depth >= max_depth {
            return Some(format!(
                "sub-agents may be {max_depth} deep (max_depth), and you are at that depth; do the \
                 task yourself"
            ));
        }
        (family.open_children.saturating_add(pending) >= max_children).then(|| {
            format!(
                "{max_children} sub-agents are the most at once (max_children); call this again \
                 when one of them has ended"
            )
        })
    }

    pub(crate) fn took_too_long(self) -> LimitNotice {
        LimitNotice::of_turn(format!(
            "I stopped because this took longer than {} s. What was done so far is kept; say \
             \"continue\" to go on.",
            self.max_duration.as_secs()
        ))
    }
}
