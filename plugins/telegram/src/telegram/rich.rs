//! Rich messages, with tables and headings as Telegram shows them (`sendRichMessage` of Bot API
//! 10.1, `blocks` of 10.2). teloxide does not know them. They are blocks instead of Markdown,
//! because the platform would load the images of Markdown.

use std::sync::atomic::{AtomicBool, Ordering};

use avocet_channel_kit::table_segments;
use avocet_channel_kit::{ColumnAlign, NativeTable, Style, StyleRange, Styled, TableSegment};
use avocet_protocol::chat::{Content, REPEAT_MARK};
use serde::Serialize;
use serde_json::{Value, json};
use teloxide::requests::Payload;
use teloxide::types::{
    ChatId, InlineKeyboardMarkup, Message, MessageId, ReplyParameters, ThreadId,
};

use crate::Telegram;
use crate::api::MessageReceipt;
use crate::compose::buttons;
use crate::fault::BotApiError;
use crate::telegram::attempt::Attempt;
use crate::telegram::edit;
use crate::topic::TopicLoss;

/// Columns of a table, and blocks of a message with the rows of its tables (Bot API, rich
/// messages).
const MAX_COLUMNS: usize = 20;
const MAX_BLOCKS: usize = 500;

/// Part of the refusal of an edit by a server that does not know `rich_message` and misses the
/// text.
const WITHOUT_TEXT: &str = "message text is empty";

/// The rich messages of a bot.
#[derive(Debug)]
pub(crate) struct RichMessages {
    /// `false` by configuration, or once the server has shown that it does not know them.
    are_possible: AtomicBool,
}

impl RichMessages {
    pub(crate) fn new(are_possible: bool) -> Self {
        Self { are_possible: AtomicBool::new(are_possible) }
    }

    /// Keeps the Markdown of a reply that is one message with a table. Without rich messages, the
    /// message is rendered when it is sent, to the same text.
    pub(crate) fn keep_tables(&self, reply: &Content, mut chunks: Vec<Content>) -> Vec<Content> {
        if let [chunk] = &mut chunks[..]
            && self.are_possible.load(Ordering::Relaxed)
            && reply.attachments.is_empty()
            && blocks(reply).is_some()
        {
            chunk.text.clone_from(&reply.text);
            chunk.styles = None;
        }
        chunks
    }
}

/// The request (Bot API, sendRichMessage).
#[derive(Debug, Clone, Serialize)]
struct SendRichMessage {
    chat_id: ChatId,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_thread_id: Option<ThreadId>,
    rich_message: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_parameters: Option<ReplyParameters>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_markup: Option<InlineKeyboardMarkup>,
}

impl Payload for SendRichMessage {
    type Output = Message;
    const NAME: &'static str = "SendRichMessage";
}

/// An edit to a rich message (Bot API, editMessageText).
#[derive(Debug, Clone, Serialize)]
struct EditToRichMessage {
    chat_id: ChatId,
    message_id: i32,
    rich_message: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_markup: Option<InlineKeyboardMarkup>,
}

impl Payload for EditToRichMessage {
    type Output = Message;
    const NAME: &'static str = "EditMessageText";
}

impl Telegram {
    /// Sends a message with a table as a rich one, or edits `message` to it. Returns `None` if a
    /// plain message has to show the text: it has no table, or the server refuses it as a rich one.
    pub(crate) async fn send_rich(
        &self,
        attempt: &Attempt<'_>,
        message: Option<MessageId>,
    ) -> Option<Result<MessageReceipt, BotApiError>> {
        let Attempt { delivery, place, .. } = attempt;
        if !self.rich.are_possible.load(Ordering::Relaxed) {
            return None;
        }
        let rich_message = json!({ "blocks": with_lines(attempt, blocks(&delivery.content)?) });
        let choices = &delivery.content.choices;
        let reply_markup = (!choices.is_empty()).then(|| buttons(choices));
        let chat_id = place.chat;
        let sent = match message {
            Some(MessageId(message_id)) => {
                let edit = EditToRichMessage { chat_id, message_id, rich_message, reply_markup };
                self.api.send(edit).await
            }
            None => {
                let send = SendRichMessage {
                    chat_id,
                    message_thread_id: attempt.topic(),
                    rich_message,
                    reply_parameters: attempt.reply_to(),
                    reply_markup,
                };
                self.api.send(attempt.in_topic(send)).await
            }
        };
        match (sent, message) {
            (Err(fault), Some(same)) if fault.contains("message is not modified") => {
                Some(Ok(MessageReceipt { id: Some(same) }))
            }
            (Err(fault), _) if is_about_rich(&fault) => {
                if fault.is_unsupported() || (message.is_some() && fault.contains(WITHOUT_TEXT)) {
                    self.rich.are_possible.store(false, Ordering::Relaxed);
                    tracing::info!(account = %self.account, error = %fault, "the server refuses \
                        rich messages; tables are text until the next start");
                } else {
                    let chat = &delivery.address;
                    tracing::debug!(%chat, error = %fault, "a rich message was refused; sending \
                        its tables as text");
                }
                self.pace.leave_again();
                None
            }
            (sent, _) => Some(sent),
        }
    }
}

