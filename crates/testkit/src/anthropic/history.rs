//! Checks the messages of a request as a conversation: the order of roles, and the results of
//! calls.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{AnthropicRefusal, content, invalid, thinking};

/// A message. Adjacent messages of the same role are merged, like in the real API.
struct Turn<'m> {
    role: &'m str,
    blocks: Vec<Value>,
}

/// Checks the conversation.
pub(super) fn check(messages: &[Value], thinks: bool) -> Result<(), AnthropicRefusal> {
    if messages.is_empty() {
        return Err(invalid("messages: at least one message is required"));
    }
    let turns = merged(messages)?;
    if turns[0].role != "user" {
        return Err(invalid("messages: first message must use the \"user\" role"));
    }
    let latest = turns.iter().rposition(|turn| turn.role == "assistant");
    let mut ids = HashSet::new();
    for (place, turn) in turns.iter().enumerate() {
        for (number, block) in turn.blocks.iter().enumerate() {
            content::check(block, turn.role, &format!("messages.{place}.content.{number}"))?;
        }
        match turn.role {
            "assistant" => {
                thinking::check_order(&turn.blocks, place, latest == Some(place))?;
                check_calls(turn, turns.get(place + 1), place, &mut ids)?;
            }
            _ => check_results(turn, place.checked_sub(1).map(|before| &turns[before]), place)?,
        }
    }
    if thinks {
        check_loop(&turns)?;
    }
    check_end(&turns)
}

fn merged(messages: &[Value]) -> Result<Vec<Turn<'_>>, AnthropicRefusal> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if role != "user" && role != "assistant" {
            return Err(invalid(format!(
                "messages: Unexpected role \"{role}\". The Messages API accepts a top-level \
                 `system` parameter, not \"system\" as an input message role."
            )));
        }
        let blocks = match &message["content"] {
            Value::String(text) => vec![json!({ "type": "text", "text": text })],
            Value::Array(blocks) => blocks.clone(),
            _ => return Err(invalid(format!("messages.{place}.content: Field required"))),
        };
        let is_prefill = role == "assistant" && place + 1 == messages.len();
        if blocks.is_empty() && !is_prefill {
            return Err(invalid(format!(
                "messages.{place}: all messages must have non-empty content except for the \
                 optional final assistant message"
            )));
        }
        match turns.last_mut() {
            Some(turn) if turn.role == role => turn.blocks.extend(blocks),
            _ => turns.push(Turn { role, blocks }),
        }
    }
    Ok(turns)
}

fn ids<'t>(blocks: &'t [Value], kind: &'t str, id: &'t str) -> impl Iterator<Item = &'t str> {
    let blocks = blocks.iter().filter(move |block| block["type"] == kind);
    blocks.filter_map(move |block| block[id].as_str())
}

/// Checks that each call is answered at the beginning of the next message.
fn check_calls<'t>(
    turn: &'t Turn<'_>,
    next: Option<&Turn<'_>>,
    place: usize,
    known: &mut HashSet<&'t str>,
) -> Result<(), AnthropicRefusal> {
    let calls: Vec<&str> = ids(&turn.blocks, "tool_use", "id").collect();
    for call in &calls {
        if !known.insert(call) {
            return Err(invalid(format!("messages.{place}: `tool_use` ids must be unique")));
        }
    }
    let next = next.map_or(&[][..], |next| next.blocks.as_slice());
    let leading = next.iter().take_while(|block| block["type"] == "tool_result").count();
    let answered: HashSet<&str> = ids(&next[..leading], "tool_result", "tool_use_id").collect();
    let open: Vec<&str> = calls.into_iter().filter(|call| !answered.contains(call)).collect();
    if open.is_empty() {
        return Ok(());
    }
    Err(invalid(format!(
        "messages.{place}: `tool_use` ids were found without `tool_result` blocks immediately \
         after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the \
         next message.",
        open.join(", ")
    )))
}

/// Checks that each result belongs to a call of the previous message.
fn check_results(
    turn: &Turn<'_>,
    before: Option<&Turn<'_>>,
    place: usize,
) -> Result<(), AnthropicRefusal> {
    let before = before.map_or(&[][..], |before| before.blocks.as_slice());
    let calls: HashSet<&str> = ids(before, "tool_use", "id").collect();
    let mut answered = HashSet::new();
    for (number, block) in turn.blocks.iter().enumerate() {
        let Some(id) = block["tool_use_id"].as_str() else { continue };
        let here = format!("messages.{place}.content.{number}");
        if !calls.contains(id) {
            return Err(invalid(format!(
                "{here}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each \
                 `tool_result` block must have a corresponding `tool_use` block in the previous \
                 message."
            )));
        }
        if !answered.insert(id) {
            return Err(invalid(format!(
                "{here}: each tool_use must have a single result. Found multiple `tool_result` \
                 blocks with id: {id}"
            )));
        }
    }
    Ok(())
}

/// Checks that the first answer since the last question begins with a thought. Answers after the
/// first results may omit it.
fn check_loop(turns: &[Turn<'_>]) -> Result<(), AnthropicRefusal> {
    let begins = |turn: &Turn<'_>| {
        turn.role == "user" && ids(&turn.blocks, "tool_result", "tool_use_id").next().is_none()
    };
    let Some(asked) = turns.iter().rposition(begins) else { return Ok(()) };
    let Some(answer) = turns.get(asked + 1) else { return Ok(()) };
    match answer.blocks.first().and_then(|block| block["type"].as_str()) {
        None | Some("thinking" | "redacted_thinking") => Ok(()),
        Some(found) => Err(invalid(format!(
            "messages.{}.content.0.type: Expected `thinking` or `redacted_thinking`, but found \
             `{found}`. When `thinking` is enabled, a final `assistant` message must start with a \
             thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). \
             We recommend you include thinking blocks from previous turns. To avoid this \
             requirement, disable `thinking`.",
            asked + 1
        ))),
    }
}

fn check_end(turns: &[Turn<'_>]) -> Result<(), AnthropicRefusal> {
    let last = turns.last().filter(|turn| turn.role == "assistant");
    let text = last.and_then(|turn| turn.blocks.last()?["text"].as_str()).unwrap_or_default();
    if text.ends_with(char::is_whitespace) {
        let message = "messages: final assistant content cannot end with trailing whitespace";
        return Err(invalid(message));
    }
    Ok(())
}
