//! The configuration of a git repository: finds the entries that make git run something, and writes
//! the configuration without them. git-config(1) describes the syntax.

use std::iter::Peekable;
use std::path::{Component, Path};
use std::str::Chars;

use avocet_text::append_line;

use super::harmless::is_listed;

/// One entry. Section and name are in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigEntry {
    pub(crate) section: String,
    pub(crate) subsection: Option<String>,
    pub(crate) name: String,
    /// `None` for a name without `=`, which means true.
    pub(crate) value: Option<String>,
}

impl ConfigEntry {
    /// Returns the value if section and name fit; the subsection may be any.
    pub(crate) fn value_of(&self, section: &str, name: &str) -> Option<&str> {
        let is_it = self.section == section && self.name == name;
        self.value.as_deref().filter(|_| is_it)
    }

    /// Returns `false` if the entry may make git run a program, read another configuration, or
    /// write elsewhere. `git_dir` is the path of the repository's git directory, relative to the
    /// directory that git must not leave.
    pub(crate) fn is_harmless(&self, git_dir: &Path) -> bool {
        let Self { section, subsection, name, value } = self;
        let value = value.as_deref().unwrap_or_default();
        match (section.as_str(), subsection.is_some(), name.as_str()) {
            // Submodules have this key. A path that leads elsewhere could make a checkout overwrite
            // other files.
            ("core", false, "worktree") => stays_below(git_dir, value),
            ("remote", true, "url" | "pushurl") | ("submodule", true, "url") => !runs_helper(value),
            ("submodule", true, "update") => {
                matches!(value, "checkout" | "merge" | "none" | "rebase")
            }
            (section, has_subsection, name) => is_listed(section, has_subsection, name),
        }
    }

    /// Returns the key in the usual notation, with dots.
    pub(crate) fn dotted_key(&self) -> String {
        let Self { section, subsection, name, .. } = self;
        match subsection {
            Some(subsection) => format!("{section}.{subsection}.{name}"),
            None => format!("{section}.{name}"),
        }
    }
}

/// Returns `true` if `path`, relative to `directory`, stays below the place from which `directory`
/// is named.
fn stays_below(directory: &Path, path: &str) -> bool {
    let mut depth = directory.components().count();
    Path::new(path).components().all(|component| match component {
        Component::ParentDir => depth.checked_sub(1).map(|less| depth = less).is_some(),
        Component::Normal(_) => {
            depth += 1;
            true
        }
        Component::CurDir => true,
        Component::RootDir | Component::Prefix(_) => false,
    })
}

/// Returns `true` if git runs a program to reach this URL, such as `git-remote-ext` for `ext::sh -c
/// ...`.
fn runs_helper(url: &str) -> bool {
    url.split_once("::")
        .is_some_and(|(helper, _)| helper.chars().all(|c| c.is_ascii_alphanumeric()))
}

/// Parses the entries of a configuration, in their order. Returns `None` if git would refuse it.
pub(crate) fn parse_config(text: &str) -> Option<Vec<ConfigEntry>> {
    let mut reader =
        ConfigReader { rest: text.strip_prefix('\u{feff}').unwrap_or(text).chars().peekable() };
    let (mut entries, mut section) = (Vec::new(), None);
    while let Some(next) = reader.peek() {
        match next {
            '#' | ';' => reader.skip_line(),
            next if is_space(next) => drop(reader.next()),
            '[' => section = Some(reader.read_header()?),
            _ => {
                let (section, subsection): &(String, Option<String>) = section.as_ref()?;
                let (name, value) = reader.read_entry()?;
                let (section, subsection) = (section.clone(), subsection.clone());
                entries.push(ConfigEntry { section, subsection, name, value });
            }
        }
    }
    Some(entries)
}

/// Returns `true` for a character that git takes for a space.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

struct ConfigReader<'t> {
    rest: Peekable<Chars<'t>>,
}

