//! Texts as a chat shows them: cleaned, trimmed and measured, with checked entities.
//!
//! The rules are those of the platform, with one exception. The platform silently repairs entities
//! that overlap, or that are nested against its rules; the fake refuses them.

use serde_json::{Value, json};

use super::wire::{ApiError, MethodCall};

/// Maximum length of a message in UTF-16 units.
pub const TEXT_LIMIT: usize = 4096;
/// Maximum length of a caption in UTF-16 units.
pub const CAPTION_LIMIT: usize = 1024;
/// Maximum number of entities of a message. The platform drops further ones.
pub const ENTITY_LIMIT: usize = 100;

/// A text as the chat shows it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Formatted {
    pub(super) text: String,
    pub(super) entities: Vec<Value>,
}

/// Reads the text of a call and its entities, from the parameters of these names.
pub(super) fn read(call: &MethodCall, text: &str, entities: &str) -> Result<Formatted, ApiError> {
    if !call.text("parse_mode").is_empty() && !call.text(text).is_empty() {
        // The fake parses no markup, because entities express the same without ambiguity.
        return Err(ApiError::bad_request("unsupported parse_mode"));
    }
    let entities = match call.json(entities)? {
        Some(Value::Array(entities)) => entities,
        _ => Vec::new(),
    };
    format(call.text(text), &entities)
}

/// Returns the length of a text in UTF-16 units.
pub(super) fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Returns the text and the entities that a chat would show, so that a renderer can be tested
/// without a server. The limit is in UTF-16 units: [`TEXT_LIMIT`] or [`CAPTION_LIMIT`].
///
/// # Errors
/// The platform's error.
pub fn check_text(
    text: &str,
    entities: &[Value],
    limit: usize,
) -> Result<(String, Vec<Value>), ApiError> {
    let formatted = format(text, entities)?;
    match length(&formatted.text) {
        0 if limit == TEXT_LIMIT => Err(ApiError::bad_request("text must be non-empty")),
        found if found > limit => Err(ApiError::bad_request("message is too long")),
        _ => Ok((formatted.text, formatted.entities)),
    }
}

fn format(text: &str, entities: &[Value]) -> Result<Formatted, ApiError> {
    let mut ranges = Vec::new();
    for entity in entities {
        ranges.extend(Range::read(entity)?);
    }
    ranges.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    for range in &ranges {
        range.check_place(text)?;
    }
    check_nesting(&ranges)?;
    let kept = TrimmedText::of(text, ranges.first().map(|range| range.start));
    let entities = ranges.into_iter().filter_map(|range| range.moved(&kept));
    Ok(Formatted { entities: entities.take(ENTITY_LIMIT).collect(), text: kept.text })
}

/// An entity with its range in UTF-16 units.
#[derive(Debug)]
struct Range {
    kind: String,
    start: i64,
    end: i64,
    entity: Value,
}

impl Range {
    /// Parses an entity. `None` for entities that the platform finds by itself or drops.
    fn read(entity: &Value) -> Result<Option<Self>, ApiError> {
        let unreadable =
            |why: &str| Err(ApiError::bad_request(format!("can't parse MessageEntity: {why}")));
        if !entity.is_object() {
            return unreadable("expected an Object");
        }
        let (Some(start), Some(length)) = (entity["offset"].as_i64(), entity["length"].as_i64())
        else {
            return unreadable("Field \"offset\" and \"length\" must be of type Number");
        };
        let kind = entity["type"].as_str().unwrap_or_default();
        match kind {
            "" => return unreadable("Type is not specified"),
            "mention" | "hashtag" | "cashtag" | "bot_command" | "url" | "email"
            | "phone_number" | "bank_card_number" => return Ok(None),
            "text_link" if !entity["url"].is_string() => {
                return unreadable("Can't find field \"url\"");
            }
            "text_link" if !is_link(&entity["url"]) => return Ok(None),
            "text_mention" if !entity["user"]["id"].is_i64() => {
                return unreadable("Can't find field \"user\"");
            }
            "custom_emoji" if !entity["custom_emoji_id"].is_string() => {
                return unreadable("Can't find field \"custom_emoji_id\"");
            }
            "bold"
            | "italic"
            | "underline"
            | "strikethrough"
            | "spoiler"
            | "code"
            | "pre"
            | "blockquote"
            | "expandable_blockquote"
            | "text_link"
            | "text_mention"
            | "custom_emoji" => {}
            _ => return unreadable("Unsupported type specified"),
        }
        let kind = kind.to_owned();
        for (what, value) in [("offset", start), ("length", length)] {
            if !(0..=1_000_000).contains(&value) {
                let why = format!("receive an entity with incorrect {what} {value}");
                return Err(ApiError::bad_request(why));
            }
        }
        let range = Self { kind, start, end: start + length, entity: entity.clone() };
        Ok((length > 0).then_some(range))
    }

    fn check_place(&self, text: &str) -> Result<(), ApiError> {
        let Self { start, end, .. } = self;
        let length = i64::try_from(length(text)).unwrap();
        if *start >= length {
            let why = format!("entity begins after the end of the text at UTF-16 offset {start}");
            return Err(ApiError::bad_request(why));
        }
        let this = format!("entity beginning at UTF-16 offset {start} ends");
        if *end > length {
            let why = format!("{this} after the end of the text at UTF-16 offset {end}");
            return Err(ApiError::bad_request(why));
        }
        let inside = "in a middle of a UTF-16 symbol at byte offset";
        if let Some(byte) = inside_of_pair(text, *start) {
            return Err(ApiError::bad_request(format!("entity begins {inside} {byte}")));
        }
        match inside_of_pair(text, *end) {
            Some(byte) => Err(ApiError::bad_request(format!("{this} {inside} {byte}"))),
            None => Ok(()),
        }
    }

