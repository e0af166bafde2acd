//! The parts of a message, as requests contain them: styled text, buttons, and link previews.

use avocet_channel_kit::Styled;
use avocet_channel_kit::telegram::{Entity, EntityKind, entities};
use avocet_protocol::channel::SendError;
use avocet_protocol::chat::Choice;
use teloxide::types::{
    InlineKeyboardButton, InlineKeyboardMarkup, LinkPreviewOptions, MessageEntity,
    MessageEntityKind,
};

/// Bytes of a button's data (Bot API, "InlineKeyboardButton").
const MAX_SAYS_BYTES: usize = 64;
/// Largest number of buttons in a row.
const MAX_IN_ROW: usize = 4;
/// Characters of all labels in a row that a narrow screen shows completely.
const ROW_CHARS: usize = 24;

/// The styles as entities of the platform.
pub(crate) fn entities_of(text: &Styled) -> Result<Vec<MessageEntity>, SendError> {
    entities(text).into_iter().map(entity).collect()
}

fn entity(entity: Entity) -> Result<MessageEntity, SendError> {
    let kind = match entity.kind {
        EntityKind::Bold => MessageEntityKind::Bold,
        EntityKind::Italic => MessageEntityKind::Italic,
        EntityKind::Strikethrough => MessageEntityKind::Strikethrough,
        EntityKind::Spoiler => MessageEntityKind::Spoiler,
        EntityKind::Code => MessageEntityKind::Code,
        EntityKind::Pre { language } => MessageEntityKind::Pre { language },
        EntityKind::Blockquote => MessageEntityKind::Blockquote,
        EntityKind::TextLink { url } => MessageEntityKind::TextLink {
            url: url.parse().map_err(|_| SendError::Refused(format!("{url} is not a URL")))?,
        },
    };
    Ok(MessageEntity { kind, offset: entity.offset, length: entity.length })
}

/// Returns a button for each choice that fits into the limit, in rows that show whole labels. The
/// text lists the other choices.
pub(crate) fn buttons(choices: &[Choice]) -> InlineKeyboardMarkup {
    let mut rows: Vec<Vec<InlineKeyboardButton>> = Vec::new();
    let mut room = 0;
    for choice in choices.iter().filter(|choice| choice.says.len() <= MAX_SAYS_BYTES) {
        let length = choice.label.chars().count();
        let button = InlineKeyboardButton::callback(&choice.label, &choice.says);
        match rows.last_mut() {
            Some(row) if row.len() < MAX_IN_ROW && length <= room => {
                row.push(button);
                room -= length;
            }
            _ => {
                rows.push(vec![button]);
                room = ROW_CHARS.saturating_sub(length);
            }
        }
    }
    InlineKeyboardMarkup::new(rows)
}

pub(crate) fn no_preview() -> LinkPreviewOptions {
    LinkPreviewOptions {
        is_disabled: true,
        url: None,
        prefer_small_media: false,
        prefer_large_media: false,
        show_above_text: false,
    }
}
