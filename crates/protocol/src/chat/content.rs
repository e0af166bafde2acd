//! The content of a message, inbound or outbound.

mod attachment;

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Trust;
use crate::bus::ProgramRequest;
use crate::chat::Poll;
use crate::ids::{DedupeKey, PlatformId, SenderId, WaitId};
pub use attachment::{Attachment, AttachmentKind, AttachmentSource, Transcript};

/// A placeholder in a prompt for the id of its wait, used until that id is reserved.
pub const WAIT: &str = "{wait}";

/// Text, attachments and buttons.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Content {
    /// The text; Markdown in outbound messages until a channel has rendered it. May be empty if
    /// there is an attachment.
    pub text: String,
    /// Inbound only: the quoted message, as far as the platform shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<Quote>,
    /// Inbound only: `true` if the sender wrote the quoted message, so that its text is the sender's
    /// own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(skip)]
    pub quotes_own: bool,
    /// Inbound only: the quoted message, if it is one of the bot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub quoted: Option<PlatformId>,
    /// Inbound only: the trust with which the agent wrote the quoted message. The log sets it, because
    /// the conversation may have forgotten that message. `None` if the log has no such message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub quote_trust: Option<Trust>,
    /// Inbound only: earlier messages of a group that were not for the agent, and notes of the
    /// channel about what happened since, without an author. The oldest come first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Quote>,
    /// Inbound only: the roles that the platform gives the author in a group, as far as the access
    /// rule of the account names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub author_roles: Vec<String>,
    /// Outbound: the key of the message that this one replies to, so that the platform can show the
    /// reference. Inbound: the key to which every answer refers, also in a private chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<DedupeKey>,
    /// Outbound only: the person to notify, in a group, of an answer that replies to no message of
    /// theirs: the asker of a scheduled task or a job. Platforms do so only where the operator wants it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub notifies: Option<SenderId>,
    /// Inbound only: the key of the message before it, of which this one is a further part. The
    /// author's client sent both at once, so they are answered together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub continues: Option<DedupeKey>,
    /// Inbound only: the time, in milliseconds, within which the author's client may send a further
    /// part. The turn begins after it, or as soon as that part is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub more_within_ms: Option<u32>,
    /// Inbound only: the message of the bot whose button was pressed. A command can change it instead
    /// of replying below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressed: Option<PlatformId>,
    /// Inbound only: `true` if the text is that of a pressed button. The agent has written it, and the
    /// sender has only chosen it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(skip)]
    pub by_button: bool,
    /// The original author of a forwarded message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forwarded_from: Option<String>,
    /// Inbound only: messages of others that the author forwarded together with this text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forwarded: Vec<Quote>,
    /// Inbound only: messages of others that the author quoted within the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub quotes: Vec<Quote>,
    /// Inbound only: other text of the message that its sender did not type, such as a contact card
    /// or the title of a recording. `from` names the source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub untrusted: Vec<Quote>,
    /// The styles of rendered text. If present, the text is plain and no longer Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub styles: Option<Vec<StyleRange>>,
    /// Files that belong to the message, or to the message that it replies to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// Buttons; a channel without buttons shows them as text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
    /// Outbound: a poll with the text as its question, without styles, files and buttons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll: Option<Poll>,
    /// Inbound only: the parts of a program's request beside the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Box<ProgramRequest>>,
}

impl Content {
    /// Makes content that is only text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Returns `true` if a part of it comes from a person other than the sender.
    #[must_use]
    pub fn has_untrusted_parts(&self) -> bool {
        let has_program_parts =
            self.program.as_ref().is_some_and(|program| program.has_untrusted_parts());
        has_program_parts
            || self.quotes_others()
            || self.earlier.iter().any(|quote| quote.from.is_some())
    }

    /// Returns `true` if the sender has quoted or forwarded another person. Earlier messages of a
    /// group do not count, because the channel has added them.
    #[must_use]
    pub fn quotes_others(&self) -> bool {
        let quotes_another =
            !self.quotes_own && self.quote.as_ref().is_some_and(|quote| quote.from.is_some());
        self.forwarded_from.is_some() || quotes_another || self.untyped_parts().next().is_some()
    }

    /// The parts that came with the text and that its sender did not type, in the order in which a
    /// model sees them.
    pub fn untyped_parts(&self) -> impl Iterator<Item = &Quote> {
        self.forwarded.iter().chain(&self.quotes).chain(&self.untrusted)
    }

