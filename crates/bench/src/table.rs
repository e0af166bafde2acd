//! Tables for people: aligned columns, units, short bars.

use std::fmt;

/// Length of the longest bar, in characters.
const BAR: usize = 16;

/// A title, columns and rows; the first column names the row.
#[derive(Debug)]
pub(crate) struct ReportTable {
    title: String,
    columns: Vec<String>,
    rows: Vec<(String, Vec<String>, Option<f64>)>,
}

impl ReportTable {
    pub(crate) fn new(title: &str, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|&column| column.to_owned()).collect();
        Self { title: title.to_owned(), columns, rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, label: &str, cells: impl IntoIterator<Item = String>) {
        self.rows.push((label.to_owned(), cells.into_iter().collect(), None));
    }

    /// Adds a row that ends in a bar. The table's largest value has a full bar.
    pub(crate) fn row_with_bar(&mut self, label: &str, cells: Vec<String>, value: f64) {
        self.rows.push((label.to_owned(), cells, Some(value)));
    }

    fn widths(&self) -> Vec<usize> {
        let lines = self.rows.iter().map(|(_, cells, _)| cells).chain([&self.columns]);
        let mut widths = Vec::new();
        for cells in lines {
            widths.resize(widths.len().max(cells.len()), 0);
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = (*width).max(cell.chars().count());
            }
        }
        widths
    }
}

impl fmt::Display for ReportTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label_width = self.rows.iter().map(|(label, ..)| label.chars().count()).max();
        let (label_width, widths) = (label_width.unwrap_or(0), self.widths());
        let most = self.rows.iter().filter_map(|(.., value)| *value).fold(0.0, f64::max);
        let line = |cells: &[String]| -> String {
            let padded = cells.iter().zip(&widths);
            padded.map(|(cell, width)| format!("  {cell:>width$}")).collect()
        };
        writeln!(f, "{}", self.title)?;
        if !self.columns.is_empty() {
            let head = format!("  {:label_width$}{}", "", line(&self.columns));
            writeln!(f, "{}", head.trim_end())?;
        }
        for (label, cells, value) in &self.rows {
            let cells =
                if value.is_some() { line(cells) } else { format!("  {}", cells.join("  ")) };
            let bar = value.map_or(String::new(), |value| format!("  {}", bar(value, most)));
            let row = format!("  {label:label_width$}{cells}{bar}");
            writeln!(f, "{}", row.trim_end())?;
        }
        Ok(())
    }
}

/// Draws a bar whose length is to the full length as `value` is to `most`.
fn bar(value: f64, most: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let share = if most > 0.0 { (value / most).clamp(0.0, 1.0) } else { 0.0 };
    let eighths = (share * (BAR * 8) as f64).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// Formats microseconds, for example `1.23 ms`.
pub(crate) fn span(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} us"),
        1_000..10_000 => format!("{:.2} ms", micros as f64 / 1e3),
        10_000..100_000 => format!("{:.1} ms", micros as f64 / 1e3),
        100_000..1_000_000 => format!("{:.0} ms", micros as f64 / 1e3),
        _ => format!("{:.2} s", micros as f64 / 1e6),
    }
}

/// Formats a size, for example `1.5 KiB`.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["B", "KiB", "MiB", "GiB"];
    let (mut size, mut unit) = (bytes as f64, 0);
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    let digits = usize::from(unit > 0);
    format!("{size:.digits$} {}", UNITS[unit])
}

/// Formats a number, for example `12,345`.
pub(crate) fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a number with its noun: `1 session`, `64 sessions`.
pub(crate) fn plural(number: usize, word: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {word}{s}", count(number))
}

/// Formats a rate, for example `1,234`. Below 10, it has one decimal place.
pub(crate) fn per_second(rate: f64) -> String {
    if rate < 10.0 { format!("{rate:.1}") } else { count(rate.round() as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units_and_few_digits() {
        let cases = [
            (span(0), "0 us"),
            (span(999), "999 us"),
            (span(1_234), "1.23 ms"),
            (span(12_345), "12.3 ms"),
            (span(123_456), "123 ms"),
            (span(1_234_567), "1.23 s"),
            (bytes(1023), "1023 B"),
            (bytes(1536), "1.5 KiB"),
            (bytes(3 * 1024 * 1024), "3.0 MiB"),
            (count(7), "7"),
            (count(1_234_567), "1,234,567"),
            (plural(1, "session"), "1 session"),
            (plural(64, "session"), "64 sessions"),
            (per_second(7.25), "7.2"),
            (per_second(1234.5), "1,235"),
        ];
        for (text, expected) in cases {
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn bars_are_in_proportion() {
        for (value, most, expected) in [
            (0.0, 0.0, String::new()),
            (1.0, 1.0, "█".repeat(BAR)),
            (1.0, 2.0, "█".repeat(BAR / 2)),
            (1.0, (BAR * 8) as f64, "▏".to_owned()),
        ] {
            assert_eq!(bar(value, most), expected, "{value} of {most}");
        }
    }

    #[test]
    fn columns_are_aligned() {
        let mut table = ReportTable::new("Title", &["a", "bb"]);
        table.row_with_bar("one", vec!["1".to_owned(), "2".to_owned()], 1.0);
        table.row_with_bar("three", vec!["100".to_owned(), "20".to_owned()], 0.0);
        let bar = "█".repeat(BAR);
        let expected =
            format!("Title\n           a  bb\n  one      1   2  {bar}\n  three  100  20\n");
        assert_eq!(table.to_string(), expected);
    }
}
