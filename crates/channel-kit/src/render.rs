//! Renders Markdown as styled text: CommonMark, strikethrough, tables, task lists, footnotes,
//! spoilers.

mod links;

use avocet_text::sanitise;
use links::OpenLink;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, LinkType, Tag, TagEnd};

use crate::builder::StyledBuilder;
use crate::fences::lengthen_outer;
use crate::pieces::{MarkdownPiece, split_pieces};
use crate::source::{prepare_escaped, prepare_source};
use crate::styled::{Styled, from_first_line};
use crate::table::TextTable;
use avocet_protocol::chat::{Content, Style};

impl Styled {
    /// Returns the text of a message with its styles. A planned message is rendered already.
    #[must_use]
    pub fn from_content(content: &Content) -> Self {
        match &content.styles {
            Some(styles) => Self { text: content.text.clone(), styles: styles.clone() },
            // The files are sent along, so the text leaves them out.
            None => render(&Content { attachments: Vec::new(), ..content.clone() }.as_text()),
        }
    }
}

/// Renders Markdown as a person reads it in a chat. Takes any input, in about linear time.
///
/// Headings are bold lines. A block of code that contains another one ends at its own end. Line
/// breaks stay. Lists have bullets or numbers and are indented. Tables are aligned lines of code, and
/// wide ones are lists. Formulas stay as they are. Images are links, HTML is text, and a rule is a line.
/// Footnotes stay at their place in the source, marked `[1]`. Links lead to `http`, `https`, `tg`
/// and mail addresses only; other targets are shown behind the link's text. A quote inside a quote
/// or list begins its lines with `> `.
#[must_use]
pub fn render(markdown: &str) -> Styled {
    render_with(markdown, HeadingForm::Bold)
}

/// Renders Markdown like [`render`], for a platform with headings and small print: `# `, `## `,
/// `### ` and `-# ` at the beginning of a line outside of lists and quotes.
pub(crate) fn render_with_headings(markdown: &str) -> Styled {
    render_with(markdown, HeadingForm::Styled)
}

/// Reads Markdown that we have written for a platform with headings. All of its text is escaped, so a
/// backslash begins no formula, and each fence is as long as it has to be.
pub(crate) fn read_written(markdown: &str) -> Styled {
    let text = with_line_breaks(markdown);
    render_prepared(&prepare_escaped(&text), HeadingForm::Styled)
        .unwrap_or_else(|| tidy_plain(text))
}

fn render_with(markdown: &str, headings: HeadingForm) -> Styled {
    let text = with_line_breaks(markdown);
    let prepared = prepare_source(&lengthen_outer(&text));
    // An answer that consists of markup alone is still an answer.
    render_prepared(&prepared, headings).unwrap_or_else(|| tidy_plain(text))
}

/// Sanitises a text, and makes its line breaks equal.
fn with_line_breaks(markdown: &str) -> String {
    sanitise(markdown).text.replace("\r\n", "\n").replace('\r', "\n")
}

fn tidy_plain(text: String) -> Styled {
    Styled::plain(text).tidy()
}

/// Returns `None` if the Markdown shows no text.
fn render_prepared(markdown: &str, headings: HeadingForm) -> Option<Styled> {
    let mut renderer = MarkdownRenderer { headings, ..MarkdownRenderer::default() };
    for piece in split_pieces(markdown) {
        renderer.render_piece(piece);
    }
    let styled = renderer.out.finish();
    (!styled.text.is_empty()).then_some(styled)
}

/// The form in which headings are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum HeadingForm {
    /// As bold lines.
    #[default]
    Bold,
    /// As headings.
    Styled,
}

/// The mark of a line in small print.
const SMALL: &str = "-# ";

/// The text of a horizontal rule.
const RULE: &str = "──────────";

#[derive(Debug, Default)]
struct MarkdownRenderer {
    out: StyledBuilder,
    /// The next number of each open list; `None` for bullets.
    lists: Vec<Option<u64>>,
    /// The open links and images, the outermost first.
    links: Vec<OpenLink>,
    /// `true` if one of the open links can be followed.
    is_linked: bool,
    /// For each open element of a kind that cannot contain itself: `true` if the element opened a
    /// style.
    began: Vec<bool>,
    quotes: Vec<QuoteForm>,
    headings: HeadingForm,
    /// The style of the open heading.
    heading: Option<Style>,
    /// `true` if the next text begins a line of a paragraph.
    is_line_start: bool,
    code: Option<(Option<String>, String)>,
    table: Option<TextTable>,
}

