//! Parses JSON as models write it. Repairs an error only if a single repair is possible. A crate
//! that repairs everything would guess, and the guess would run as a tool call.

use serde_json::{Map, Number, Value};

/// Maximum nesting depth, the same as in `serde_json`.
const DEEPEST: usize = 127;
/// Maximum bytes of a comment.
const LONGEST_COMMENT: usize = 1000;
/// Smart quotes that replace `"`.
const SMART: [char; 3] = ['“', '”', '„'];
const SMART_SINGLE: [char; 2] = ['‘', '’'];

/// The reason why parsing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LenientError {
    /// The text ends before the value does.
    Open,
    /// The character at this byte is invalid there.
    At(usize),
}

/// The treatment of brackets that are missing at the very end of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingBrackets {
    Added,
    Refused,
}

impl MissingBrackets {
    /// Missing brackets are refused if more may be missing.
    pub(super) fn added_unless(is_open: bool) -> Self {
        if is_open { Self::Refused } else { Self::Added }
    }
}

/// Parses the value at the start of a text. Returns the value and its length in bytes.
///
/// These errors are repaired: a comma before a closing bracket, smart and single quotes around
/// strings, line breaks and tabs in strings, half of a surrogate pair, names without quotes, `True`,
/// `False`, `None`, and comments.
///
/// # Errors
/// [`LenientError`] if the intended value can only be guessed.
pub(crate) fn parse_value(
    text: &str,
    brackets: MissingBrackets,
) -> Result<(Value, usize), LenientError> {
    let mut parser = LenientParser { text, at: 0, brackets };
    let value = parser.read_value(0)?;
    Ok((value, parser.at))
}

/// Parses the whole text as an object: the arguments of a call.
pub(super) fn parse_object(text: &str) -> Option<Map<String, Value>> {
    match parse_value(text, MissingBrackets::Added) {
        Ok((Value::Object(object), bytes)) if text[bytes..].trim().is_empty() => Some(object),
        _ => None,
    }
}

/// The length in bytes of a bracket with its content. Understands only strings and brackets. The
/// whole text if the bracket stays open.
pub(super) fn bracket_bytes(text: &str) -> usize {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    text.len()
}

struct LenientParser<'t> {
    text: &'t str,
    at: usize,
    brackets: MissingBrackets,
}

