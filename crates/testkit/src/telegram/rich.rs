//! Rich messages: blocks with tables and headings (Bot API 10.1, `blocks` of 10.2). The fake is an older
//! server at first. It knows the blocks that the bot uses.

use serde_json::Value;

use super::TelegramFake;
use super::bot::BotState;
use super::chats::UnsentMessage;
use super::keyboard;
use super::text::{self, Formatted};
use super::wire::{ApiError, MethodCall};

/// The limits of a rich message (Bot API).
const MAX_CHARS: usize = 32_768;
const MAX_BLOCKS: usize = 500;
const MAX_COLUMNS: usize = 20;

impl BotState {
    pub(super) fn send_rich_message(&mut self, call: &MethodCall) -> Result<Value, ApiError> {
        let (rich, formatted) = read(call)?;
        let draft = UnsentMessage { formatted, rich: Some(rich), ..self.draft(call)? };
        Ok(self.say(draft))
    }

    /// Edits a message to a rich one.
    pub(super) fn edit_to_rich_message(&mut self, call: &MethodCall) -> Result<Value, ApiError> {
        let (rich, formatted) = read(call)?;
        let (keyboard, place) = (keyboard::read(call)?, self.edited(call)?);
        let (me, now) = (self.me(), self.date());
        let edited = self.chats.edit(place, Some(formatted), keyboard, &me, now)?;
        self.chats.set_rich(place, rich);
        Ok(edited)
    }
}

/// Reads the blocks, and their text as a person copies it.
fn read(call: &MethodCall) -> Result<(Value, Formatted), ApiError> {
    let rich = call.json("rich_message")?.unwrap_or_default();
    let forms = ["html", "markdown", "blocks"].iter().filter(|form| !rich[**form].is_null());
    let Some(blocks) = rich["blocks"].as_array().filter(|_| forms.count() == 1) else {
        return Err(ApiError::bad_request("exactly one of html, markdown and blocks must be used"));
    };
    let mut lines = Vec::new();
    let mut count = 0;
    for block in blocks {
        count += read_block(block, &mut lines)?;
    }
    let shown = lines.join("\n");
    if count == 0 || count > MAX_BLOCKS || text::length(&shown) > MAX_CHARS {
        return Err(ApiError::bad_request("RICH_MESSAGE_INVALID"));
    }
    Ok((rich.clone(), Formatted { text: shown, entities: Vec::new() }))
}

/// Reads a block. Returns the number of blocks and rows in it.
fn read_block(block: &Value, lines: &mut Vec<String>) -> Result<usize, ApiError> {
    let invalid = || ApiError::bad_request("RICH_BLOCK_INVALID");
    match block["type"].as_str() {
        Some("heading") if !(1..=6).contains(&block["size"].as_i64().unwrap_or(0)) => {
            Err(invalid())
        }
        Some("paragraph" | "heading" | "pre") => {
            lines.push(rich_text(&block["text"]).ok_or_else(invalid)?);
            Ok(1)
        }
        Some("blockquote") => {
            let inner = block["blocks"].as_array().filter(|inner| !inner.is_empty());
            let inner = inner.ok_or_else(invalid)?.iter();
            inner.map(|block| read_block(block, lines)).try_fold(1, |sum, one| Ok(sum + one?))
        }
        Some("table") => {
            let rows = block["cells"].as_array().filter(|rows| !rows.is_empty());
            let rows = rows.ok_or_else(invalid)?;
            for row in rows {
                let cells = row.as_array().filter(|cells| (1..=MAX_COLUMNS).contains(&cells.len()));
                let cells = cells.ok_or_else(invalid)?.iter().map(cell);
                let cells: Option<Vec<String>> = cells.collect();
                lines.push(cells.ok_or_else(invalid)?.join(" | "));
            }
            Ok(1 + rows.len())
        }
        _ => Err(invalid()),
    }
}

fn cell(cell: &Value) -> Option<String> {
    let is_one_of = |field: &str, known: [&str; 3]| {
        cell[field].as_str().is_some_and(|value| known.contains(&value))
    };
    let is_valid = is_one_of("align", ["left", "center", "right"])
        && is_one_of("valign", ["top", "middle", "bottom"]);
    let text = match &cell["text"] {
        Value::Null => String::new(),
        text => rich_text(text)?,
    };
    is_valid.then_some(text)
}

/// Returns the plain text of a `RichText`, which is not empty.
fn rich_text(text: &Value) -> Option<String> {
    const STYLES: [&str; 5] = ["bold", "italic", "strikethrough", "spoiler", "code"];
    let shown = match text {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(rich_text).collect::<Option<String>>()?,
        Value::Object(entity) => {
            let is_link = text["type"] == "url" && text["url"].is_string();
            let is_style = text["type"].as_str().is_some_and(|kind| STYLES.contains(&kind));
            rich_text(entity.get("text").filter(|_| is_link || is_style)?)?
        }
        _ => return None,
    };
    (!shown.is_empty()).then_some(shown)
}

impl TelegramFake {
    /// Makes it a server that knows rich messages.
    pub fn learn_rich_messages(&self) {
        self.change(|bot| bot.knows_rich = true);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::client::{USER, call, fake};
    use super::*;

    fn rich(blocks: &Value) -> Value {
        json!({ "chat_id": USER, "rich_message": { "blocks": blocks } })
    }

    fn table(columns: usize, rows: usize) -> Value {
        let cell = json!({ "align": "left", "valign": "top", "text": "x" });
        json!([{ "type": "table", "cells": vec![vec![cell; columns]; rows] }])
    }

    #[tokio::test]
    async fn send_rich_message_refuses_invalid_blocks_and_an_older_server_refuses_all() {
        let fake = fake().await;
        let old = call(&fake, "sendRichMessage", &rich(&table(1, 1))).await.refusal();
        assert_eq!((old.0, fake.refusals()), (404, vec![]));
        fake.learn_rich_messages();
        for refused in [
            json!([]),
            json!([{ "type": "paragraph", "text": "" }]),
            json!([{ "type": "heading", "text": "x", "size": 7 }]),
            json!([{ "type": "paragraph", "text": { "type": "url", "text": "x" } }]),
            json!([{ "type": "table", "cells": [[{ "text": "x" }]] }]),
            table(21, 1),
            table(1, 500),
        ] {
            let (code, _) = call(&fake, "sendRichMessage", &rich(&refused)).await.refusal();
            assert_eq!(code, 400, "{refused}");
        }
        let both = json!({ "chat_id": USER, "rich_message": { "html": "x", "blocks": [] } });
        assert_eq!(call(&fake, "sendRichMessage", &both).await.refusal().0, 400);
        for accepted in [table(20, 100), table(1, 499)] {
            call(&fake, "sendRichMessage", &rich(&accepted)).await.result();
        }
        assert!(fake.sent().pop().unwrap().rich.is_some());
    }
}