impl ConfigReader<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest.peek().copied()
    }

    /// Reads a character. Skips a carriage return before the end of a line.
    fn next(&mut self) -> Option<char> {
        match self.rest.next() {
            Some('\r') if self.peek() == Some('\n') => self.rest.next(),
            next => next,
        }
    }

    fn skip_line(&mut self) {
        while !matches!(self.next(), None | Some('\n')) {}
    }

    /// Reads `[section]`, `[section "subsection"]`, or the old form `[section.subsection]`.
    fn read_header(&mut self) -> Option<(String, Option<String>)> {
        self.next();
        let mut section = String::new();
        loop {
            match self.next()? {
                ']' => break,
                '\n' => return None,
                next if is_space(next) => return Some((section, Some(self.read_subsection()?))),
                next if next.is_ascii_alphanumeric() || matches!(next, '-' | '.') => {
                    section.push(next.to_ascii_lowercase());
                }
                _ => return None,
            }
        }
        let split =
            section.split_once('.').map(|(one, two)| (one.to_owned(), Some(two.to_owned())));
        Some(split.unwrap_or((section, None)))
    }

    fn read_subsection(&mut self) -> Option<String> {
        while self.peek().is_some_and(|next| next != '\n' && is_space(next)) {
            self.next();
        }
        if self.next()? != '"' {
            return None;
        }
        let mut subsection = String::new();
        loop {
            match self.next()? {
                '\n' => return None,
                '"' => break,
                '\\' => match self.next()? {
                    '\n' => return None,
                    next => subsection.push(next),
                },
                next => subsection.push(next),
            }
        }
        (self.next()? == ']').then_some(subsection)
    }

    fn read_entry(&mut self) -> Option<(String, Option<String>)> {
        let mut name = String::new();
        while let Some(next) = self.peek()
            && (next.is_ascii_alphanumeric() || next == '-')
        {
            name.push(next.to_ascii_lowercase());
            self.next();
        }
        if !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
            return None;
        }
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.next();
        }
        match self.next() {
            None | Some('\n') => Some((name, None)),
            Some('=') => Some((name, Some(self.read_value()?))),
            Some(_) => None,
        }
    }

    fn read_value(&mut self) -> Option<String> {
        let (mut value, mut spaces, mut is_quoted) = (String::new(), String::new(), false);
        loop {
            let next = match self.next() {
                None | Some('\n') if is_quoted => return None,
                None | Some('\n') => return Some(value),
                Some(next) => next,
            };
            if is_space(next) && !is_quoted {
                // Spaces count only between other characters.
                if !value.is_empty() {
                    spaces.push(next);
                }
                continue;
            }
            if matches!(next, '#' | ';') && !is_quoted {
                self.skip_line();
                return Some(value);
            }
            value.push_str(&std::mem::take(&mut spaces));
            match next {
                '"' => is_quoted = !is_quoted,
                '\\' => match self.next() {
                    None | Some('\n') => {}
                    Some('t') => value.push('\t'),
                    Some('b') => value.push('\u{8}'),
                    Some('n') => value.push('\n'),
                    Some(next @ ('\\' | '"')) => value.push(next),
                    Some(_) => return None,
                },
                next => value.push(next),
            }
        }
    }
}

/// Returns `true` if each line has the same meaning for every reader: a header, an entry without
/// quotes and escapes, or a comment.
pub(crate) fn is_plain(text: &str) -> bool {
    let name = |text: &str, more: &str| {
        text.starts_with(|first: char| first.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    let is_value = |text: &str| !text.contains(['"', '\\', '#', ';']);
    text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        && text.lines().map(str::trim).all(|line| {
            if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                return match header.split_once(" \"") {
                    None => name(header, "-"),
                    Some((section, rest)) => {
                        name(section, "-")
                            && rest
                                .strip_suffix('"')
                                .is_some_and(|text| is_value(text) && !text.contains(']'))
                    }
                };
            }
            match line.split_once('=') {
                _ if line.is_empty() || line.starts_with(['#', ';']) => true,
                Some((key, value)) => name(key.trim_end(), "-") && is_value(value),
                None => name(line, "-"),
            }
        })
}

/// Writes a configuration with these entries in git's syntax.
pub(crate) fn write_config<'e>(entries: impl Iterator<Item = &'e ConfigEntry>) -> String {
    let (mut text, mut last) = (String::new(), None);
    for ConfigEntry { section, subsection, name, value } in entries {
        if last != Some((section, subsection)) {
            let header = match subsection {
                Some(subsection) => format!("[{section} \"{}\"]", escape_value(subsection)),
                None => format!("[{section}]"),
            };
            append_line(&mut text, format_args!("{header}"));
            last = Some((section, subsection));
        }
        match value {
            Some(value) => {
                let value = escape_value(value)
                    .replace('\n', "\\n")
                    .replace('\t', "\\t")
                    .replace('\u{8}', "\\b");
                append_line(&mut text, format_args!("\t{name} = \"{value}\""));
            }
            None => append_line(&mut text, format_args!("\t{name}")),
        }
    }
    text
}

fn escape_value(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
