//! The message to which a message replies. A channel reads it from its platform, and the reply gets
//! it as a quote with its files, which are fetched like the files of the reply itself.

use avocet_protocol::chat::{Attachment, Content, Quote};
use avocet_protocol::ids::PlatformId;

/// The most files of the message replied to that are fetched: as many as an album has.
const MAX_FILES: usize = 10;

/// The author of the message replied to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepliedAuthor {
    /// The agent, with the id of its message.
    Agent(Option<PlatformId>),
    /// The author of the reply, by this name. The message is the author's own text.
    Sender(String),
    /// Another author, by this name. The message is untrusted.
    Other(String),
}

/// The message to which a message replies, as far as its platform shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepliedMessage {
    /// The author.
    pub author: RepliedAuthor,
    /// The text, or the part of it that the author of the reply has selected.
    pub text: String,
    /// The files, each by reference.
    pub files: Vec<Attachment>,
}

impl RepliedMessage {
    /// Adds the message to the content of its reply. A message without text and files adds nothing.
    pub fn add_to(self, content: &mut Content) {
        let Self { author, text, files } = self;
        if text.trim().is_empty() && files.is_empty() {
            return;
        }
        content.quotes_own = matches!(author, RepliedAuthor::Sender(_));
        let from = match author {
            RepliedAuthor::Agent(id) => {
                content.quoted = id;
                None
            }
            RepliedAuthor::Sender(name) | RepliedAuthor::Other(name) => Some(name),
        };
        content.quote = Some(Quote { from, text });
        let files = files.into_iter().take(MAX_FILES);
        content.attachments.extend(files.map(|file| Attachment { quoted: true, ..file }));
    }
}

#[cfg(test)]
mod tests {
    use avocet_protocol::chat::{AttachmentKind, AttachmentSource};

    use super::*;

    fn reply_to(author: RepliedAuthor, text: &str, files: usize) -> Content {
        let source = || AttachmentSource::Platform("f".to_owned());
        let files = (0..files).map(|_| Attachment::new(AttachmentKind::Image, source())).collect();
        let mut content = Content::text("well?");
        RepliedMessage { author, text: text.to_owned(), files }.add_to(&mut content);
        content
    }

    #[test]
    fn replied_message_is_quoted_with_its_files_and_untrusted_if_of_another() {
        let ann = || RepliedAuthor::Sender("Ann".to_owned());
        let bob = || RepliedAuthor::Other("Bob".to_owned());
        let table = [
            (RepliedAuthor::Agent(None), "yes", 0, "[in reply to you]\n> yes\n", false),
            (ann(), "yes", 1, "[in reply to Ann]\n> yes\n> [image]\n", false),
            (bob(), "", 1, "[in reply to Bob]\n> [image]\n", true),
            (bob(), " ", 0, "", false),
        ];
        for (author, text, files, quote, is_untrusted) in table {
            let content = reply_to(author, text, files);
            assert_eq!(content.as_text(), format!("{quote}well?"));
            assert_eq!(content.has_untrusted_parts(), is_untrusted, "{quote}");
            assert_eq!(content.own_files().count(), 0);
        }
    }

    #[test]
    fn replied_message_of_the_agent_is_named_by_its_id() {
        let id: Option<PlatformId> = Some("9".parse().unwrap());
        assert_eq!(reply_to(RepliedAuthor::Agent(id.clone()), "yes", 0).quoted, id);
        assert_eq!(reply_to(RepliedAuthor::Other("Bob".to_owned()), "yes", 0).quoted, None);
    }

    #[test]
    fn replied_message_adds_ten_files_at_most() {
        assert_eq!(reply_to(RepliedAuthor::Agent(None), "", 11).attachments.len(), 10);
    }
}