    /// Returns the content without [`Self::untyped_parts`].
    #[must_use]
    pub fn without_untyped_parts(self) -> Self {
        Self { forwarded: Vec::new(), quotes: Vec::new(), untrusted: Vec::new(), ..self }
    }

    /// Returns the content after its author has edited the text to `edit`. Earlier messages and notes
    /// that came with it stay. Messages that were forwarded with it stay, with their files, unless the
    /// edit contains them.
    #[must_use]
    pub fn edited_to(mut self, mut edit: Self) -> Self {
        edit.earlier.retain(|quote| !self.earlier.contains(quote));
        edit.earlier.splice(..0, std::mem::take(&mut self.earlier));
        edit.continues = edit.continues.or(self.continues.take());
        if self.forwarded.is_empty() || !edit.forwarded.is_empty() {
            return edit;
        }
        // The edit repeats the files of the message replied to.
        let forwarded_files = self.attachments.into_iter().filter(|file| !file.quoted);
        let attachments = edit.attachments.into_iter().chain(forwarded_files).collect();
        Self { forwarded: self.forwarded, attachments, ..edit }
    }

    /// Returns the prompt with the wait's id in place of [`WAIT`]. Call it before a channel renders
    /// the prompt: style ranges of rendered text would keep their old offsets.
    #[must_use]
    pub fn with_wait(&self, wait: WaitId) -> Self {
        let mut named = self.clone();
        let put = |text: &mut String| *text = text.replace(WAIT, &wait.to_string());
        put(&mut named.text);
        named.choices.iter_mut().for_each(|choice| put(&mut choice.says));
        named
    }

    /// Returns `true` if the text is blank, and nothing came with it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let is_blank = |text: &str| text.trim().is_empty();
        is_blank(&self.text)
            && self.attachments.is_empty()
            && self.untyped_parts().all(|part| is_blank(&part.text))
    }

    /// The files of the message itself, without those of the message that it replies to.
    pub fn own_files(&self) -> impl Iterator<Item = &Attachment> {
        self.attachments.iter().filter(|file| !file.quoted)
    }

    /// Returns the quoted message as a model sees it, with a line for each of its files; `None` if
    /// none is quoted.
    #[must_use]
    pub fn describe_quote(&self) -> Option<String> {
        let mut shown = self.quote.as_ref()?.describe();
        for file in self.attachments.iter().filter(|file| file.quoted) {
            shown.push_str("\n> ");
            shown.push_str(&file.describe().replace('\n', "\n> "));
        }
        Some(shown)
    }

    /// Describes the message in one line for a report about it: the beginning of its text, and the
    /// names of its files.
    #[must_use]
    pub fn in_short(&self) -> String {
        const SHOWN: usize = 60;
        const NAMED: usize = 3;
        let mut text = self.text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.chars().count() > SHOWN {
            text = text.chars().take(SHOWN).collect();
            text.push('…');
        }
        let mut parts = vec![format!("“{text}”")];
        let files = self.own_files().count();
        if text.is_empty() && files > 0 {
            parts.clear();
        }
        parts.extend(self.own_files().take(NAMED).map(Attachment::in_short));
        if let more @ 1.. = files.saturating_sub(NAMED) {
            parts.push(format!("{more} more files"));
        }
        parts.join(" and ")
    }

    /// Returns the earlier messages as a model sees them; `None` if there are none.
    #[must_use]
    pub fn describe_earlier(&self) -> Option<String> {
        const SHOWN: usize = 500;
        let lines = self.earlier.iter().map(|Quote { from, text }| {
            let mut shown: String = text.chars().take(SHOWN).collect();
            if shown.len() < text.len() {
                shown.push('…');
            }
            let shown = shown.replace('\n', "\n> ");
            match from {
                Some(from) => format!("> {}: {shown}", one_line(from)),
                None => format!("> {shown}"),
            }
        });
        let lines: Vec<String> = lines.collect();
        let text = format!("[earlier in this chat]\n{}", lines.join("\n"));
        (!lines.is_empty()).then_some(text)
    }

    /// Returns the messages that were forwarded with this text, as a model sees them; `None` if
    /// there are none.
    #[must_use]
    pub fn describe_forwarded(&self) -> Option<String> {
        describe_parts("forwarded from", &self.forwarded)
    }

    /// Returns the quotes within the text as a model sees them; `None` if there are none.
    #[must_use]
    pub fn describe_quotes(&self) -> Option<String> {
        describe_parts("quoted from", &self.quotes)
    }

    /// Returns the other text that nobody typed, as a model sees it; `None` if there is none.
    #[must_use]
    pub fn describe_untrusted(&self) -> Option<String> {
        describe_parts("from", &self.untrusted)
    }

    /// The text with a line for each attachment, and with quoted, earlier and forwarded messages.
    /// For models without vision, transcripts and plain terminals.
    #[must_use]
    pub fn as_text(&self) -> String {
        let mut text = String::new();
        if let Some(earlier) = self.describe_earlier() {
            text.push_str(&earlier);
            text.push('\n');
        }
        if let Some(quote) = self.describe_quote() {
            text.push_str(&quote);
            text.push('\n');
        }
        if let Some(from) = &self.forwarded_from {
            text.push_str(&format!("[forwarded from {from}]\n"));
        }
        text.push_str(&self.text);
        if let Some(poll) = &self.poll {
            text.push_str("\n\n");
            text.push_str(&poll.as_list());
        }
        for attachment in self.own_files() {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&attachment.describe());
        }
        let parts = [self.describe_forwarded(), self.describe_quotes(), self.describe_untrusted()];
        for part in parts.into_iter().flatten() {
            text.push('\n');
            text.push_str(&part);
        }
        text
    }
}

