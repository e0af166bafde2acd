//! Replies to the agent's own messages. A platform shows the message replied to, also one of an earlier
//! conversation, whose trust is unknown here.

use std::collections::BTreeSet;
use std::sync::Arc;

use avocet_protocol::chat::{Content, Quote};
use avocet_protocol::store::Past;
use avocet_protocol::turn::TurnRecord;
use serde_json::Value;

/// Words of a quote that are compared.
const COMPARED: usize = 200;

/// Returns `true` if a message quotes a text of the agent that is in no turn of this request. It may
/// repeat untrusted text that the agent had read then. The trust of a known text counts with its
/// turn, and that of a summarised one with the summary.
pub(crate) fn quotes_unknown_answer(past: &Past, turn: &TurnRecord, content: &Content) -> bool {
    let Some(Quote { from: None, text }) = &content.quote else { return false };
    let quoted: BTreeSet<String> = words(text).take(COMPARED).collect();
    let is_cut = past.compacted.summary.is_some() || past.has_gap;
    if quoted.is_empty() || is_cut {
        return false;
    }
    let turns = past.turns.iter().map(Arc::as_ref).chain([turn]);
    let mut said = turns.flat_map(texts_of_agent);
    !said.any(|text| has_most_words(&text, &quoted))
}

/// Returns the texts of a turn that may stand in a message of the agent: answers, calls, notices, and
/// reports of other sessions.
fn texts_of_agent(turn: &TurnRecord) -> Vec<String> {
    let steps = turn.steps.iter();
    let texts = steps.clone().map(|step| step.text.clone());
    let calls = steps.flat_map(|step| &step.calls);
    let calls = calls.map(|call| {
        let arguments = Value::Object(call.call.arguments.to_object()).to_string();
        arguments.replace("\\n", " ")
    });
    let reports = turn.reports.texts.iter().map(|report| report.text.clone());
    let lost = turn.undelivered.messages.iter().map(|lost| lost.what.clone());
    texts.chain(calls).chain(turn.notice.clone()).chain(reports).chain(lost).collect()
}

/// Returns `true` if four of five quoted words are in a text. A platform renders it, so that the two
/// differ in marks and addresses.
fn has_most_words(text: &str, quoted: &BTreeSet<String>) -> bool {
    let known: BTreeSet<String> = words(text).collect();
    let found = quoted.intersection(&known).count();
    found * 5 >= quoted.len() * 4
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase)
}
