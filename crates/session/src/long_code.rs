//! Blocks of code that take too many messages. The chat gets each of them as a file, and the text
//! around it as messages.

use std::ops::Range;

use avocet_protocol::access::Trust;
use avocet_protocol::chat::{
    ANSWER_FILES, Attachment, AttachmentKind, AttachmentSource, Content, LoggedInbound,
};
use avocet_protocol::turn::TurnRecord;

use crate::SessionParts;
use crate::turn_facts::workspace_of;

/// Messages that the code of one block may take.
const MOST_CODE_MESSAGES: usize = 3;
/// Bytes of a block that fits into so many messages on every platform.
const CERTAINLY_FITS: usize = 1000;
/// Extensions by the names of languages that differ from them.
const EXTENSIONS: [(&str, &str); 17] = [
    ("bash", "sh"),
    ("c++", "cpp"),
    ("c#", "cs"),
    ("console", "sh"),
    ("golang", "go"),
    ("javascript", "js"),
    ("jsonc", "json"),
    ("kotlin", "kt"),
    ("markdown", "md"),
    ("patch", "diff"),
    ("perl", "pl"),
    ("powershell", "ps1"),
    ("python", "py"),
    ("ruby", "rb"),
    ("rust", "rs"),
    ("shell", "sh"),
    ("typescript", "ts"),
];
/// The longest name of a language that is taken as an extension.
const LONGEST_EXTENSION: usize = 6;

/// A fenced block of code in Markdown.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CodeBlock<'t> {
    /// Bytes of the block in the text, with its fences.
    range: Range<usize>,
    language: &'t str,
    code: &'t str,
}

impl CodeBlock<'_> {
    /// Returns the extension of a file with this code, without its dot.
    fn file_extension(&self) -> String {
        let language = self.language.to_ascii_lowercase();
        if let Some((_, extension)) = EXTENSIONS.iter().find(|(name, _)| *name == language) {
            return (*extension).to_owned();
        }
        let is_extension = (1..=LONGEST_EXTENSION).contains(&language.len())
            && language.chars().all(|c| c.is_ascii_alphanumeric());
        if is_extension { language } else { "txt".to_owned() }
    }

    fn count_lines(&self) -> usize {
        self.code.lines().count()
    }
}

/// Returns the fenced blocks of a text (CommonMark, "Fenced code blocks"). A block without an end
/// reaches to the end of the text.
fn find_blocks(text: &str) -> Vec<CodeBlock<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<(Range<usize>, &str, &str)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let Some((fence, info)) = split_fence(line) else { continue };
        match &open {
            None if !info.contains('`') => {
                let language = info.split_whitespace().next().unwrap_or_default();
                open = Some((start..end, fence, language));
            }
            Some((opening, opening_fence, language))
                if info.is_empty() && fence.starts_with(opening_fence) =>
            {
                let code = &text[opening.end..start];
                blocks.push(CodeBlock { range: opening.start..end, language, code });
                open = None;
            }
            _ => {}
        }
    }
    if let Some((opening, _, language)) = open {
        let code = &text[opening.end..];
        blocks.push(CodeBlock { range: opening.start..text.len(), language, code });
    }
    blocks
}

/// Returns the fence at the beginning of a line, and the text behind it.
fn split_fence(line: &str) -> Option<(&str, &str)> {
    let indented = line.trim_end();
    let line = indented.trim_start_matches(' ');
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let info = line.trim_start_matches(mark);
    let fence = &line[..line.len() - info.len()];
    (fence.len() >= 3 && indented.len() - line.len() <= 3).then_some((fence, info.trim()))
}

/// Replaces each block that takes too many messages by `instead`, and returns those blocks.
/// `messages` counts the messages of a text.
fn replace_blocks<'t>(
    text: &'t str,
    messages: impl Fn(&str) -> usize,
    mut instead: impl FnMut(&CodeBlock<'t>) -> Option<String>,
) -> String {
    let mut shown = String::new();
    let mut at = 0;
    for block in find_blocks(text) {
        let is_long = block.code.len() > CERTAINLY_FITS
            && messages(&text[block.range.clone()]) > MOST_CODE_MESSAGES;
        let Some(instead) = is_long.then(|| instead(&block)).flatten() else { continue };
        shown.push_str(&text[at..block.range.start]);
        shown.push_str(&instead);
        shown.push('\n');
        at = block.range.end;
    }
    shown.push_str(&text[at..]);
    shown
}

/// Returns a growing text with a line in place of each block that becomes a file.
pub(crate) fn without_long_code(text: &str, messages: impl Fn(&str) -> usize) -> String {
    replace_blocks(text, messages, |block| {
        Some(format!("[code with {} lines]", block.count_lines()))
    })
}

/// A file that a block of code becomes.
struct CodeFile {
    name: String,
    code: String,
}

/// Returns a reply whose long blocks of code are files. A block whose file cannot be written
/// stays in the text.
pub(crate) async fn move_code_to_files(
    parts: &SessionParts,
    turn: &TurnRecord,
    to: &LoggedInbound,
    text: &str,
    trust: Trust,
) -> Content {
    let channel = parts.channels.channel_of(&to.message.inbound.address);
    let Some(channel) = channel.filter(|channel| channel.capabilities().sends_code_as_files) else {
        return Content::text(text);
    };
    let mut files = Vec::new();
    let shown = replace_blocks(
        text,
        |block| channel.plan(&Content::text(block)).len(),
        |block| {
            let name = format!("code-{}.{}", files.len() + 1, block.file_extension());
            let line =
                format!("[The code is in the file {name}, with {} lines.]", block.count_lines());
            files.push(CodeFile { name, code: block.code.to_owned() });
            Some(line)
        },
    );
    if files.is_empty() {
        return Content::text(text);
    }
    match write_code(parts, turn, files, trust).await {
        Ok(attachments) => Content { attachments, ..Content::text(shown) },
        Err(error) => {
            tracing::warn!(turn = %turn.id, error, "long code cannot be saved as a file");
            Content::text(text)
        }
    }
}

async fn write_code(
    parts: &SessionParts,
    turn: &TurnRecord,
    code: Vec<CodeFile>,
    trust: Trust,
) -> Result<Vec<Attachment>, String> {
    let files = workspace_of(parts, turn).await?;
    let mut attachments = Vec::new();
    for CodeFile { name, code } in code {
        let path = format!("{ANSWER_FILES}{}-{name}", turn.id);
        let bytes = Some(code.len() as u64);
        let written = files.write(&path, code.into_bytes(), trust).await;
        written.map_err(|error| error.to_string())?;
        attachments.push(Attachment {
            name: Some(name),
            media_type: Some("text/plain".to_owned()),
            bytes,
            ..Attachment::new(AttachmentKind::Document, AttachmentSource::Workspace(path))
        });
    }
    Ok(attachments)
}

#[cfg(test)]
#[path = "long_code_tests.rs"]
mod tests;
