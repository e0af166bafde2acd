//! Completes commands after `/` and paths of files after `@`.

use std::fs;
use std::path::{Component, Path, PathBuf};

use avocet_protocol::channel::CommandHelp;
use avocet_text::printable;

/// Candidates that are offered at most.
const MOST: usize = 100;

/// A text that can take the place of the word at the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CompletionCandidate {
    pub(crate) text: String,
    /// The purpose of a command; empty for a file.
    pub(crate) help: String,
}

/// The sources of completions.
#[derive(Debug, Default)]
pub struct Completer {
    commands: Vec<CommandHelp>,
    /// The directory of paths after `@`.
    files: Option<PathBuf>,
}

/// Commands of the terminal itself.
pub(crate) const OWN_COMMANDS: [CommandHelp; 5] = [
    CommandHelp::new("quit", "", "leave this chat"),
    CommandHelp::new("resume", "[name]", "open another conversation; all: go on after /stop all"),
    CommandHelp::new("rewind", "[number]", "say an earlier message differently"),
    CommandHelp::new("sessions", "", "list the other conversations"),
    CommandHelp::new("title", "TEXT", "give this conversation a title"),
];

impl Completer {
    /// A completer of these commands, and of paths in this directory.
    #[must_use]
    pub fn new(commands: impl IntoIterator<Item = CommandHelp>, files: Option<PathBuf>) -> Self {
        let mut commands: Vec<_> = OWN_COMMANDS.into_iter().chain(commands).collect();
        commands.sort_by_key(|command| command.name);
        // A command that the daemon has, too, is described as the terminal acts on it.
        commands.dedup_by_key(|command| command.name);
        Self { commands, files }
    }

    /// Returns the start of the word before the cursor and the candidates for it.
    pub(super) fn list_candidates(&self, before: &str) -> (usize, Vec<CompletionCandidate>) {
        let start = before.rfind([' ', '\n']).map_or(0, |at| at + 1);
        let word = &before[start..];
        let found = match word.chars().next() {
            Some('/') if start == 0 => self.commands_with(&word[1..]),
            Some('@') => self.paths_with(&word[1..]),
            _ => Vec::new(),
        };
        (start, found)
    }

    fn commands_with(&self, start: &str) -> Vec<CompletionCandidate> {
        let fits = self.commands.iter().filter(|command| command.name.starts_with(start));
        let candidate = |command: &CommandHelp| CompletionCandidate {
            text: format!("/{}", command.name),
            help: command.help.to_owned(),
        };
        fits.map(candidate).collect()
    }

    /// Lists a directory. Hidden files are offered after a typed dot.
    fn paths_with(&self, path: &str) -> Vec<CompletionCandidate> {
        let Some(root) = &self.files else { return Vec::new() };
        let (directory, start) = path.rsplit_once('/').unwrap_or(("", path));
        let mut parents = Path::new(directory).components();
        if path.starts_with('/') || !parents.all(|one| matches!(one, Component::Normal(_))) {
            return Vec::new();
        }
        let Ok(entries) = fs::read_dir(root.join(directory)) else { return Vec::new() };
        let start = start.to_lowercase();
        let mut found: Vec<CompletionCandidate> = entries
            .filter_map(Result::ok)
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let is_shown = name.starts_with('.') == start.starts_with('.');
                let fits = is_shown && name.to_lowercase().starts_with(&start);
                // A name that cannot be typed cannot be offered.
                let is_typed = printable(&name) == name && !name.contains(char::is_whitespace);
                if !(fits && is_typed) {
                    return None;
                }
                let is_directory = fs::metadata(entry.path()).is_ok_and(|file| file.is_dir());
                let slash = if is_directory { "/" } else { "" };
                let parent =
                    if directory.is_empty() { String::new() } else { format!("{directory}/") };
                let text = format!("@{parent}{name}{slash}");
                Some(CompletionCandidate { text, help: String::new() })
            })
            .collect();
        found.sort_by(|one, other| one.text.cmp(&other.text));
        found.truncate(MOST);
        found
    }
}

/// Returns the longest common beginning of the candidates.
pub(super) fn common_beginning(candidates: &[CompletionCandidate]) -> &str {
    let Some((first, rest)) = candidates.split_first() else { return "" };
    let shared = |text: &str| {
        let pairs = first.text.char_indices().zip(text.chars());
        let end = pairs.take_while(|((_, one), other)| one == other).last();
        end.map_or(0, |((at, c), _)| at + c.len_utf8())
    };
    let end = rest.iter().map(|one| shared(&one.text)).min().unwrap_or(first.text.len());
    &first.text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(completer: &Completer, before: &str) -> Vec<String> {
        completer.list_candidates(before).1.into_iter().map(|one| one.text).collect()
    }

    #[test]
    fn candidates_of_commands_and_files() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir_all(root.join("src")).unwrap();
        for name in ["a.txt", "src/lib.rs", "src/Line.rs", ".hidden", "two words", "b\u{1b}[31m"] {
            fs::write(root.join(name), "").unwrap();
        }
        let help = |name| CommandHelp::new(name, "", "");
        let commands = [help("resume"), help("status"), help("stop")];
        let completer = Completer::new(commands, Some(root.to_owned()));
        let table: [(&str, &[&str]); 11] = [
            ("/", &["/quit", "/resume", "/rewind", "/sessions", "/status", "/stop", "/title"]),
            ("/sto", &["/stop"]),
            ("say /sto", &[]),
            ("read @", &["@a.txt", "@src/"]),
            ("read @src/li", &["@src/Line.rs", "@src/lib.rs"]),
            ("@.", &["@.hidden"]),
            ("@.h", &["@.hidden"]),
            ("@../", &[]),
            ("@/a", &[]),
            ("@/etc/", &[]),
            ("mail@", &[]),
        ];
        for (before, expected) in table {
            assert_eq!(texts(&completer, before), expected, "{before}");
        }
        assert_eq!(completer.list_candidates("read @a").0, 5);
        assert_eq!(common_beginning(&completer.list_candidates("/st").1), "/st");
        assert_eq!(common_beginning(&completer.list_candidates("/sta").1), "/status");
        assert_eq!(common_beginning(&[]), "");
    }
}
