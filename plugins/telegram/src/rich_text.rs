//! The text of a rich message that the bot receives (Bot API 10.1, `RichMessage`): its blocks become
//! lines. teloxide does not know them. Unknown blocks are read as far as they have known fields.

use avocet_protocol::chat::Attachment;
use serde_json::Value;

use crate::raw_content;

/// The most files of a rich message that are fetched: as many as an album has.
const MAX_FILES: usize = 10;
/// The most characters and levels of a rich message (Bot API, "Rich Message Limits").
const MAX_CHARS: usize = 32_768;
const MAX_LEVELS: usize = 16;

/// Returns the text of a rich message; `None` if it has none.
pub(crate) fn read_rich_message(rich: &Value) -> Option<String> {
    let mut lines = Vec::new();
    add_blocks(&rich["blocks"], MAX_LEVELS, &mut lines);
    let text: String = lines.join("\n").chars().take(MAX_CHARS).collect();
    (!text.trim().is_empty()).then_some(text)
}

/// Returns the files in the blocks of a rich message.
pub(crate) fn read_rich_files(rich: &Value) -> Vec<Attachment> {
    let mut files = Vec::new();
    add_files(&rich["blocks"], MAX_LEVELS, &mut files);
    files.truncate(MAX_FILES);
    files
}

fn add_files(blocks: &Value, levels: usize, files: &mut Vec<Attachment>) {
    let Some(levels) = levels.checked_sub(1) else { return };
    for block in blocks.as_array().into_iter().flatten() {
        files.extend(block.as_object().and_then(raw_content::file));
        for inner in ["blocks", "items"] {
            add_files(&block[inner], levels, files);
        }
    }
}

fn add_blocks(blocks: &Value, levels: usize, lines: &mut Vec<String>) {
    let Some(levels) = levels.checked_sub(1) else { return };
    for block in blocks.as_array().into_iter().flatten() {
        add_block(block, levels, lines);
    }
}

/// Adds the texts of a block, in the order in which a person reads them.
fn add_block(block: &Value, levels: usize, lines: &mut Vec<String>) {
    for field in ["summary", "text"] {
        add_text(&block[field], lines);
    }
    add_text(&block["expression"], lines);
    for row in block["cells"].as_array().into_iter().flatten() {
        let cells = row.as_array().into_iter().flatten();
        let cells: Vec<String> = cells.map(|cell| plain_text(&cell["text"])).collect();
        lines.push(cells.join(" | "));
    }
    for item in block["items"].as_array().into_iter().flatten() {
        let begins = lines.len();
        add_blocks(&item["blocks"], levels, lines);
        let mark = match (item["has_checkbox"] == true, item["is_checked"] == true) {
            (true, true) => "[x]",
            (true, false) => "[ ]",
            (false, _) => item["label"].as_str().unwrap_or("-"),
        };
        if let Some(first) = lines.get_mut(begins) {
            *first = format!("{mark} {first}");
        }
    }
    add_blocks(&block["blocks"], levels, lines);
    let caption = &block["caption"];
    add_text(if caption["text"].is_null() { caption } else { &caption["text"] }, lines);
    for credit in [&block["credit"], &caption["credit"]] {
        add_text(credit, lines);
    }
}

fn add_text(text: &Value, lines: &mut Vec<String>) {
    let text = plain_text(text);
    if !text.is_empty() {
        lines.push(text);
    }
}

/// Returns a rich text without its styles. A link has its address behind its words.
fn plain_text(text: &Value) -> String {
    let mut plain = String::new();
    push_text(text, MAX_LEVELS, &mut plain);
    plain
}

