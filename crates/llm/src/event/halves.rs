//! Joins the halves of characters (surrogates) that a server has cut apart.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use crate::wire_json::WireJson;

/// First and second halves (Unicode, "Surrogates").
const FIRST_HALVES: RangeInclusive<u32> = 0xd800..=0xdbff;
const SECOND_HALVES: RangeInclusive<u32> = 0xdc00..=0xdfff;
/// The distance from a half to the private character that stands for it at the end or the start of
/// a string, while an event with halves is decoded. No text needs these characters.
const MARK_OFFSET: u32 = 0x0010_f800 - 0xd800;
/// Events that are held at most while the other half of a character is missing.
const MAX_HELD: usize = 4;

/// Holds an event whose string ends in a first half, until the next piece of that string.
#[derive(Debug, Default)]
pub(super) struct HalfJoiner {
    /// The event with the half, and the events after it.
    held: Vec<WireJson<'static>>,
    /// The half of the first held event.
    open: Option<OpenHalf>,
}

/// A first half at the end of a string.
#[derive(Debug, Clone)]
struct OpenHalf {
    /// The keys that lead to the string.
    place: String,
    half: u32,
    is_held: bool,
}

/// The replacement of a half at the end of a string: nothing if it moved to the next string.
type Replacement = Option<&'static str>;

const JOINED: Replacement = Some("");
const ALONE: Replacement = Some("\u{fffd}");

impl HalfJoiner {
    /// Returns `true` if no event is held.
    pub(super) fn is_idle(&self) -> bool {
        self.held.is_empty()
    }

    /// Takes the next event. Returns the events that are ready, in order.
    pub(super) fn push(&mut self, mut event: WireJson<'static>) -> Vec<WireJson<'static>> {
        let mut halves = EventHalves { open: self.open.take(), of_held: None, own: Vec::new() };
        visit_texts(&mut event, &mut String::new(), &mut |place, text| halves.read(place, text));
        let EventHalves { open, of_held, own } = halves;
        let mut own = own.into_iter();
        replace_ends(&mut event, &mut || own.next().flatten());
        if open.as_ref().is_some_and(|open| open.is_held) && self.held.len() < MAX_HELD {
            self.open = open;
            self.held.push(event);
            return Vec::new();
        }
        let mut ready = self.release_with(of_held.or(ALONE));
        self.open = open.filter(|open| !open.is_held);
        if let Some(open) = &mut self.open {
            open.is_held = true;
            self.held.push(event);
        } else {
            ready.push(event);
        }
        ready
    }

    /// Returns the held events. Their half stays alone.
    pub(super) fn release_held(&mut self) -> Vec<WireJson<'static>> {
        self.open = None;
        self.release_with(ALONE)
    }

    fn release_with(&mut self, replacement: Replacement) -> Vec<WireJson<'static>> {
        let mut held = std::mem::take(&mut self.held);
        if let Some(first) = held.first_mut() {
            replace_ends(first, &mut || replacement);
        }
        held
    }
}

/// The halves of an event, while its strings are read in order.
struct EventHalves {
    /// The last first half that may be continued.
    open: Option<OpenHalf>,
    /// The replacement of the half in the held event, once it is known.
    of_held: Replacement,
    /// The replacements of the halves in this event; `None` for one that stays open.
    own: Vec<Replacement>,
}

impl EventHalves {
    fn read(&mut self, place: &str, text: &mut Cow<'static, str>) {
        let Some(first) = text.chars().next() else { return };
        let second_half = half_of_mark(first).filter(|half| SECOND_HALVES.contains(half));
        let open = self.open.take_if(|open| open.place == place);
        if let Some(second) = second_half {
            let joined = open.as_ref().and_then(|open| join_surrogates(open.half, second));
            let start = joined.unwrap_or('\u{fffd}');
            *text = Cow::Owned(format!("{start}{}", &text[first.len_utf8()..]));
        }
        if let Some(open) = open {
            self.decide_half(&open, if second_half.is_some() { JOINED } else { ALONE });
        }
        if let Some(half) = half_at_end(text) {
            if let Some(other) = self.open.take() {
                self.decide_half(&other, ALONE);
            }
            self.own.push(None);
            self.open = Some(OpenHalf { place: place.to_owned(), half, is_held: false });
        }
    }

