//! Cuts a reply into chunks, each of which is one message of the platform.

use avocet_channel_kit::Styled;
use avocet_channel_kit::telegram::{MAX_CAPTION, limit, size};
use avocet_protocol::{Attachment, Content};

use crate::attempt::LINES_ABOVE;

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

/// Splits a reply with files into chunks. A single file gets the text as its caption if it fits;
/// otherwise the text comes first. The buttons go with the last chunk.
fn plan_files(reply: &Content, numbered: bool) -> Vec<Content> {
    let text = Content { attachments: Vec::new(), choices: Vec::new(), ..reply.clone() };
    let mut chunks = if text.is_empty() { Vec::new() } else { plan_text(&text, numbered) };
    match (&chunks[..], &reply.attachments[..]) {
        ([caption], [file]) if fits_below(caption) => {
            chunks = vec![Content { attachments: vec![file.clone()], ..caption.clone() }];
        }
        (_, files) => chunks.extend(files.iter().map(alone)),
    }
    if let Some(last) = chunks.last_mut() {
        last.choices.clone_from(&reply.choices);
    }
    chunks
}

fn alone(file: &Attachment) -> Content {
    let attachments = vec![file.clone()];
    Content { styles: Some(Vec::new()), attachments, ..Content::default() }
}

/// Returns `true` if a text fits into a caption, with room for the lines that may be put above.
fn fits_below(caption: &Content) -> bool {
    size(&Styled::of(caption)).saturating_add(LINES_ABOVE) <= MAX_CAPTION
}