fn push_text(text: &Value, levels: usize, plain: &mut String) {
    let Some(levels) = levels.checked_sub(1) else { return };
    match text {
        Value::String(text) => plain.push_str(text),
        Value::Array(parts) => parts.iter().for_each(|part| push_text(part, levels, plain)),
        Value::Object(entity) => {
            let begins = plain.len();
            for field in ["text", "alternative_text", "expression"] {
                if let Some(inner) = entity.get(field) {
                    push_text(inner, levels, plain);
                }
            }
            let url = entity.get("url").and_then(Value::as_str);
            if let Some(url) = url.filter(|url| plain[begins..] != **url) {
                plain.push_str(&format!(" ({url})"));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn read_rich_message_returns_the_text_of_every_block() {
        let cell = |text: Value| json!({ "align": "left", "valign": "top", "text": text });
        let link = json!({ "type": "url", "text": "here", "url": "https://a.example/" });
        let bare =
            json!({ "type": "url", "text": "https://b.example/", "url": "https://b.example/" });
        let item = |text: &str| {
            json!({ "label": "1.", "blocks": [
            { "type": "paragraph", "text": text }] })
        };
        let mut task = item("buy");
        (task["has_checkbox"], task["is_checked"]) = (json!(true), json!(true));
        let rich = json!({ "blocks": [
            { "type": "heading", "size": 1, "text": { "type": "bold", "text": "Trip" } },
            { "type": "paragraph", "text": ["see ", link, " or ", bare] },
            { "type": "mathematical_expression", "expression": "x^2" },
            { "type": "table", "cells": [[cell(json!("Day")), { "align": "left" }]],
                "caption": "weather" },
            { "type": "list", "items": [item("one"), task] },
            { "type": "details", "summary": "more", "blocks": [
                { "type": "blockquote", "blocks": [{ "type": "paragraph", "text": "so" }],
                    "credit": "Eve" }] },
            { "type": "photo", "photo": [], "caption": { "text": "beach", "credit": "Bob" } },
            { "type": "divider" },
            { "type": "new one", "text": "read, too" },
        ] });
        let expected = "Trip\nsee here (https://a.example/) or https://b.example/\nx^2\nDay | \n\
            weather\n1. one\n[x] buy\nmore\nso\nEve\nbeach\nBob\nread, too";
        assert_eq!(read_rich_message(&rich).as_deref(), Some(expected));
        for nothing in [json!(null), json!({ "blocks": 5 }), json!({ "blocks": [{ "text": 1 }] })] {
            assert_eq!(read_rich_message(&nothing), None, "{nothing}");
        }
    }

    #[test]
    fn read_rich_files_returns_the_files_of_all_blocks_up_to_ten() {
        let photo = |id: &str| {
            json!({ "type": "photo", "photo": [{ "file_id": id, "file_unique_id": id,
                "width": 1, "height": 1 }] })
        };
        let voice =
            json!({ "type": "voice_note", "voice_note": { "file_id": "v", "duration": 3 } });
        let list = json!({ "type": "list", "items": [{ "label": "-", "blocks": [voice] }] });
        let rich = json!({ "blocks": [photo("one"), list, { "type": "paragraph", "text": "x" }] });
        let shown: Vec<String> = read_rich_files(&rich).iter().map(Attachment::describe).collect();
        assert_eq!(shown, ["[image]", "[voice, 3 s]"]);
        let many: Vec<Value> = (0..20).map(|number| photo(&number.to_string())).collect();
        assert_eq!(read_rich_files(&json!({ "blocks": many })).len(), MAX_FILES);
    }

    #[test]
    fn read_rich_message_ends_in_deeply_nested_blocks_and_long_texts() {
        let mut deep = json!({ "type": "paragraph", "text": "below" });
        for _ in 0..100 {
            deep = json!({ "type": "details", "summary": "s", "blocks": [deep] });
        }
        let text = read_rich_message(&json!({ "blocks": [deep] })).unwrap();
        assert!(!text.contains("below"), "{text}");
        let long = json!({ "blocks": [{ "type": "paragraph", "text": "x".repeat(40_000) }] });
        assert_eq!(read_rich_message(&long).map(|text| text.len()), Some(MAX_CHARS));
    }
}
