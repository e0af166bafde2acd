//! What an approval for the session covers.
//!
//! | The call | Its approval covers |
//! |---|---|
//! | changes one file | changes of the same file by any tool for files |
//! | is a command with a shape, in the sandbox and without a network | commands of the same shape |
//! | has another scope: a command, a host, a chat | calls with the same scope |
//! | has no scope, like all tools of MCP servers | all calls while nothing untrusted was read; after that, see below |
//!
//! **After untrusted text**, somebody else may have chosen the arguments. So a call without a scope is
//! covered only if each name, address and number in it was in a call that a person has allowed for the
//! session, or was typed by a person. Texts and dates may differ: a new text to the same person is what
//! the approval is for. An argument is a text by its name, since the author of a value could make any
//! value look like a text.
//!
//! **The scope of such an approval** has these arguments, one `name: value` in each line. An approval
//! of an earlier version has no lines, so after untrusted text it covers only calls without such
//! arguments.

use std::sync::LazyLock;

use avocet_protocol::access::Grant;
use avocet_protocol::ids::ToolName;
use avocet_protocol::tool::{Question, ToolContext};
use avocet_text::Redactor;
use regex::Regex;
use serde_json::{Map, Value};

/// The name in the grant of a review, whose scope lists files.
pub(crate) const REVIEW: &str = "review_changes";
/// The name in a grant whose scope is the shape of a command.
const COMMAND_SHAPE: &str = "exec_shell_shape";

/// The last words of the names of arguments that are texts.
const TEXTS: [&str; 27] = [
    "answer",
    "body",
    "caption",
    "comment",
    "comments",
    "content",
    "contents",
    "description",
    "details",
    "html",
    "markdown",
    "memo",
    "message",
    "note",
    "notes",
    "prompt",
    "query",
    "question",
    "reason",
    "remark",
    "search",
    "snippet",
    "subject",
    "summary",
    "text",
    "texts",
    "title",
];
/// The longest value in a scope, in characters.
const LONGEST_VALUE: usize = 200;
/// Arguments in a scope.
const MOST_ARGUMENTS: usize = 20;

/// A day, with or without a time.
static DATE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let time = r"[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?";
    Regex::new(&format!(r"^\d{{4}}-\d{{2}}-\d{{2}}({time})?$")).ok()
});

/// The approval for the session that a call can get.
#[derive(Debug, Clone)]
pub(crate) struct CallGrant {
    /// The grant that a person gives with "For this session".
    pub(crate) offered: Grant,
    pub(crate) kind: GrantKind,
}

/// What decides if a grant covers a call.
#[derive(Debug, Clone)]
pub(crate) enum GrantKind {
    /// The scope.
    Scope,
    /// The shape of a command, or the whole command.
    Shape {
        /// The grant for the whole command.
        exact: Grant,
    },
    /// The arguments that name somebody or something, after untrusted text.
    Arguments(Vec<NamedArgument>),
}

/// An argument that names somebody or something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedArgument {
    /// The name, for a nested argument with those above it.
    name: String,
    value: String,
    /// `false` if a scope cannot have it: it is long, has line breaks, or is a secret.
    is_listable: bool,
}

/// The answer to whether the grants of a session cover a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GrantCoverage {
    /// They do.
    Covered,
    /// They cover commands of this shape. Changes of files are reviewed nevertheless.
    CoveredByShape,
    /// A grant of the tool covers the call except for these arguments.
    NewArguments(Vec<NamedArgument>),
    /// They do not.
    Uncovered,
}

/// Returns `true` for a tool that changes one file, whose grant covers that file.
pub(crate) fn is_of_file(tool: &ToolName) -> bool {
    ["edit_file", "write_file"].contains(&tool.as_str())
}

impl CallGrant {
    /// Returns the grant for a call with this question and these arguments.
    pub(crate) fn new(
        tool: &ToolName,
        question: &Question,
        arguments: &Map<String, Value>,
        redactor: &Redactor,
    ) -> Self {
        let Question { scope, shape, .. } = question;
        let exact = Grant { tool: tool.clone(), scope: scope.clone() };
        if let (Some(shape), Ok(tool)) = (shape, ToolName::parse(COMMAND_SHAPE)) {
            let offered = Grant { tool, scope: shape.clone() };
            return Self { offered, kind: GrantKind::Shape { exact } };
        }
        if !scope.is_empty() || is_of_file(tool) {
            return Self { offered: exact, kind: GrantKind::Scope };
        }
        let mut named = Vec::new();
        for (name, value) in arguments {
            collect_named_arguments(name, value, redactor, &mut named);
        }
        let lines: Vec<String> = listable_arguments(&named).map(NamedArgument::to_line).collect();
        let offered = Grant { scope: lines.join("\n"), ..exact };
        Self { offered, kind: GrantKind::Arguments(named) }
    }

