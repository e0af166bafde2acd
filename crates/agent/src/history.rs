//! Builds the conversation that a model reads from the log.

use avocet_protocol::access::{PermissionMode, Trust};
use avocet_protocol::chat::{ChatKind, Content, LoggedInbound};
use avocet_protocol::model::{ImageRef, Message, Messages, SentCall};
use avocet_protocol::store::Past;
use avocet_protocol::turn::{CallResult, LoggedCall, Origin, Step, TurnRecord};
use serde_json::Value;

use crate::history_view::{HistoryView, shown_name};
use crate::images;
use crate::marks::Marks;
use crate::note::turn_note;
use crate::program;
use crate::shorten::{KeepLimits, OLD, OLD_STEP, shorten_message};

/// The text before the first message if turns are left out.
const LEFT_OUT: &str = "[The earlier part of this conversation is left out.]";

/// The line for a turn in which calls with an effect are refused.
const READ_MODE: &str = "[Mode: read. Calls that change something are refused. Look at what you need, \
    and answer with text: a plan if changes were asked for. The person ends this mode with /mode.]";

/// The cuts that make the current turn fit if it alone is too long. Its messages stay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TurnTrim {
    /// The number of steps that are left out.
    pub(crate) left_out: usize,
    /// The steps before this one are shortened like those of old turns.
    pub(crate) shortened: usize,
    /// The length limit for the results of the other steps.
    pub(crate) others: Option<KeepLimits>,
}

/// Builds the conversation so far: instructions, summary, earlier turns, this turn. All of it is
/// derived from the log in the same way each time, so that two requests of a session begin with the
/// same bytes.
pub(crate) fn conversation(
    instructions: &str,
    past: &Past,
    turn: &TurnRecord,
    view: HistoryView<'_>,
    trim: TurnTrim,
) -> Conversation {
    let mut messages = Messages::default();
    messages.push(view.rendered.system_message(instructions));
    messages.extend(beginning(past, view.marks).map(Message::user));
    let mut tokens = messages.estimated_tokens();
    let rendered = view.rendered.past_messages(past, |turn| past_turn(past, turn, view));
    tokens += rendered.tokens;
    rendered.messages.into_parts().into_iter().for_each(|part| messages.push_part(part));
    let this_turn = Messages::from(this_turn(turn, view, trim));
    tokens += this_turn.estimated_tokens();
    messages.extend(this_turn);
    Conversation { messages, tokens }
}

/// The messages of a request before all of them are valid.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) messages: Messages,
    /// The tokens of the messages before any were joined.
    pub(crate) tokens: u64,
}

/// Builds the messages of the current turn.
fn this_turn(turn: &TurnRecord, view: HistoryView<'_>, trim: TurnTrim) -> Vec<Message> {
    let mut messages = Vec::new();
    add_origin(&mut messages, turn, view);
    if view.mode == PermissionMode::Read {
        messages.push(Message::user(READ_MODE));
    }
    messages.extend(left_out(&turn.steps[..trim.left_out.min(turn.steps.len())]));
    for (place, step) in turn.steps.iter().enumerate() {
        if place < trim.left_out {
            add_inbound(&mut messages, &step.steered, view.marks);
            continue;
        }
        let keep = if place < trim.shortened { Some(OLD_STEP) } else { trim.others };
        add_step(&mut messages, step, keep, view.marks);
    }
    messages
}

/// Returns the text in place of the turns that are not shown.
pub(crate) fn beginning(past: &Past, marks: Marks) -> Option<String> {
    match &past.compacted.summary {
        Some(summary) => {
            let summary = match past.compacted.trust {
                Trust::Low => marks.mark_foreign("summary", "an earlier part of this", summary),
                Trust::User | Trust::Full => summary.clone(),
            };
            let gap = if past.has_gap { format!("\n\n{LEFT_OUT}") } else { String::new() };
            Some(format!("[Summary of the earlier conversation:]\n\n{summary}{gap}"))
        }
        None if past.has_gap || past.compacted.summary_to.is_some() => Some(LEFT_OUT.to_owned()),
        None => None,
    }
}

