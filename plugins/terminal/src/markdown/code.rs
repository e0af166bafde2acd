//! Lays blocks of code out, line by line.

use avocet_text::printable;

use crate::highlight::Highlighter;
use crate::styled::{LineBreaks, Look, PageLayout, ScreenRow, TextStyle, wrap_spans};

/// Columns in front of code.
const INDENT: &str = "  ";
/// Number of spaces that a tab becomes.
const TAB: &str = "    ";

#[derive(Debug, Clone)]
pub(super) struct CodeBlock {
    highlighter: Highlighter,
    info: String,
}

impl CodeBlock {
    /// A block with this text behind its fence.
    pub(super) fn new(info: &str) -> Self {
        // The parser decodes entities in this text.
        let info = printable(info);
        Self { highlighter: Highlighter::new(&info), info: info.trim().to_owned() }
    }

    /// The rows above the code.
    pub(super) fn head_rows(&self, look: Look) -> Vec<ScreenRow> {
        let fence = || ScreenRow::with_text(format!("```{}", self.info), TextStyle::PLAIN);
        if look == Look::Plain { vec![fence()] } else { Vec::new() }
    }

    /// The rows of the next line.
    pub(super) fn line_rows(&mut self, line: &str, page: PageLayout) -> Vec<ScreenRow> {
        let row = self.highlighter.highlight_line(&printable(line).replace('\t', TAB));
        let indent = if page.look == Look::Plain { "" } else { INDENT };
        let wrapped = wrap_spans(
            row.spans(),
            page.columns.saturating_sub(indent.len()),
            LineBreaks::Anywhere,
        );
        let indented = |row: ScreenRow| {
            let mut indented = ScreenRow::with_text(indent, TextStyle::PLAIN);
            indented.append(&row);
            indented
        };
        wrapped.into_iter().map(indented).collect()
    }

    /// The rows below the code.
    pub(super) fn foot_rows(look: Look) -> Vec<ScreenRow> {
        if look == Look::Plain {
            vec![ScreenRow::with_text("```", TextStyle::PLAIN)]
        } else {
            Vec::new()
        }
    }

    /// The rows of a whole block.
    pub(super) fn block_rows(mut self, code: &str, page: PageLayout) -> Vec<ScreenRow> {
        let mut rows = self.head_rows(page.look);
        rows.extend(code.lines().flat_map(|line| self.line_rows(line, page)));
        rows.extend(Self::foot_rows(page.look));
        rows
    }
}

/// The fence at the beginning of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpeningFence {
    sign: char,
    length: usize,
    indent: usize,
    /// The text behind the fence.
    pub(super) info: String,
}

impl OpeningFence {
    /// Reads the fence in a line (CommonMark 0.31, fenced code blocks).
    pub(super) fn open(line: &str) -> Option<Self> {
        let text = line.trim_start_matches(' ');
        let indent = line.len() - text.len();
        let sign = text.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
        let length = text.chars().take_while(|c| *c == sign).count();
        let info = text[length..].trim();
        let is_fence = indent < 4 && length >= 3 && !(sign == '`' && info.contains('`'));
        is_fence.then(|| Self { sign, length, indent, info: info.to_owned() })
    }

    /// Returns `true` if the line ends the block.
    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        let text = line.trim_start_matches(' ');
        let length = text.chars().take_while(|c| *c == self.sign).count();
        line.len() - text.len() < 4 && length >= self.length && text[length..].trim().is_empty()
    }

    /// Removes the indent of the fence from a line of code.
    pub(super) fn remove_indent<'l>(&self, line: &'l str) -> &'l str {
        let spaces = line.len() - line.trim_start_matches(' ').len();
        &line[spaces.min(self.indent)..]
    }
}
