//! Reads what a rule of an owner forbids or asks for, without a model.
//!
//! ```text
//! rule       = never WORK                        deny
//!            | never WORK without asking         ask
//!            | [always] ask before WORK          ask
//! never      = "never" | "do not" | "don't" | "must not" | "may not", also after "you"
//! WORK       = words that are all known: verbs, fillers, and at least one target
//! target     = a tool | a class | a path | a host
//! tool       = the name of a tool of ours, or a name with `__`, which may contain `*`
//! class      = mail | messages | files | web | programs | git push | git commit
//! path       = a word with `/`, or with the ending of a file
//! host       = another word with a dot
//! ```
//!
//! **A rule with one unknown word is text only.** In "never send mail to Bob" the word Bob is a
//! condition that no tool can check, and to refuse all mail would be wrong.
//!
//! **Deny is narrow, ask is wide.** "never delete mail" refuses tools of mail whose name says delete;
//! "never delete mail without asking" asks before each tool of mail that does more than read, because
//! one question too many does no harm.

use avocet_protocol::access::Rule;

use crate::builtin::names::BUILT_IN;

/// What a rule enforces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RulePolicy {
    /// Never [`Rule::Allow`].
    pub(crate) rule: Rule,
    pub(crate) targets: Vec<RuleTarget>,
}

/// Calls that a rule concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RuleTarget {
    /// Calls of tools whose name fits the pattern.
    Tool(String),
    /// Calls of tools for mail that do more than read. If words are given, the name of the tool
    /// contains one of them.
    Mail(&'static [&'static str]),
    /// Calls of `git_push` or `git_commit`, and of programs with this subcommand of git.
    Git(&'static str),
    /// Calls that change something at or below a path, or that read it as well.
    Path { path: String, reads: bool },
    /// Calls that contact a host or a name below it.
    Host(String),
}

/// The kinds of work that a rule can speak of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Delete,
    Change,
    Create,
    Read,
    Send,
    Run,
    Contact,
    Push,
    Commit,
}

/// A class of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToolsClass {
    Mail,
    Messages,
    Files,
    Web,
    Programs,
    Git,
}

const VERBS: [(Verb, &[&str]); 9] = [
    (
        Verb::Delete,
        &["delete", "deleting", "remove", "removing", "trash", "trashing", "erase", "erasing"],
    ),
    (
        Verb::Change,
        &[
            "change",
            "changing",
            "edit",
            "editing",
            "modify",
            "modifying",
            "overwrite",
            "overwriting",
            "write",
            "writing",
            "touch",
            "touching",
        ],
    ),
    (Verb::Create, &["create", "creating", "make", "making"]),
    (Verb::Read, &["read", "reading", "open", "opening", "view", "viewing", "show", "showing"]),
    (Verb::Send, &["send", "sending", "forward", "forwarding"]),
    (
        Verb::Run,
        &[
            "run",
            "running",
            "execute",
            "executing",
            "start",
            "starting",
            "use",
            "using",
            "call",
            "calling",
        ],
    ),
    (
        Verb::Contact,
        &[
            "contact",
            "contacting",
            "visit",
            "visiting",
            "fetch",
            "fetching",
            "browse",
            "browsing",
            "search",
            "searching",
            "connect",
            "connecting",
            "access",
            "accessing",
            "download",
            "downloading",
            "upload",
            "uploading",
        ],
    ),
    (Verb::Push, &["push", "pushing"]),
    (Verb::Commit, &["commit", "committing"]),
];

const CLASSES: [(ToolsClass, &[&str]); 6] = [
    (ToolsClass::Mail, &["mail", "mails", "email", "emails", "e-mail", "e-mails"]),
    (ToolsClass::Messages, &["message", "messages"]),
    (ToolsClass::Files, &["file", "files"]),
    (ToolsClass::Web, &["web", "internet", "website", "websites"]),
    (
        ToolsClass::Programs,
        &["program", "programs", "command", "commands", "shell", "script", "scripts"],
    ),
    (ToolsClass::Git, &["git"]),
];

/// Words that change nothing.
const FILLERS: &[&str] = &[
    "a",
    "all",
    "an",
    "any",
    "anything",
    "at",
    "below",
    "by",
    "directories",
    "directory",
    "everything",
    "folder",
    "folders",
    "from",
    "host",
    "i",
    "in",
    "inside",
    "into",
    "it",
    "me",
    "my",
    "of",
    "on",
    "our",
    "pages",
    "page",
    "path",
    "please",
    "server",
    "site",
    "the",
    "this",
    "to",
    "tool",
    "tools",
    "under",
    "up",
    "with",
    "you",
];