/// Returns the messages of a turn that has ended.
pub(crate) fn past_turn(past: &Past, turn: &TurnRecord, view: HistoryView<'_>) -> Vec<Message> {
    let keep = is_shortened(past, turn).then_some(OLD);
    let mut messages = Vec::new();
    add_origin(&mut messages, turn, view);
    turn.steps.iter().for_each(|step| add_step(&mut messages, step, keep, view.marks));
    if let Some(notice) = &turn.notice {
        messages.push(Message::assistant(format!("[{notice}]"), Vec::new()));
    }
    messages
}

fn is_shortened(past: &Past, turn: &TurnRecord) -> bool {
    Some(turn.id) <= past.compacted.shortened_to
}

fn add_origin(messages: &mut Vec<Message>, turn: &TurnRecord, view: HistoryView<'_>) {
    match &turn.origin {
        Origin::Messages(inbound) => add_inbound(messages, inbound, view.marks),
        Origin::Child { prompt, .. } => messages.push(Message::user(prompt)),
    }
    messages.push(Message::user(turn_note(turn, view)));
}

/// Returns the message in place of left-out steps of the current turn.
fn left_out(steps: &[Step]) -> Option<Message> {
    let mut called: Vec<&str> =
        steps.iter().flat_map(|step| &step.calls).map(|call| call.call.name.as_str()).collect();
    called.sort_unstable();
    called.dedup();
    let (count, called) = (steps.len(), called.join(", "));
    let text =
        format!("[{count} earlier steps of this answer are left out; they called {called}.]");
    (count > 0).then(|| Message::user(text))
}

fn add_inbound(messages: &mut Vec<Message>, inbound: &[LoggedInbound], marks: Marks) {
    for one in inbound {
        program::add_messages(messages, one, marks);
        let images = images::stored_images(&one.message.inbound.content);
        messages.push(Message::User { text: said(one, marks), images });
    }
}

/// Returns the text of a message. In a group it names the author. Quoted, forwarded and earlier text
/// is marked.
fn said(message: &LoggedInbound, marks: Marks) -> String {
    let (place, inbound) = (message.id.to_string(), &message.message.inbound);
    let by = match (&inbound.sender.name, inbound.chat) {
        (Some(name), ChatKind::Group) => Some(shown_name(name)),
        _ => None,
    };
    if inbound.content.forwarded_from.is_some() {
        let by = by.map(|name| format!(" by {name}")).unwrap_or_default();
        let from = format!("a message forwarded{by}");
        return marks.mark_foreign(&place, &from, &message.model_text());
    }
    let is_foreign = inbound.content.quote.as_ref().is_some_and(|quote| quote.from.is_some());
    let quote =
        inbound.content.describe_quote().filter(|_| is_foreign && !inbound.content.quotes_own);
    let earlier = inbound.content.describe_earlier();
    let has_untyped = inbound.content.untyped_parts().next().is_some();
    let own = if quote.is_some() || earlier.is_some() || has_untyped {
        let kept = inbound.content.quote.clone().filter(|_| quote.is_none());
        let own = Content { quote: kept, earlier: Vec::new(), ..inbound.content.clone() };
        message.model_text_of(&own.without_untyped_parts())
    } else {
        message.model_text()
    };
    let own = by.map_or_else(|| own.clone(), |name| marks.mark_member_text(&place, &name, &own));
    let before = [
        earlier.map(|text| marks.mark_foreign(&place, "earlier messages to others", &text)),
        quote.map(|quote| {
            marks.mark_foreign(&place, "the message that this one replies to", &quote)
        }),
    ];
    let after = [
        (inbound.content.describe_forwarded(), "messages forwarded with this one"),
        (inbound.content.describe_quotes(), "messages quoted in this one"),
        (
            inbound.content.describe_untrusted(),
            "parts of this message that its sender did not type",
        ),
    ];
    let after =
        after.into_iter().filter_map(|(text, from)| Some(marks.mark_foreign(&place, from, &text?)));
    let parts: Vec<String> = before.into_iter().flatten().chain([own]).chain(after).collect();
    parts.join("\n")
}

