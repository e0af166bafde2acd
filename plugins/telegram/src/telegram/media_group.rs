//! Sends several files as an album, which people see as one message. It is one delivery with the
//! numbers of all its messages. If the platform refuses the album, its files are sent one by one.

use avocet_protocol::LruMap;
use avocet_protocol::channel::SendError;
use avocet_protocol::chat::{Attachment, Content, Delivery, LoadedFile, Receipt};
use avocet_protocol::ids::{DeliveryId, PlatformId};
use parking_lot::Mutex;
use reqwest::multipart::Form;
use serde::Serialize;
use teloxide::types::MessageEntity;

use crate::Telegram;
use crate::api::MessageReceipt;
use crate::fault::BotApiError;
use crate::telegram::attempt::Attempt;
use crate::telegram::files::{ShownAs, file_part, json};

const METHOD: &str = "sendMediaGroup";
/// Deliveries whose progress is remembered.
const MAX_PARTLY_SENT: usize = 100;

/// The progress of albums that are sent file by file. A repeated delivery continues from there.
/// After a crash the progress is lost, and the log marks the repetition, as for other messages.
#[derive(Debug, Default)]
pub(crate) struct PartlySent(Mutex<LruMap<DeliveryId, SentFiles, MAX_PARTLY_SENT>>);

/// The progress of an album.
#[derive(Debug, Clone)]
struct SentFiles {
    /// The message of each file; `None` until it has arrived.
    messages: Vec<Option<PlatformId>>,
    /// `true` if the next file may have arrived.
    is_unsure: bool,
}

impl SentFiles {
    fn has_any(&self) -> bool {
        self.messages.iter().any(Option::is_some)
    }
}

impl PartlySent {
    fn get(&self, id: DeliveryId) -> Option<SentFiles> {
        self.0.lock().peek(&id).cloned()
    }

    fn put(&self, id: DeliveryId, files: &SentFiles) {
        self.0.lock().put(id, files.clone());
    }

    fn forget(&self, id: DeliveryId) {
        self.0.lock().pop(&id);
    }
}

/// A file of an album (Bot API, `InputMedia`).
#[derive(Serialize)]
struct AlbumItem<'a> {
    r#type: &'static str,
    media: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    caption: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    caption_entities: &'a [MessageEntity],
}

impl Telegram {
    /// Sends the files of a chunk as an album, if they fit together, or one by one.
    pub(crate) async fn send_files(&self, delivery: &Delivery) -> Result<Receipt, SendError> {
        let Content { attachments, .. } = &delivery.content;
        if attachments.len() != delivery.files.len() {
            let why = "the files of an album must be in the workspace";
            return Err(SendError::Refused(why.to_owned()));
        }
        let sent = self.partly_sent.get(delivery.id);
        let forms: Vec<ShownAs> = attachments
            .iter()
            .zip(&delivery.files)
            .map(|(one, file)| ShownAs::for_attachment(one, file))
            .collect();
        if sent.is_none()
            && fit_together(&forms)
            && let Some(receipt) = self.send_album(delivery, &forms).await?
        {
            return Ok(receipt);
        }
        // An album whose outcome is unknown may have arrived.
        let sent = sent.unwrap_or_else(|| SentFiles {
            messages: vec![None; attachments.len()],
            is_unsure: delivery.repeat,
        });
        self.send_one_by_one(delivery, sent).await
    }

    /// Sends an album. Returns `None` if the platform refuses it, so that none of it was sent.
    async fn send_album(
        &self,
        delivery: &Delivery,
        forms: &[ShownAs],
    ) -> Result<Option<Receipt>, SendError> {
        let mut attempt = Attempt::new(self, delivery)?;
        loop {
            let form = album_form(&attempt, forms).map_err(|fault| self.outcome(&fault))?;
            match self.api.upload(METHOD, form).await {
                Ok(messages) => {
                    let receipts = messages.as_array().into_iter().flatten();
                    let receipts = receipts.map(MessageReceipt::read);
                    let ids = receipts.filter_map(|one| attempt.receipt(one).platform_id);
                    return Ok(Some(Receipt { platform_id: joined(ids.map(Some)) }));
                }
                Err(fault) => {
                    let is_about_album = fault.has_code(400) || fault.has_code(413);
                    match attempt.adapt(self, &fault) {
                        Ok(adapted) => attempt = adapted,
                        Err(SendError::Refused(error)) if is_about_album => {
                            tracing::info!(chat = %delivery.address, error, "Telegram refuses the \
                                album; sending its files one by one");
                            self.pace.leave_again();
                            return Ok(None);
                        }
                        Err(error) => return Err(error),
                    }
                }
            }
            self.pace.leave_again();
        }
    }

