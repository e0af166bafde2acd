//! The front matter of a `SKILL.md`: YAML between two lines of `---`. Values are texts, lists and
//! maps; anchors, aliases and tags are refused, because the format has no use for them.

use saphyr_parser::{Event, Parser, Span, StrInput};

use crate::SkillProblem;

const FENCE: &str = "---";
/// Maps and lists inside each other. The format needs two.
const MAX_DEPTH: usize = 4;

/// A `SKILL.md`, cut at the end of its front matter.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SplitFile<'t> {
    pub(crate) front_matter: &'t str,
    pub(crate) body: &'t str,
    /// The line at which the body begins.
    pub(crate) body_line: usize,
}

/// A key with its value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FrontEntry {
    pub(crate) line: usize,
    pub(crate) key: String,
    pub(crate) value: FrontValue,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FrontValue {
    Text(String),
    List(Vec<FrontValue>),
    Map(Vec<FrontEntry>),
}

/// Cuts a file into its front matter and its body.
pub(crate) fn split(text: &str) -> Result<SplitFile<'_>, SkillProblem> {
    let mut lines = text.split_inclusive('\n').enumerate();
    let mut start = 0;
    match lines.next() {
        Some((_, line)) if line.trim_end() == FENCE => start += line.len(),
        _ => {
            let text = "the file must begin with front matter between two lines of ---";
            return Err(SkillProblem::new(1, text));
        }
    }
    let mut end = start;
    for (place, line) in lines {
        if line.trim_end() == FENCE {
            let (front_matter, body) = (&text[start..end], &text[end + line.len()..]);
            return Ok(SplitFile { front_matter, body, body_line: place + 2 });
        }
        end += line.len();
    }
    Err(SkillProblem::new(1, "the front matter has no end: a second line of --- is missing"))
}

/// Reads the entries of front matter that begins at line 2 of its file.
pub(crate) fn parse(front_matter: &str) -> Result<Vec<FrontEntry>, SkillProblem> {
    let mut reader = Reader { events: Parser::new_from_str(front_matter) };
    loop {
        let (event, line) = reader.next()?;
        match event {
            Event::Nothing | Event::StreamStart | Event::DocumentStart(_) => {}
            Event::StreamEnd | Event::DocumentEnd => return Ok(Vec::new()),
            Event::MappingStart(anchor, tag) => {
                plain(line, anchor, tag.is_some())?;
                return reader.map(1);
            }
            _ => return Err(SkillProblem::new(line, "expected `key: value` lines")),
        }
    }
}

struct Reader<'i> {
    events: Parser<'i, StrInput<'i>>,
}

impl<'i> Reader<'i> {
    fn next(&mut self) -> Result<(Event<'i>, usize), SkillProblem> {
        match self.events.next_event() {
            Some(Ok((event, span))) => Ok((event, line_of(span))),
            Some(Err(error)) => {
                let text = format!(
                    "this is not YAML: {}; a text with `: ` or ` #` in it needs quotes",
                    error.info()
                );
                Err(SkillProblem::new(error.marker().line() + 1, text))
            }
            None => Ok((Event::StreamEnd, 1)),
        }
    }

    /// Reads the rest of a map.
    fn map(&mut self, depth: usize) -> Result<Vec<FrontEntry>, SkillProblem> {
        let mut entries: Vec<FrontEntry> = Vec::new();
        loop {
            let (event, line) = self.next()?;
            let key = match event {
                Event::MappingEnd => return Ok(entries),
                Event::Scalar(key, _, anchor, tag) => {
                    plain(line, anchor, tag.is_some())?;
                    key.into_owned()
                }
                Event::StreamEnd => return Err(unfinished(line)),
                _ => return Err(SkillProblem::new(line, "a key must be a text")),
            };
            if entries.iter().any(|entry| entry.key == key) {
                return Err(SkillProblem::new(line, format!("the key `{key}` is there twice")));
            }
            let (event, value_line) = self.next()?;
            let value = self.value(event, value_line, depth)?;
            entries.push(FrontEntry { line, key, value });
        }
    }

    fn value(
        &mut self,
        event: Event<'i>,
        line: usize,
        depth: usize,
    ) -> Result<FrontValue, SkillProblem> {
        if depth > MAX_DEPTH {
            return Err(SkillProblem::new(line, "the values are nested too deeply"));
        }
        match event {
            Event::Scalar(text, _, anchor, tag) => {
                plain(line, anchor, tag.is_some())?;
                Ok(FrontValue::Text(text.into_owned()))
            }
            Event::MappingStart(anchor, tag) => {
                plain(line, anchor, tag.is_some())?;
                Ok(FrontValue::Map(self.map(depth + 1)?))
            }
            Event::SequenceStart(anchor, tag) => {
                plain(line, anchor, tag.is_some())?;
                let mut list = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, _) => return Ok(FrontValue::List(list)),
                        (event, line) => list.push(self.value(event, line, depth + 1)?),
                    }
                }
            }
            Event::Alias(_) => Err(SkillProblem::new(line, "anchors and aliases are refused")),
            _ => Err(unfinished(line)),
        }
    }
}

fn plain(line: usize, anchor: usize, has_tag: bool) -> Result<(), SkillProblem> {
    if anchor == 0 && !has_tag {
        return Ok(());
    }
    Err(SkillProblem::new(line, "anchors, aliases and tags are refused"))
}

fn unfinished(line: usize) -> SkillProblem {
    SkillProblem::new(line, "the front matter ends in the middle of a value")
}

/// The front matter begins at the second line of the file.
fn line_of(span: Span) -> usize {
    span.start.line() + 1
}

#[cfg(test)]
#[path = "front_matter_tests.rs"]
mod tests;