impl LenientParser<'_> {
    fn read_value(&mut self, depth: usize) -> Result<Value, LenientError> {
        self.pass_blanks()?;
        match self.peek().ok_or(LenientError::Open)? {
            _ if depth > DEEPEST => self.error_here(),
            '{' => self.read_object(depth),
            '[' => self.read_array(depth),
            c if is_quote(c) => self.read_string().map(Value::String),
            c if c == '-' || c.is_ascii_digit() => self.read_number(),
            _ => self.read_word(),
        }
    }

    fn read_object(&mut self, depth: usize) -> Result<Value, LenientError> {
        let mut object = Map::new();
        self.at += 1;
        loop {
            if self.pass_closing('}')? {
                return Ok(Value::Object(object));
            }
            let name = self.name()?;
            self.pass_blanks()?;
            self.expect_char(':')?;
            let value = self.read_value(depth + 1)?;
            // With a duplicate name, the intended value is unknown.
            if object.insert(name, value).is_some() {
                return self.error_here();
            }
            self.pass_separator('}')?;
        }
    }

    fn read_array(&mut self, depth: usize) -> Result<Value, LenientError> {
        let mut array = Vec::new();
        self.at += 1;
        loop {
            if self.pass_closing(']')? {
                return Ok(Value::Array(array));
            }
            array.push(self.read_value(depth + 1)?);
            self.pass_separator(']')?;
        }
    }

    /// Passes a closing bracket, or the end of the text if a missing one is added.
    fn pass_closing(&mut self, bracket: char) -> Result<bool, LenientError> {
        self.pass_blanks()?;
        match self.peek() {
            Some(c) if c == bracket => {
                self.at += 1;
                Ok(true)
            }
            Some(_) => Ok(false),
            None if self.brackets == MissingBrackets::Added => Ok(true),
            None => Err(LenientError::Open),
        }
    }

    /// Passes a comma, but stays before a closing bracket.
    fn pass_separator(&mut self, bracket: char) -> Result<(), LenientError> {
        self.pass_blanks()?;
        match self.peek() {
            Some(',') => self.at += 1,
            Some(c) if c == bracket => {}
            None if self.brackets == MissingBrackets::Added => {}
            None => return Err(LenientError::Open),
            Some(_) => return self.error_here(),
        }
        Ok(())
    }

    fn name(&mut self) -> Result<String, LenientError> {
        match self.peek().ok_or(LenientError::Open)? {
            c if is_quote(c) => self.read_string(),
            c if c.is_ascii_alphabetic() || c == '_' => {
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                Ok(self.take_while(is_name).to_owned())
            }
            _ => self.error_here(),
        }
    }

    fn read_string(&mut self) -> Result<String, LenientError> {
        let opening = self.next().ok_or(LenientError::Open)?;
        let mut string = String::new();
        loop {
            let start = self.at;
            match self.next().ok_or(LenientError::Open)? {
                '\\' => string.push(self.read_escape()?),
                c if ends_string(opening, c) => return Ok(string),
                '\0' => return Err(LenientError::At(start)),
                c => string.push(c),
            }
        }
    }

    fn read_escape(&mut self) -> Result<char, LenientError> {
        let start = self.at - 1;
        Ok(match self.next().ok_or(LenientError::Open)? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            c @ ('"' | '\'' | '\\' | '/') => c,
            'u' => self.read_unicode(start)?,
            _ => return Err(LenientError::At(start)),
        })
    }

    /// Reads `\u00e9`, or a surrogate pair (RFC 8259, section 7). Half of a pair is U+FFFD.
    fn read_unicode(&mut self, start: usize) -> Result<char, LenientError> {
        let unit = self.read_unit(start)?;
        if !(0xd800..0xdc00).contains(&unit) {
            return Ok(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let after_first = self.at;
        match &self.text[self.at..] {
            "" | "\\" => return Err(LenientError::Open),
            rest if rest.starts_with("\\u") => self.at += 2,
            _ => return Ok(char::REPLACEMENT_CHARACTER),
        }
        let second = self.read_unit(start)?.checked_sub(0xdc00).filter(|low| *low < 0x400);
        let Some(low) = second else {
            self.at = after_first;
            return Ok(char::REPLACEMENT_CHARACTER);
        };
        char::from_u32(0x10000 + ((unit - 0xd800) << 10) + low).ok_or(LenientError::At(start))
    }

    fn read_unit(&mut self, start: usize) -> Result<u32, LenientError> {
        let rest = &self.text[self.at..];
        let digits = rest.get(..4).ok_or(if rest.len() < 4 {
            LenientError::Open
        } else {
            LenientError::At(start)
        })?;
        self.at += 4;
        u32::from_str_radix(digits, 16).map_err(|_| LenientError::At(start))
    }

    fn read_number(&mut self) -> Result<Value, LenientError> {
        let start = self.at;
        let is_part = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
        let number = self.take_while(is_part).parse::<Number>();
        number.map(Value::Number).map_err(|_| self.cut_or_at(start))
    }

    fn read_word(&mut self) -> Result<Value, LenientError> {
        let start = self.at;
        match self.take_while(|c| c.is_ascii_alphabetic()) {
            "true" | "True" => Ok(Value::Bool(true)),
            "false" | "False" => Ok(Value::Bool(false)),
            "null" | "None" => Ok(Value::Null),
            _ => Err(self.cut_or_at(start)),
        }
    }

    /// The fault for an invalid value between `start` and here. At the end of the text, the value
    /// may only be incomplete.
    fn cut_or_at(&self, start: usize) -> LenientError {
        if self.at == self.text.len() && self.at > start {
            LenientError::Open
        } else {
            LenientError::At(start)
        }
    }

    /// Passes blanks and comments.
    fn pass_blanks(&mut self) -> Result<(), LenientError> {
        loop {
            self.take_while(char::is_whitespace);
            let rest = &self.text[self.at..];
            let near = &rest[..rest.floor_char_boundary(LONGEST_COMMENT)];
            let bytes = match () {
                () if rest.starts_with("/*") => near.find("*/").map(|end| end + 2),
                () if rest.starts_with("//") || rest.starts_with('#') => near.find('\n'),
                () if rest == "/" => return Err(LenientError::Open),
                () => return Ok(()),
            };
            match bytes {
                Some(bytes) => self.at += bytes,
                None if near.len() == rest.len() => return Err(LenientError::Open),
                None => return self.error_here(),
            }
        }
    }

    fn expect_char(&mut self, wanted: char) -> Result<(), LenientError> {
        match self.peek().ok_or(LenientError::Open)? {
            c if c == wanted => {
                self.at += 1;
                Ok(())
            }
            _ => self.error_here(),
        }
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &str {
        let rest = &self.text[self.at..];
        let bytes = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        self.at += bytes;
        &rest[..bytes]
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek();
        self.at += next.map_or(0, char::len_utf8);
        next
    }

    fn error_here<T>(&self) -> Result<T, LenientError> {
        Err(LenientError::At(self.at))
    }
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'') || SMART.contains(&c) || SMART_SINGLE.contains(&c)
}

/// Returns `true` if a quote ends a string that the other one opened.
fn ends_string(opening: char, c: char) -> bool {
    match opening {
        '"' | '\'' => c == opening,
        opening if SMART.contains(&opening) => SMART.contains(&c),
        _ => SMART_SINGLE.contains(&c),
    }
}

#[cfg(test)]
#[path = "lenient_tests.rs"]
mod tests;