    /// Sends the files that have not arrived. A refused file does not hold up the others.
    async fn send_one_by_one(
        &self,
        delivery: &Delivery,
        mut sent: SentFiles,
    ) -> Result<Receipt, SendError> {
        let mut refused = Vec::new();
        let mut is_first = true;
        for place in 0..sent.messages.len() {
            if sent.messages[place].is_some() {
                continue;
            }
            if !std::mem::take(&mut is_first) {
                self.pace.leave_again();
            }
            let part = part(delivery, place, !sent.has_any(), sent.is_unsure);
            // The delivery may be cancelled meanwhile.
            sent.is_unsure = true;
            self.partly_sent.put(delivery.id, &sent);
            let result = self.send_file(&part).await;
            sent.is_unsure = matches!(result, Err(SendError::Unknown(_)));
            match result {
                Ok(receipt) => sent.messages[place] = receipt.platform_id,
                Err(SendError::Refused(error)) => refused.push(error),
                Err(error) => {
                    self.partly_sent.put(delivery.id, &sent);
                    return Err(in_part(error, &sent));
                }
            }
        }
        let Some(error) = refused.first() else {
            self.partly_sent.forget(delivery.id);
            return Ok(Receipt { platform_id: joined(sent.messages.into_iter()) });
        };
        let error = match sent.messages.len() {
            all if all == refused.len() => error.clone(),
            all => format!("{} of {all} files: {error}", refused.len()),
        };
        self.partly_sent.put(delivery.id, &sent);
        Err(in_part(SendError::Refused(error), &sent))
    }
}

/// The outcome of an album that ended with an error.
fn in_part(error: SendError, sent: &SentFiles) -> SendError {
    if sent.has_any() { SendError::Partly(Box::new(error)) } else { error }
}

/// Returns `true` if files of these forms can be in one album (Bot API, `sendMediaGroup`).
fn fit_together(forms: &[ShownAs]) -> bool {
    let is_visual = |form: &ShownAs| matches!(form, ShownAs::Photo | ShownAs::Video);
    forms.iter().all(is_visual)
        || [ShownAs::Audio, ShownAs::Document]
            .iter()
            .any(|kind| forms.iter().all(|form| form == kind))
}

fn album_form(attempt: &Attempt<'_>, forms: &[ShownAs]) -> Result<Form, BotApiError> {
    let Attempt { delivery, text, entities, .. } = attempt;
    let mut form = attempt.form()?;
    let mut items = Vec::new();
    for (place, (shown_as, file)) in forms.iter().zip(&delivery.files).enumerate() {
        let (_, kind) = shown_as.method();
        let (caption, caption_entities) = match place {
            0 => (text.text.as_str(), &entities[..]),
            _ => ("", &[][..]),
        };
        let name = format!("file{place}");
        let media = format!("attach://{name}");
        items.push(AlbumItem { r#type: kind, media, caption, caption_entities });
        form = form.part(name, file_part(file));
    }
    Ok(form.text("media", json(&items)?))
}

/// The delivery of a single file, with or without the text of all of them. A repetition is marked.
fn part(delivery: &Delivery, place: usize, has_text: bool, repeat: bool) -> Delivery {
    let attachments: Vec<Attachment> = delivery.content.attachments[place..=place].to_vec();
    let files: Vec<LoadedFile> = delivery.files[place..=place].to_vec();
    let content = if has_text {
        Content { attachments, ..delivery.content.clone() }
    } else {
        Content { attachments, styles: Some(Vec::new()), ..Content::default() }
    };
    Delivery { content, files, repeat, ..delivery.clone() }
}

/// Joins the numbers of several messages to one id.
fn joined(ids: impl Iterator<Item = Option<PlatformId>>) -> Option<PlatformId> {
    let ids: Vec<String> = ids.flatten().map(|id| id.to_string()).collect();
    PlatformId::parse(&ids.join(",")).ok()
}
