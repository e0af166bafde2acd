//! The answer of the model that consolidates memories, and the rules for the texts in it.

use std::collections::BTreeSet;

use avocet_protocol::ids::MemoryId;
use avocet_protocol::store::{MAX_MEMORY_BYTES, Memory, MemoryEdit, MemoryVersion};
use avocet_text::index_text;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Deserialize;

use crate::words::{is_in, telling_words};

/// Least share of the words of a new text that must be in the old texts.
const KNOWN_SHARE: f64 = 0.6;
/// Least share of the telling words of each part that a merge must keep.
const KEPT_SHARE: f64 = 0.5;
/// Most days between a date and the time of writing.
const MAX_DAYS: i32 = 366;

/// An action of the model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum TidyAction {
    Merge(MergeAction),
    Replace(ReplaceAction),
    Date(DateAction),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MergeAction {
    pub(crate) merge: Vec<MemoryId>,
    pub(crate) text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReplaceAction {
    pub(crate) replace: MemoryId,
    pub(crate) by: MemoryId,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DateAction {
    pub(crate) date: MemoryId,
    pub(crate) text: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TidyPlan {
    actions: Vec<TidyAction>,
}

/// The reason why an action is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ActionRefused {
    #[error("{0} was not shown, or is in another action too")]
    Unknown(MemoryId),
    #[error("the text is empty")]
    Empty,
    #[error("the text is {0} bytes long; a memory has at most {MAX_MEMORY_BYTES}")]
    TooLong(usize),
    #[error("too many words of the text are new")]
    NewWords,
    #[error("the text leaves out too much of {0}")]
    LostWords(MemoryId),
    #[error("the number {0} is new")]
    NewNumber(String),
    #[error("the number {1} of {0} is left out")]
    LostNumber(MemoryId, String),
    #[error("the text has no new date like 2026-11-24")]
    NoDate,
    #[error("the date {0} is more than a year from the time of writing")]
    FarDate(String),
    #[error("{0} and {1} share no word")]
    Unrelated(MemoryId, MemoryId),
    #[error(transparent)]
    Rule(#[from] avocet_protocol::store::EditRefused),
}

/// Parses the model's answer, with or without a code fence.
pub(crate) fn read_plan(answer: &str) -> Result<Vec<TidyAction>, String> {
    let text = answer.trim();
    let fenced = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
    let text = fenced.and_then(|text| text.strip_suffix("```")).unwrap_or(text);
    let plan: TidyPlan = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(plan.actions)
}

/// The memories that one request showed, and those that no action has used.
#[derive(Debug)]
pub(crate) struct ShownMemories<'m> {
    memories: &'m [Memory],
    unused: BTreeSet<MemoryId>,
    zone: &'m TimeZone,
}

impl<'m> ShownMemories<'m> {
    pub(crate) fn new(memories: &'m [Memory], zone: &'m TimeZone) -> Self {
        let unused = memories.iter().map(|memory| memory.id).collect();
        Self { memories, unused, zone }
    }

    /// Checks an action against the rules, and turns it into an edit.
    pub(crate) fn edit_for_action(
        &mut self,
        action: &TidyAction,
    ) -> Result<MemoryEdit, ActionRefused> {
        let ids = match action {
            TidyAction::Merge(MergeAction { merge, .. }) => merge.clone(),
            TidyAction::Replace(ReplaceAction { replace, by }) => vec![*replace, *by],
            TidyAction::Date(DateAction { date, .. }) => vec![*date],
        };
        let mut parts = Vec::new();
        for id in ids {
            let known = self.memories.iter().find(|memory| memory.id == id);
            let known = known.filter(|_| self.unused.remove(&id));
            parts.push(known.ok_or(ActionRefused::Unknown(id))?.clone());
        }
        let edit = match (action, &parts[..]) {
            (TidyAction::Merge(MergeAction { text, .. }), parts) => {
                let text = text.trim().to_owned();
                check_merge(parts, &text)?;
                MemoryEdit::Merge { parts: parts.iter().map(MemoryVersion::from).collect(), text }
            }
            (TidyAction::Date(DateAction { text, .. }), [memory, ..]) => {
                let text = text.trim().to_owned();
                check_date(memory, &text, self.zone)?;
                MemoryEdit::Date { memory: memory.into(), text }
            }
            (TidyAction::Replace(_), [old, new, ..]) => {
                check_related(old, new)?;
                MemoryEdit::Replace { old: old.into(), new: new.into() }
            }
            (TidyAction::Date(_) | TidyAction::Replace(_), _) => return Err(ActionRefused::Empty),
        };
        edit.check(&parts)?;
        Ok(edit)
    }
}

fn check_merge(parts: &[Memory], text: &str) -> Result<(), ActionRefused> {
    check_size(text)?;
    let all = parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n");
    if share_of_words(&search_words(text), &all) < KNOWN_SHARE {
        return Err(ActionRefused::NewWords);
    }
    check_new_numbers(&all, text)?;
    for part in parts {
        if share_of_words(&telling_words(&part.text), text) < KEPT_SHARE {
            return Err(ActionRefused::LostWords(part.id));
        }
        check_lost_numbers(part, text)?;
    }
    Ok(())
}

fn check_date(memory: &Memory, text: &str, zone: &TimeZone) -> Result<(), ActionRefused> {
    check_size(text)?;
    let known = iso_dates(&memory.text);
    let new: Vec<&str> = iso_dates(text).into_iter().filter(|date| !known.contains(date)).collect();
    if new.is_empty() {
        return Err(ActionRefused::NoDate);
    }
    let written = jiff::Timestamp::from_millisecond(memory.source.written_at.0).unwrap_or_default();
    let written = written.to_zoned(zone.clone()).date();
    let is_far = |date: &&&str| {
        let parsed: Option<Date> = date.parse().ok();
        let days = parsed.and_then(|date| written.until(date).ok()).map(|span| span.get_days());
        days.is_none_or(|days| days.abs() > MAX_DAYS)
    };
    if let Some(far) = new.iter().find(is_far) {
        return Err(ActionRefused::FarDate((*far).to_owned()));
    }
    let undated = new.iter().fold(text.to_owned(), |text, date| text.replace(date, " "));
    check_new_numbers(&memory.text, &undated)?;
    check_lost_numbers(memory, text)?;
    if share_of_words(&search_words(&undated), &memory.text) < KNOWN_SHARE {
        return Err(ActionRefused::NewWords);
    }
    if share_of_words(&search_words(&memory.text), text) < KNOWN_SHARE {
        return Err(ActionRefused::LostWords(memory.id));
    }
    Ok(())
}

fn check_related(old: &Memory, new: &Memory) -> Result<(), ActionRefused> {
    let text = index_text(&new.text);
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_shared = telling_words(&old.text).iter().any(|word| is_in(word, &words));
    if is_shared { Ok(()) } else { Err(ActionRefused::Unrelated(old.id, new.id)) }
}

fn check_size(text: &str) -> Result<(), ActionRefused> {
    match text.len() {
        _ if search_words(text).is_empty() => Err(ActionRefused::Empty),
        bytes if bytes > MAX_MEMORY_BYTES => Err(ActionRefused::TooLong(bytes)),
        _ => Ok(()),
    }
}

fn search_words(text: &str) -> Vec<String> {
    index_text(text).split_whitespace().map(str::to_owned).collect()
}

/// Returns the share of these words that a text contains, perhaps in another inflection.
#[expect(clippy::cast_precision_loss, reason = "a memory has at most 2,048 bytes")]
fn share_of_words(words: &[String], text: &str) -> f64 {
    if words.is_empty() {
        return 1.0;
    }
    let text = index_text(text);
    let known: Vec<&str> = text.split_whitespace().collect();
    let found = words.iter().filter(|word| is_in(word, &known)).count();
    found as f64 / words.len() as f64
}

fn check_new_numbers(known: &str, text: &str) -> Result<(), ActionRefused> {
    let known = digit_runs(known);
    let new = digit_runs(text).into_iter().find(|number| !known.contains(number));
    new.map_or(Ok(()), |number| Err(ActionRefused::NewNumber(number.to_owned())))
}

fn check_lost_numbers(memory: &Memory, text: &str) -> Result<(), ActionRefused> {
    let kept = digit_runs(text);
    let lost = digit_runs(&memory.text).into_iter().find(|number| !kept.contains(number));
    lost.map_or(Ok(()), |number| Err(ActionRefused::LostNumber(memory.id, number.to_owned())))
}

fn digit_runs(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_numeric()).filter(|run| !run.is_empty()).collect()
}

/// Returns the dates of the form 2026-11-24 in a text.
fn iso_dates(text: &str) -> Vec<&str> {
    let is_other = |c: char| !c.is_ascii_digit() && c != '-';
    let runs = text.split(is_other).map(|run| run.trim_matches('-'));
    runs.filter(|run| run.len() == 10 && run.parse::<Date>().is_ok()).collect()
}

#[cfg(test)]
#[path = "tidy_plan_tests.rs"]
mod tests;