    /// Returns if the grants of the session cover the call.
    pub(crate) fn check_coverage(&self, context: &ToolContext) -> GrantCoverage {
        let grants = &context.grants;
        let is_covered = match &self.kind {
            GrantKind::Scope => is_covered(&self.offered, grants),
            GrantKind::Shape { exact } if is_covered(exact, grants) => true,
            GrantKind::Shape { .. } if grants.contains(&self.offered) => {
                return GrantCoverage::CoveredByShape;
            }
            GrantKind::Shape { .. } => false,
            GrantKind::Arguments(named) => return self.check_arguments(named, context),
        };
        if is_covered { GrantCoverage::Covered } else { GrantCoverage::Uncovered }
    }

    fn check_arguments(&self, named: &[NamedArgument], context: &ToolContext) -> GrantCoverage {
        let of_tool = context.grants.iter().filter(|grant| grant.tool == self.offered.tool);
        let scopes: Vec<&str> = of_tool.map(|grant| grant.scope.as_str()).collect();
        if scopes.is_empty() {
            return GrantCoverage::Uncovered;
        }
        if context.trust.suffices_for(context.role) {
            return GrantCoverage::Covered;
        }
        let is_allowed = |one: &NamedArgument| {
            let line = one.to_line();
            one.is_listable && scopes.iter().any(|scope| scope.lines().any(|known| known == line))
        };
        let is_typed = |one: &NamedArgument| {
            context.seen.people.iter().any(|text| has_whole(text, &one.value))
        };
        let new = named.iter().filter(|one| !is_allowed(one) && !is_typed(one));
        let new: Vec<NamedArgument> = new.cloned().collect();
        if new.is_empty() { GrantCoverage::Covered } else { GrantCoverage::NewArguments(new) }
    }
}

impl NamedArgument {
    /// The line of the argument in a scope, and for a person.
    pub(crate) fn to_line(&self) -> String {
        format!("{}: {}", self.name, self.value)
    }
}

/// Returns the arguments that a scope has.
pub(crate) fn listable_arguments(named: &[NamedArgument]) -> impl Iterator<Item = &NamedArgument> {
    named.iter().filter(|one| one.is_listable).take(MOST_ARGUMENTS)
}

/// Returns `true` if a grant covers a call with this grant. A trusted file may be changed by each tool
/// that changes one file.
fn is_covered(wanted: &Grant, grants: &[Grant]) -> bool {
    let is_same_file = |grant: &Grant| {
        let is_of_files = is_of_file(&grant.tool) && is_of_file(&wanted.tool);
        is_of_files && !grant.scope.is_empty() && grant.scope == wanted.scope
    };
    let is_reviewed = |grant: &Grant| {
        let is_review = grant.tool.as_str() == REVIEW && is_of_file(&wanted.tool);
        is_review && grant.scope.lines().any(|file| file == wanted.scope)
    };
    grants.iter().any(|grant| grant == wanted || is_same_file(grant) || is_reviewed(grant))
}

/// Collects the arguments of a call that name somebody or something: all but texts, dates and empty
/// values.
fn collect_named_arguments(
    name: &str,
    value: &Value,
    redactor: &Redactor,
    named: &mut Vec<NamedArgument>,
) {
    let value = match value {
        Value::Null => return,
        Value::Array(values) => {
            for one in values {
                collect_named_arguments(name, one, redactor, named);
            }
            return;
        }
        Value::Object(fields) => {
            for (field, one) in fields {
                collect_named_arguments(&format!("{name}.{field}"), one, redactor, named);
            }
            return;
        }
        Value::String(text) if is_text(name) || is_date(text.trim()) => return,
        Value::String(text) => text.trim().to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    };
    let name = name.to_owned();
    let line = format!("{name}: {value}");
    let is_listable = value.chars().count() <= LONGEST_VALUE
        && !line.contains(char::is_control)
        && redactor.redact(&line) == line;
    let argument = NamedArgument { name, value, is_listable };
    if !argument.value.is_empty() && !named.contains(&argument) {
        named.push(argument);
    }
}

/// Returns `true` for the name of a text, by its last word: `body`, `email_body`, `emailBody`.
fn is_text(name: &str) -> bool {
    let last = name.rsplit(['.', '_', '-', ' ']).next().unwrap_or_default();
    let start = last.rfind(|c: char| c.is_ascii_uppercase()).unwrap_or_default();
    let is_listed = |word: &str| TEXTS.contains(&word.to_ascii_lowercase().as_str());
    is_listed(last) || is_listed(&last[start..])
}

fn is_date(value: &str) -> bool {
    DATE.as_ref().is_some_and(|date| date.is_match(value))
}

/// Returns `true` if a text has a value as a whole, not as a part of a longer name, address or number.
fn has_whole(text: &str, value: &str) -> bool {
    let (text, value) = (text.to_ascii_lowercase(), value.to_ascii_lowercase());
    let is_part = |c: char| c.is_alphanumeric() || "-_@/+.:".contains(c);
    let goes_on = |rest: &str| {
        // A mark at the end belongs to the sentence.
        rest.trim_start_matches(['.', ':']).starts_with(|c: char| is_part(c))
    };
    let mut found = text.match_indices(&value);
    found.any(|(at, found)| !text[..at].ends_with(is_part) && !goes_on(&text[at + found.len()..]))
}

#[cfg(test)]
#[path = "session_grants_tests.rs"]
mod tests;
