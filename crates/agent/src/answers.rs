//! Replies to the agent's own messages. A platform shows the message replied to, also one of an earlier
//! conversation, whose trust is unknown here.

use std::collections::BTreeSet;
use std::sync::Arc;

use avocet_protocol::access::Trust;
use avocet_protocol::chat::{Content, Quote};
use avocet_protocol::store::Past;
use avocet_protocol::turn::TurnRecord;
use serde_json::Value;

/// Words of a quote that are compared.
const COMPARED: usize = 200;

/// Returns the trust of the text of the agent that a message quotes. The log knows it by the id of the
/// quoted message. Without an id, the text may be in a turn of this request, whose trust counts there;
/// else it may repeat untrusted text that the agent had read then. Channels that name no id may quote
/// a summarised text, whose trust counts with the summary.
pub(crate) fn trust_of_quote(past: &Past, turn: &TurnRecord, content: &Content) -> Trust {
    let Some(Quote { from: None, text }) = &content.quote else { return Trust::Full };
    if let Some(trust) = content.quote_trust {
        return trust;
    }
    let quoted: BTreeSet<String> = words(text).take(COMPARED).collect();
    let is_cut = past.compacted.summary.is_some() || past.has_gap;
    if quoted.is_empty() || (is_cut && content.quoted.is_none()) {
        return Trust::Full;
    }
    let turns = past.turns.iter().map(Arc::as_ref).chain([turn]);
    let mut said = turns.flat_map(texts_of_agent);
    let is_known = said.any(|text| has_most_words(&text, &quoted));
    if is_known { Trust::Full } else { Trust::Low }
}

/// Returns `true` if [`trust_of_quote`] compares the quote with the texts of the past.
pub(crate) fn depends_on_past(content: &Content) -> bool {
    content.quote.as_ref().is_some_and(|quote| quote.from.is_none())
        && content.quote_trust.is_none()
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
