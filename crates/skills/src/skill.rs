//! Reads and checks one `SKILL.md`.

use std::collections::BTreeMap;

use avocet_protocol::sanitise;
use serde::Serialize;

use crate::SkillProblem;
use crate::allowed::{self, AllowedTool};
use crate::front_matter::{self, FrontEntry, FrontValue};

/// The largest `SKILL.md`, in bytes: about 8,000 tokens. A model then gets it whole.
pub const MAX_SKILL_BYTES: usize = 32 * 1024;

const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1024;
const MAX_COMPATIBILITY: usize = 500;

/// The content of a valid `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkillDocument {
    /// The name of the skill and of its folder.
    pub name: String,
    /// The purpose of the skill and when to use it, in one line.
    pub description: String,
    /// The licence of the skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// The programs and the like that the skill needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compatibility: Option<String>,
    /// Further facts.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// The tools that may run while the skill is used; `None` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<AllowedTool>>,
    /// The instructions, in Markdown.
    pub body: String,
}

/// The result of reading a `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedSkill {
    /// The content; `None` if there are problems.
    pub document: Option<SkillDocument>,
    /// The reasons why the skill cannot be used, by line.
    pub problems: Vec<SkillProblem>,
    /// Remarks on parts that have no effect, by line.
    pub notes: Vec<SkillProblem>,
}

impl ParsedSkill {
    /// Reads the `SKILL.md` of the folder `folder`.
    #[must_use]
    pub fn read(folder: &str, bytes: &[u8]) -> Self {
        let mut reader = SkillReader::default();
        let document = reader.document(folder, bytes);
        let SkillReader { mut problems, mut notes } = reader;
        problems.sort_by_key(|problem| problem.line);
        notes.sort_by_key(|note| note.line);
        let document = document.filter(|_| problems.is_empty());
        Self { document, problems, notes }
    }

    /// A `SKILL.md` that cannot be read at all.
    #[must_use]
    pub(crate) fn unreadable(why: &str) -> Self {
        let problems = vec![SkillProblem::new(1, why)];
        Self { document: None, problems, notes: Vec::new() }
    }
}

/// Checks the name of a skill.
///
/// # Errors
/// The problem and its correction.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_of_name) {
        return Err(format!(
            "{name:?} is not a name: 1 to {MAX_NAME} of the characters a-z, 0-9 and -"
        ));
    }
    if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        return Err(format!("{name:?} is not a name: each - stands between letters or digits"));
    }
    Ok(())
}

/// Collects the problems and notes of a file.
#[derive(Debug, Default)]
struct SkillReader {
    problems: Vec<SkillProblem>,
    notes: Vec<SkillProblem>,
}

impl SkillReader {
    fn document(&mut self, folder: &str, bytes: &[u8]) -> Option<SkillDocument> {
        if bytes.len() > MAX_SKILL_BYTES {
            let length = bytes.len();
            return self.fail(1, format!(
                "the file has more than {MAX_SKILL_BYTES} bytes (at least {length}); move parts of \
                    it to other files of the folder"
            ));
        }
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text.strip_prefix('\u{FEFF}').unwrap_or(text),
            Err(error) => {
                let line = lines(&bytes[..error.valid_up_to()]);
                return self.fail(line, "the text is not UTF-8");
            }
        };
        let split = self.noted(front_matter::split(text))?;
        let entries = self.noted(front_matter::parse(split.front_matter))?;
        let mut document = SkillDocument {
            name: folder.to_owned(),
            description: String::new(),
            license: None,
            compatibility: None,
            metadata: BTreeMap::new(),
            allowed_tools: None,
            body: sanitise(split.body).text.trim().to_owned(),
        };
        for (key, is_there) in [
            ("name", entries.iter().any(|entry| entry.key == "name")),
            ("description", entries.iter().any(|entry| entry.key == "description")),
        ] {
            if !is_there {
                self.problem(2, format!("the key `{key}` is missing"));
            }
        }
        for entry in &entries {
            self.entry(folder, entry, &mut document);
        }
        if document.body.is_empty() {
            self.problem(split.body_line, "there are no instructions below the front matter");
        }
        Some(document)
    }

    fn entry(&mut self, folder: &str, entry: &FrontEntry, document: &mut SkillDocument) {
        let FrontEntry { line, key, value } = entry;
        match key.as_str() {
            "name" => self.name(folder, entry),
            "description" => {
                document.description = self.limited(entry, MAX_DESCRIPTION).unwrap_or_default();
            }
            "license" => document.license = self.text(entry),
            "compatibility" => document.compatibility = self.limited(entry, MAX_COMPATIBILITY),
            "metadata" => document.metadata = self.metadata(*line, value),
            "allowed-tools" => document.allowed_tools = self.allowed_tools(*line, value),
            _ => self.note(*line, format!("the key `{key}` is unknown and has no effect")),
        }
    }

    fn name(&mut self, folder: &str, entry: &FrontEntry) {
        let Some(name) = self.text(entry) else { return };
        if let Err(problem) = check_name(&name) {
            self.problem(entry.line, format!("`name`: {problem}"));
        } else if name != folder {
            let text = format!("`name` is {name:?}, and its folder is {folder:?}; make them equal");
            self.problem(entry.line, text);
        }
    }

    fn metadata(&mut self, line: usize, value: &FrontValue) -> BTreeMap<String, String> {
        let FrontValue::Map(entries) = value else {
            self.note(line, "`metadata` has no effect: it is not a map");
            return BTreeMap::new();
        };
        entries.iter().filter_map(|entry| Some((entry.key.clone(), self.text(entry)?))).collect()
    }

    fn allowed_tools(&mut self, line: usize, value: &FrontValue) -> Option<Vec<AllowedTool>> {
        let tools = self.noted(allowed::parse(line, value))?;
        for AllowedTool { name, within } in &tools {
            if let Some(within) = within {
                self.note(line, format!(
                    "`{name}({within})` allows every call of {name}: the part in parentheses has no \
                        effect"
                ));
            }
        }
        Some(tools)
    }

    /// The value as a text in one line, with content, of at most `most` characters.
    fn limited(&mut self, entry: &FrontEntry, most: usize) -> Option<String> {
        let text = self.text(entry)?;
        let (key, count) = (&entry.key, text.chars().count());
        match count {
            0 => self.fail(entry.line, format!("`{key}` is empty")),
            _ if count > most => {
                let text = format!("`{key}` has {count} characters; at most {most}");
                self.fail(entry.line, text)
            }
            _ => Some(text),
        }
    }

    /// The value as a text in one line.
    fn text(&mut self, entry: &FrontEntry) -> Option<String> {
        match &entry.value {
            FrontValue::Text(text) => {
                let text = sanitise(text).text;
                Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
            }
            FrontValue::List(_) | FrontValue::Map(_) => {
                self.fail(entry.line, format!("`{}` must be a text", entry.key))
            }
        }
    }

    fn noted<T>(&mut self, result: Result<T, SkillProblem>) -> Option<T> {
        result.map_err(|problem| self.problems.push(problem)).ok()
    }

    fn fail<T>(&mut self, line: usize, text: impl Into<String>) -> Option<T> {
        self.problem(line, text);
        None
    }

    fn problem(&mut self, line: usize, text: impl Into<String>) {
        self.problems.push(SkillProblem::new(line, text));
    }

    fn note(&mut self, line: usize, text: impl Into<String>) {
        self.notes.push(SkillProblem::new(line, text));
    }
}

/// The number of the last line of a text.
fn lines(bytes: &[u8]) -> usize {
    1 + bytes.iter().filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
#[path = "skill_tests.rs"]
mod tests;
