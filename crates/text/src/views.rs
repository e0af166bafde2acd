//! Decoded views of a text: with escapes decoded, with percent encoding decoded, without blanks.
//! Each byte has its position in the original text.

use std::borrow::Cow;
use std::ops::Range;

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// One view of a text.
pub(crate) struct View<'t> {
    pub(crate) bytes: Cow<'t, [u8]>,
    /// The origin of each byte; `None` for the unchanged text.
    spans: Option<Vec<Range<usize>>>,
}

/// All distinct views of a text. Escapes and percent encoding are decoded twice, because JSON in
/// the log may quote other JSON.
pub(crate) fn views(text: &str) -> Vec<View<'_>> {
    let mut views = vec![View { bytes: Cow::Borrowed(text.as_bytes()), spans: None }];
    for (mark, read) in
        [(b'\\', escape as Decoder), (b'\\', escape), (b'%', percent), (b'%', percent)]
    {
        let last = &views[views.len() - 1];
        if last.bytes.contains(&mark) {
            views.push(last.read(mark, read));
        }
    }
    // A view for each of them, because text that looks like an escape may be plain text.
    let bare: Vec<_> = views.iter().filter_map(View::without_blanks).collect();
    views.extend(bare);
    views
}

/// Decodes the bytes behind a mark. Returns the decoded bytes, and the number of bytes that they
/// take in the text.
type Decoder = fn(&[u8]) -> Option<(Decoded, usize)>;

/// The bytes of a character, or one byte, with their number.
struct Decoded([u8; 4], usize);

impl View<'_> {
    /// Maps a range of the view to the original text.
    pub(crate) fn origin(&self, range: Range<usize>) -> Range<usize> {
        match &self.spans {
            None => range,
            Some(spans) if range.is_empty() => {
                spans.first().map_or(0..0, |first| first.start..first.start)
            }
            Some(spans) => spans[range.start].start..spans[range.end - 1].end,
        }
    }

    fn span(&self, from: usize, to: usize) -> Range<usize> {
        self.origin(from..to)
    }

    fn read(&self, mark: u8, read: Decoder) -> View<'static> {
        let (mut bytes, mut spans) = (Vec::with_capacity(self.bytes.len()), Vec::new());
        let mut at = 0;
        while let Some(&byte) = self.bytes.get(at) {
            let decoded = (byte == mark).then(|| read(&self.bytes[at + 1..])).flatten();
            let (Decoded(decoded, count), taken) = decoded
                .map_or((Decoded([byte, 0, 0, 0], 1), 1), |(decoded, behind)| {
                    (decoded, behind + 1)
                });
            let span = self.span(at, at + taken);
            bytes.extend_from_slice(&decoded[..count]);
            spans.extend(std::iter::repeat_n(span, count));
            at += taken;
        }
        View { bytes: bytes.into(), spans: Some(spans) }
    }

    /// Returns `None` for invalid UTF-8, and for text without blanks.
    fn without_blanks(&self) -> Option<View<'static>> {
        let text = std::str::from_utf8(&self.bytes).ok()?;
        if !text.contains(is_blank) {
            return None;
        }
        let (mut bytes, mut spans) = (Vec::with_capacity(text.len()), Vec::new());
        for (at, c) in text.char_indices().filter(|(_, c)| !is_blank(*c)) {
            let mut buffer = [0; 4];
            bytes.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
            spans.extend((at..at + c.len_utf8()).map(|at| self.span(at, at + 1)));
        }
        Some(View { bytes: bytes.into(), spans: Some(spans) })
    }
}

/// Returns `true` for an invisible character.
pub(crate) fn is_blank(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_whitespace() || c.is_ascii_control();
    }
    c.is_whitespace() || c.is_control() || c.general_category() == GeneralCategory::Format
}

/// Decodes the text behind a backslash, in JSON and in Rust's debug output.
fn escape(behind: &[u8]) -> Option<(Decoded, usize)> {
    let simple = |byte| Some((Decoded([byte, 0, 0, 0], 1), 1));
    match *behind.first()? {
        b'n' => simple(b'\n'),
        b'r' => simple(b'\r'),
        b't' => simple(b'\t'),
        b'0' => simple(0),
        b'b' => simple(8),
        b'f' => simple(12),
        c @ (b'\\' | b'"' | b'\'' | b'/') => simple(c),
        b'x' => hex(behind.get(1..3)?).map(|byte| (Decoded([byte as u8, 0, 0, 0], 1), 3)),
        b'u' if behind.get(1) == Some(&b'{') => {
            let end = behind.iter().take(10).position(|byte| *byte == b'}')?;
            Some((decoded(hex(&behind[2..end])?)?, end + 1))
        }
        b'u' => {
            let first = hex(behind.get(1..5)?)?;
            match first {
                0xD800..0xDC00 if behind.get(5..7) == Some(b"\\u") => {
                    let second = hex(behind.get(7..11)?)?.checked_sub(0xDC00)?;
                    Some((decoded(0x10000 + ((first - 0xD800) << 10) + second)?, 11))
                }
                _ => Some((decoded(first)?, 5)),
            }
        }
        _ => None,
    }
}

fn percent(behind: &[u8]) -> Option<(Decoded, usize)> {
    hex(behind.get(..2)?).map(|byte| (Decoded([byte as u8, 0, 0, 0], 1), 2))
}

fn decoded(code: u32) -> Option<Decoded> {
    let mut buffer = [0; 4];
    let count = char::from_u32(code)?.encode_utf8(&mut buffer).len();
    Some(Decoded(buffer, count))
}

fn hex(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || digits.len() > 6 {
        return None;
    }
    digits.iter().try_fold(0, |value, digit| Some(value * 16 + char::from(*digit).to_digit(16)?))
}
