//! Reads the JSON of people's own files: with comments, trailing commas, and all of JSON5 (json5.org).

use serde_json::{Map, Number, Value};

/// The deepest value.
const DEEPEST: usize = 100;

/// Parses a text.
///
/// # Errors
/// The fault, as a part of a sentence with the number of its line.
pub(crate) fn parse_loose_json(text: &str) -> Result<Value, String> {
    let rest = text.trim_start_matches('\u{feff}');
    let mut parser = LooseParser { text: rest, rest };
    let value = parser.value(0)?;
    parser.skip_blanks()?;
    if !parser.rest.is_empty() {
        return Err(parser.unexpected("the end of the file"));
    }
    Ok(value)
}

struct LooseParser<'t> {
    text: &'t str,
    rest: &'t str,
}

impl<'t> LooseParser<'t> {
    fn fault(&self, what: &str) -> String {
        let done = &self.text[..self.text.len() - self.rest.len()];
        format!("line {}: {what}", done.matches('\n').count() + 1)
    }

    fn unexpected(&self, expected: &str) -> String {
        match self.rest.chars().next() {
            Some(found) => self.fault(&format!("{found:?} in place of {expected}")),
            None => self.fault(&format!("the file ends in place of {expected}")),
        }
    }

    /// Takes a text if it comes next.
    fn take_expected(&mut self, expected: &str) -> bool {
        match self.rest.strip_prefix(expected) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Takes characters as long as they fit.
    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|c| !fits(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn skip_blanks(&mut self) -> Result<(), String> {
        loop {
            self.take_while(|c| c.is_whitespace() || c == '\u{feff}');
            if self.rest.starts_with("//") || self.rest.starts_with('#') {
                self.take_while(|c| c != '\n');
            } else if self.rest.starts_with("/*") {
                let Some(end) = self.rest.find("*/") else {
                    return Err(self.fault("a comment without its end"));
                };
                self.rest = &self.rest[end + 2..];
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > DEEPEST {
            return Err(self.fault("too many brackets"));
        }
        self.skip_blanks()?;
        match self.rest.chars().next() {
            Some('{') => self.parse_object(depth),
            Some('[') => self.list(depth),
            Some('"' | '\'') => self.parse_string().map(Value::String),
            _ => self.word(),
        }
    }

    fn parse_object(&mut self, depth: usize) -> Result<Value, String> {
        self.take_expected("{");
        let mut object = Map::new();
        loop {
            self.skip_blanks()?;
            if self.take_expected("}") {
                return Ok(Value::Object(object));
            }
            let is_quoted = self.rest.starts_with(['"', '\'']);
            let key = match self.rest.chars().next() {
                Some('"' | '\'') => self.parse_string()?,
                _ => self.take_while(|c| c.is_alphanumeric() || "_$-.".contains(c)).to_owned(),
            };
            if key.is_empty() && !is_quoted {
                return Err(self.unexpected("a key"));
            }
            self.skip_blanks()?;
            if !self.take_expected(":") {
                return Err(self.unexpected("\":\""));
            }
            let value = self.value(depth + 1)?;
            object.insert(key, value);
            self.skip_blanks()?;
            if !self.take_expected(",") && !self.rest.starts_with('}') {
                return Err(self.unexpected("\",\" or \"}\""));
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, String> {
        self.take_expected("[");
        let mut list = Vec::new();
        loop {
            self.skip_blanks()?;
            if self.take_expected("]") {
                return Ok(Value::Array(list));
            }
            list.push(self.value(depth + 1)?);
            self.skip_blanks()?;
            if !self.take_expected(",") && !self.rest.starts_with(']') {
                return Err(self.unexpected("\",\" or \"]\""));
            }
        }
    }

    /// Reads a number, or one of the words of JSON5.
    fn word(&mut self) -> Result<Value, String> {
        let before = self.rest;
        let word = self.take_while(|c| c.is_alphanumeric() || "+-._".contains(c));
        let value = match word.trim_start_matches(['+', '-']) {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            "null" | "NaN" | "Infinity" | "undefined" => Some(Value::Null),
            digits => parse_number(word, digits),
        };
        value.ok_or_else(|| {
            self.rest = before;
            self.unexpected("a value")
        })
    }

    fn parse_string(&mut self) -> Result<String, String> {
        let quote = if self.take_expected("\"") { '"' } else { '\'' };
        if quote == '\'' {
            self.take_expected("'");
        }
        // Halves of surrogate pairs are joined at the end.
        let mut units: Vec<u16> = Vec::new();
        let mut buffer = [0; 2];
        loop {
            let Some(c) = self.rest.chars().next() else {
                return Err(self.fault("a text without its end"));
            };
            self.rest = &self.rest[c.len_utf8()..];
            match c {
                c if c == quote => return Ok(String::from_utf16_lossy(&units)),
                '\\' => self.parse_escape(&mut units)?,
                c => units.extend_from_slice(c.encode_utf16(&mut buffer)),
            }
        }
    }

    fn parse_escape(&mut self, units: &mut Vec<u16>) -> Result<(), String> {
        let Some(c) = self.rest.chars().next() else {
            return Err(self.fault("a text without its end"));
        };
        self.rest = &self.rest[c.len_utf8()..];
        let mut buffer = [0; 2];
        let meant = match c {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '0' => '\0',
            // The text continues on the next line.
            '\r' => {
                self.take_expected("\n");
                return Ok(());
            }
            '\n' => return Ok(()),
            'u' | 'x' => {
                let length = if c == 'u' { 4 } else { 2 };
                let digits = self.rest.get(..length);
                let unit = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
                let Some(unit) = unit else {
                    return Err(self.fault("an escape without its digits"));
                };
                self.rest = &self.rest[length..];
                units.push(unit);
                return Ok(());
            }
            other => other,
        };
        units.extend_from_slice(meant.encode_utf16(&mut buffer));
        Ok(())
    }
}

/// Reads a number. `digits` is the word without its sign.
fn parse_number(word: &str, digits: &str) -> Option<Value> {
    let is_negative = word.starts_with('-');
    if let Some(digits) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        let number = i64::from_str_radix(digits, 16).ok()?;
        return Some(Value::from(if is_negative { -number } else { number }));
    }
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    if let Ok(number) = digits.parse::<i64>() {
        return Some(Value::from(if is_negative { -number } else { number }));
    }
    let number: f64 = digits.parse().ok()?;
    Number::from_f64(if is_negative { -number } else { number }).map(Value::Number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn parse_loose_json_reads_what_people_write() {
        for (text, expected) in [
            ("{\"a\": 1}", json!({"a": 1})),
            (
                "\u{feff}// mine\n{\"a\": [1, 2,], /* x */ \"b\": null,}\n",
                json!({"a": [1, 2], "b": null}),
            ),
            ("# mine\n{a: 'it\\'s', $b-c: \"x\", }", json!({"a": "it's", "$b-c": "x"})),
            (
                "{a: +1, b: -0x10, c: .5, d: 5., e: 1e3, f: Infinity}",
                json!({"a": 1, "b": -16, "c": 0.5, "d": 5.0, "e": 1000.0, "f": null}),
            ),
            (
                "['a\\\nb', \"a\nb\", '\\x41\\u00e9\\ud83d\\ude00\\ud83d']",
                json!(["ab", "a\nb", "Aé\u{1f600}\u{fffd}"]),
            ),
            ("{\"a\": 1, \"a\": 2}", json!({"a": 2})),
            ("{\"url\": \"https://x//y\"}", json!({"url": "https://x//y"})),
        ] {
            assert_eq!(parse_loose_json(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn parse_loose_json_names_the_line_of_a_fault() {
        for (text, fault) in [
            ("", "line 1: the file ends in place of a value"),
            ("{\n\"a\" 1}", "line 2: '1' in place of \":\""),
            ("{\"a\": 1\n\"b\": 2}", "line 2: '\"' in place of \",\" or \"}\""),
            ("{} x", "line 1: 'x' in place of the end of the file"),
            ("{\"a\": \"x", "line 1: a text without its end"),
            ("/* x", "line 1: a comment without its end"),
            ("{: 1}", "line 1"),
            ("[1 2]", "line 1: '2' in place of \",\" or \"]\""),
            ("{\"a\": yes}", "line 1: 'y' in place of a value"),
        ] {
            let error = parse_loose_json(text);
            assert!(error.as_ref().is_err_and(|error| error.contains(fault)), "{text}: {error:?}");
        }
        assert!(parse_loose_json(&"[".repeat(100_000)).is_err());
    }

    proptest! {
        #[test]
        fn parse_loose_json_survives_any_text(text: String) {
            drop(parse_loose_json(&text));
        }

        #[test]
        fn parse_loose_json_survives_faults_in_good_files(cut in 0_usize..60, odd: char) {
            let text = "{ // x\n  \"a\": ['b', 0x1, {c: \"\\u00e9\"}], /* y */ }";
            let at = text.char_indices().nth(cut).map_or(text.len(), |(at, _)| at);
            drop(parse_loose_json(&text[..at]));
            drop(parse_loose_json(&format!("{}{odd}{}", &text[..at], &text[at..])));
        }
    }
}