    /// Returns the entity at its place in the cleaned text. `None` if its text has been removed.
    fn moved(self, kept: &TrimmedText) -> Option<Value> {
        let (start, end) = (kept.place(self.start), kept.place(self.end));
        let mut entity = self.entity;
        entity["offset"] = json!(start);
        entity["length"] = json!(end - start);
        (end > start).then_some(entity)
    }
}

/// Returns `false` for links that the platform drops because they are unusable.
fn is_link(url: &Value) -> bool {
    const SCHEMES: [&str; 6] = ["http", "https", "tg", "ton", "mailto", "tel"];
    let url = url.as_str().unwrap_or_default();
    match url.split_once(':') {
        Some((scheme, rest)) if SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) => {
            !rest.trim_matches('/').is_empty()
        }
        _ => url.split('/').next().is_some_and(|host| host.trim_matches('.').contains('.')),
    }
}

/// Returns the byte after the character that contains `offset`, if the offset splits a surrogate
/// pair.
fn inside_of_pair(text: &str, offset: i64) -> Option<usize> {
    let mut units = 0;
    for (byte, character) in text.char_indices() {
        if units >= offset {
            break;
        }
        units += i64::try_from(character.len_utf16()).unwrap();
        if units > offset {
            return Some(byte + character.len_utf8());
        }
    }
    None
}

/// Checks the nesting of entities (formatting options, Bot API).
fn check_nesting(ranges: &[Range]) -> Result<(), ApiError> {
    let refuse = |inner: &Range, how: &str, outer: &Range| {
        let why = format!(
            "can't parse entities: {} at UTF-16 offset {} {how} {} at {}",
            inner.kind, inner.start, outer.kind, outer.start
        );
        Err(ApiError::bad_request(why))
    };
    let mut open: Vec<&Range> = Vec::new();
    for range in ranges {
        open.retain(|outer| outer.end > range.start);
        for outer in &open {
            if range.end > outer.end {
                return refuse(range, "crosses", outer);
            }
            if !may_nest(outer, range) {
                return refuse(range, "can't be inside of", outer);
            }
        }
        open.push(range);
    }
    Ok(())
}

/// Two entities with the same range have no order, so either may be the outer one.
fn may_nest(outer: &Range, inner: &Range) -> bool {
    let same = (outer.start, outer.end) == (inner.start, inner.end);
    may_contain(&outer.kind, &inner.kind) || (same && may_contain(&inner.kind, &outer.kind))
}

fn may_contain(outer: &str, inner: &str) -> bool {
    let is_style =
        |kind| matches!(kind, "bold" | "italic" | "underline" | "strikethrough" | "spoiler");
    let is_code = |kind| matches!(kind, "code" | "pre");
    let is_quote = |kind| matches!(kind, "blockquote" | "expandable_blockquote");
    if is_code(outer) || (is_quote(outer) && is_quote(inner)) {
        return false;
    }
    if is_code(inner) {
        return is_quote(outer);
    }
    is_style(outer) || is_style(inner) || is_quote(outer)
}

/// A text after cleaning and trimming, with the new positions of its UTF-16 units.
struct TrimmedText {
    text: String,
    /// The new position of each original unit, and of the end.
    places: Vec<usize>,
}

impl TrimmedText {
    /// Replaces control characters with spaces, removes some characters and trims both ends, like
    /// the platform. Trimming at the front stops at the first entity.
    fn of(text: &str, first_entity: Option<i64>) -> Self {
        let cleaned: Vec<(char, usize)> =
            text.chars().map(|c| (cleaned(c), c.len_utf16())).collect();
        let is_shown = |&(c, _): &(char, usize)| !c.is_whitespace() && c != '\0';
        let mut unit = 0;
        let first = cleaned.iter().position(|character| {
            let is_entity = first_entity == Some(unit);
            unit += i64::try_from(character.1).unwrap();
            is_entity || is_shown(character)
        });
        let first = first.unwrap_or(cleaned.len());
        let end = cleaned.iter().rposition(is_shown).map_or(0, |last| last + 1);
        let mut kept = Self { text: String::new(), places: Vec::new() };
        let mut place = 0;
        for (index, (c, units)) in cleaned.into_iter().enumerate() {
            let stays = c != '\0' && (first..end).contains(&index);
            for unit in 0..units {
                kept.places.push(if stays { place + unit } else { place });
            }
            if stays {
                kept.text.push(c);
                place += units;
            }
        }
        kept.places.push(place);
        kept
    }

    fn place(&self, unit: i64) -> usize {
        self.places[usize::try_from(unit).unwrap()]
    }
}

/// Replaces a control character with a space. `\0` marks a removed character.
fn cleaned(c: char) -> char {
    match c {
        '\n' => '\n',
        '\r' | '\u{2028}'..='\u{202E}' => '\0',
        '\0'..='\u{1F}' => ' ',
        c => c,
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
