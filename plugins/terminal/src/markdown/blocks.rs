//! The blocks of a Markdown text, and the space between them.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

/// The kind of a block, which decides about the space around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    Text,
    List,
    /// A heading, a table or code: has an empty row around it.
    Apart,
}

/// The state before a text that continues an earlier one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PrecedingBlock {
    /// The last block; `None` at the beginning.
    pub(super) kind: Option<BlockKind>,
    /// `true` if an empty line comes after it.
    pub(super) blank: bool,
    /// The next number, if the text continues a numbered list.
    pub(super) number: Option<u64>,
}

/// A block at the top of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TopBlock {
    pub(super) range: Range<usize>,
    pub(super) kind: BlockKind,
    /// The beginnings of its items, if it is a list.
    pub(super) items: Vec<usize>,
    /// The number of its first item.
    pub(super) first_number: Option<u64>,
    pub(super) is_fenced: bool,
    /// `true` if an empty line ends it.
    pub(super) ends_at_blank: bool,
}

pub(super) fn block_parser(text: &str) -> Parser<'_> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    Parser::new_ext(text, options)
}

/// Finds the blocks at the top of a text.
pub(super) fn top_blocks(text: &str) -> Vec<TopBlock> {
    let (mut blocks, mut depth) = (Vec::new(), 0_usize);
    for (event, range) in block_parser(text).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if depth == 0 {
                    let first_number = if let Tag::List(number) = &tag { *number } else { None };
                    let is_fenced = matches!(tag, Tag::CodeBlock(CodeBlockKind::Fenced(_)));
                    blocks.push(TopBlock {
                        range,
                        kind: kind(&tag),
                        items: Vec::new(),
                        first_number,
                        is_fenced,
                        ends_at_blank: ends_at_blank(&tag),
                    });
                } else if depth == 1
                    && matches!(tag, Tag::Item)
                    && let Some(list) = blocks.last_mut()
                {
                    list.items.push(range.start);
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Rule if depth == 0 => {
                blocks.push(TopBlock {
                    range,
                    kind: BlockKind::Text,
                    items: Vec::new(),
                    first_number: None,
                    is_fenced: false,
                    ends_at_blank: true,
                });
            }
            _ => {}
        }
    }
    blocks
}

fn ends_at_blank(tag: &Tag<'_>) -> bool {
    matches!(tag, Tag::Paragraph | Tag::Heading { .. } | Tag::BlockQuote(_) | Tag::Table(_))
}

fn kind(tag: &Tag<'_>) -> BlockKind {
    match tag {
        Tag::Heading { .. } | Tag::CodeBlock(_) | Tag::Table(_) => BlockKind::Apart,
        Tag::List(_) => BlockKind::List,
        _ => BlockKind::Text,
    }
}

impl TopBlock {
    /// Moves the block with the text in front of which `start` bytes were removed.
    pub(super) fn move_back(&mut self, start: usize) {
        self.range = 0..self.range.len();
        self.items.iter_mut().for_each(|item| *item -= start);
    }

    /// Returns the number of the last item of a numbered list. `continued` is the number of the
    /// first one, if the list began earlier.
    pub(super) fn next_number(&self, continued: Option<u64>) -> Option<u64> {
        let first = continued.or(self.first_number).filter(|_| self.first_number.is_some())?;
        Some(first.saturating_add(self.items.len() as u64 - 1))
    }
}

/// Returns `true` if the line before an offset is empty.
pub(super) fn has_blank_line_before(text: &str, at: usize) -> bool {
    let Some(end) = text[..at].rfind('\n') else { return false };
    let line = text[..end].rsplit('\n').next().unwrap_or_default();
    line.trim_matches([' ', '\t', '>']).is_empty()
}
