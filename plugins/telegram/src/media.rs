//! Reads the content of a message beside its text: files, kept by reference; content that becomes a
//! line of text; and content that is unreadable.

use avocet_protocol::chat::{Attachment, AttachmentKind, AttachmentSource};
use teloxide::types::{
    Checklist, Contact, Dice, FileMeta, Location, MediaKind, Message, MessageKind, PhotoSize, Poll,
    Seconds, Sticker, Venue,
};

/// The content of a message beside its text and caption.
#[derive(Debug, PartialEq)]
pub(crate) enum Carried {
    /// A plain text or a service message.
    Nothing,
    /// A file that the platform keeps.
    File(Box<Attachment>),
    /// A file, and a text that describes it.
    FileWithText(Box<Attachment>, String),
    /// Content that becomes this line of text.
    Line(String),
    /// Content with words that its sender need not have written, which becomes this line of text.
    Card(String),
    /// Content of this kind, which is unreadable.
    Unreadable(&'static str),
}

impl Carried {
    /// The text for the model, and the files.
    pub(crate) fn into_parts(self) -> (Option<String>, Vec<Attachment>) {
        match self {
            Self::Nothing | Self::Unreadable(_) => (None, Vec::new()),
            Self::File(file) => (None, vec![*file]),
            Self::FileWithText(file, text) => (Some(text), vec![*file]),
            Self::Line(line) | Self::Card(line) => (Some(line), Vec::new()),
        }
    }

