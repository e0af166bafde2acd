//! What a message consists of, on its way in and on its way out.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{DedupeKey, WaitId};

/// What stands in a prompt for the id of the wait that it belongs to, until that id is reserved.
pub const WAIT: &str = "{wait}";

/// Text, attachments and buttons.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// The text; Markdown on the way out, until a channel has rendered it. May be empty if there
    /// is an attachment.
    pub text: String,
    /// On its way in, what the message replies to, as far as the platform shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<Quote>,
    /// On its way out, the message of the chat that it replies to, by that message's key: a platform
    /// shows which of many it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<DedupeKey>,
    /// Who wrote it before it was forwarded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forwarded_from: Option<String>,
    /// How the text looks, where a channel has rendered it: then it is no Markdown any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub styles: Option<Vec<StyleRange>>,
    /// Files that came or go with the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// Buttons; a channel without buttons shows them as text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Choice>,
}

impl Content {
    /// Nothing but text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Whether part of it are words of somebody else than its sender.
    #[must_use]
    pub fn has_foreign_words(&self) -> bool {
        let quotes_another = self.quote.as_ref().is_some_and(|quote| quote.from.is_some());
        self.forwarded_from.is_some() || quotes_another
    }

    /// The same prompt with the id of its wait in the place of [`WAIT`]. Comes before a channel renders
    /// it: style ranges of rendered text would keep their old offsets.
    #[must_use]
    pub fn naming(&self, wait: WaitId) -> Self {
        let mut named = self.clone();
        let put = |text: &mut String| *text = text.replace(WAIT, &wait.to_string());
        put(&mut named.text);
        named.choices.iter_mut().for_each(|choice| put(&mut choice.says));
        named
    }

    /// Nothing to say and nothing to show.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.attachments.is_empty()
    }

    /// The message in one line, for a report of what became of it: the beginning of its text, and the
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
        if text.is_empty() && !self.attachments.is_empty() {
            parts.clear();
        }
        parts.extend(self.attachments.iter().take(NAMED).map(Attachment::in_short));
        if let more @ 1.. = self.attachments.len().saturating_sub(NAMED) {
            parts.push(format!("{more} more files"));
        }
        parts.join(" and ")
    }

    /// The text with a line for each attachment and for what it quotes: what a model without eyes,
    /// a transcript and a plain terminal show.
    #[must_use]
    pub fn as_text(&self) -> String {
        let mut text = String::new();
        if let Some(quote) = &self.quote {
            text.push_str(&quote.describe());
            text.push('\n');
        }
        if let Some(from) = &self.forwarded_from {
            text.push_str(&format!("[forwarded from {from}]\n"));
        }
        text.push_str(&self.text);
        for attachment in &self.attachments {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&attachment.describe());
        }
        text
    }
}

/// What a message replies to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quote {
    /// Who said it, as they call themselves; none if it was the agent.
    pub from: Option<String>,
    /// What was said, or the part of it that was chosen.
    pub text: String,
}

impl Quote {
    /// As a model is shown it.
    #[must_use]
    pub fn describe(&self) -> String {
        const SHOWN: usize = 1000;
        let mut text: String = self.text.chars().take(SHOWN).collect();
        if text.len() < self.text.len() {
            text.push('…');
        }
        let text = text.replace('\n', "\n> ");
        let from = self.from.as_deref().unwrap_or("you");
        format!("[in reply to {from}]\n> {text}")
    }
}

/// A part of a text and its style.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StyleRange {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
    /// How it looks.
    pub style: Style,
}

/// How a part of a text looks.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Style {
    /// Strong emphasis, and headings.
    Bold,
    /// Emphasis.
    Italic,
    /// Struck through.
    Strike,
    /// Hidden until it is pressed.
    Spoiler,
    /// Code within a line.
    Code,
    /// Lines of code, or a table.
    Pre {
        /// The programming language: letters, digits and `+#_.-`.
        language: Option<String>,
    },
    /// Lines that are quoted.
    Quote,
    /// Leads somewhere: `http`, `https`, `tg`, or `mailto`, whose text is the address.
    Link {
        /// Where to.
        url: String,
    },
}

