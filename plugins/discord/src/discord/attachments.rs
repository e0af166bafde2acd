//! Files that come with messages. They are kept by a reference to the attachment instead of its
//! URL: Discord signs URLs, which expire after a day, so a fresh one is requested when the file is
//! needed.

use avocet_net::{FetchError as NoPage, FetchLimits, FetchedPage, GuardedClient, UrlRule};
use avocet_protocol::channel::FetchError;
use avocet_protocol::chat::{Attachment, AttachmentKind, AttachmentSource};
use reqwest::header::HeaderMap;
use serde::Deserialize;
use serde_json::Value;
use serenity::model::channel::{Attachment as Sent, Message};
use serenity::model::id::{AttachmentId, ChannelId, MessageId};

use crate::Discord;
use crate::fault::RestError;
use crate::rest::REQUEST_TIMEOUT;
use crate::routes::Route;

/// Discord's servers of files. Through a proxy, the address of another host cannot be checked.
const FILE_SERVERS: [&str; 2] = ["cdn.discordapp.com", "media.discordapp.net"];

/// Returns the attachments of a message, and of the message that it forwards.
pub(crate) fn from_message(message: &Message) -> Vec<Attachment> {
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
        // The size is 0 if it is unknown.
        bytes: (sent.size > 0).then_some(sent.size.into()),
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

/// The fields of an attachment that a download needs.
struct FetchableFile {
    /// Bytes; 0 if unknown.
    size: u64,
    url: String,
}

impl FetchableFile {
    /// Finds an attachment of a message, or of the message that it forwards. Other fields may be
    /// malformed.
    fn find(message: &Value, id: AttachmentId) -> Option<Self> {
        let snapshots = message["message_snapshots"].as_array().into_iter().flatten();
        let messages = snapshots.map(|snapshot| &snapshot["message"]).chain([message]);
        let mut files = messages.flat_map(|message| message["attachments"].as_array()).flatten();
        let is_it = |file: &&Value| AttachmentId::deserialize(&file["id"]).ok() == Some(id);
        let file = files.find(is_it)?;
        let url = file["url"].as_str()?.to_owned();
        Some(Self { size: file["size"].as_u64().unwrap_or_default(), url })
    }
}

impl Discord {
    /// Downloads an attachment.
    pub(crate) async fn fetch_attachment(
        &self,
        reference: &str,
        limit: u64,
    ) -> Result<Vec<u8>, FetchError> {
        let gone = || FetchError::Gone(format!("{reference:?} is not a file of Discord"));
        let (channel_id, message_id, id) = parse(reference).ok_or_else(gone)?;
        let route = Route::ChannelMessage { channel_id, message_id };
        let message: Value = self.rest.get(route).await.map_err(|fault| failed(&fault))?;
        let sent = FetchableFile::find(&message, id).ok_or_else(gone)?;
        if sent.size > limit {
            return Err(FetchError::TooLarge { limit });
        }
        let is_own = self.rest.is_own(&sent.url);
        if !is_own && !self.rest.has_proxy {
            return self.fetch_elsewhere(&sent.url, limit).await;
        }
        if !is_own && !is_of_discord(&sent.url) {
            let error = "with a proxy, only files of Discord's own servers are downloaded";
            return Err(FetchError::Gone(error.to_owned()));
        }
        let bytes = self.rest.download(&sent.url, limit).await;
        bytes.map_err(|fault| failed(&fault))?.ok_or(FetchError::TooLarge { limit })
    }

    /// Downloads a file from the URL that Discord gives, but only from the public Internet.
    async fn fetch_elsewhere(&self, url: &str, limit: u64) -> Result<Vec<u8>, FetchError> {
        let body = usize::try_from(limit).unwrap_or(usize::MAX);
        let limits = FetchLimits { time: REQUEST_TIMEOUT, body };
        let client = GuardedClient::new(self.interfaces.clone(), self.clock.clone(), limits);
        match client.get(url, &[]).await {
            Ok(FetchedPage { status: 200, body, .. }) => Ok(body),
            Ok(page) => Err(failed(&RestError::answered(page.status, &HeaderMap::new(), b""))),
            Err(NoPage::Long(_)) => Err(FetchError::TooLarge { limit }),
            // The resolver may answer later.
            Err(NoPage::Refused(refusal)) if refusal.rule == UrlRule::NoAddress => {
                Err(FetchError::Failed(refusal.to_string()))
            }
            Err(NoPage::Refused(refusal)) => Err(FetchError::Gone(refusal.to_string())),
            Err(
                error @ (NoPage::Net(_)
                | NoPage::Slow(_)
                | NoPage::Compressed
                | NoPage::Elsewhere(_)),
            ) => Err(FetchError::Failed(error.to_string())),
        }
    }
}

/// Returns `true` for a URL of a server of files that belongs to Discord.
fn is_of_discord(url: &str) -> bool {
    reqwest::Url::parse(url).is_ok_and(|url| {
        let is_known = url.host_str().is_some_and(|host| FILE_SERVERS.contains(&host));
        url.scheme() == "https" && url.port().is_none() && is_known
    })
}

fn parse(reference: &str) -> Option<(ChannelId, MessageId, AttachmentId)> {
    let mut parts = reference.split('/').map(str::parse::<std::num::NonZeroU64>);
    let mut next = || parts.next()?.ok();
    let parsed = (next()?.into(), next()?.into(), next()?.into());
    parts.next().is_none().then_some(parsed)
}

fn failed(fault: &RestError) -> FetchError {
    match fault {
        RestError::Refused(_) => FetchError::Gone(fault.to_string()),
        _ => FetchError::Failed(fault.to_string()),
    }
}