/// Returns `true` if a plain message may succeed where a rich one was refused.
fn is_about_rich(fault: &BotApiError) -> bool {
    let is_about_chat = TopicLoss::from_fault(fault).is_some() || edit::is_gone(fault);
    (fault.has_code(400) || fault.has_code(404)) && !is_about_chat
}

/// Puts the extra lines of the message above its blocks.
fn with_lines(attempt: &Attempt<'_>, blocks: Vec<Value>) -> Vec<Value> {
    let repeat = attempt.delivery.repeat && attempt.edited.is_none();
    let lines = [repeat.then_some(REPEAT_MARK), attempt.lost.map(TopicLoss::line)];
    let lines = lines.into_iter().flatten();
    lines.map(|line| json!({ "type": "paragraph", "text": line })).chain(blocks).collect()
}

/// The blocks of a message; `None` if it has no table, or breaks a limit of the platform.
fn blocks(content: &Content) -> Option<Vec<Value>> {
    if content.styles.is_some() || content.poll.is_some() {
        return None;
    }
    let (mut blocks, mut rows) = (Vec::new(), 0);
    for segment in table_segments(&content.text)? {
        match segment {
            TableSegment::Text(text) => push_text(&mut blocks, &text),
            TableSegment::Table(table) if table.columns.len() > MAX_COLUMNS => return None,
            TableSegment::Table(table) => {
                rows += table.rows.len();
                blocks.push(table_block(&table));
            }
        }
    }
    (blocks.len() + rows <= MAX_BLOCKS).then_some(blocks)
}

fn table_block(table: &NativeTable) -> Value {
    let cell = |is_head: bool, cell: &str, align: ColumnAlign| {
        let align = match align {
            ColumnAlign::Left => "left",
            ColumnAlign::Center => "center",
            ColumnAlign::Right => "right",
        };
        let mut shown = json!({ "align": align, "valign": "top" });
        if !cell.trim().is_empty() {
            shown["text"] = json!(cell.trim());
        }
        if is_head {
            shown["is_header"] = json!(true);
        }
        shown
    };
    let rows = table.rows.iter().enumerate().map(|(row, cells)| {
        let cells = cells.iter().zip(&table.columns);
        cells.map(|(text, align)| cell(row == 0, text, *align)).collect::<Vec<Value>>()
    });
    json!({ "type": "table", "is_bordered": true, "cells": rows.collect::<Vec<_>>() })
}

/// Adds a text: blocks of code, quotes, headings, and the paragraphs between them.
fn push_text(blocks: &mut Vec<Value>, text: &Styled) {
    let is_block =
        |style: &Style| matches!(style, Style::Pre { .. } | Style::Quote | Style::Heading { .. });
    let mut at = 0;
    for range in text.styles.iter().filter(|range| is_block(&range.style)) {
        if range.start < at {
            continue;
        }
        push_paragraphs(blocks, text, at, range.start);
        let inner = rich_text(&text.text, &text.styles, range.start, range.end);
        blocks.push(match &range.style {
            Style::Pre { language: Some(language) } => {
                json!({ "type": "pre", "text": inner, "language": language })
            }
            Style::Pre { language: None } => json!({ "type": "pre", "text": inner }),
            Style::Heading { level } => json!({ "type": "heading", "text": inner, "size": level }),
            _ => json!({ "type": "blockquote",
                "blocks": [{ "type": "paragraph", "text": inner }] }),
        });
        at = range.end;
    }
    push_paragraphs(blocks, text, at, text.text.len());
}

fn push_paragraphs(blocks: &mut Vec<Value>, text: &Styled, from: usize, to: usize) {
    let mut at = from;
    for paragraph in text.text[from..to].split("\n\n") {
        let blank = paragraph.len() - paragraph.trim_start().len();
        let (start, shown) = (at + blank, paragraph.trim());
        if !shown.is_empty() {
            let inner = rich_text(&text.text, &text.styles, start, start + shown.len());
            blocks.push(json!({ "type": "paragraph", "text": inner }));
        }
        at += paragraph.len() + 2;
    }
}

/// A part of a text as `RichText` of the Bot API. Styles that begin or end outside are left out.
fn rich_text(text: &str, styles: &[StyleRange], from: usize, to: usize) -> Value {
    let (mut parts, mut at, mut rest) = (Vec::new(), from, styles);
    while let Some((range, tail)) = rest.split_first() {
        rest = tail;
        let is_inside = range.start >= at && range.end <= to;
        let kind = named(&range.style).filter(|_| is_inside);
        let Some(mut entity) = kind else { continue };
        parts.push(json!(text[at..range.start]));
        entity["text"] = rich_text(text, tail, range.start, range.end);
        parts.push(entity);
        at = range.end;
    }
    parts.push(json!(text[at..to]));
    parts.retain(|part| part != "");
    if parts.len() == 1 { parts.remove(0) } else { Value::Array(parts) }
}

/// The entity for a style within a line.
fn named(style: &Style) -> Option<Value> {
    let kind = match style {
        Style::Bold => "bold",
        Style::Italic => "italic",
        Style::Strike => "strikethrough",
        Style::Spoiler => "spoiler",
        Style::Code => "code",
        Style::Link { url } if url.starts_with("http") => {
            return Some(json!({ "type": "url", "url": url }));
        }
        _ => return None,
    };
    Some(json!({ "type": kind }))
}

#[cfg(test)]
#[path = "rich_tests.rs"]
mod tests;