    /// Returns `true` if the sender need not have written the words.
    pub(crate) fn is_card(&self) -> bool {
        matches!(self, Self::Card(_))
    }
}

pub(crate) fn carried(message: &Message) -> Carried {
    match &message.kind {
        MessageKind::Common(common) => media(&common.media_kind),
        MessageKind::Dice(dice) => Carried::Line(dice_line(&dice.dice)),
        MessageKind::Invoice(_) => Carried::Unreadable("an invoice"),
        MessageKind::SuccessfulPayment(_) | MessageKind::RefundedPayment(_) => {
            Carried::Unreadable("a payment")
        }
        MessageKind::PassportData(_) => Carried::Unreadable("passport data"),
        MessageKind::Giveaway(_)
        | MessageKind::GiveawayCreated(_)
        | MessageKind::GiveawayCompleted(_)
        | MessageKind::GiveawayWinners(_) => Carried::Unreadable("a giveaway"),
        MessageKind::GiftInfo(_) | MessageKind::UniqueGiftInfo(_) => Carried::Unreadable("a gift"),
        MessageKind::UsersShared(_) | MessageKind::ChatShared(_) => {
            Carried::Unreadable("a shared contact list")
        }
        MessageKind::WebAppData(_) => Carried::Unreadable("data of a web app"),
        // Service messages have no content for the agent.
        _ => Carried::Nothing,
    }
}

fn media(media: &MediaKind) -> Carried {
    use AttachmentKind::{Audio, Document, Video, Voice};
    let file = |file| Carried::File(Box::new(file));
    match media {
        MediaKind::Photo(photo) => largest(&photo.photo).map_or(Carried::Nothing, file),
        MediaKind::Document(media) => {
            let (meta, media_type) = (&media.document.file, media_type(&media.document.mime_type));
            let kind =
                if is_picture(media_type.as_deref()) { AttachmentKind::Image } else { Document };
            let name = media.document.file_name.clone();
            file(Attachment { name, media_type, ..attachment(kind, meta) })
        }
        MediaKind::Voice(media) => file(Attachment {
            media_type: media_type(&media.voice.mime_type),
            ..playing(Voice, &media.voice.file, media.voice.duration)
        }),
        MediaKind::Audio(media) => file(Attachment {
            name: media.audio.file_name.clone().or_else(|| media.audio.title.clone()),
            media_type: media_type(&media.audio.mime_type),
            ..playing(Audio, &media.audio.file, media.audio.duration)
        }),
        MediaKind::Video(media) => file(Attachment {
            name: media.video.file_name.clone(),
            media_type: media_type(&media.video.mime_type),
            ..playing(Video, &media.video.file, media.video.duration)
        }),
        MediaKind::Animation(media) => file(Attachment {
            name: media.animation.file_name.clone(),
            media_type: media_type(&media.animation.mime_type),
            ..playing(Video, &media.animation.file, media.animation.duration)
        }),
        MediaKind::VideoNote(media) => file(Attachment {
            media_type: Some("video/mp4".to_owned()),
            ..playing(Video, &media.video_note.file, media.video_note.duration)
        }),
        MediaKind::Sticker(media) => sticker(&media.sticker),
        MediaKind::Contact(media) => Carried::Card(contact_line(&media.contact)),
        MediaKind::Venue(media) => Carried::Card(venue_line(&media.venue)),
        MediaKind::Location(media) => Carried::Line(location_line(&media.location)),
        MediaKind::Poll(media) => Carried::Card(poll_line(&media.poll)),
        MediaKind::Checklist(media) => Carried::Line(checklist_line(&media.checklist)),
        MediaKind::Game(_) => Carried::Unreadable("a game"),
        MediaKind::PaidMedia(_) => Carried::Unreadable("paid media"),
        MediaKind::Story(_) => Carried::Unreadable("a story"),
        MediaKind::Text(_) | MediaKind::Migration(_) => Carried::Nothing,
    }
}

fn attachment(kind: AttachmentKind, file: &FileMeta) -> Attachment {
    let source = AttachmentSource::Platform(file.id.0.clone());
    // teloxide writes `u32::MAX` if the platform omits the size.
    let bytes = (file.size != u32::MAX).then(|| u64::from(file.size));
    Attachment { bytes, ..Attachment::new(kind, source) }
}

fn playing(kind: AttachmentKind, file: &FileMeta, duration: Seconds) -> Attachment {
    Attachment { seconds: Some(duration.seconds()), ..attachment(kind, file) }
}

/// The largest version of a photo. The platform keeps several, always as JPEG.
fn largest(sizes: &[PhotoSize]) -> Option<Attachment> {
    let area = |size: &&PhotoSize| u64::from(size.width) * u64::from(size.height);
    let media_type = Some("image/jpeg".to_owned());
    let largest = sizes.iter().max_by_key(area)?;
    Some(Attachment { media_type, ..attachment(AttachmentKind::Image, &largest.file) })
}

fn sticker(sticker: &Sticker) -> Carried {
    let media_type = match &sticker.flags {
        flags if flags.is_animated => "application/x-tgsticker",
        flags if flags.is_video => "video/webm",
        _ => "image/webp",
    };
    let media_type = Some(media_type.to_owned());
    let file = attachment(AttachmentKind::Sticker, &sticker.file);
    let file = Box::new(Attachment { media_type, ..file });
    match &sticker.emoji {
        Some(emoji) => Carried::FileWithText(file, emoji.clone()),
        None => Carried::File(file),
    }
}

/// Returns `true` for a picture sent as a file, of a type that models accept.
fn is_picture(media_type: Option<&str>) -> bool {
    const PICTURES: [&str; 4] = ["image/gif", "image/jpeg", "image/png", "image/webp"];
    media_type.is_some_and(|media_type| PICTURES.contains(&media_type))
}

fn media_type(media_type: &Option<impl ToString>) -> Option<String> {
    media_type.as_ref().map(ToString::to_string)
}

fn contact_line(contact: &Contact) -> String {
    let Contact { first_name, last_name, phone_number, .. } = contact;
    let last_name = last_name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
    format!("[contact: {first_name}{last_name}, {phone_number}]")
}

fn venue_line(venue: &Venue) -> String {
    let Venue { title, address, location, .. } = venue;
    format!("[venue: {title}, {address}, {}]", place(location))
}

fn location_line(location: &Location) -> String {
    let live = if location.live_period.is_some() { "live location" } else { "location" };
    format!("[{live}: {}]", place(location))
}

/// Latitude first, as people write it.
fn place(Location { latitude, longitude, .. }: &Location) -> String {
    format!("{latitude}, {longitude}")
}

fn poll_line(poll: &Poll) -> String {
    let options: Vec<&str> = poll.options.iter().map(|option| option.text.as_str()).collect();
    format!("[poll: {} ({})]", poll.question, options.join(" / "))
}

fn checklist_line(checklist: &Checklist) -> String {
    let tasks = checklist.tasks.iter().map(|task| {
        let done = if task.completion_date.is_some() { "x" } else { " " };
        format!("\n[{done}] {}", task.text)
    });
    format!("[checklist: {}]{}", checklist.title, tasks.collect::<String>())
}

fn dice_line(Dice { emoji, value }: &Dice) -> String {
    let emoji = serde_json::to_value(emoji).unwrap_or_default();
    format!("[dice {}: {value}]", emoji.as_str().unwrap_or_default())
}

#[cfg(test)]
#[path = "media_tests.rs"]
mod tests;
