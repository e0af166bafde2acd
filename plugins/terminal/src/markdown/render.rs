//! Renders whole blocks of Markdown as rows.

use std::ops::Range;

use avocet_text::printable;
use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Tag, TagEnd};

use super::blocks::{BlockKind, PrecedingBlock, block_parser, has_blank_line_before};
use super::code::CodeBlock;
use super::table::TableBuilder;
use crate::styled::{
    LineBreaks, Look, PageLayout, PaletteColour, ScreenRow, StyledSpan, TextStyle, width,
    wrap_spans,
};

const CODE: TextStyle = TextStyle::with_colour(PaletteColour::Cyan);
/// Columns of a rule.
const RULE: usize = 40;

pub(super) fn render_rows(text: &str, page: PageLayout, before: PrecedingBlock) -> Vec<ScreenRow> {
    let mut renderer = RowRenderer {
        text,
        page,
        rows: Vec::new(),
        containers: Vec::new(),
        prefix_width: 0,
        last: vec![before.kind],
        blank: before.blank,
        number: before.number,
        lists: Vec::new(),
        inline: Vec::new(),
        styles: vec![TextStyle::PLAIN],
        links: Vec::new(),
        code: None,
        table: None,
    };
    for (event, range) in block_parser(text).into_offset_iter() {
        renderer.take_event(event, &range);
    }
    renderer.break_text();
    renderer.rows
}

/// A list item or a quote around the text.
#[derive(Debug)]
struct BlockContainer {
    /// The start of its first row.
    first: Option<StyledSpan>,
    /// The start of its other rows.
    rest: StyledSpan,
    width: usize,
}

#[derive(Debug)]
struct OpenList {
    /// The number of the next item; `None` for bullets.
    number: Option<u64>,
    has_items: bool,
}

#[derive(Debug)]
struct RowRenderer<'t> {
    text: &'t str,
    page: PageLayout,
    rows: Vec<ScreenRow>,
    containers: Vec<BlockContainer>,
    prefix_width: usize,
    /// The last block in each container.
    last: Vec<Option<BlockKind>>,
    /// `true` if the text continues another one that ended with an empty line.
    blank: bool,
    /// The number of the first item, if the text continues a list.
    number: Option<u64>,
    lists: Vec<OpenList>,
    inline: Vec<StyledSpan>,
    styles: Vec<TextStyle>,
    /// The address of each open link, and the place in `inline` where its text begins.
    links: Vec<(String, usize)>,
    code: Option<(CodeBlock, String)>,
    table: Option<TableBuilder>,
}

