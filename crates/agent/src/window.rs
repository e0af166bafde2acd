//! How much fits into a model's window, and what goes first where not everything does. No I/O.

use avocet_protocol::{Message, ModelFacts, Past, TOKENS_AN_IMAGE, TurnId, TurnRecord};

use crate::history::{Trim, View, past_turn};
use crate::shorten::Keep;
use crate::{Limits, images, make_valid};

/// Tokens that are left for the answer, where the model does not say how many it can write.
const ANSWER: u64 = 8192;
/// Steps of the turn that goes on that are not shortened before others are.
const RECENT_STEPS: usize = 2;
/// Steps of the turn that goes on are shortened, and left out, so many at a time: with each change the
/// requests lose the beginning that they have in common.
const STEPS: usize = 4;

/// Tokens that a request may have.
pub(crate) fn room(facts: ModelFacts, limits: Limits) -> u64 {
    match facts.context {
        None => limits.context_tokens,
        Some(window) => of(window, facts.max_output, limits),
    }
}

/// Tokens that a request may have in a window of so many, beside an answer.
pub(crate) fn of(window: u64, max_output: Option<u64>, limits: Limits) -> u64 {
    let answer = max_output.unwrap_or(ANSWER).min(ANSWER).min(window / 4);
    limits.context_tokens.min(window - answer)
}

/// What the tokens of a request are when the past has been condensed to make room: well below what
/// there is, so that it does not have to be done again soon.
pub(crate) fn goal(room: u64) -> u64 {
    room / 2
}

/// What they are when shorter results alone have made enough room.
pub(crate) fn enough(room: u64) -> u64 {
    room / 4 * 3
}

/// The tokens of messages.
pub(crate) fn tokens(messages: &[Message]) -> u64 {
    messages.iter().map(Message::estimated_tokens).sum()
}

/// The last turn whose results are not needed any more; none if all of those are short already.
pub(crate) fn shortened_to(past: &Past) -> Option<TurnId> {
    let place = past.turns.len().checked_sub(Past::RECENT + 1)?;
    let last = past.turns[place].id;
    (past.condensed.shortened_to < Some(last)).then_some(last)
}

/// How many of the turns of the past go, so that the others have at most so many tokens: at least one,
/// and at least half of those that were read where there are more than could be.
pub(crate) fn turns_to_go(past: &Past, view: View<'_>, allowed: u64) -> usize {
    let mut used = 0;
    let kept = past.turns.iter().rev().take_while(|turn| {
        used += tokens(&past_turn(past, turn, view));
        used <= allowed
    });
    let kept = kept.count();
    let all = past.turns.len();
    let least = if past.has_gap { all / 2 } else { 0 };
    all.saturating_sub(kept).max(least).max(1).min(all)
}

/// The turn that goes on with its older steps as short as those of old turns.
pub(crate) fn old_steps_shortened(turn: &TurnRecord) -> Trim {
    Trim { shortened: older_steps(turn), ..Trim::default() }
}

/// The steps before those that the model works with just now.
fn older_steps(turn: &TurnRecord) -> usize {
    turn.steps.len().saturating_sub(RECENT_STEPS) / STEPS * STEPS
}

/// The shortest that the turn that goes on can be.
pub(crate) fn shortest(turn: &TurnRecord, room: u64) -> Trim {
    trims(turn, room).last().unwrap_or_default()
}

/// Ways to make the turn that goes on shorter, each shorter than the one before.
pub(crate) fn trims(turn: &TurnRecord, room: u64) -> impl Iterator<Item = Trim> {
    let older = older_steps(turn);
    let shortened =
        (1..=older / STEPS).map(|four| Trim { shortened: four * STEPS, ..Trim::default() });
    let results: usize = turn.steps[older..].iter().map(|step| step.calls.len()).sum();
    // A token is four bytes, and arguments may be as long as results: half of the room is for them.
    let bytes = usize::try_from(room).unwrap_or(usize::MAX) / results.max(1);
    let others = Some(Keep { bytes, thoughts: true });
    let cut = Trim { shortened: older, others, left_out: 0 };
    let left_out = (1..=older / STEPS).map(move |four| Trim { left_out: four * STEPS, ..cut });
    shortened.chain([cut]).chain(left_out)
}

/// The valid messages, if they have at most so many tokens, those of the pictures that a model with
/// `eyes` is shown included; else how many they have.
pub(crate) fn if_it_fits(
    messages: Vec<Message>,
    eyes: bool,
    room: u64,
) -> Result<Vec<Message>, u64> {
    let messages = make_valid(messages);
    let shown = if eyes { images::shown(&messages) as u64 } else { 0 };
    match tokens(&messages) + shown * TOKENS_AN_IMAGE {
        tokens if tokens <= room => Ok(messages),
        tokens => Err(tokens),
    }
}
