//! The approval prompts that a person sees. Each shows the call itself, and all other words in it
//! come from this program.

use std::time::Duration;

use avocet_protocol::{
    Choice, Content, Grant, Question, ToolName, WAIT, WaitKind, WaitRequest, sanitise,
};
use avocet_sandbox::digest;
use serde_json::{Map, Value};

/// Characters of a question that are shown at once.
const SHOWN: usize = 2500;
/// The text between the count of omitted characters and the digest of the whole text.
const MORE: &str = " more characters; SHA-256 of all: ";
/// Characters of the session grant's scope that a person is shown.
const SCOPE: usize = 60;

/// The approval prompt for a call. `shown` is the call as its tool displays it, and `grant` is the
/// permission for the whole session, if the tool offers one.
pub(crate) fn of_call(
    tool: &ToolName,
    shown: &str,
    why: &str,
    grant: Option<Grant>,
    expires_after: Duration,
) -> WaitRequest {
    let for_session = grant.as_ref().map(|grant| {
        let scope = match grant.scope.as_str() {
            "" => format!("every {tool}"),
            scope => format!("{tool}: {}", one_line(scope)),
        };
        format!(", or for this session ({scope}): /approve {{wait}} session")
    });
    let shown = named_nowhere(shown);
    let text = format!(
        "**May I use `{tool}`?** I ask because {why}.\n\n{shown}\n\n\
         Allow it: /approve {{wait}}{}. Deny it: /deny {{wait}} [why]",
        for_session.unwrap_or_default()
    );
    let mut choices = vec![choice("Allow once", "/approve {wait}")];
    if grant.is_some() {
        choices.push(choice("Allow for this session", "/approve {wait} session"));
    }
    choices.push(choice("Deny", "/deny {wait}"));
    request(text, choices, grant, expires_after)
}

/// The approval prompt for an answer that is withheld because it may leak data.
pub(crate) fn of_answer(text: &str, leaks: &str, expires_after: Duration) -> WaitRequest {
    let text = format!(
        "**I am withholding an answer.** I have read untrusted content, and the answer would carry \
            {}:\n\n{}\n\nSend it: /approve {{wait}}. Do not send it: /deny {{wait}} [why]",
        leaks,
        named_nowhere(&fenced(text, ""))
    );
    let choices = vec![choice("Say it", "/approve {wait}"), choice("Do not", "/deny {wait}")];
    request(text, choices, None, expires_after)
}

/// The prompt for a call that was interrupted with an unknown outcome.
pub(crate) fn of_interruption(name: &str, shown: &str) -> Content {
    let shown = named_nowhere(shown);
    let text = format!(
        "I was interrupted while running `{name}` and do not know whether it took \
            effect.\n\n{shown}\n\nRun it again: /retry {{wait}}. Continue without it: /skip \
            {{wait}}"
    );
    let choices = vec![choice("Run it again", "/retry {wait}"), choice("Skip it", "/skip {wait}")];
    Content { choices, ..Content::text(text) }
}

/// Puts a zero-width space into each [`WAIT`] of a call's own text, so that it is not replaced by
/// the wait's id.
fn named_nowhere(shown: &str) -> String {
    shown.replace(WAIT, "{\u{200b}wait}")
}

fn request(
    mut text: String,
    choices: Vec<Choice>,
    grant: Option<Grant>,
    expires_after: Duration,
) -> WaitRequest {
    if text.contains(MORE) {
        text.push_str("\n\n`avocet approvals` shows the exact arguments.");
    }
    let shown = Some(digest(text.as_bytes()));
    let prompt = Some(Box::new(Content { choices, ..Content::text(text) }));
    let (kind, writes) = (WaitKind::Approval, Vec::new());
    WaitRequest { kind, prompt, expires_after, writes, grant, shown }
}

fn choice(label: &str, says: &str) -> Choice {
    Choice { label: label.to_owned(), says: says.to_owned() }
}

/// The default question for tools without their own: the arguments, one per line.
pub(crate) fn plain(arguments: &Map<String, Value>) -> Question {
    let lines = arguments.iter().map(|(name, value)| match value {
        Value::String(text) => format!("{name}: {text}"),
        other => format!("{name}: {other}"),
    });
    let lines: Vec<String> = lines.collect();
    Question { shown: fenced(&lines.join("\n"), ""), scope: String::new() }
}

/// Puts a text into a code block that the text cannot close. A long text is cut, with a note.
pub(crate) fn fenced(text: &str, language: &str) -> String {
    let text = sanitise(text).text;
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let shown: String = text.chars().take(SHOWN).collect();
    let rest = text.chars().count().saturating_sub(SHOWN);
    let cut = match rest {
        0 => String::new(),
        // The digest covers the whole text, so the approval also binds the part that is hidden.
        rest => format!("\n({rest}{MORE}{})", &digest(text.as_bytes())[..32]),
    };
    format!("{fence}{language}\n{}\n{fence}{cut}", shown.trim_end_matches('\n'))
}

/// Formats a text as one line in backticks, distinct from our own words. A long text is cut.
pub(crate) fn one_line(text: &str) -> String {
    let mut words = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('`', "'");
    if let Some((at, _)) = words.char_indices().nth(SCOPE) {
        words.truncate(at);
        words.push('…');
    }
    format!("`{}`", named_nowhere(&words))
}

#[cfg(test)]
#[path = "approval_tests.rs"]
mod tests;
