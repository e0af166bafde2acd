//! Finds the tables of a text, for a platform that shows tables itself.

use avocet_text::sanitise;
use pulldown_cmark::{Alignment, Event, Options, Parser, Tag, TagEnd};

use crate::fences::lengthen_outer;
use crate::render::render_with_headings;
use crate::styled::Styled;

/// A part of a text with tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableSegment {
    /// Rendered text. Headings of the first three levels have [`avocet_protocol::chat::Style::Heading`].
    Text(Styled),
    /// Sent as a table of the platform.
    Table(NativeTable),
}

/// A table whose cells are plain text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeTable {
    /// The alignment of each column.
    pub columns: Vec<ColumnAlign>,
    /// The cells by row. The first row is the head.
    pub rows: Vec<Vec<String>>,
}

/// The alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnAlign {
    /// To the left.
    Left,
    /// In the middle.
    Center,
    /// To the right.
    Right,
}

/// Cuts Markdown into tables and the text between them. Returns `None` if it has no table, or one
/// whose cells lose something as plain text. Tables in lists and quotes count as text.
#[must_use]
pub fn table_segments(markdown: &str) -> Option<Vec<TableSegment>> {
    let text = sanitise(markdown).text.replace("\r\n", "\n").replace('\r', "\n");
    let text = lengthen_outer(&text);
    // A definition may be in another segment than the text that refers to it.
    if text.contains("[^") || text.contains("]:") {
        return None;
    }
    let (mut segments, mut from) = (Vec::new(), 0);
    let mut table: Option<NativeTable> = None;
    let mut depth = 0_usize;
    let options = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES;
    for (event, range) in Parser::new_ext(&text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Table(alignments)) if depth == 0 => {
                if text[range.clone()].contains('\\') {
                    return None;
                }
                push_text(&mut segments, &text[from..range.start]);
                from = range.end;
                let columns = alignments.into_iter().map(ColumnAlign::from).collect();
                table = Some(NativeTable { columns, rows: Vec::new() });
                depth += 1;
            }
            Event::End(TagEnd::Table) if depth == 1 => {
                segments.extend(table.take().map(TableSegment::Table));
                depth = 0;
            }
            event => {
                if let Some(table) = &mut table {
                    table.add_event(&event)?;
                }
                match event {
                    Event::Start(_) => depth += 1,
                    Event::End(_) => depth = depth.saturating_sub(1),
                    _ => {}
                }
            }
        }
    }
    push_text(&mut segments, &text[from..]);
    let has_table = segments.iter().any(|one| matches!(one, TableSegment::Table(_)));
    has_table.then_some(segments)
}

impl NativeTable {
    /// Adds an event inside of the table. Returns `None` if plain text cannot show it.
    fn add_event(&mut self, event: &Event<'_>) -> Option<()> {
        match event {
            Event::Start(Tag::TableHead | Tag::TableRow) => self.rows.push(Vec::new()),
            Event::Start(Tag::TableCell) => self.rows.last_mut()?.push(String::new()),
            // Without its line, text that was withdrawn would read as valid.
            Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::Strikethrough) => return None,
            // Emphasis that the parser does not recognise stays visible.
            Event::Text(text) if text.contains('*') || text.contains('$') => return None,
            Event::Text(text) | Event::Code(text) | Event::InlineHtml(text) => {
                self.rows.last_mut()?.last_mut()?.push_str(text);
            }
            _ => {}
        }
        Some(())
    }
}

impl From<Alignment> for ColumnAlign {
    fn from(alignment: Alignment) -> Self {
        match alignment {
            Alignment::None | Alignment::Left => Self::Left,
            Alignment::Center => Self::Center,
            Alignment::Right => Self::Right,
        }
    }
}

fn push_text(segments: &mut Vec<TableSegment>, markdown: &str) {
    if !markdown.trim().is_empty() {
        segments.push(TableSegment::Text(render_with_headings(markdown)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "| Bird | Eggs |\n|:--|--:|\n| **Goose** | 5 |\n| `duck` | |\n";

    #[test]
    fn table_segments_cuts_text_around_tables() {
        let markdown = format!("# Birds\n\nAs *seen*:\n\n{TABLE}\nThe end.");
        let segments = table_segments(&markdown).unwrap();
        let [TableSegment::Text(before), TableSegment::Table(table), TableSegment::Text(after)] =
            &segments[..]
        else {
            panic!("{segments:?}");
        };
        assert_eq!((before.text.as_str(), after.text.as_str()), ("Birds\n\nAs seen:", "The end."));
        assert_eq!(table.columns, [ColumnAlign::Left, ColumnAlign::Right]);
        assert_eq!(table.rows, [["Bird", "Eggs"], ["Goose", "5"], ["duck", ""]]);
    }

    #[test]
    fn table_segments_returns_none_for_texts_that_plain_cells_would_spoil() {
        let cells = ["[a](https://b.example)", "\\alpha", "a $x$", "**「a」**b", "~~5~~ 6"];
        for cell in cells {
            let markdown = format!("| A | B |\n|--|--|\n| {cell} | 1 |");
            assert_eq!(table_segments(&markdown), None, "{cell}");
        }
        for markdown in ["no table", "> | A |\n> |--|\n> | 1 |", "```\n| A |\n|--|\n| 1 |\n```"] {
            assert_eq!(table_segments(markdown), None, "{markdown}");
        }
        let refers = format!("See [one].\n\n{TABLE}\n\n[one]: https://a.example");
        assert_eq!(table_segments(&refers), None);
    }
}