/// The form in which a quote is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuoteForm {
    Styled,
    Inner,
}

impl MarkdownRenderer {
    fn render_piece(&mut self, piece: MarkdownPiece<'_>) {
        match piece {
            MarkdownPiece::SpoilerBegin => self.begin_style(Style::Spoiler),
            MarkdownPiece::SpoilerEnd => self.end_style(&Style::Spoiler),
            MarkdownPiece::Event(Event::Start(tag)) => self.start_tag(tag),
            MarkdownPiece::Event(Event::End(tag)) => self.end_tag(tag),
            MarkdownPiece::Event(event) => self.render_leaf(event),
        }
    }

    fn render_leaf(&mut self, event: Event<'_>) {
        let was_line_start = std::mem::take(&mut self.is_line_start);
        match event {
            Event::Text(text) if was_line_start && self.is_small(&text) => {
                self.out.open(Style::Small);
                self.push_text(&text[SMALL.len()..]);
            }
            Event::Code(code) => self.inline_code(&code),
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text) => self.push_text(&text),
            Event::FootnoteReference(label) => self.push_text(&format!("[{label}]")),
            Event::SoftBreak | Event::HardBreak => {
                self.out.close(&Style::Small);
                self.is_line_start = true;
                // A heading of a platform is one line.
                let in_heading = matches!(self.heading, Some(Style::Heading { .. }));
                self.push_text(if in_heading { " " } else { "\n" });
            }
            Event::TaskListMarker(done) => self.push_text(if done { "☑ " } else { "☐ " }),
            Event::Rule => {
                self.out.begin_block();
                self.out.push(RULE);
                self.end_block();
            }
            Event::Start(_) | Event::End(_) => {}
        }
    }

    fn start_tag(&mut self, tag: Tag<'_>) {
        self.is_line_start = false;
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => {
                self.out.begin_block();
                self.is_line_start = true;
            }
            Tag::Heading { level, .. } => {
                self.out.begin_block();
                let style = self.heading_style(level);
                self.begin_style(style.clone());
                self.heading = Some(style);
            }
            Tag::BlockQuote(_) => self.begin_quote(),
            Tag::CodeBlock(kind) => self.code = Some((fence_language(&kind), String::new())),
            Tag::List(number) => self.begin_list(number),
            Tag::Item => self.begin_item(),
            Tag::FootnoteDefinition(label) => {
                self.out.break_lines(2);
                self.out.begin_item(format!("[{label}] "));
            }
            Tag::Table(alignments) => self.table = Some(TextTable::new(alignments)),
            Tag::TableHead | Tag::TableRow => self.in_table(TextTable::begin_row),
            Tag::TableCell => self.in_table(TextTable::begin_cell),
            Tag::Emphasis => self.begin_style(Style::Italic),
            Tag::Strong => self.begin_style(Style::Bold),
            Tag::Strikethrough => self.begin_style(Style::Strike),
            Tag::Link { link_type, dest_url, .. } => self.begin_link(link_type, &dest_url),
            Tag::Image { dest_url, .. } => self.begin_link(LinkType::Inline, &dest_url),
            Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end_tag(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                let style = self.heading.take().unwrap_or(Style::Bold);
                self.end_style(&style);
                self.end_block();
            }
            TagEnd::BlockQuote(_) => self.end_quote(),
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.end_block();
            }
            TagEnd::Item => self.out.end_margin(),
            TagEnd::FootnoteDefinition => {
                self.out.end_margin();
                self.end_block();
            }
            TagEnd::Table => self.end_table(),
            TagEnd::Emphasis => self.end_style(&Style::Italic),
            TagEnd::Strong => self.end_style(&Style::Bold),
            TagEnd::Strikethrough => self.end_style(&Style::Strike),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.out.close(&Style::Small);
                self.end_block();
            }
            TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::TableCell
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    /// Returns the style of a heading at this place.
    fn heading_style(&self, level: HeadingLevel) -> Style {
        let level = match level {
            HeadingLevel::H1 => 1,
            HeadingLevel::H2 => 2,
            HeadingLevel::H3 => 3,
            HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => return Style::Bold,
        };
        if self.shows_headings() { Style::Heading { level } } else { Style::Bold }
    }

    /// Returns `true` if a text at the beginning of a line is in small print.
    fn is_small(&self, text: &str) -> bool {
        let rest = text.strip_prefix(SMALL);
        self.shows_headings() && rest.is_some_and(|rest| !rest.trim().is_empty())
    }

    fn shows_headings(&self) -> bool {
        let is_inside = self.out.is_indented()
            || !self.quotes.is_empty()
            || self.table.is_some()
            || self.heading.is_some();
        self.headings == HeadingForm::Styled && !is_inside
    }

    /// Ends a block: the following text starts on a new line.
    fn end_block(&mut self) {
        self.out.break_lines(if self.out.is_indented() { 1 } else { 2 });
    }

    fn push_text(&mut self, text: &str) {
        if let Some((_, code)) = &mut self.code {
            code.push_str(text);
        } else if let Some(table) = &mut self.table {
            table.push(text);
        } else {
            self.out.push(text);
        }
    }

    fn inline_code(&mut self, code: &str) {
        if self.table.is_some() {
            self.push_text(code);
        } else {
            self.out.push_styled(code, &Style::Code);
        }
    }

    /// Begins a style. Elements of one kind end in reverse order, so the last one that began ends
    /// first.
    fn begin_style(&mut self, style: Style) {
        let is_new = self.table.is_none() && self.out.open(style);
        self.began.push(is_new);
    }

    fn end_style(&mut self, style: &Style) {
        if self.began.pop() == Some(true) {
            self.out.close(style);
        }
    }

    /// Begins a quote. Only a quote outside of all other blocks works on all platforms.
    fn begin_quote(&mut self) {
        let is_inner = self.out.is_indented() || !self.quotes.is_empty();
        if is_inner {
            self.out.begin_inner_quote();
            self.quotes.push(QuoteForm::Inner);
        } else {
            self.out.begin_block();
            self.out.open(Style::Quote);
            self.quotes.push(QuoteForm::Styled);
        }
    }

    fn end_quote(&mut self) {
        match self.quotes.pop() {
            Some(QuoteForm::Inner) => self.out.end_margin(),
            Some(QuoteForm::Styled) => {
                self.out.close(&Style::Quote);
            }
            None => {}
        }
        self.end_block();
    }

    fn end_code(&mut self) {
        if let Some((language, code)) = self.code.take() {
            self.push_pre(&code, language);
        }
    }

    fn push_pre(&mut self, text: &str, language: Option<String>) {
        let text = from_first_line(text.trim_end());
        if !text.is_empty() {
            self.out.push_lines(text, Style::Pre { language });
        }
    }

    /// Shows a table as a list: the first cell of each row, and below it the others, each with its head.
    fn push_rows(&mut self, table: &TextTable) {
        self.out.begin_block();
        for (number, row) in table.entries().enumerate() {
            if number > 0 {
                self.out.break_lines(1);
            }
            self.out.begin_item("• ".to_owned());
            let mut cells = row.into_iter();
            if let Some((head, first)) = cells.next() {
                if !head.is_empty() && !first.is_empty() {
                    self.out.push(&format!("{head}: "));
                }
                self.out.push_styled(first, &Style::Bold);
            }
            for (head, cell) in cells.filter(|(_, cell)| !cell.is_empty()) {
                self.out.push(&format!("\n{head}: {cell}"));
            }
            self.out.end_margin();
        }
        self.end_block();
    }

    fn begin_list(&mut self, number: Option<u64>) {
        if self.out.is_indented() {
            self.out.break_lines(usize::from(!self.out.is_marker_due()));
        } else {
            self.out.begin_block();
        }
        self.lists.push(number);
    }

    fn begin_item(&mut self) {
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                let marker = format!("{number}. ");
                *number = number.saturating_add(1);
                marker
            }
            _ => "• ".to_owned(),
        };
        self.out.begin_item(marker);
    }

    fn in_table(&mut self, change: impl FnOnce(&mut TextTable)) {
        if let Some(table) = &mut self.table {
            change(table);
        }
    }

    fn end_table(&mut self) {
        if let Some(table) = self.table.take() {
            if table.is_wide() {
                self.push_rows(&table);
            } else {
                self.push_pre(&table.text(), None);
            }
        }
    }
}

/// Returns the first word behind a fence if it can be a language's name.
fn fence_language(kind: &CodeBlockKind<'_>) -> Option<String> {
    let CodeBlockKind::Fenced(info) = kind else { return None };
    let word = info.split([' ', '\t', ',']).next()?;
    let fits = |c: char| c.is_ascii_alphanumeric() || "+#_.-".contains(c);
    let is_name = !word.is_empty() && word.len() <= 32 && word.chars().all(fits);
    is_name.then(|| word.to_owned())
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