impl StyleRange {
    /// The part in `range`, which lies on character boundaries.
    #[must_use]
    pub fn new(range: Range<usize>, style: Style) -> Self {
        Self { start: range.start, end: range.end, style }
    }

    /// The bytes of the part.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start >= self.end
    }
}

/// A file, by reference: its bytes are never part of a message in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// How a platform would show it.
    pub kind: AttachmentKind,
    /// Where the bytes are.
    pub source: AttachmentSource,
    /// The file's name as its sender gave it; never used as a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The media type (RFC 6838), as the platform or the sender states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The size in bytes, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// How long it plays, in seconds, where the platform says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u32>,
    /// What is said in it, once somebody has listened to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<Transcript>,
}

impl Attachment {
    /// A file of which nothing is known but where it is.
    #[must_use]
    pub fn new(kind: AttachmentKind, source: AttachmentSource) -> Self {
        Self {
            kind,
            source,
            name: None,
            media_type: None,
            bytes: None,
            seconds: None,
            transcript: None,
        }
    }

    /// A line that says what it is, what became of it, and what is said in it.
    fn describe(&self) -> String {
        let mut line = format!("[{}", self.kind.word());
        if let Some(seconds) = self.seconds {
            line.push_str(&format!(", {seconds} s"));
        }
        let details = self.details();
        if !details.is_empty() {
            line.push_str(": ");
            line.push_str(&details.join(", "));
        }
        line.push(']');
        line
    }

    /// What it is and its name.
    fn in_short(&self) -> String {
        let path = match &self.source {
            AttachmentSource::Workspace(path) => path.rsplit('/').next(),
            AttachmentSource::Platform(_) | AttachmentSource::Lost(_) => None,
        };
        let name = self.name.as_deref().or(path).map(one_line).unwrap_or_default();
        format!("the {} {name}", self.kind.word()).trim_end().to_owned()
    }

    fn details(&self) -> Vec<String> {
        let mut details: Vec<String> = self.name.as_deref().map(one_line).into_iter().collect();
        match &self.transcript {
            Some(Transcript::Said(text)) if text.is_empty() => {
                details.push("no words are heard in it".to_owned());
            }
            Some(Transcript::Said(text)) => details.push(format!("“{text}”")),
            Some(Transcript::Failed(why)) => {
                details.push(format!("what is said in it is not known: {why}"));
            }
            None => details.extend(self.bytes.map(|bytes| format!("{bytes} bytes"))),
        }
        match &self.source {
            AttachmentSource::Workspace(path) => details.push(format!("saved as {path}")),
            AttachmentSource::Lost(why) => details.push(format!("could not be fetched: {why}")),
            AttachmentSource::Platform(_) => {}
        }
        details
    }
}

/// A name as its sender gave it, on one line and not endless.
fn one_line(name: &str) -> String {
    const SHOWN: usize = 120;
    let words = name.split(|c: char| c.is_whitespace() || c.is_control());
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    line.chars().take(SHOWN).collect()
}

/// What is said in a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transcript {
    /// This.
    Said(String),
    /// It could not be found out, and this is why.
    Failed(String),
}

/// How a platform shows an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttachmentKind {
    /// A picture.
    Image,
    /// Sound.
    Audio,
    /// A voice message.
    Voice,
    /// A small picture that stands for a feeling; some move.
    Sticker,
    /// Moving pictures.
    Video,
    /// Any other file.
    Document,
}

impl AttachmentKind {
    fn word(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Voice => "voice",
            Self::Sticker => "sticker",
            Self::Video => "video",
            Self::Document => "document",
        }
    }
}

/// Where the bytes of an attachment are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttachmentSource {
    /// A file below the workspace, by its relative path.
    Workspace(String),
    /// The platform keeps it under this reference.
    Platform(String),
    /// It could not be had, and this is why.
    Lost(String),
}

/// A button.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// What stands on it.
    pub label: String,
    /// What pressing it says, as if its text had been typed: `/skip w3`.
    pub says: String,
}

impl Choice {
    /// A button with `label` that says `says`.
    #[must_use]
    pub fn new(label: impl Into<String>, says: impl Into<String>) -> Self {
        Self { label: label.into(), says: says.into() }
    }
}

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