    fn decide_half(&mut self, open: &OpenHalf, replacement: Replacement) {
        if open.is_held {
            self.of_held = replacement;
        } else if let Some(last) = self.own.last_mut() {
            *last = replacement;
        }
    }
}

/// Calls `visit` for each string, in order, with the keys that lead to it.
fn visit_texts(
    value: &mut WireJson<'static>,
    place: &mut String,
    visit: &mut impl FnMut(&str, &mut Cow<'static, str>),
) {
    match value {
        WireJson::Text(text) => visit(place, text),
        WireJson::List(items) => items.iter_mut().for_each(|item| visit_texts(item, place, visit)),
        WireJson::Object(fields) => {
            for (key, value) in fields {
                let length = place.len();
                place.push('/');
                place.push_str(key);
                visit_texts(value, place, visit);
                place.truncate(length);
            }
        }
        WireJson::Null | WireJson::Bool(_) | WireJson::Number(_) => {}
    }
}

/// Replaces the first half at the end of each string. `None` keeps it.
fn replace_ends(event: &mut WireJson<'static>, replacement: &mut impl FnMut() -> Replacement) {
    visit_texts(event, &mut String::new(), &mut |_, text| {
        if half_at_end(text).is_some()
            && let Some(replacement) = replacement()
        {
            let mut replaced = std::mem::take(text).into_owned();
            replaced.pop();
            replaced.push_str(replacement);
            *text = Cow::Owned(replaced);
        }
    });
}

/// The first half that the last character of a string stands for.
fn half_at_end(text: &str) -> Option<u32> {
    let half = text.chars().next_back().and_then(half_of_mark);
    half.filter(|half| FIRST_HALVES.contains(half))
}

fn half_of_mark(mark: char) -> Option<u32> {
    let half = u32::from(mark).checked_sub(MARK_OFFSET)?;
    (FIRST_HALVES.contains(&half) || SECOND_HALVES.contains(&half)).then_some(half)
}

fn join_surrogates(first: u32, second: u32) -> Option<char> {
    char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00))
}

/// Replaces the escapes of lone halves at the ends of strings: a first half at the end of one, a
/// second half at the start of one. The escapes of other lone halves stay.
pub(super) fn mark_halves(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    let (mut marked, mut copied, mut at) = (String::new(), 0, 0);
    let mut string_start = None;
    while let Some(byte) = bytes.get(at) {
        let (length, mark) = match (byte, string_start) {
            (b'"', None) => {
                string_start = Some(at + 1);
                (1, None)
            }
            (b'"', Some(_)) => {
                string_start = None;
                (1, None)
            }
            (b'\\', Some(start)) => read_escape(bytes, at, at == start),
            _ => (1, None),
        };
        if let Some(mark) = mark {
            marked.push_str(&json[copied..at]);
            marked.push(mark);
            copied = at + length;
        }
        at += length;
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    marked.push_str(&json[copied..]);
    Cow::Owned(marked)
}

/// Returns the length of the escape at `at`, and the mark of a lone half.
fn read_escape(bytes: &[u8], at: usize, is_start: bool) -> (usize, Option<char>) {
    let Some(unit) = code_unit(bytes, at) else { return (2, None) };
    let next = at + 6;
    let can_be_marked = if FIRST_HALVES.contains(&unit) {
        if code_unit(bytes, next).is_some_and(|next| SECOND_HALVES.contains(&next)) {
            return (12, None);
        }
        bytes.get(next) == Some(&b'"')
    } else {
        SECOND_HALVES.contains(&unit) && is_start
    };
    let mark = char::from_u32(unit + MARK_OFFSET).filter(|_| can_be_marked);
    (6, mark)
}

/// The code unit of an escape such as `\ud83d` at this place.
fn code_unit(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let digits = std::str::from_utf8(digits).ok()?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}
