//! Reads and checks one `SKILL.md`.

use std::collections::{BTreeMap, BTreeSet};

use avocet_text::sanitise;
use serde::Serialize;

use crate::SkillProblem;
use crate::allowed::{self, AllowedTool};
use crate::front_matter::{self, FrontMatter, SplitFile};
use crate::front_yaml::{FrontEntry, FrontValue};

/// The largest `SKILL.md`, in bytes. A model reads a long one in parts.
pub const MAX_SKILL_BYTES: usize = 1024 * 1024;

/// The size from which a remark says that a model reads the instructions in parts.
const LONG_BYTES: usize = 32 * 1024;
const MAX_DESCRIPTION: usize = 1024;
const MAX_COMPATIBILITY: usize = 500;
/// The most remarks about one file.
const MAX_NOTES: usize = 50;

/// The content of a valid `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkillDocument {
    /// The name of the skill and of its folder.
    pub name: String,
    /// The `name` of the file, if it differs. The skill is found by it, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declared_name: Option<String>,
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
    /// Remarks on parts that have no effect or are read in another way, by line.
    pub notes: Vec<SkillProblem>,
}

impl ParsedSkill {
    /// Reads the `SKILL.md` of the folder `folder`.
    #[must_use]
    pub fn read(folder: &str, bytes: &[u8]) -> Self {
        let mut reader = SkillReader::default();
        match reader.read_document(folder, bytes) {
            Ok(document) => {
                reader.notes.sort_by_key(|note| note.line);
                Self { document: Some(document), problems: Vec::new(), notes: reader.notes }
            }
            Err(problem) => Self { document: None, problems: vec![problem], notes: Vec::new() },
        }
    }

    /// A skill that cannot be read at all.
    #[must_use]
    pub(crate) fn new_unreadable(why: &str) -> Self {
        let problems = vec![SkillProblem::new(0, why)];
        Self { document: None, problems, notes: Vec::new() }
    }
}

/// Checks the name of a skill's folder. It stands in one line of the list for a model.
///
/// # Errors
/// The problem and its correction.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_path = name.is_empty() || [".", ".."].contains(&name) || name.contains('/');
    if is_path {
        return Err(format!("{name:?} is not a name: write the name of a folder"));
    }
    if name.contains('\u{FFFD}') {
        return Err(format!("{name:?} is not a name: it is not text (UTF-8); rename the folder"));
    }
    if sanitise(name).text != name || name.contains(['\n', '\r', '\t']) {
        return Err(format!(
            "{name:?} is not a name: it has invisible characters; rename the folder"
        ));
    }
    Ok(())
}

/// Collects the notes of a file.
#[derive(Debug, Default)]
struct SkillReader {
    notes: Vec<SkillProblem>,
}

impl SkillReader {
    fn read_document(&mut self, folder: &str, bytes: &[u8]) -> Result<SkillDocument, SkillProblem> {
        if bytes.len() > MAX_SKILL_BYTES {
            return Err(SkillProblem::new(
                1,
                format!(
                    "the file has more than {MAX_SKILL_BYTES} bytes; move parts of it to other files of \
                    the folder"
                ),
            ));
        }
        let text = self.decode_text(bytes)?;
        let SplitFile { front_matter, front_line, body, body_line, note } =
            front_matter::split_front_matter(&text);
        self.notes.extend(note);
        let FrontMatter { entries, notes } =
            front_matter::parse_front_matter(front_matter, front_line);
        self.notes.extend(notes);
        let mut document = SkillDocument {
            name: folder.to_owned(),
            declared_name: None,
            description: String::new(),
            license: None,
            compatibility: None,
            metadata: BTreeMap::new(),
            allowed_tools: None,
            body: sanitise(body).text.trim().to_owned(),
        };
        let mut keys = BTreeSet::new();
        for entry in &entries {
            if !keys.insert(entry.key.as_str()) {
                let text = format!("the key `{}` is there twice; the last one counts", entry.key);
                self.add_note(entry.line, text);
            }
            self.read_entry(entry, &mut document);
        }
        if document.description.is_empty() {
            let paragraph = first_paragraph(&document.body);
            document.description =
                self.shorten_text(body_line, "description", paragraph, MAX_DESCRIPTION);
            self.add_note(
                body_line,
                "there is no `description`; the first paragraph stands for it",
            );
        }
        if document.description.is_empty() {
            let text = "the file has neither a description nor instructions";
            return Err(SkillProblem::new(body_line, text));
        }
        match document.body.len() {
            0 => self.add_note(body_line, "there are no instructions below the front matter"),
            length if length > LONG_BYTES => self.add_note(body_line, format!(
                "the instructions have {length} bytes, so the model reads them in parts; other files \
                    of the folder are read only when they are needed"
            )),
            _ => {}
        }
        Ok(document)
    }

