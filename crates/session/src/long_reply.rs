//! Replies that are too long for a chat. The chat gets the beginning, and the whole text as a file.

use avocet_protocol::access::{Roles, Trust};
use avocet_protocol::chat::notices::{self, readers};
use avocet_protocol::chat::{
    ANSWER_FILES, Attachment, AttachmentKind, AttachmentSource, Content, LoggedInbound, Planned,
};
use avocet_protocol::turn::{AnswerEnding, TurnRecord};

use crate::SessionParts;
use crate::long_code::move_code_to_files;
use crate::preview::mark_unfinished;
use crate::turn_facts::workspace_of;

/// Maximum number of platform messages for one reply.
const MOST_MESSAGES: usize = 20;
/// Size in bytes above which a text needs more messages than that on any platform, which saves the
/// planning.
const MOST_BYTES: usize = 128 * 1024;
/// Bytes of a long text that the chat shows: about one message of Telegram, or two of Discord.
const SHOWN: usize = 3000;

/// The text of a reply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplyText<'t> {
    pub(crate) text: &'t str,
    /// The end of the model's text in it, whose mark stays at the end of a shortened text.
    pub(crate) ending: AnswerEnding,
    pub(crate) trust: Trust,
}

impl<'t> ReplyText<'t> {
    /// A text of the program, which is complete.
    pub(crate) fn new(text: &'t str, trust: Trust) -> Self {
        Self { text, ending: AnswerEnding::Complete, trust }
    }
}

/// Plans the reply at the end of a turn; `None` if the channel of `to` is gone.
pub(crate) async fn plan_turn_reply(
    parts: &SessionParts,
    turn: &TurnRecord,
    to: &LoggedInbound,
    reply: ReplyText<'_>,
) -> Option<Planned> {
    let ReplyText { text, trust, .. } = reply;
    if text.len() <= MOST_BYTES {
        let reply = move_code_to_files(parts, turn, to, text, trust).await;
        let planned = parts.plan_message(to, &reply)?;
        if planned.chunks.len() <= MOST_MESSAGES {
            return Some(planned);
        }
    }
    let path = format!("{ANSWER_FILES}{}.md", turn.id);
    let written = match workspace_of(parts, turn).await {
        Ok(files) => files
            .write(&path, text.as_bytes().to_vec(), trust)
            .await
            .map_err(|error| error.to_string()),
        Err(error) => Err(error),
    };
    let file = written.map(|()| path.clone()).inspect_err(|error| {
        tracing::warn!(turn = %turn.id, path, error, "a long answer cannot be saved as a file");
    });
    let is_for_owner = parts.bus.is_owners_chat(&to.message.inbound.address);
    parts.plan_message(to, &shorten_reply(reply, file, is_for_owner))
}

/// Returns the beginning of a text and the place of the whole: the file, or the log if writing the
/// file failed.
fn shorten_reply(
    reply: ReplyText<'_>,
    file: Result<String, String>,
    is_for_owner: bool,
) -> Content {
    let ReplyText { text, ending, .. } = reply;
    let mark = ending.ending_mark().map(|mark| format!("\n\n{mark}")).unwrap_or_default();
    let beginning = mark_unfinished(cut_beginning(ending.without_mark(text)));
    let kilobytes = text.len().div_ceil(1024);
    let (rest, attachments) = match file {
        Ok(path) => {
            let bytes = Some(text.len() as u64);
            let (name, media_type) =
                (Some("answer.md".to_owned()), Some("text/markdown".to_owned()));
            let source = AttachmentSource::Workspace(path);
            let whole = Attachment {
                name,
                media_type,
                bytes,
                ..Attachment::new(AttachmentKind::Document, source)
            };
            ("The whole answer is in the file answer.md.".to_owned(), vec![whole])
        }
        Err(why) if is_for_owner => {
            let rest = format!(
                "The whole answer could not be sent as a file ({why}); `avocet sessions show` \
                    prints it."
            );
            (rest, Vec::new())
        }
        Err(_) => ("The whole answer could not be sent as a file.".to_owned(), Vec::new()),
    };
    let note = format!("[This is the beginning of an answer of {kilobytes} KB. {rest}]");
    let text = format!("{beginning}\n\n{note}{mark}");
    let content = if is_for_owner {
        notices::LongAnswer.for_reader(readers::Owner, text)
    } else {
        notices::LongAnswer.for_reader(readers::OTHERS, text)
    };
    Content { attachments, ..content }
}

/// Returns the shown part of a text, cut at the end of a line or word.
fn cut_beginning(text: &str) -> &str {
    let near = &text[..text.floor_char_boundary(SHOWN)];
    if near.len() == text.len() {
        return near.trim_end();
    }
    let end = near.rfind('\n').filter(|end| *end > SHOWN / 2);
    let end = end.or_else(|| near.rfind(char::is_whitespace)).filter(|end| *end > 0);
    near[..end.unwrap_or(near.len())].trim_end()
}

#[cfg(test)]
#[path = "long_reply_tests.rs"]
mod tests;
