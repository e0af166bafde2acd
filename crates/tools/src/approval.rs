//! The approval prompts that a person sees. Each shows the call itself, and all other words in it
//! come from this program.

use std::time::Duration;

use avocet_protocol::access::Grant;
use avocet_protocol::chat::notices::{self, readers};
use avocet_protocol::chat::{Choice, Content, WAIT};
use avocet_protocol::ids::ToolName;
use avocet_protocol::tool::{Question, WaitKind, WaitRequest};
use avocet_sandbox::digest_bytes;
use avocet_text::{MixedWord, escape_invisible, find_mixed_words};
use serde_json::{Map, Value};

use crate::policy::READ;
use crate::session_grants::{CallGrant, GrantKind, NamedArgument, is_of_file, listable_arguments};

/// Characters of a question that are shown at once.
const SHOWN: usize = 2500;
/// Characters of the changes of a conversation that are shown at once.
const SHOWN_CHANGES: usize = 12_000;
/// The text between the count of omitted characters and the digest of the whole text.
const MORE: &str = " more characters; SHA-256 of all: ";
/// Words with letters of several scripts that are pointed out.
const MIXED_WORDS: usize = 5;
/// Characters of the session grant's scope that a person is shown.
const SCOPE: usize = 60;
/// Arguments that are named because no approval covers them.
const NEW_ARGUMENTS: usize = 5;

/// Labels of the button that allows later calls, too.
const FOR_SESSION: &str = "Allow for this session";
const TRUST_FILE: &str = "Allow and trust this file";

/// The reason of an approval prompt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AskReason<'r> {
    /// Follows "I ask because".
    pub(crate) why: &'r str,
    /// The arguments that an approval for the session does not cover. They depend on the other approvals
    /// of the session, so the digest of the question is without them.
    pub(crate) new: &'r [NamedArgument],
}

/// The approval prompt for a call. `shown` is the call as its tool displays it, and `grant` is the
/// permission for the whole session, if the tool offers one.
pub(crate) fn of_call(
    tool: &ToolName,
    shown: &str,
    reason: AskReason<'_>,
    grant: Option<&CallGrant>,
    expires_after: Duration,
) -> WaitRequest {
    let AskReason { why, new } = reason;
    let more = grant.map(|grant| describe_grant(tool, grant));
    let shown = named_nowhere(shown);
    let covers = more.as_ref().map(|(_, covers)| format!("\n\n{covers}")).unwrap_or_default();
    let head = format!("**May I use `{tool}`?** I ask because {why}.");
    let call = format!("\n\n{shown}{}{covers}", describe_mixed_words(&shown));
    let mut choices = vec![make_choice("Allow once", "/approve {wait}")];
    if let Some((label, _)) = more {
        choices.push(make_choice(label, "/approve {wait} session"));
    }
    choices.push(make_choice("Deny", "/deny {wait}"));
    let prompt = |text| notices::Approval.for_reader(readers::DECIDERS, text);
    let offered = grant.map(|grant| grant.offered.clone());
    let text = with_way_to_all(format!("{head}{call}"));
    let mut request = approval_request(prompt, text, choices, offered, expires_after);
    if let Some(prompt) = request.prompt.as_mut().filter(|_| !new.is_empty()) {
        prompt.text.insert_str(head.len(), &describe_new_arguments(new));
    }
    request
}

/// The label of the button for the session, and the sentence that tells what it covers.
fn describe_grant(tool: &ToolName, grant: &CallGrant) -> (&'static str, String) {
    let scope = &grant.offered.scope;
    match &grant.kind {
        GrantKind::Scope if is_of_file(tool) => (
            TRUST_FILE,
            format!("Trust in {} covers later changes in this session.", one_line(scope)),
        ),
        GrantKind::Scope => {
            (FOR_SESSION, format!("“For this session” covers {tool}: {}.", one_line(scope)))
        }
        GrantKind::Shape { .. } => (
            FOR_SESSION,
            format!(
                "“For this session” covers {} with other arguments, inside the sandbox and without \
                    a network.",
                one_line(scope)
            ),
        ),
        GrantKind::Arguments(named) => {
            let listed: Vec<String> =
                listable_arguments(named).map(|one| one_line(&one.to_line())).collect();
            let rest = match named.len() - listed.len() {
                0 => "",
                _ => " The rest of this call is asked about each time.",
            };
            let here = match &listed[..] {
                [] => String::new(),
                listed => format!(" (here {})", listed.join(", ")),
            };
            let covers = format!(
                "“For this session” covers every {tool} until I read words of strangers. After \
                    that, texts and dates may differ, but each name, address and number must be \
                    one that you have allowed{here} or that a person has typed in this chat.{rest}"
            );
            (FOR_SESSION, covers)
        }
    }
}

