//! Reads the content of messages from their raw JSON if teloxide fails to parse them.

use std::slice;

use avocet_protocol::chat::{Attachment, AttachmentKind, AttachmentSource};
use serde_json::{Map, Value};

/// Fields of a message other than its content.
const NO_CONTENT: [&str; 35] = [
    "author_signature",
    "business_connection_id",
    "caption",
    "caption_entities",
    "chat",
    "date",
    "direct_messages_topic",
    "edit_date",
    "effect_id",
    "entities",
    "external_reply",
    "forward_origin",
    "from",
    "has_media_spoiler",
    "has_protected_content",
    "is_automatic_forward",
    "is_from_offline",
    "is_paid_post",
    "is_topic_message",
    "link_preview_options",
    "media_group_id",
    "message_id",
    "message_thread_id",
    "paid_star_count",
    "quote",
    "reply_markup",
    "reply_to_checklist_task_id",
    "reply_to_message",
    "reply_to_story",
    "sender_boost_count",
    "sender_business_bot",
    "sender_chat",
    "show_caption_above_media",
    "suggested_post_info",
    "via_bot",
];

/// Fields of service messages, which report events of a chat.
const SERVICE: [&str; 31] = [
    "boost_added",
    "channel_chat_created",
    "chat_background_set",
    "checklist_tasks_added",
    "checklist_tasks_done",
    "connected_website",
    "delete_chat_photo",
    "direct_message_price_changed",
    "forum_topic_closed",
    "forum_topic_created",
    "forum_topic_edited",
    "forum_topic_reopened",
    "general_forum_topic_hidden",
    "general_forum_topic_unhidden",
    "group_chat_created",
    "left_chat_member",
    "message_auto_delete_timer_changed",
    "migrate_from_chat_id",
    "migrate_to_chat_id",
    "new_chat_members",
    "new_chat_photo",
    "new_chat_title",
    "paid_message_price_changed",
    "pinned_message",
    "proximity_alert_triggered",
    "supergroup_chat_created",
    "video_chat_ended",
    "video_chat_participants_invited",
    "video_chat_scheduled",
    "video_chat_started",
    "write_access_allowed",
];

/// The content fields of a message, with a name for people.
const CONTENT: [(&str, &str); 26] = [
    ("animation", "an animation"),
    ("audio", "an audio file"),
    ("chat_shared", "a shared chat"),
    ("checklist", "a checklist"),
    ("contact", "a contact"),
    ("dice", "a dice"),
    ("document", "a file"),
    ("game", "a game"),
    ("gift", "a gift"),
    ("giveaway", "a giveaway"),
    ("invoice", "an invoice"),
    ("paid_media", "paid media"),
    ("passport_data", "passport data"),
    ("photo", "a photo"),
    ("poll", "a poll"),
    ("rich_message", "a rich message"),
    ("sticker", "a sticker"),
    ("story", "a story"),
    ("successful_payment", "a payment"),
    ("text", "a text"),
    ("unique_gift", "a gift"),
    ("venue", "a venue"),
    ("location", "a location"),
    ("video", "a video"),
    ("video_note", "a video note"),
    ("voice", "a voice message"),
];

/// Characters of an unknown field's name that is shown to people.
const MAX_FIELD: usize = 40;

/// The file in a message, if the platform gives its id.
pub(crate) fn file(message: &Map<String, Value>) -> Option<Attachment> {
    use AttachmentKind::{Audio, Document, Image, Sticker, Video, Voice};
    // An animation also has a `document`, so it comes first. Media made by the platform have fixed
    // types.
    let kinds = [
        ("animation", Video, None),
        ("audio", Audio, None),
        ("document", Document, None),
        ("photo", Image, Some("image/jpeg")),
        ("sticker", Sticker, None),
        ("video", Video, None),
        ("video_note", Video, Some("video/mp4")),
        ("voice", Voice, Some("audio/ogg")),
        // In a block of a rich message.
        ("voice_note", Voice, Some("audio/ogg")),
    ];
    kinds.into_iter().find_map(|(field, kind, media_type)| {
        let body = message.get(field)?;
        // The last size of a photo is the largest.
        let sizes = body.as_array().map_or(slice::from_ref(body), Vec::as_slice);
        let (meta, id) = sizes
            .iter()
            .rev()
            .find_map(|meta| Some((meta, meta["file_id"].as_str().filter(|id| !id.is_empty())?)))?;
        let given = meta["mime_type"].as_str().filter(|given| given.contains('/'));
        let source = AttachmentSource::Platform(id.to_owned());
        Some(Attachment {
            name: meta["file_name"].as_str().map(str::to_owned),
            media_type: given.or(media_type).map(str::to_owned),
            bytes: meta["file_size"].as_u64(),
            seconds: meta["duration"].as_u64().and_then(|seconds| seconds.try_into().ok()),
            ..Attachment::new(kind, source)
        })
    })
}

/// Names the content of a message, with its article. `None` if it is empty or a service message.
pub(crate) fn kind(message: &Map<String, Value>) -> Option<String> {
    let has = |field: &str| message.get(field).is_some_and(|value| !value.is_null());
    if let Some((_, what)) = CONTENT.iter().find(|(field, _)| has(field)) {
        return Some(format!("{what} that Telegram describes in an unknown way"));
    }
    let is_new = |field: &&String| {
        has(field) && ![&NO_CONTENT[..], &SERVICE[..]].concat().contains(&field.as_str())
    };
    let field = message.keys().find(is_new)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    Some(if field.len() <= MAX_FIELD && field.chars().all(plain) {
        format!("something that Telegram calls “{field}”, which I do not know")
    } else {
        "something that I do not know".to_owned()
    })
}
