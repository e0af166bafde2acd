//! Writes styled text as Markdown, from one edge of a style to the next.

use super::escape::{self, TextPosition};
use crate::ranges::nest_styles;
use crate::styled::Styled;
use avocet_protocol::chat::{Style, StyleRange};

/// The written Markdown, and the text that it shows.
#[derive(Debug, Default)]
pub(super) struct WrittenMarkdown {
    pub(super) markdown: String,
    /// The text that `markdown` shows.
    pub(super) shown: String,
}

pub(super) fn write(styled: &Styled) -> WrittenMarkdown {
    let mut writer = MarkdownWriter {
        text: &styled.text,
        at: 0,
        open: Vec::new(),
        quoted: false,
        line_mark: "",
        linked: false,
        out: WrittenMarkdown::default(),
    };
    for range in nest_styles(styled.styles.clone()) {
        writer.close_until(range.start);
        writer.open(&range);
    }
    writer.close_until(usize::MAX);
    writer.out
}

struct MarkdownWriter<'a> {
    text: &'a str,
    /// The text before this position is written.
    at: usize,
    /// The ends of the open styles, and the text that closes each.
    open: Vec<(usize, StyleClosing)>,
    quoted: bool,
    /// The mark at the beginning of each line of a heading or of small print.
    line_mark: &'static str,
    linked: bool,
    out: WrittenMarkdown,
}

/// The text at the end of a style.
#[derive(Debug)]
enum StyleClosing {
    Mark(&'static str),
    Quote,
    Line,
    /// `[text](<url>)`
    Link(String),
    /// `text (url)`
    Address(String),
}

impl MarkdownWriter<'_> {
    /// Writes the text up to `until`, and the ends of styles on the way.
    fn close_until(&mut self, until: usize) {
        while let Some((end, closing)) = self.open.pop_if(|(end, _)| *end <= until) {
            self.write_text(end);
            self.close(closing);
        }
        self.write_text(until.min(self.text.len()));
    }

    fn close(&mut self, closing: StyleClosing) {
        match closing {
            StyleClosing::Mark(mark) => self.out.markdown.push_str(mark),
            StyleClosing::Quote => self.quoted = false,
            StyleClosing::Line => self.line_mark = "",
            StyleClosing::Link(url) => {
                self.out.markdown.push_str(&format!("](<{url}>)"));
                self.linked = false;
            }
            StyleClosing::Address(url) => {
                self.linked = false;
                self.out.markdown.push_str(" (");
                let position = TextPosition { at_line_start: false, in_link: false };
                escape::push(&mut self.out.markdown, &url, position);
                self.out.markdown.push(')');
                self.out.shown.push_str(&format!(" ({url})"));
            }
        }
    }

    fn open(&mut self, range: &StyleRange) {
        let closing = match &range.style {
            Style::Bold => self.open_mark("**"),
            Style::Italic => self.open_mark(self.italic_mark(range)),
            Style::Strike => self.open_mark("~~"),
            Style::Spoiler => self.open_mark("||"),
            Style::Heading { level: 1 } => self.mark_line("# "),
            Style::Heading { level: 2 } => self.mark_line("## "),
            Style::Heading { .. } => self.mark_line("### "),
            Style::Small => self.mark_line("-# "),
            Style::Quote => {
                self.quoted = true;
                if self.is_line_start() {
                    self.out.markdown.push_str("> ");
                }
                StyleClosing::Quote
            }
            Style::Code => return self.write_code(range.end),
            Style::Pre { language } => return self.write_pre(range.end, language.as_deref()),
            Style::Link { url } => match self.open_link(range, url) {
                Some(closing) => closing,
                None => return,
            },
        };
        self.open.push((range.end, closing));
    }

    fn open_mark(&mut self, mark: &'static str) -> StyleClosing {
        self.out.markdown.push_str(mark);
        StyleClosing::Mark(mark)
    }

    /// Begins lines with a mark. Text that begins inside of a line has none.
    fn mark_line(&mut self, mark: &'static str) -> StyleClosing {
        if !self.is_line_start() {
            return StyleClosing::Line;
        }
        self.line_mark = mark;
        self.out.markdown.push_str(mark);
        StyleClosing::Line
    }

    /// Underscores differ from the asterisks of bold, but have no effect inside a word.
    fn italic_mark(&self, range: &StyleRange) -> &'static str {
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let before = is_word(self.text[..range.start].chars().next_back());
        let after = is_word(self.text[range.end..].chars().next());
        if before || after { "*" } else { "_" }
    }

    /// Opens a link. Discord refuses to hide an address behind a text that looks like an address.
    fn open_link(&mut self, range: &StyleRange, url: &str) -> Option<StyleClosing> {
        let text = &self.text[range.range()];
        let is_web = url.starts_with("http://") || url.starts_with("https://");
        if is_web && text == url && escape::find_mention(url).is_none() {
            self.out.markdown.push_str(&format!("<{url}>"));
            self.out.shown.push_str(url);
            self.at = range.end;
            return None;
        }
        let shown = url.strip_prefix("mailto:").unwrap_or(url);
        if text == shown {
            return None;
        }
        if !is_web || text.contains("://") || text.contains("www.") {
            return Some(StyleClosing::Address(shown.to_owned()));
        }
        self.linked = true;
        self.out.markdown.push('[');
        Some(StyleClosing::Link(escape::escape_target(url)))
    }

    fn write_code(&mut self, end: usize) {
        let code = &self.text[self.at..end];
        let fence = "`".repeat(longest_run(code) + 1);
        let space = if code.starts_with('`') || code.ends_with('`') { " " } else { "" };
        self.out.markdown.push_str(&format!("{fence}{space}{code}{space}{fence}"));
        self.out.shown.push_str(code);
        self.at = end;
    }

    fn write_pre(&mut self, end: usize, language: Option<&str>) {
        let code = &self.text[self.at..end];
        let fence = "`".repeat((longest_run(code) + 1).max(3));
        let opening = format!("{fence}{}", language.unwrap_or_default());
        let line_break = self.line_break();
        let lines = code.replace('\n', &line_break);
        let block = format!("{opening}{line_break}{lines}{line_break}{fence}");
        self.out.markdown.push_str(&block);
        self.out.shown.push_str(code);
        self.at = end;
    }

    fn line_break(&self) -> String {
        format!("\n{}{}", if self.quoted { "> " } else { "" }, self.line_mark)
    }

    fn is_line_start(&self) -> bool {
        self.at == 0 || self.text[..self.at].ends_with('\n')
    }

    fn write_text(&mut self, end: usize) {
        if end <= self.at {
            return;
        }
        for line in self.text[self.at..end].split_inclusive('\n') {
            let at_line_start = self.is_line_start();
            self.at += line.len();
            let text = line.strip_suffix('\n').unwrap_or(line);
            let position = TextPosition { at_line_start, in_link: self.linked };
            escape::push(&mut self.out.markdown, text, position);
            self.out.shown.push_str(&spaces_for_tabs(text, at_line_start));
            if text.len() < line.len() {
                let line_break = self.line_break();
                self.out.markdown.push_str(&line_break);
                self.out.shown.push('\n');
            }
        }
    }
}

/// Replaces tabs in the indentation of a line by spaces.
fn spaces_for_tabs(line: &str, is_line_start: bool) -> String {
    let indented = line.len() - line.trim_start_matches([' ', '\t']).len();
    let (indentation, text) = line.split_at(if is_line_start { indented } else { 0 });
    indentation.replace('\t', "    ") + text
}

fn longest_run(code: &str) -> usize {
    code.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}
