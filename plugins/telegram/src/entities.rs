//! The marked parts of a text. The platform's offsets are checked, because teloxide's own
//! accessors panic on invalid ones.

use teloxide::types::{Message, MessageEntity, MessageEntityKind};

/// The marked parts of a message's text or caption, with their kinds. Invalid ranges are skipped.
pub(crate) fn marked(message: &Message) -> impl Iterator<Item = (&MessageEntityKind, String)> {
    let text = message.text().or_else(|| message.caption()).unwrap_or_default();
    let entities = message.entities().or_else(|| message.caption_entities()).unwrap_or_default();
    entities.iter().filter_map(|entity| Some((&entity.kind, part(text, entity)?)))
}

/// Offsets count UTF-16 units (Bot API, "MessageEntity").
fn part(text: &str, entity: &MessageEntity) -> Option<String> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let end = entity.offset.checked_add(entity.length)?;
    String::from_utf16(units.get(entity.offset..end)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_returns_none_for_an_entity_outside_of_the_text() {
        let cases = [
            ("hi @bot", 3, 4, Some("@bot")),
            ("🐦 @bot", 3, 4, Some("@bot")),
            ("hi", 0, 0, Some("")),
            ("hi", 0, 3, None),
            ("hi", 9, 1, None),
            ("🐦🐦", 1, 2, None),
            ("hi", 1, usize::MAX, None),
        ];
        for (text, offset, length, expected) in cases {
            let entity = MessageEntity { kind: MessageEntityKind::Mention, offset, length };
            assert_eq!(part(text, &entity).as_deref(), expected, "{text} {offset}+{length}");
        }
    }
}