impl<'t> RowRenderer<'t> {
    fn take_event(&mut self, event: Event<'t>, range: &Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end_tag(tag),
            Event::Text(text) => self.add_text(&text),
            Event::Code(text) => {
                let shown = if self.page.look == Look::Plain {
                    format!("`{text}`")
                } else {
                    text.into_string()
                };
                self.push_with(&shown, |style| TextStyle { colour: CODE.colour, ..style });
            }
            Event::SoftBreak | Event::HardBreak => self.add_text("\n"),
            Event::Html(text) | Event::InlineHtml(text) => self.add_text(&text),
            Event::Rule => {
                self.begin_block(BlockKind::Text, range);
                let free = self.free_columns().min(RULE);
                self.emit_row(&ScreenRow::with_text("─".repeat(free), TextStyle::DIM));
            }
            Event::TaskListMarker(is_done) => self.add_text(if is_done { "[x] " } else { "[ ] " }),
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.add_text(&text);
            }
        }
    }

    fn start(&mut self, tag: Tag<'t>, range: &Range<usize>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin_block(BlockKind::Text, range),
            Tag::Heading { level, .. } => {
                self.begin_block(BlockKind::Apart, range);
                self.begin_heading(level);
            }
            Tag::BlockQuote(_) => {
                self.begin_block(BlockKind::Text, range);
                let bar = if self.page.look == Look::Plain { "> " } else { "│ " };
                let bar = StyledSpan::new(bar, TextStyle::DIM);
                self.enter_container(Some(bar.clone()), bar);
            }
            Tag::CodeBlock(kind) => {
                self.begin_block(BlockKind::Apart, range);
                let info = if let CodeBlockKind::Fenced(info) = kind {
                    info
                } else {
                    CowStr::Borrowed("")
                };
                self.code = Some((CodeBlock::new(&info), String::new()));
            }
            Tag::List(number) => {
                self.begin_block(BlockKind::List, range);
                let number = number.map(|number| self.number.take().unwrap_or(number));
                self.lists.push(OpenList { number, has_items: false });
            }
            Tag::Item => self.begin_item(range),
            Tag::Table(alignments) => {
                self.begin_block(BlockKind::Apart, range);
                self.table = Some(TableBuilder { alignments, rows: Vec::new() });
            }
            Tag::TableHead | Tag::TableRow => {
                if matches!(tag, Tag::TableHead) {
                    self.push_style(|style| TextStyle { bold: true, ..style });
                }
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::Emphasis => self.begin_style("*", |style| TextStyle { italic: true, ..style }),
            Tag::Strong => self.begin_style("**", |style| TextStyle { bold: true, ..style }),
            Tag::Strikethrough => {
                self.begin_style("~~", |style| TextStyle { strike: true, ..style });
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.into_string(), self.inline.len()));
                self.push_style(|style| TextStyle { underline: true, ..style });
            }
            _ => {}
        }
    }

    fn end_tag(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.break_text(),
            TagEnd::Heading(_) => {
                self.break_text();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => self.leave_container(),
            TagEnd::CodeBlock => {
                if let Some((block, code)) = self.code.take() {
                    let rows = block.block_rows(
                        &code,
                        PageLayout { columns: self.free_columns(), ..self.page },
                    );
                    rows.iter().for_each(|row| self.emit_row(row));
                }
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Item => {
                self.break_text();
                if self.containers.last().is_some_and(|item| item.first.is_some()) {
                    self.emit_behind_markers(&ScreenRow::default());
                }
                self.leave_container();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::TableHead => {
                self.styles.pop();
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let rows = table.laid_out(self.free_columns());
                    rows.iter().for_each(|row| self.emit_row(row));
                }
            }
            TagEnd::Emphasis => self.end_style("*"),
            TagEnd::Strong => self.end_style("**"),
            TagEnd::Strikethrough => self.end_style("~~"),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    fn begin_heading(&mut self, level: HeadingLevel) {
        let is_first = level == HeadingLevel::H1;
        self.push_style(|style| TextStyle { bold: true, underline: is_first, ..style });
        if self.page.look == Look::Plain {
            self.push(&format!("{} ", "#".repeat(level as usize)));
        }
    }

    fn begin_item(&mut self, range: &Range<usize>) {
        let is_first = self.lists.last().is_some_and(|list| !list.has_items);
        if !is_first {
            self.add_space(BlockKind::List, range);
        }
        let list = self.lists.last_mut();
        let number = list.and_then(|list| {
            list.has_items = true;
            let number = list.number?;
            list.number = Some(number.saturating_add(1));
            Some(number)
        });
        let marker = match number {
            Some(number) => format!("{number}. "),
            _ if self.page.look == Look::Plain => "- ".to_owned(),
            _ => "• ".to_owned(),
        };
        let rest = StyledSpan::new(" ".repeat(width(&marker)), TextStyle::PLAIN);
        self.enter_container(Some(StyledSpan::new(marker, TextStyle::DIM)), rest);
    }

    /// Ends the text before a block, and makes space for the block.
    fn begin_block(&mut self, kind: BlockKind, range: &Range<usize>) {
        self.break_text();
        self.add_space(kind, range);
    }

    /// Adds an empty row if the source has one here, or if the blocks need one between them.
    fn add_space(&mut self, kind: BlockKind, range: &Range<usize>) {
        let is_apart = |kind| kind == BlockKind::Apart;
        let Some(last) = self.last.last_mut() else { return };
        let before = last.replace(kind);
        let blank =
            std::mem::take(&mut self.blank) || has_blank_line_before(self.text, range.start);
        if before.is_some_and(|before| blank || is_apart(before) || is_apart(kind)) {
            self.emit_space();
        }
    }

    /// Enters a container. The start is left out if it leaves too little space for text.
    fn enter_container(&mut self, first: Option<StyledSpan>, rest: StyledSpan) {
        let width = width(&rest.text);
        let fits = self.prefix_width + width <= self.page.columns / 2;
        let container = if fits {
            BlockContainer { first, rest, width }
        } else {
            BlockContainer { first: None, rest: StyledSpan::new("", TextStyle::PLAIN), width: 0 }
        };
        self.prefix_width += container.width;
        self.containers.push(container);
        self.last.push(None);
    }

    fn leave_container(&mut self) {
        self.break_text();
        self.prefix_width -= self.containers.pop().map_or(0, |container| container.width);
        if self.last.len() > 1 {
            self.last.pop();
        }
    }

    /// The columns that the containers leave for text.
    fn free_columns(&self) -> usize {
        self.page.columns.saturating_sub(self.prefix_width).max(1)
    }

    fn current_style(&self) -> TextStyle {
        self.styles.last().copied().unwrap_or_default()
    }

    fn push_style(&mut self, change: impl Fn(TextStyle) -> TextStyle) {
        self.styles.push(change(self.current_style()));
    }

    /// Begins a style. Without styles on the screen, shows its mark of Markdown instead.
    fn begin_style(&mut self, mark: &str, change: impl Fn(TextStyle) -> TextStyle) {
        if self.page.look == Look::Plain {
            self.push(mark);
        }
        self.push_style(change);
    }

    fn end_style(&mut self, mark: &str) {
        self.styles.pop();
        if self.page.look == Look::Plain {
            self.push(mark);
        }
    }

    /// Ends a link, and shows its address unless that is its text.
    fn end_link(&mut self) {
        self.styles.pop();
        let Some((address, from)) = self.links.pop() else { return };
        let text: String = self.inline[from.min(self.inline.len())..]
            .iter()
            .map(|span| span.text.as_str())
            .collect();
        let is_known = address.trim_start_matches("mailto:") == text;
        if !is_known && !address.is_empty() {
            self.push_with(&format!(" ({address})"), |style| TextStyle { dim: true, ..style });
        }
    }

    fn add_text(&mut self, text: &str) {
        if let Some((_, code)) = &mut self.code {
            return code.push_str(text);
        }
        // Text directly in an item is a paragraph.
        if self.table.is_none()
            && let Some(last) = self.last.last_mut()
        {
            last.get_or_insert(BlockKind::Text);
        }
        self.push(text);
    }

    fn push(&mut self, text: &str) {
        self.push_with(text, |style| style);
    }

    fn push_with(&mut self, text: &str, change: impl Fn(TextStyle) -> TextStyle) {
        let style = change(self.current_style());
        // The parser decodes entities, so this text may contain new control characters.
        self.inline.push(StyledSpan::new(printable(text).replace('\t', "    "), style));
    }

    /// Breaks the collected text into rows.
    fn break_text(&mut self) {
        if self.inline.is_empty() || self.table.is_some() {
            return;
        }
        let mut inline = std::mem::take(&mut self.inline);
        if let Some(last) = inline.last_mut() {
            last.text.truncate(last.text.trim_end_matches('\n').len());
        }
        let rows = wrap_spans(&inline, self.free_columns(), LineBreaks::Words);
        rows.iter().for_each(|row| self.emit_row(row));
    }

    /// Adds an empty row. The bars of quotes continue in it.
    fn emit_space(&mut self) {
        let mut row = ScreenRow::default();
        self.containers.iter().for_each(|one| row.push(&one.rest.text, one.rest.style));
        self.rows.push(if row.is_blank() { ScreenRow::default() } else { row });
    }

    fn emit_row(&mut self, content: &ScreenRow) {
        if content.is_blank() {
            self.emit_space();
        } else {
            self.emit_behind_markers(content);
        }
    }

    fn emit_behind_markers(&mut self, content: &ScreenRow) {
        let mut row = ScreenRow::default();
        for container in &mut self.containers {
            let start = container.first.take().unwrap_or_else(|| container.rest.clone());
            row.push(&start.text, start.style);
        }
        row.append(content);
        self.rows.push(row);
    }
}
