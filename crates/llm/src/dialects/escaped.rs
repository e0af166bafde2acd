//! Reads arguments as Gemma's models write them: `{path:<escape>a<escape>,line:3}`. Names are bare,
//! and strings stand between two equal tokens.

use avocet_protocol::tool::ToolSpec;
use serde_json::{Map, Value};

use super::{lenient, schema};

/// The tokens before and after a string, by model.
const QUOTES: [(&str, &[&str]); 2] =
    [("<escape>", &["<escape>", "</escape>"]), ("<|\"|>", &["<|\"|>"])];
/// Maximum nesting depth.
const DEEPEST: usize = 32;

/// Parses the object at the start of a text. Returns it and its length in bytes; `None` if the text
/// has another form or is incomplete. Texts get the types of the tool's schema.
pub(super) fn parse_object(
    text: &str,
    tool: Option<&ToolSpec>,
) -> Option<(Map<String, Value>, usize)> {
    let mut parser = EscapedParser { text, at: 0, has_escapes: false };
    let object = parser.read_object(0)?;
    if !parser.has_escapes && tool.is_none() {
        return None;
    }
    let typed = object.into_iter().map(|(name, value)| {
        let property = tool.and_then(|tool| schema::find_property(tool, &name));
        let value = match (value, property) {
            (Value::String(text), Some((_, property))) => schema::typed_value(&text, property),
            (value, _) => value,
        };
        (name, value)
    });
    Some((typed.collect(), parser.at))
}

struct EscapedParser<'t> {
    text: &'t str,
    at: usize,
    has_escapes: bool,
}

impl EscapedParser<'_> {
    fn read_object(&mut self, depth: usize) -> Option<Map<String, Value>> {
        let mut object = Map::new();
        self.pass_char('{')?;
        while self.pass_char('}').is_none() {
            let name = self.name()?;
            self.pass_char(':')?;
            object.insert(name, self.read_value(depth + 1)?);
            if self.pass_char(',').is_none() && self.peek()? != '}' {
                return None;
            }
        }
        Some(object)
    }

    fn read_array(&mut self, depth: usize) -> Option<Vec<Value>> {
        let mut array = Vec::new();
        self.pass_char('[')?;
        while self.pass_char(']').is_none() {
            array.push(self.read_value(depth + 1)?);
            if self.pass_char(',').is_none() && self.peek()? != ']' {
                return None;
            }
        }
        Some(array)
    }

    fn name(&mut self) -> Option<String> {
        if let Some(name) = self.read_quoted() {
            return name;
        }
        let rest = &self.text[self.at..];
        let end = rest.find([':', '{', '}', '\n', '<', ','])?;
        self.at += end;
        let name = rest[..end].trim().trim_matches(['"', '\'']);
        (!name.is_empty()).then(|| name.to_owned())
    }

    fn read_value(&mut self, depth: usize) -> Option<Value> {
        if depth > DEEPEST {
            return None;
        }
        if let Some(text) = self.read_quoted() {
            return text.map(Value::String);
        }
        match self.peek()? {
            '{' => self.read_object(depth).map(Value::Object),
            '[' => self.read_array(depth).map(Value::Array),
            _ => self.read_bare(),
        }
    }

    /// A number, a word, a string in quotes, or a text without quotes.
    fn read_bare(&mut self) -> Option<Value> {
        let rest = &self.text[self.at..];
        if let Ok((value, bytes)) = lenient::parse_value(rest, lenient::MissingBrackets::Refused)
            && rest[bytes..].trim_start().starts_with([',', '}', ']'])
        {
            self.at += bytes;
            return Some(value);
        }
        let end = rest.find([',', '}', ']', '<', '"'])?;
        if rest[end..].starts_with('"') {
            return None;
        }
        self.at += end;
        Some(Value::String(rest[..end].trim().to_owned()))
    }

    /// A string between two tokens; `Some(None)` if the second one is missing.
    fn read_quoted(&mut self) -> Option<Option<String>> {
        self.pass_blanks();
        let rest = &self.text[self.at..];
        let (open, closes) = QUOTES.iter().find(|(open, _)| rest.starts_with(open))?;
        let inner = &rest[open.len()..];
        let ends = closes.iter().filter_map(|close| Some((inner.find(close)?, close.len())));
        let Some((end, bytes)) = ends.min() else { return Some(None) };
        self.has_escapes = true;
        self.at += open.len() + end + bytes;
        Some(Some(inner[..end].to_owned()))
    }

    fn pass_char(&mut self, wanted: char) -> Option<()> {
        (self.peek()? == wanted).then(|| self.at += wanted.len_utf8())
    }

    fn peek(&mut self) -> Option<char> {
        self.pass_blanks();
        self.text[self.at..].chars().next()
    }

    fn pass_blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }
}
