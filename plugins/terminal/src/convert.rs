//! Converts text for a terminal: control characters are removed, and buttons become text.

use avocet_protocol::chat::{Attachment, AttachmentSource, Choice, Content, REPEAT_MARK};
use avocet_text::sanitise;

/// Bytes of a chunk; a line of the socket can hold more.
const MAX_CHUNK_BYTES: usize = 64 * 1024;

/// Splits a reply at line ends or, in a line that is too long, between characters.
pub(crate) fn plan_chunks(reply: &Content) -> Vec<Content> {
    let mut chunks = Vec::new();
    let text = with_files(reply);
    let mut rest = text.as_str();
    while rest.len() > MAX_CHUNK_BYTES {
        let limit = rest.floor_char_boundary(MAX_CHUNK_BYTES);
        let end = rest[..limit].rfind('\n').map_or(limit, |at| at + 1);
        let (chunk, more) = rest.split_at(end);
        chunks.push(Content::text(chunk));
        rest = more;
    }
    let choices = reply.choices.clone();
    chunks.push(Content { choices, ..Content::text(rest) });
    chunks
}

/// Adds a line per file with its path, because a person at the terminal can open the files.
fn with_files(reply: &Content) -> String {
    let mut text = reply.text.clone();
    for attachment in &reply.attachments {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&describe_file(attachment));
    }
    text
}

fn describe_file(attachment: &Attachment) -> String {
    let name = attachment.name.as_deref().unwrap_or("without a name");
    let size = attachment.bytes.map(|bytes| format!(", {bytes} bytes")).unwrap_or_default();
    match &attachment.source {
        AttachmentSource::Workspace(path) => {
            format!("[file: {name}{size}, in the workspace: {path}]")
        }
        _ => format!("[file: {name}{size}]"),
    }
}

/// Returns the printed form of a chunk.
pub(crate) fn print_chunk(text: &str, choices: &[Choice], repeat: bool) -> String {
    let mut printed = String::new();
    if repeat {
        printed.push_str(REPEAT_MARK);
        printed.push('\n');
    }
    printed.push_str(&make_safe(text));
    for Choice { label, says } in choices {
        printed.push_str(&format!("\n  [{}] {}", make_safe(label), make_safe(says)));
    }
    printed
}

/// Makes untrusted text safe: it cannot move the cursor, change colours or ring the bell.
pub(crate) fn make_safe(text: &str) -> String {
    sanitise(text).text
}

#[cfg(test)]
mod tests {
    use avocet_protocol::chat::AttachmentKind;

    use super::*;

    #[test]
    fn plan_cuts_a_reply_at_line_ends() {
        let short = Content { choices: vec![Choice::new("a", "b")], ..Content::text("short") };
        assert_eq!(plan_chunks(&short), [short]);
        let line = format!("{}\n", "ü".repeat(500));
        let text = line.repeat(200);
        let chunks = plan_chunks(&Content::text(&text));
        assert!(chunks.iter().all(|chunk| chunk.text.len() <= MAX_CHUNK_BYTES));
        assert!(chunks.iter().rev().skip(1).all(|chunk| chunk.text.ends_with('\n')));
        let whole: String = chunks.into_iter().map(|chunk| chunk.text).collect();
        assert_eq!(whole, text);
        let one_line = "ü".repeat(MAX_CHUNK_BYTES);
        let whole: String =
            plan_chunks(&Content::text(&one_line)).into_iter().map(|chunk| chunk.text).collect();
        assert_eq!(whole, one_line);
    }

    #[test]
    fn plan_shows_a_file_as_a_line_with_its_path() {
        let source = AttachmentSource::Workspace("out/report.pdf".to_owned());
        let report = Attachment {
            name: Some("report.pdf".to_owned()),
            bytes: Some(1234),
            ..Attachment::new(AttachmentKind::Document, source)
        };
        let line = "[file: report.pdf, 1234 bytes, in the workspace: out/report.pdf]";
        let shown = |text: &str, files: usize| {
            let attachments = vec![report.clone(); files];
            plan_chunks(&Content { attachments, ..Content::text(text) })
        };
        assert_eq!(shown("Done.", 2), [Content::text(format!("Done.\n{line}\n{line}"))]);
        assert_eq!(shown("", 1), [Content::text(line)]);
    }

    #[test]
    fn printed_removes_control_characters_and_marks_a_repetition() {
        let choices = [Choice::new("Skip", "/skip w3")];
        assert_eq!(
            print_chunk("hi\u{1b}[2J\u{7}", &choices, true),
            "(sent again; it may have arrived before)\nhi[2J\n  [Skip] /skip w3"
        );
    }
}
