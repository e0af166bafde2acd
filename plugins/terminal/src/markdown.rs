//! Renders Markdown while it is written. Finished blocks are taken out as permanent rows. The open
//! block is rendered again with each piece.

mod blocks;
mod code;
mod render;
mod table;

use avocet_text::printable;

use crate::styled::{PageLayout, ScreenRow};
use blocks::{BlockKind, PrecedingBlock, top_blocks};
use code::{CodeBlock, OpeningFence};
use render::render_rows;

/// Bytes of an open block of a stream. A longer one is cut, so that the cost of a piece stays
/// bounded.
const MAX_OPEN: usize = 16 * 1024;

/// Renders a whole text.
pub(crate) fn rows_of(text: &str, page: PageLayout) -> Vec<ScreenRow> {
    render_rows(&printable(text), page, PrecedingBlock::default())
}

/// A text that is being written.
#[derive(Debug, Default)]
pub(crate) struct MarkdownStream {
    /// The text that is not taken out yet.
    tail: String,
    before: PrecedingBlock,
    /// The block of code that the tail continues.
    code: Option<(OpeningFence, CodeBlock)>,
}

impl MarkdownStream {
    pub(crate) fn push(&mut self, text: &str) {
        self.tail.push_str(text);
    }

    /// Takes out the rows of finished blocks, and of finished lines and items of the open one.
    pub(crate) fn take_finished(&mut self, page: PageLayout) -> Vec<ScreenRow> {
        let mut rows = Vec::new();
        loop {
            rows.extend(self.take_code_lines(page));
            if self.code.is_some() {
                return rows;
            }
            rows.extend(self.take_blocks(page));
            match self.enter_code(page) {
                Some(head) => rows.extend(head),
                None => return rows,
            }
        }
    }

    /// Renders the open block.
    pub(crate) fn open(&self, page: PageLayout) -> Vec<ScreenRow> {
        let tail = printable(&self.tail);
        match &self.code {
            Some((fence, block)) if !tail.is_empty() => {
                block.clone().line_rows(fence.remove_indent(&tail), page)
            }
            Some(_) => Vec::new(),
            None => render_rows(&tail, page, self.before),
        }
    }

    /// Takes out all rows, and begins a new text.
    pub(crate) fn finish(&mut self, page: PageLayout) -> Vec<ScreenRow> {
        let mut rows = self.take_finished(page);
        if self.code.as_ref().is_some_and(|(fence, _)| fence.is_closed_by(&self.tail)) {
            self.tail.clear();
        }
        rows.extend(self.open(page));
        if self.code.is_some() {
            rows.extend(CodeBlock::foot_rows(page.look));
        }
        *self = Self::default();
        rows
    }

    /// Takes out the complete lines of an open block of code.
    fn take_code_lines(&mut self, page: PageLayout) -> Vec<ScreenRow> {
        let mut rows = Vec::new();
        while let Some((fence, block)) = &mut self.code {
            let end = match self.tail.find('\n') {
                Some(at) => at + 1,
                None if self.tail.len() > MAX_OPEN => self.tail.floor_char_boundary(MAX_OPEN),
                None => break,
            };
            let line: String = self.tail.drain(..end).collect();
            let line = printable(&line);
            let line = line.trim_end_matches('\n');
            if fence.is_closed_by(line) {
                rows.extend(CodeBlock::foot_rows(page.look));
                self.code = None;
            } else {
                rows.extend(block.line_rows(fence.remove_indent(line), page));
            }
        }
        rows
    }

    /// Takes out the blocks and list items that can no longer change. The kind of a line is known
    /// once it is complete.
    fn take_blocks(&mut self, page: PageLayout) -> Vec<ScreenRow> {
        let mut rows = Vec::new();
        let mut complete = self.tail.rfind('\n').map_or(0, |at| at + 1);
        let mut blocks = top_blocks(&self.tail[..complete]);
        let Some(mut last) = blocks.pop() else { return self.cut_long(page) };
        if let Some(before) = blocks.last() {
            let start = last.range.start;
            complete -= start;
            rows.extend(self.take_before(start, before.kind, None, page));
            last.move_back(start);
        }
        if last.ends_at_blank && self.tail[..complete].ends_with("\n\n") {
            rows.extend(self.take_before(complete, last.kind, None, page));
            return rows;
        }
        let item = last.items.last().copied().filter(|item| *item > last.range.start);
        match item {
            Some(item) => {
                let next = last.next_number(self.before.number);
                rows.extend(self.take_before(item, BlockKind::List, next, page));
            }
            None => rows.extend(self.cut_long(page)),
        }
        rows
    }

    /// Takes out the text before an offset.
    fn take_before(
        &mut self,
        at: usize,
        kind: BlockKind,
        number: Option<u64>,
        page: PageLayout,
    ) -> Vec<ScreenRow> {
        let text: String = self.tail.drain(..at).collect();
        let text = printable(&text);
        let rows = render_rows(&text, page, self.before);
        self.before = PrecedingBlock { kind: Some(kind), blank: text.ends_with("\n\n"), number };
        rows
    }

    /// Enters the block of code at the beginning of the tail, once the line of its fence is
    /// complete. Returns the rows above the code.
    fn enter_code(&mut self, page: PageLayout) -> Option<Vec<ScreenRow>> {
        let start = top_blocks(&self.tail).first().filter(|block| block.is_fenced)?.range.start;
        let end = start + self.tail[start..].find('\n')?;
        let fence = OpeningFence::open(&printable(&self.tail[start..end]))?;
        let block = CodeBlock::new(&fence.info);
        let space = self.before.kind.map(|_| ScreenRow::default());
        self.tail.drain(..=end);
        self.before = PrecedingBlock { kind: Some(BlockKind::Apart), ..PrecedingBlock::default() };
        let rows = space.into_iter().chain(block.head_rows(page.look)).collect();
        self.code = Some((fence, block));
        Some(rows)
    }

    /// Takes out the beginning of a block that has become too long.
    fn cut_long(&mut self, page: PageLayout) -> Vec<ScreenRow> {
        let mut rows = Vec::new();
        while self.tail.len() > MAX_OPEN {
            let end = self.tail.floor_char_boundary(MAX_OPEN);
            let end = self.tail[..end].rfind(['\n', ' ']).map_or(end, |at| at + 1);
            rows.extend(self.take_before(end, BlockKind::Text, None, page));
            self.before.kind = None;
        }
        rows
    }
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