    /// Decodes a file in UTF-8, or in UTF-16 with a byte order mark.
    fn decode_text(&mut self, bytes: &[u8]) -> Result<String, SkillProblem> {
        let units: fn([u8; 2]) -> u16 = match bytes {
            [0xFF, 0xFE, ..] => u16::from_le_bytes,
            [0xFE, 0xFF, ..] => u16::from_be_bytes,
            _ => {
                if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
                    let line = line_at_end(&bytes[..at]);
                    return Err(SkillProblem::new(line, "the file is not text: it has zero bytes"));
                }
                if let Err(error) = std::str::from_utf8(bytes) {
                    let line = line_at_end(&bytes[..error.valid_up_to()]);
                    self.add_note(line, "a character is not UTF-8, and is read as \u{FFFD}");
                }
                let text = String::from_utf8_lossy(bytes);
                return Ok(with_line_feeds(text.strip_prefix('\u{FEFF}').unwrap_or(&text)));
            }
        };
        let units = bytes[2..].chunks_exact(2).map(|pair| units([pair[0], pair[1]]));
        let text = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
        Ok(with_line_feeds(&text.collect::<String>()))
    }

    fn read_entry(&mut self, entry: &FrontEntry, document: &mut SkillDocument) {
        let FrontEntry { line, key, value } = entry;
        let text = one_line(value);
        match key.to_lowercase().replace('_', "-").as_str() {
            "name" if text != document.name && !text.is_empty() => {
                self.add_note(*line, format!(
                    "`name` is {text:?}; the skill has the name of its folder, {:?}, and is found \
                        by both",
                    document.name
                ));
                document.declared_name = Some(text);
            }
            "name" => {}
            "description" => {
                document.description = self.shorten_text(*line, key, text, MAX_DESCRIPTION);
            }
            "license" => document.license = Some(text).filter(|text| !text.is_empty()),
            "compatibility" => {
                let text = self.shorten_text(*line, key, text, MAX_COMPATIBILITY);
                document.compatibility = Some(text).filter(|text| !text.is_empty());
            }
            "metadata" => document.metadata = metadata_texts(value),
            "allowed-tools" | "allowedtools" => {
                document.allowed_tools = self.allowed_tools(*line, value);
            }
            _ => self.add_note(*line, format!("the key `{key}` is unknown and has no effect")),
        }
    }

    fn allowed_tools(&mut self, line: usize, value: &FrontValue) -> Option<Vec<AllowedTool>> {
        let (tools, notes) = allowed::parse_allowed_tools(value);
        notes.into_iter().for_each(|note| self.add_note(line, note));
        for AllowedTool { name, within } in tools.iter().flatten() {
            if let Some(within) = within {
                self.add_note(line, format!(
                    "`{name}({within})` allows every call of {name}: the part in parentheses has no \
                        effect"
                ));
            }
        }
        tools
    }

    /// Cuts a text after `most` characters, with a remark.
    fn shorten_text(&mut self, line: usize, key: &str, text: String, most: usize) -> String {
        let count = text.chars().count();
        if count <= most {
            return text;
        }
        self.add_note(line, format!("`{key}` has {count} characters; the first {most} are used"));
        text.chars().take(most - 1).chain(['…']).collect()
    }

    fn add_note(&mut self, line: usize, text: impl Into<String>) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(SkillProblem::new(line, text));
        }
    }
}

/// The value as a text in one line; empty for a map.
fn one_line(value: &FrontValue) -> String {
    let text = match value {
        FrontValue::Text(text) => sanitise(text).text,
        FrontValue::List(texts) => sanitise(&texts.join(", ")).text,
        FrontValue::Map(_) => String::new(),
    };
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The texts in a map. Nested values have no use here.
fn metadata_texts(value: &FrontValue) -> BTreeMap<String, String> {
    let FrontValue::Map(pairs) = value else { return BTreeMap::new() };
    let pairs = pairs.iter().map(|(key, text)| (key.clone(), FrontValue::Text(text.clone())));
    pairs.map(|(key, text)| (key, one_line(&text))).filter(|(_, text)| !text.is_empty()).collect()
}

/// The first paragraph of a text in Markdown, in one line. Headings stand for it if there is no
/// other text.
fn first_paragraph(body: &str) -> String {
    let is_text =
        |line: &&str| !line.is_empty() && !line.starts_with(['#', '<']) && !line.starts_with("```");
    let lines = body.lines().map(str::trim);
    let paragraph: Vec<&str> =
        lines.skip_while(|line| !is_text(line)).take_while(is_text).collect();
    let text = match paragraph.as_slice() {
        [] => body.lines().map(|line| line.trim_matches(['#', ' '])).collect::<Vec<_>>().join(" "),
        paragraph => paragraph.join(" "),
    };
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Replaces the line ends of other systems.
fn with_line_feeds(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// The number of the last line of a text.
fn line_at_end(bytes: &[u8]) -> usize {
    1 + bytes.iter().filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
#[path = "skill_tests.rs"]
mod tests;
