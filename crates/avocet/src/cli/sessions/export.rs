//! A whole conversation as Markdown.

use avocet_protocol::chat::{LoggedInbound, SessionId};
use avocet_protocol::turn::{LoggedCall, Origin, TurnRecord};
use jiff::tz::TimeZone;
use serde_json::Value;

use super::{push_line, sender_name};
use crate::output::format_moment;

/// Formats a whole conversation. Code blocks hold arguments and results, which may be Markdown
/// themselves.
pub(super) fn session_markdown(
    session: &SessionId,
    turns: &[TurnRecord],
    zone: &TimeZone,
) -> String {
    let mut text = format!("# {session}\n");
    for turn in turns {
        let (id, began, state) =
            (turn.id, format_moment(turn.started_at, zone), turn.state.as_str());
        push_line(&mut text, &format!("\n## {id}, {began}, {state}"));
        match &turn.origin {
            Origin::Messages(messages) => {
                messages.iter().for_each(|one| quote_message(&mut text, one));
            }
            Origin::Child { parent, prompt, .. } => {
                push_quote(&mut text, &parent.to_string(), prompt);
            }
        }
        for step in &turn.steps {
            if !step.text.is_empty() {
                push_quote(&mut text, "avocet", &step.text);
            }
            step.calls.iter().for_each(|call| quote_call(&mut text, call));
            step.steered.iter().for_each(|one| quote_message(&mut text, one));
        }
        if let Some(notice) = &turn.notice {
            push_quote(&mut text, "notice", notice);
        }
    }
    text
}

fn quote_message(text: &mut String, message: &LoggedInbound) {
    push_quote(text, &format!("{} {}", message.id, sender_name(message)), &message.model_text());
}

fn push_quote(text: &mut String, who: &str, what: &str) {
    push_line(text, &format!("\n**{who}:**\n\n{what}"));
}

fn quote_call(text: &mut String, call: &LoggedCall) {
    let arguments = Value::Object(call.call.arguments.to_object());
    push_line(
        text,
        &format!(
            "\n**{} {}**\n\n{}",
            call.id,
            call.call.name,
            code_block(&pretty_json(&arguments))
        ),
    );
    match call.result() {
        Some(result) => {
            let value =
                result.value.as_str().map_or_else(|| pretty_json(&result.value), str::to_owned);
            let title = if result.ok { "Result" } else { "Error" };
            push_line(text, &format!("\n{title}:\n\n{}", code_block(&value)));
        }
        None => push_line(text, "\nIt has no result."),
    }
}

fn pretty_json(value: &Value) -> String {
    format!("{value:#}")
}

/// Puts a text into a code block whose fence is longer than every row of backticks in it.
fn code_block(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_has_a_fence_that_is_longer_than_those_in_the_text() {
        for (text, expected) in [
            ("a\n", "```\na\n```"),
            ("`a`", "```\n`a`\n```"),
            ("```\na\n```", "````\n```\na\n```\n````"),
            ("x ````` y", "``````\nx ````` y\n``````"),
        ] {
            assert_eq!(code_block(text), expected);
        }
    }
}
