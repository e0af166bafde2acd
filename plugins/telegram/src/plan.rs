//! Cuts a reply into chunks, each of which is one message of the platform.

use avocet_channel_kit::Styled;
use avocet_channel_kit::telegram::{MAX_CAPTION, limit, size};
use avocet_protocol::chat::{
    Attachment, AttachmentKind, AttachmentSource, Content, MAX_SENT_FILE_BYTES,
};

use crate::telegram::attempt::LINES_ABOVE;

/// Files of an album (Bot API, `sendMediaGroup`).
const MAX_ALBUM: usize = 10;
/// Assumed size of a file of an album. All files of an album are in memory at the same time.
const UNKNOWN_BYTES: u64 = MAX_SENT_FILE_BYTES / MAX_ALBUM as u64;

/// Cuts a reply into chunks, numbered or not.
pub(crate) fn plan(reply: &Content, numbered: bool) -> Vec<Content> {
    if reply.attachments.is_empty() {
        plan_text(reply, numbered)
    } else {
        plan_files(reply, numbered)
    }
}

/// Cuts the beginning of a reply. The messages have no numbers yet, but room for them.
pub(crate) fn plan_preview(reply: &Content, numbered: bool) -> Vec<Content> {
    avocet_channel_kit::plan_preview(reply, limit().reserving(LINES_ABOVE), numbered)
}

/// Splits a text into messages, numbered or not.
fn plan_text(reply: &Content, numbered: bool) -> Vec<Content> {
    avocet_channel_kit::plan(reply, limit().reserving(LINES_ABOVE), numbered)
}

/// Splits a reply with files into chunks. Files that fit together become an album. If all files are
/// in one chunk, it gets the text as its caption if that fits; otherwise the text comes first. The
/// buttons go with the last chunk.
fn plan_files(reply: &Content, numbered: bool) -> Vec<Content> {
    let text = Content { attachments: Vec::new(), choices: Vec::new(), ..reply.clone() };
    let mut chunks = if text.is_empty() { Vec::new() } else { plan_text(&text, numbered) };
    let albums = albums(&reply.attachments, !reply.choices.is_empty());
    match (&chunks[..], &albums[..]) {
        ([caption], [files]) if fits_below(caption) => {
            chunks = vec![Content { attachments: files.clone(), ..caption.clone() }];
        }
        _ => chunks.extend(albums.into_iter().map(without_text)),
    }
    if let Some(last) = chunks.last_mut() {
        last.choices.clone_from(&reply.choices);
    }
    chunks
}

fn without_text(attachments: Vec<Attachment>) -> Content {
    Content { styles: Some(Vec::new()), attachments, ..Content::default() }
}

/// The kind of an album (Bot API, `sendMediaGroup`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AlbumKind {
    Visual,
    Audio,
    Documents,
}

impl AlbumKind {
    /// Returns the kind by the declared kind and the name of a file. `None` for one that is sent
    /// alone, such as a voice message. The bytes decide later, and may end the album.
    fn of_file(file: &Attachment) -> Option<Self> {
        const SOUND: [&str; 2] = [".mp3", ".m4a"];
        const VOICE: [&str; 3] = [".ogg", ".oga", ".opus"];
        let AttachmentSource::Workspace(path) = &file.source else { return None };
        let path = path.to_ascii_lowercase();
        let ends = |ends: &[&str]| ends.iter().any(|end| path.ends_with(end));
        match file.kind {
            AttachmentKind::Image | AttachmentKind::Video => Some(Self::Visual),
            AttachmentKind::Voice | AttachmentKind::Sticker => None,
            _ if ends(&VOICE) => None,
            _ if ends(&[".mp4"]) => Some(Self::Visual),
            AttachmentKind::Audio => Some(Self::Audio),
            AttachmentKind::Document if ends(&SOUND) => Some(Self::Audio),
            AttachmentKind::Document => Some(Self::Documents),
        }
    }
}

/// Groups neighbouring files of one kind, within the limits of an album. An album can have no
/// buttons, so a last file with buttons stays alone.
fn albums(files: &[Attachment], has_buttons: bool) -> Vec<Vec<Attachment>> {
    let size = |file: &Attachment| file.bytes.unwrap_or(UNKNOWN_BYTES);
    let mut albums: Vec<Vec<Attachment>> = Vec::new();
    for (place, file) in files.iter().enumerate() {
        let kind = AlbumKind::of_file(file);
        let has_own_buttons = has_buttons && place + 1 == files.len();
        let room = albums.last_mut().filter(|album| {
            let bytes: u64 = album.iter().map(size).fold(size(file), u64::saturating_add);
            kind.is_some()
                && !has_own_buttons
                && album.len() < MAX_ALBUM
                && bytes <= MAX_SENT_FILE_BYTES
                && album.first().and_then(AlbumKind::of_file) == kind
        });
        match room {
            Some(album) => album.push(file.clone()),
            None => albums.push(vec![file.clone()]),
        }
    }
    albums
}

/// Returns `true` if a text fits into a caption, with room for the lines that may be put above.
fn fits_below(caption: &Content) -> bool {
    size(&Styled::from_content(caption)).saturating_add(LINES_ABOVE) <= MAX_CAPTION
}
