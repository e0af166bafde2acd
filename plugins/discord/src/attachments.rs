//! Files that come with messages. They are kept by reference, and the reference names the attachment,
//! not its URL: Discord signs URLs and they expire after a day, so a fresh one is asked for when the
//! bytes are wanted.

use avocet_protocol::{Attachment, AttachmentKind, AttachmentSource, FetchError};
use serenity::http::Route;
use serenity::model::channel::{Attachment as Sent, Message};
use serenity::model::id::{AttachmentId, ChannelId, MessageId};

use crate::Discord;
use crate::fault::Fault;

/// What came with a message, or with the one that it forwards.
pub(crate) fn of(message: &Message) -> Vec<Attachment> {
    sent(message).map(|sent| attachment(message, sent)).collect()
}

fn sent(message: &Message) -> impl Iterator<Item = &Sent> {
    let forwarded = message.message_snapshots.iter().flat_map(|snapshot| &snapshot.attachments);
    message.attachments.iter().chain(forwarded)
}

fn attachment(message: &Message, sent: &Sent) -> Attachment {
    let reference = format!("{}/{}/{}", message.channel_id, message.id, sent.id);
    // Only voice messages have a length (Discord API, "Attachment").
    let seconds = sent.duration_secs.map(|seconds| seconds.round() as u32);
    let kind =
        if seconds.is_some() { AttachmentKind::Voice } else { kind(sent.content_type.as_deref()) };
    Attachment {
        name: Some(sent.filename.clone()),
        media_type: sent.content_type.clone(),
        bytes: Some(sent.size.into()),
        seconds,
        ..Attachment::new(kind, AttachmentSource::Platform(reference))
    }
}

fn kind(media_type: Option<&str>) -> AttachmentKind {
    match media_type.and_then(|media_type| media_type.split('/').next()) {
        Some("image") => AttachmentKind::Image,
        Some("audio") => AttachmentKind::Audio,
        Some("video") => AttachmentKind::Video,
        _ => AttachmentKind::Document,
    }
}

impl Discord {
    /// The bytes of an attachment.
    pub(crate) async fn fetch_attachment(
        &self,
        reference: &str,
        limit: u64,
    ) -> Result<Vec<u8>, FetchError> {
        let gone = || FetchError::Gone(format!("{reference:?} is no file of Discord"));
        let (channel_id, message_id, id) = parse(reference).ok_or_else(gone)?;
        let route = Route::ChannelMessage { channel_id, message_id };
        let message: Message = self.rest.get(route).await.map_err(|fault| failed(&fault))?;
        let sent = sent(&message).find(|sent| sent.id == id).ok_or_else(gone)?;
        if u64::from(sent.size) > limit {
            return Err(FetchError::TooLarge { limit });
        }
        let bytes = self.rest.download(&sent.url, limit).await;
        bytes.map_err(|fault| failed(&fault))?.ok_or(FetchError::TooLarge { limit })
    }
}

fn parse(reference: &str) -> Option<(ChannelId, MessageId, AttachmentId)> {
    let mut parts = reference.split('/').map(str::parse::<std::num::NonZeroU64>);
    let mut next = || parts.next()?.ok();
    let parsed = (next()?.into(), next()?.into(), next()?.into());
    parts.next().is_none().then_some(parsed)
}

fn failed(fault: &Fault) -> FetchError {
    match fault {
        Fault::Refused(_) => FetchError::Gone(fault.to_string()),
        _ => FetchError::Failed(fault.to_string()),
    }
}
