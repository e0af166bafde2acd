//! The pictures of the terminal in the book, drawn from real runs.

use std::fmt::Write as _;

use avocet_tests::picture::{assert_picture, escape_xml};
use regex::Regex;
use vt100::{Cell, Color, Screen};

use super::CTRL_D;
use super::rendering::{AnswerHarness, WIDTHS};

const CELL: (f64, f64) = (8.43, 19.0);
const MARGIN: (f64, f64) = (16.0, 52.0);
/// The colours of the terminal's palette, from 0.
const COLOURS: [&str; 9] = [
    "#3b4252", "#bf616a", "#a3be8c", "#ebcb8b", "#81a1c1", "#b48ead", "#88c0d0", "#e5e9f0",
    "#7b88a1",
];
const GREY: &str = "#7b88a1";

#[tokio::test(flavor = "multi_thread")]
async fn pictures_of_the_terminal_show_a_real_chat() {
    for columns in WIDTHS {
        let harness = AnswerHarness::new().await;
        let mut terminal = harness.ask(columns);
        terminal.press("And the tests?");
        harness.go_on();
        terminal.wait_for_idle("tokens");
        terminal.wait_for("> And the tests?");
        assert_picture(&format!("terminal-{columns}.svg"), &svg(terminal.parser.screen()));
        assert_eq!(terminal.leave(&format!("\u{15}{CTRL_D}")), Some(0));
    }
}

/// Draws a screen, without the empty rows at its end.
fn svg(screen: &Screen) -> String {
    let (rows, columns) = screen.size();
    let last = (0..rows).rev().find(|row| {
        (0..columns).any(|column| screen.cell(*row, column).is_some_and(Cell::has_contents))
    });
    let height = f64::from(last.map_or(0, |row| row + 1)) * CELL.1 + MARGIN.1 + 4.0;
    let width = f64::from(columns) * CELL.0 + 2.0 * MARGIN.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
         aria-label=\"A chat with Avocet in a terminal\">\n\
         <rect width=\"{width:.0}\" height=\"{height:.0}\" rx=\"8\" fill=\"#2e3440\"/>\n"
    );
    for (place, colour) in ["#bf616a", "#ebcb8b", "#a3be8c"].into_iter().enumerate() {
        writeln!(svg, "<circle cx=\"{}\" cy=\"18\" r=\"5.5\" fill=\"{colour}\"/>", 20 + 18 * place)
            .unwrap();
    }
    svg.push_str(
        "<g font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" \
         font-size=\"14\" fill=\"#e5e9f0\">\n",
    );
    for row in 0..rows {
        draw_row(screen, row, columns, &mut svg);
    }
    let (row, column) = screen.cursor_position();
    let (x, y) = place(row, column);
    writeln!(svg, "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"8\" height=\"17\" fill=\"#d8dee9\" fill-opacity=\"0.6\"/>", y - 13.5).unwrap();
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// A text with one style.
struct StyledRun {
    column: u16,
    cells: u16,
    text: String,
    style: String,
    /// The width of wide characters depends on the font, so each is a run.
    is_wide: bool,
}

fn draw_row(screen: &Screen, row: u16, columns: u16, svg: &mut String) {
    let mut runs: Vec<StyledRun> = Vec::new();
    for column in 0..columns {
        let Some(cell) = screen.cell(row, column).filter(|cell| !cell.is_wide_continuation())
        else {
            continue;
        };
        let text = if cell.has_contents() { cell.contents() } else { " " };
        let (style, is_wide) = (style(cell), cell.is_wide());
        match runs.last_mut() {
            Some(run) if run.style == style && !is_wide && !run.is_wide => {
                run.text.push_str(text);
                run.cells += 1;
            }
            _ => {
                let cells = if is_wide { 2 } else { 1 };
                runs.push(StyledRun { column, cells, text: text.to_owned(), style, is_wide });
            }
        }
    }
    for run in &runs {
        let StyledRun { column, cells, text, style, .. } = run;
        let (start, shown) = (text.trim_start(), text.trim());
        if shown.is_empty() {
            continue;
        }
        // Spaces at the ends are not drawn, so the text is placed without them.
        let (before, spaces) = (text.len() - start.len(), text.len() - shown.len());
        let (x, y) = place(row, *column + before as u16);
        let length = f64::from(*cells - spaces as u16) * CELL.0;
        let text = lasting(shown);
        writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{y:.0}\" textLength=\"{length:.1}\"{style}>{text}</text>"
        )
        .unwrap();
    }
}

/// Replaces what differs between runs, and the signs of XML.
fn lasting(text: &str) -> String {
    let text = Regex::new(r"\d+\.\d s$").unwrap().replace(text, "0.2 s");
    escape_xml(&text.replace(env!("CARGO_PKG_VERSION"), "0.1.0"))
}

fn place(row: u16, column: u16) -> (f64, f64) {
    (MARGIN.0 + f64::from(column) * CELL.0, MARGIN.1 + f64::from(row) * CELL.1)
}

fn style(cell: &Cell) -> String {
    let mut style = String::new();
    let colour = match cell.fgcolor() {
        Color::Idx(colour) => COLOURS.get(usize::from(colour)).copied(),
        _ => None,
    };
    if let Some(colour) = colour.or_else(|| cell.dim().then_some(GREY)) {
        write!(style, " fill=\"{colour}\"").unwrap();
    }
    for (on, attribute) in [
        (cell.bold(), "font-weight=\"bold\""),
        (cell.italic(), "font-style=\"italic\""),
        (cell.underline(), "text-decoration=\"underline\""),
    ] {
        if on {
            write!(style, " {attribute}").unwrap();
        }
    }
    style
}