fn add_step(messages: &mut Vec<Message>, step: &Step, keep: Option<KeepLimits>, marks: Marks) {
    let calls = step.calls.iter().map(sent).collect();
    let (text, reasoning) = (step.text.clone(), step.reasoning.clone());
    let mut said = vec![Message::Assistant { text, calls, reasoning }];
    for call in &step.calls {
        if let Some(result) = call.result() {
            let (ok, result) = (result.ok, result_text(result));
            said.push(Message::ToolResult { call: call.id.to_string(), ok, result });
        }
    }
    if let Some(keep) = keep {
        said = said.into_iter().map(|message| shorten_message(message, keep)).collect();
    }
    messages.extend(said.into_iter().map(|message| marked(message, step, marks)));
    if keep.is_none() {
        add_pictures(messages, step);
    }
    add_inbound(messages, &step.steered, marks);
}

/// Adds the pictures of results: providers take pictures in messages of a user only.
fn add_pictures(messages: &mut Vec<Message>, step: &Step) {
    let of = |call: &LoggedCall| {
        call.result().map(|result| images::of_result(call.id, result)).unwrap_or_default()
    };
    let images: Vec<ImageRef> = step.calls.iter().flat_map(of).collect();
    if !images.is_empty() {
        let paths: Vec<&str> = images.iter().map(|image| image.path.as_str()).collect();
        let text = format!("[Pictures of the results above, untrusted: {}]", paths.join(", "));
        messages.push(Message::User { text, images });
    }
}

/// Puts marks around the whole of a result that is untrusted.
fn marked(message: Message, step: &Step, marks: Marks) -> Message {
    let Message::ToolResult { call, ok, result } = message else { return message };
    let logged = step.calls.iter().find(|logged| logged.id.to_string() == call);
    let foreign = logged.filter(|logged| logged.result().is_some_and(|it| it.trust == Trust::Low));
    let result = match foreign {
        Some(logged) => marks.mark_foreign(&call, &logged.call.name, &result),
        None => result,
    };
    Message::ToolResult { call, ok, result }
}

fn sent(call: &LoggedCall) -> SentCall {
    SentCall {
        id: call.id.to_string(),
        name: call.call.name.clone(),
        arguments: call.call.arguments.to_object(),
    }
}

/// Returns a text as it is, and everything else as JSON.
pub(crate) fn result_text(result: &CallResult) -> String {
    match &result.value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use avocet_protocol::ids::{CallId, TurnId};
    use avocet_protocol::model::{Arguments, ToolCall, Usage};
    use avocet_protocol::turn::AnswerEnding;
    use avocet_protocol::turn::CallState;
    use serde_json::json;

    use super::*;

    #[test]
    fn add_step_shows_the_pictures_of_results_after_them_until_the_step_is_shortened() {
        let id = CallId { turn: TurnId(5), step: 0, ordinal: 0 };
        let value = json!({"image": "image/png", "saved_as": "inbox/t5s0c0-0.png"});
        let result = CallResult { trust: Trust::Low, ..CallResult::ok(value) };
        let call = ToolCall { name: "web__shot".to_owned(), arguments: Arguments::parse("{}") };
        let step = Step {
            number: 0,
            text: String::new(),
            ending: AnswerEnding::Complete,
            usage: Usage::default(),
            trust: Trust::Low,
            calls: vec![LoggedCall { id, call, state: CallState::Finished(result), allowed: None }],
            written: None,
            reasoning: None,
            closed: true,
            steered: Vec::new(),
        };
        let mut messages = Vec::new();
        add_step(&mut messages, &step, None, Marks::new(7));
        let [Message::Assistant { .. }, Message::ToolResult { .. }, Message::User { text, images }] =
            &*messages
        else {
            panic!("{messages:?}");
        };
        assert_eq!(*images, [ImageRef { path: "inbox/t5s0c0-0.png".to_owned() }]);
        assert!(text.ends_with("untrusted: inbox/t5s0c0-0.png]"), "{text}");
        let mut old = Vec::new();
        add_step(&mut old, &step, Some(OLD), Marks::new(7));
        assert_eq!(old.len(), 2);
    }
}