/// Names the arguments that an approval for the session does not cover.
fn describe_new_arguments(new: &[NamedArgument]) -> String {
    let named: Vec<String> = new
        .iter()
        .take(NEW_ARGUMENTS)
        .map(|one| one_line(&escape_invisible(&one.to_line())))
        .collect();
    let rest = match new.len().saturating_sub(NEW_ARGUMENTS) {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    let was = if new.len() == 1 { "was" } else { "were" };
    format!(
        " You have allowed this tool for the session, but {}{rest} {was} not in what you allowed.",
        named.join(", ")
    )
}

/// The approval prompt for an answer that is withheld because it may leak data. `fetched` is shown
/// behind the answer.
pub(crate) fn of_answer(
    text: &str,
    leaks: &str,
    fetched: &str,
    expires_after: Duration,
) -> WaitRequest {
    let text = format!(
        "**I am withholding an answer.** I have read untrusted content, and the answer would carry \
            {}:\n\n{}{}{}",
        leaks,
        named_nowhere(&fence_text(text, "")),
        describe_mixed_words(text),
        named_nowhere(fetched)
    );
    let choices =
        vec![make_choice("Say it", "/approve {wait}"), make_choice("Do not", "/deny {wait}")];
    let prompt = |text| notices::Withheld.for_reader(readers::DECIDERS, text);
    approval_request(prompt, with_way_to_all(text), choices, None, expires_after)
}

/// The approval prompt for the changes of a conversation. `named` lists the changed paths, and `diff`
/// shows the changes as a whole. With `trusted`, a person can also trust these files.
pub(crate) fn of_changes(
    named: &str,
    diff: &str,
    trusted: Option<Grant>,
    expires_after: Duration,
) -> WaitRequest {
    let diff = fence_beginning(diff, "diff", SHOWN_CHANGES);
    let rest = if diff.contains(MORE) { "\n\nThe files have the rest." } else { "" };
    let shown = named_nowhere(&format!("{named}\n\n{diff}{rest}"));
    let covers = match &trusted {
        Some(_) => {
            "\n\n“Keep and trust” removes the mark, and covers later changes of these files \
            in this session."
        }
        None => "",
    };
    let text = format!(
        "**Shall I keep these changes?** I ask because {READ}. The changes are in the sandbox, and \
            marked as untrusted.\n\n{shown}{}{covers}\n\n“Undo” restores every file as it was. \
            Without an answer the changes stay, with their mark.",
        describe_mixed_words(&shown),
    );
    let mut choices = vec![make_choice("Keep", "/approve {wait}")];
    if trusted.is_some() {
        choices.push(make_choice("Keep and trust", "/approve {wait} session"));
    }
    choices.push(make_choice("Undo", "/deny {wait}"));
    let prompt = |text| notices::Approval.for_reader(readers::DECIDERS, text);
    approval_request(prompt, text, choices, trusted, expires_after)
}

/// The prompt for a call that was interrupted with an unknown outcome.
pub(crate) fn of_interruption(name: &str, shown: &str) -> Content {
    let shown = named_nowhere(shown);
    let text = format!(
        "I was interrupted while running `{name}` and do not know whether it took \
            effect.\n\n{shown}"
    );
    let choices =
        vec![make_choice("Run it again", "/retry {wait}"), make_choice("Skip it", "/skip {wait}")];
    Content { choices, ..notices::Interrupted.for_reader(readers::DECIDERS, text) }
}

/// Points out the words of a call whose letters look like those of another script. Empty if there are
/// none.
fn describe_mixed_words(shown: &str) -> String {
    let mixed = find_mixed_words(shown).take(MIXED_WORDS);
    let lines = mixed.map(|MixedWord { word, scripts: [first, second] }| {
        format!("\n\nLook closely: {} mixes {first} and {second} letters.", one_line(&word))
    });
    lines.collect()
}

/// Puts a zero-width space into each [`WAIT`] of a call's own text, so that it is not replaced by
/// the wait's id.
fn named_nowhere(shown: &str) -> String {
    shown.replace(WAIT, "{\u{200b}wait}")
}

/// Says where the arguments are that a question has cut.
fn with_way_to_all(mut text: String) -> String {
    if text.contains(MORE) {
        text.push_str("\n\n`avocet approvals` shows the exact arguments.");
    }
    text
}

fn approval_request(
    notice: fn(String) -> Content,
    text: String,
    choices: Vec<Choice>,
    grant: Option<Grant>,
    expires_after: Duration,
) -> WaitRequest {
    let shown = Some(digest_bytes(text.as_bytes()));
    let prompt = Some(Box::new(Content { choices, ..notice(text) }));
    let (kind, writes) = (WaitKind::Approval, Vec::new());
    WaitRequest { kind, prompt, expires_after, writes, grant, shown, remark: None }
}

fn make_choice(label: &str, says: &str) -> Choice {
    Choice { label: label.to_owned(), says: says.to_owned() }
}

/// The default question for tools without their own: the arguments, one per line.
pub(crate) fn plain_question(arguments: &Map<String, Value>) -> Question {
    let lines = arguments.iter().map(|(name, value)| match value {
        Value::String(text) => format!("{name}: {text}"),
        other => format!("{name}: {other}"),
    });
    let lines: Vec<String> = lines.collect();
    Question { shown: fence_text(&lines.join("\n"), ""), scope: String::new(), shape: None }
}

/// Puts a text into a code block that the text cannot close. A long text is cut, with a note.
pub(crate) fn fence_text(text: &str, language: &str) -> String {
    fence_beginning(text, language, SHOWN)
}

/// Like [`fence_text`], with the greatest number of characters.
fn fence_beginning(text: &str, language: &str, most: usize) -> String {
    let text = escape_invisible(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let shown: String = text.chars().take(most).collect();
    let rest = text.chars().count().saturating_sub(most);
    let cut = match rest {
        0 => String::new(),
        // The digest covers the whole text, so the approval also binds the part that is hidden.
        rest => format!("\n({rest}{MORE}{})", &digest_bytes(text.as_bytes())[..32]),
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