/// Phrases behind the work that turn a refusal into a question.
const WITHOUT: [&[&str]; 10] = [
    &["without", "asking"],
    &["without", "approval"],
    &["without", "permission"],
    &["without", "my", "approval"],
    &["without", "my", "permission"],
    &["without", "my", "consent"],
    &["without", "my", "ok"],
    &["unless", "i", "say", "so"],
    &["unless", "i", "agree"],
    &["unless", "i", "approve"],
];

/// Words that may follow [`WITHOUT`].
const BEHIND: [&str; 5] = ["me", "us", "first", "before", "it"];

/// Phrases in front of the work.
const ASK: [&[&str]; 3] = [&["ask"], &["always", "ask"], &["check", "with", "me"]];
const NEVER: [&[&str]; 6] =
    [&["never"], &["do", "not"], &["don't"], &["dont"], &["must", "not"], &["may", "not"]];

/// Endings of files; a word with another ending is a host.
const FILE_ENDINGS: &[&str] = &[
    "bak", "cfg", "conf", "cpp", "css", "csv", "db", "doc", "docx", "env", "gif", "go", "gz",
    "html", "ini", "java", "jpeg", "jpg", "js", "json", "key", "lock", "log", "md", "mp3", "ods",
    "odt", "pdf", "pem", "php", "png", "py", "rb", "rs", "sh", "sql", "svg", "toml", "ts", "txt",
    "xlsx", "xml", "yaml", "yml",
];

/// A word of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RuleWord {
    /// In lower case.
    text: String,
    /// As it was written, for paths.
    exact: String,
    /// `true` between backticks, which name a tool or a path.
    is_quoted: bool,
}

/// Reads a rule. Returns `None` if it is text only.
pub(crate) fn parse_rule(text: &str) -> Option<RulePolicy> {
    let words = split_words(text);
    let (rule, work) = read_modality(&words)?;
    let mut verbs = Vec::new();
    let (mut classes, mut targets): (Vec<ToolsClass>, Vec<RuleTarget>) = Default::default();
    for word in work {
        let plain = word.text.as_str();
        if let Some(target) = read_named(word) {
            targets.push(target);
        } else if word.is_quoted {
            return None;
        } else if let Some(verb) = find_word(&VERBS, plain) {
            verbs.push(verb);
        } else if let Some(class) = find_word(&CLASSES, plain) {
            classes.push(class);
        } else if !FILLERS.contains(&plain) && !["or", "and", "nor"].contains(&plain) {
            return None;
        }
    }
    let reads = verbs.is_empty() || verbs.iter().any(|verb| matches!(verb, Verb::Read | Verb::Run));
    for target in &mut targets {
        if let RuleTarget::Path { reads: also, .. } = target {
            *also = reads;
        }
    }
    // "files in notes/" are those of the path.
    let has_path = targets.iter().any(|target| matches!(target, RuleTarget::Path { .. }));
    let has_host = targets.iter().any(|target| matches!(target, RuleTarget::Host(_)));
    classes.retain(|class| match class {
        ToolsClass::Files => !has_path,
        ToolsClass::Web => !has_host,
        _ => true,
    });
    if classes.is_empty() && verbs.contains(&Verb::Push) {
        classes.push(ToolsClass::Git);
    }
    for class in classes {
        targets.extend(targets_of_class(class, &verbs, rule)?);
    }
    (!targets.is_empty()).then_some(RulePolicy { rule, targets })
}

/// Splits a text into words in lower case, without the punctuation around them.
fn split_words(text: &str) -> Vec<RuleWord> {
    let around =
        |c: char| matches!(c, ',' | ';' | ':' | '!' | '?' | '"' | '\'' | '(' | ')' | '“' | '”');
    let words = text.split_whitespace().map(|word| {
        let word = word.trim_matches(around).trim_end_matches('.').trim_matches(around);
        let inner = word.strip_prefix('`').and_then(|word| word.strip_suffix('`'));
        let exact = inner.unwrap_or(word).replace('\u{2019}', "'");
        RuleWord { text: exact.to_lowercase(), exact, is_quoted: inner.is_some() }
    });
    words.filter(|word| !word.text.is_empty()).collect()
}

/// Returns the decision of a rule, and the words of its work.
fn read_modality(words: &[RuleWord]) -> Option<(Rule, &[RuleWord])> {
    let words = skip_words(words, &["please", "you"]);
    if let Some(rest) = ASK.iter().find_map(|phrase| strip_phrase(words, phrase)) {
        let rest = skip_words(rest, &["me", "us", "first", "for", "approval", "permission"]);
        let (before, work) = rest.split_first()?;
        return (before.text == "before").then_some((Rule::Ask, work));
    }
    let work = NEVER.iter().find_map(|phrase| strip_phrase(words, phrase))?;
    let is_behind = |word: &RuleWord| BEHIND.contains(&word.text.as_str());
    let end = work.iter().rposition(|word| !is_behind(word)).map_or(0, |last| last + 1);
    let asks = WITHOUT.iter().find_map(|phrase| {
        let from = end.checked_sub(phrase.len())?;
        strip_phrase(&work[from..end], phrase).map(|_| &work[..from])
    });
    Some(asks.map_or((Rule::Deny, work), |work| (Rule::Ask, work)))
}

