//! `/retry` and `/skip`: decide about an interrupted call or a failed turn.

use avocet_protocol::ids::{SenderId, WaitId};
use avocet_protocol::store::{CommandAction, Resolution};
use avocet_protocol::tool::WaitKind;
use avocet_text::end_sentence;

use crate::command_plan::CommandPlan;

/// Last sentence of every notice for a turn without an answer.
pub(crate) const HOW_TO_RETRY: &str = "/retry tries it again.";

const NOTHING_TO_DECIDE: &str = "There is nothing to decide.";

/// Repeats an interrupted call, or else the last failed turn. Owners pass `None` as `sender`; other
/// people can repeat only turns that are wholly their own.
pub(crate) fn plan_retry(argument: &str, sender: Option<&SenderId>) -> CommandPlan {
    let wait = match named_wait(argument) {
        Ok(wait) => wait,
        Err(problem) => return CommandPlan::with_text(problem),
    };
    let nothing = match wait {
        Some(_) => NOTHING_TO_DECIDE,
        None => {
            "There is nothing to repeat: no answer failed here in the last day, or I am still \
                working. If I asked after you wrote, name the question, for example /retry w7."
        }
    };
    let action = CommandAction::Retry { wait, sender: sender.cloned() };
    CommandPlan::with_action(action, "I am running it again.", nothing)
}

/// Lets the turn go on without an interrupted call.
pub(crate) fn plan_skip(argument: &str) -> CommandPlan {
    let wait = match named_wait(argument) {
        Ok(wait) => wait,
        Err(problem) => return CommandPlan::with_text(problem),
    };
    let skipped = "interrupted, outcome unknown; the user chose to continue without it";
    let resolution = Resolution::outcome_unknown(skipped);
    let action =
        CommandAction::Resolve { wait, kind: WaitKind::Choice, anywhere: false, resolution };
    let nothing = match wait {
        Some(_) => NOTHING_TO_DECIDE,
        None => {
            "There is nothing to decide, or I asked after you wrote. Name the question, for \
                example /skip w7."
        }
    };
    CommandPlan::with_action(action, "I continue without it.", nothing)
}

/// Returns the wait that the command names; `None` without an argument. The error is a sentence for
/// the person.
fn named_wait(argument: &str) -> Result<Option<WaitId>, String> {
    match argument {
        "" => Ok(None),
        id => id.parse::<WaitId>().map(Some).map_err(|error| end_sentence(error.to_string())),
    }
}
