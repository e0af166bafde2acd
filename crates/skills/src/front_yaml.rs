//! Reads a map of YAML as far as a skill needs it: texts, lists of texts and maps of texts. Other
//! values are skipped by counting their ends, so that their depth costs no stack.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, StrInput, Tag};

/// A key with its value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FrontEntry {
    pub(crate) line: usize,
    pub(crate) key: String,
    pub(crate) value: FrontValue,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FrontValue {
    /// A text; empty for `null`.
    Text(String),
    /// The texts of a list.
    List(Vec<String>),
    /// The keys of a map whose values are texts.
    Map(Vec<(String, String)>),
}

/// Reads the entries of a map that begins at the line `first_line` of its file, in their order and
/// with repeated keys; `None` if the text is not a map in YAML.
pub(crate) fn read_map(yaml: &str, first_line: usize) -> Option<Vec<FrontEntry>> {
    let mut reader =
        YamlReader { events: Parser::new_from_str(yaml), first_line, anchors: BTreeMap::new() };
    loop {
        match reader.next()?.0 {
            Event::Nothing | Event::StreamStart | Event::DocumentStart(_) => {}
            Event::StreamEnd | Event::DocumentEnd => return Some(Vec::new()),
            Event::MappingStart(..) => break,
            _ => return None,
        }
    }
    let mut entries = Vec::new();
    loop {
        let (event, line) = reader.next()?;
        if matches!(event, Event::MappingEnd) {
            break;
        }
        let key = reader.read_value(event)?;
        let (event, _) = reader.next()?;
        let value = reader.read_value(event)?;
        if let FrontValue::Text(key) = key {
            entries.push(FrontEntry { line, key, value });
        }
    }
    // Text below the map would be lost.
    matches!(reader.next()?.0, Event::DocumentEnd).then_some(entries)
}

struct YamlReader<'i> {
    events: Parser<'i, StrInput<'i>>,
    first_line: usize,
    /// The texts that have an anchor.
    anchors: BTreeMap<usize, String>,
}

impl<'i> YamlReader<'i> {
    /// The next event and its line; `None` at an error and at the end.
    fn next(&mut self) -> Option<(Event<'i>, usize)> {
        let (event, span) = self.events.next_event()?.ok()?;
        Some((event, (self.first_line + span.start.line()).saturating_sub(1)))
    }

    /// Reads the rest of the value that begins with this event.
    fn read_value(&mut self, event: Event<'i>) -> Option<FrontValue> {
        match event {
            Event::Scalar(..) | Event::Alias(_) => Some(FrontValue::Text(self.read_text(event)?)),
            Event::SequenceStart(..) => {
                let mut texts = Vec::new();
                loop {
                    let (event, _) = self.next()?;
                    match event {
                        Event::SequenceEnd => return Some(FrontValue::List(texts)),
                        event => texts.extend(self.text_or_skip(event)?),
                    }
                }
            }
            Event::MappingStart(..) => {
                let mut pairs = Vec::new();
                loop {
                    let (event, _) = self.next()?;
                    if matches!(event, Event::MappingEnd) {
                        return Some(FrontValue::Map(pairs));
                    }
                    let key = self.text_or_skip(event)?;
                    let (event, _) = self.next()?;
                    pairs.extend(key.zip(self.text_or_skip(event)?));
                }
            }
            _ => None,
        }
    }

    /// Reads a text, or skips a list or a map; the inner `None` stands for a skipped value.
    #[expect(clippy::option_option, reason = "the outer one is the end of the file")]
    fn text_or_skip(&mut self, event: Event<'i>) -> Option<Option<String>> {
        let mut depth = 0_usize;
        let mut event = event;
        loop {
            match event {
                Event::SequenceStart(..) | Event::MappingStart(..) => depth += 1,
                Event::SequenceEnd | Event::MappingEnd => depth = depth.checked_sub(1)?,
                Event::Scalar(..) | Event::Alias(_) if depth == 0 => {
                    return Some(Some(self.read_text(event)?));
                }
                Event::Scalar(..) | Event::Alias(_) => {}
                _ => return None,
            }
            if depth == 0 {
                return Some(None);
            }
            event = self.next()?.0;
        }
    }

    /// The text of a scalar, or of the scalar that an alias names.
    fn read_text(&mut self, event: Event<'i>) -> Option<String> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_null = style == ScalarStyle::Plain
                    && ["~", "null", "Null", "NULL"].contains(&text.as_ref());
                let text = match tag.as_deref() {
                    _ if is_null => String::new(),
                    // A word of the text, such as `!important`, that YAML takes for a type.
                    Some(Tag { handle, suffix }) if handle == "!" => format!("!{suffix} {text}"),
                    _ => text.into_owned(),
                };
                if anchor > 0 {
                    self.anchors.insert(anchor, text.clone());
                }
                Some(text)
            }
            Event::Alias(anchor) => Some(self.anchors.get(&anchor).cloned().unwrap_or_default()),
            _ => None,
        }
    }
}