fn skip_words<'w>(words: &'w [RuleWord], skipped: &[&str]) -> &'w [RuleWord] {
    let first = words.iter().position(|word| !skipped.contains(&word.text.as_str()));
    &words[first.unwrap_or(words.len())..]
}

fn strip_phrase<'w>(words: &'w [RuleWord], phrase: &[&str]) -> Option<&'w [RuleWord]> {
    let (head, rest) = words.split_at_checked(phrase.len())?;
    head.iter().zip(phrase).all(|(word, wanted)| word.text == *wanted).then_some(rest)
}

fn find_word<T: Copy>(table: &[(T, &[&str])], word: &str) -> Option<T> {
    table.iter().find(|(_, words)| words.contains(&word)).map(|(found, _)| *found)
}

/// Reads a word that names a tool, a path or a host.
fn read_named(word: &RuleWord) -> Option<RuleTarget> {
    let text = word.text.as_str();
    let is_name = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '*' | '-'));
    if is_name {
        // The name of a tool can be an ordinary word, such as message.
        let is_ours = BUILT_IN.contains(&text) && (word.is_quoted || text.contains('_'));
        let is_outside = text.contains("__") && text.len() > 4;
        return (is_ours || is_outside).then(|| RuleTarget::Tool(text.to_owned()));
    }
    let link = ["https://", "http://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    if let Some(link) = link {
        let host = link.trim_end_matches('/');
        return is_host(host).then(|| RuleTarget::Host(host.to_owned()));
    }
    let ending = text.rsplit_once('.').map(|(_, ending)| ending);
    if text.contains('/') || ending.is_some_and(|ending| FILE_ENDINGS.contains(&ending)) {
        let path = word.exact.trim_start_matches("./").trim_end_matches('/');
        let is_inside = !path.is_empty() && !path.starts_with('~') && !path.contains("..");
        return is_inside.then(|| RuleTarget::Path { path: path.to_owned(), reads: true });
    }
    is_host(text).then(|| RuleTarget::Host(text.to_owned()))
}

fn is_host(text: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    let last = text.rsplit_once('.').map_or("", |(_, last)| last);
    last.len() > 1 && last.chars().all(|c| c.is_ascii_alphabetic()) && text.split('.').all(is_label)
}

/// Returns the tools of a class for these kinds of work; `None` if the class has none.
fn targets_of_class(class: ToolsClass, verbs: &[Verb], rule: Rule) -> Option<Vec<RuleTarget>> {
    let tools = |names: &[&str]| {
        Some(names.iter().map(|name| RuleTarget::Tool((*name).to_owned())).collect())
    };
    let first = verbs.first().copied();
    match (class, first) {
        (ToolsClass::Mail, _) if rule == Rule::Ask => Some(vec![RuleTarget::Mail(&[])]),
        (ToolsClass::Mail, Some(Verb::Delete)) => {
            Some(vec![RuleTarget::Mail(&["delete", "remove", "trash", "erase"])])
        }
        (ToolsClass::Mail, Some(Verb::Send)) => {
            Some(vec![RuleTarget::Mail(&["send", "forward", "reply"])])
        }
        (ToolsClass::Messages, Some(Verb::Send)) => tools(&["message"]),
        (ToolsClass::Files, Some(Verb::Delete)) => tools(&["delete_file"]),
        (ToolsClass::Files, Some(Verb::Change)) => {
            tools(&["apply_patch", "edit_file", "write_file"])
        }
        (ToolsClass::Files, Some(Verb::Create)) => tools(&["apply_patch", "write_file"]),
        (ToolsClass::Web, None | Some(Verb::Contact | Verb::Read | Verb::Run)) => {
            tools(&["web_fetch", "web_search"])
        }
        (ToolsClass::Programs, None | Some(Verb::Run)) => tools(&["exec_shell", "run_tests"]),
        (ToolsClass::Git, Some(Verb::Push)) => Some(vec![RuleTarget::Git("push")]),
        (ToolsClass::Git, Some(Verb::Commit)) => Some(vec![RuleTarget::Git("commit")]),
        (ToolsClass::Git, Some(Verb::Run)) if verbs.contains(&Verb::Push) => {
            Some(vec![RuleTarget::Git("push")])
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "rule_grammar_tests.rs"]
mod tests;
