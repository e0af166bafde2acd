//! Computes how much fits into a model's window, and what is dropped first. No I/O.

use avocet_protocol::ids::TurnId;
use avocet_protocol::model::{Messages, ModelFacts, TOKENS_AN_IMAGE};
use avocet_protocol::store::Past;
use avocet_protocol::turn::TurnRecord;

use crate::history::{TurnTrim, past_turn};
use crate::history_view::HistoryView;
use crate::shorten::KeepLimits;
use crate::{TurnLimits, images, make_valid};

/// Tokens that are left for the answer if the model's output limit is unknown.
const ANSWER: u64 = 8192;
/// Latest steps of the current turn, which are shortened only after all others.
const RECENT_STEPS: usize = 2;
/// Steps of the current turn are shortened, or left out, in groups of this number, because each
/// change alters the common beginning of requests.
const STEPS: usize = 4;

/// Returns the tokens that a request may have.
pub(crate) fn request_room(facts: ModelFacts, limits: TurnLimits) -> u64 {
    room_in_window(facts.context.unwrap_or(ModelFacts::ASSUMED_CONTEXT), facts.max_output, limits)
}

/// Returns the tokens that a request may have in a window of `window` tokens, besides an answer.
pub(crate) fn room_in_window(window: u64, max_output: Option<u64>, limits: TurnLimits) -> u64 {
    let answer = max_output.unwrap_or(ANSWER).min(ANSWER).min(window / 4);
    limits.context_tokens.min(window - answer)
}

/// Returns the target size of a request after compacting the past: well below the limit, so that
/// the next compaction is far away.
pub(crate) fn compaction_goal(room: u64) -> u64 {
    room / 2
}

/// Returns the size at which shorter results alone have made enough room.
pub(crate) fn enough_room(room: u64) -> u64 {
    room / 4 * 3
}

/// Returns the last turn whose results may be shortened; `None` if all of those are short already.
pub(crate) fn shortened_to(past: &Past) -> Option<TurnId> {
    let place = past.turns.len().checked_sub(Past::RECENT + 1)?;
    let last = past.turns[place].id;
    (past.compacted.shortened_to < Some(last)).then_some(last)
}

/// Returns how many of the past turns are dropped so that the others have at most `allowed` tokens.
/// At least one is dropped, and at least half if only a part of the past was read.
pub(crate) fn turns_to_go(past: &Past, view: HistoryView<'_>, allowed: u64) -> usize {
    let mut used = 0;
    let kept = past.turns.iter().rev().take_while(|turn| {
        used += Messages::from(past_turn(past, turn, view)).estimated_tokens();
        used <= allowed
    });
    let kept = kept.count();
    let all = past.turns.len();
    let least = if past.has_gap { all / 2 } else { 0 };
    all.saturating_sub(kept).max(least).max(1).min(all)
}

/// Shortens the older steps of the current turn as much as those of old turns.
pub(crate) fn old_steps_shortened(turn: &TurnRecord) -> TurnTrim {
    TurnTrim { shortened: older_steps(turn), ..TurnTrim::default() }
}

/// Counts the steps before those that the model is working with.
fn older_steps(turn: &TurnRecord) -> usize {
    turn.steps.len().saturating_sub(RECENT_STEPS) / STEPS * STEPS
}

/// Returns the shortest form of the current turn.
pub(crate) fn shortest_trim(turn: &TurnRecord, room: u64) -> TurnTrim {
    list_trims(turn, room).last().unwrap_or_default()
}

/// Returns ways to shorten the current turn, each shorter than the one before.
pub(crate) fn list_trims(turn: &TurnRecord, room: u64) -> impl Iterator<Item = TurnTrim> {
    let older = older_steps(turn);
    let shortened =
        (1..=older / STEPS).map(|four| TurnTrim { shortened: four * STEPS, ..TurnTrim::default() });
    let results: usize = turn.steps[older..].iter().map(|step| step.calls.len()).sum();
    // A token is four bytes, and arguments may be as long as results, so they get half of the room.
    let bytes = usize::try_from(room).unwrap_or(usize::MAX) / results.max(1);
    let others = Some(KeepLimits { bytes, thoughts: true });
    let cut = TurnTrim { shortened: older, others, left_out: 0 };
    let left_out = (1..=older / STEPS).map(move |four| TurnTrim { left_out: four * STEPS, ..cut });
    shortened.chain([cut]).chain(left_out)
}

/// Returns the valid messages if they fit into `room` tokens, including the pictures for a model
/// with `has_vision`. Otherwise the error is their number of tokens.
pub(crate) fn if_it_fits(messages: Messages, has_vision: bool, room: u64) -> Result<Messages, u64> {
    let messages = make_valid(messages);
    let shown = if has_vision { images::count_images(&messages) as u64 } else { 0 };
    match messages.estimated_tokens() + shown * TOKENS_AN_IMAGE {
        tokens if tokens <= room => Ok(messages),
        tokens => Err(tokens),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use avocet_protocol::access::PermissionMode;
    use avocet_testkit::Scripted;
    use jiff::tz::TimeZone;

    use super::*;
    use crate::harness::AgentHarness;
    use crate::{Marks, RenderedTurns};

    #[tokio::test]
    async fn turns_to_go_halves_a_past_that_is_too_long_to_read() {
        let harness = AgentHarness::new(vec![Scripted::says("ok")]).await;
        harness.turn("question").await;
        let turn = harness.record().await;
        let view = HistoryView {
            zone: &TimeZone::UTC,
            marks: Marks::new(7),
            rendered: &RenderedTurns::default(),
            mode: PermissionMode::Default,
        };
        for (count, has_gap, goes) in [(0, false, 0), (6, false, 1), (6, true, 3), (1, true, 1)] {
            let turns = std::iter::repeat_n(Arc::new(turn.clone()), count).collect();
            let past = Past { turns, has_gap, ..Past::default() };
            assert_eq!(turns_to_go(&past, view, u64::MAX), goes, "{count} {has_gap}");
        }
    }

    #[test]
    fn room_reserves_space_for_the_answer() {
        let room = |context, max_output| {
            let facts = ModelFacts { context, max_output, ..ModelFacts::default() };
            request_room(facts, TurnLimits::default())
        };
        let table = [
            (None, None, 57_344),
            (Some(1_000_000), None, 64_000),
            (Some(32_768), None, 24_576),
            (Some(32_768), Some(4096), 28_672),
            (Some(8192), None, 6144),
            (Some(0), None, 0),
        ];
        for (context, max_output, expected) in table {
            assert_eq!(room(context, max_output), expected, "{context:?}, {max_output:?}");
        }
    }
}