/// The message that a message replies to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quote {
    /// The author, by the name that they gave themselves; `None` for the agent.
    pub from: Option<String>,
    /// The text of the message, or the selected part of it. Empty for a file without a caption.
    pub text: String,
}

impl Quote {
    /// The quote as a model sees it.
    #[must_use]
    pub fn describe(&self) -> String {
        const SHOWN: usize = 1000;
        let mut text: String = self.text.chars().take(SHOWN).collect();
        if text.len() < self.text.len() {
            text.push('…');
        }
        let text = text.replace('\n', "\n> ");
        let from = self.from.as_deref().map_or("you".to_owned(), one_line);
        let gap = if text.is_empty() { "" } else { "\n> " };
        format!("[in reply to {from}]{gap}{text}")
    }
}

/// Formats parts of a message, each below a line with its source; `None` if there are none.
fn describe_parts(how: &str, parts: &[Quote]) -> Option<String> {
    let lines = parts.iter().map(|Quote { from, text }| {
        let from = from.as_deref().map_or("somebody".to_owned(), one_line);
        format!("[{how} {from}]\n> {}", text.replace('\n', "\n> "))
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// A part of a text and its style.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StyleRange {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset after the last byte.
    pub end: usize,
    /// The style of this part.
    pub style: Style,
}

/// The style of a part of a text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Style {
    /// Strong emphasis, and headings on a platform without headings.
    Bold,
    /// A heading, on a platform that has headings. Programs of channels never get it.
    #[schemars(skip)]
    Heading {
        /// From 1, the largest, to 3.
        level: u8,
    },
    /// Lines in small print, on a platform that has them. Programs of channels never get it.
    #[schemars(skip)]
    Small,
    /// Emphasis.
    Italic,
    /// Struck through.
    Strike,
    /// Hidden until the reader presses it.
    Spoiler,
    /// Code within a line.
    Code,
    /// Lines of code, or a table.
    Pre {
        /// The programming language: letters, digits and `+#_.-`.
        language: Option<String>,
    },
    /// Quoted lines.
    Quote,
    /// A link with the scheme `http`, `https`, `tg`, or `mailto`, whose text is the address.
    Link {
        /// The target.
        url: String,
    },
}

impl StyleRange {
    /// Makes a style for `range`, which lies on character boundaries.
    #[must_use]
    pub fn new(range: Range<usize>, style: Style) -> Self {
        Self { start: range.start, end: range.end, style }
    }

    /// The bytes of the part.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Returns `true` if the range is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start >= self.end
    }
}

/// Puts a name from a sender on one line and limits its length.
fn one_line(name: &str) -> String {
    const SHOWN: usize = 120;
    let words = name.split(|c: char| c.is_whitespace() || c.is_control());
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    line.chars().take(SHOWN).collect()
}

/// A button.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// The text on the button.
    pub label: String,
    /// The text that pressing it sends, as if a person had typed it: `/skip w3`.
    pub says: String,
}

impl Choice {
    /// Makes a button with `label` that sends `says`.
    #[must_use]
    pub fn new(label: impl Into<String>, says: impl Into<String>) -> Self {
        Self { label: label.into(), says: says.into() }
    }
}

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
