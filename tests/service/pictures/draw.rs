//! Draws a chat as SVG. Widths of characters are estimated, and each text is stretched to its
//! estimate, so that the picture is the same with all fonts.

use std::fmt::Write as _;

use avocet_tests::picture::escape_xml;

const MARGIN: f64 = 16.0;
const PADDING: f64 = 10.0;
const LINE: f64 = 20.0;
const SIZE: f64 = 14.0;
const BUTTON: f64 = 34.0;

/// The style of a piece of text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PictureStyle {
    pub(super) bold: bool,
    pub(super) italic: bool,
    pub(super) code: bool,
    pub(super) link: bool,
}

/// The place of a line in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    Plain,
    /// 1 is the largest.
    Heading(usize),
    Quote,
    Code,
}

/// A line of a message, before it is wrapped.
#[derive(Debug, Clone)]
pub(super) struct PictureLine {
    pub(super) kind: LineKind,
    pub(super) spans: Vec<(String, PictureStyle)>,
}

/// A message with its rows of buttons.
#[derive(Debug)]
pub(super) struct Bubble {
    pub(super) author: &'static str,
    pub(super) is_own: bool,
    pub(super) lines: Vec<PictureLine>,
    pub(super) buttons: Vec<Vec<String>>,
}

/// The colours and the form of a platform.
#[derive(Debug)]
pub(super) struct Theme {
    pub(super) label: &'static str,
    pub(super) width: f64,
    pub(super) back: &'static str,
    pub(super) bot: &'static str,
    pub(super) own: &'static str,
    pub(super) text: &'static str,
    pub(super) code_back: &'static str,
    pub(super) accent: &'static str,
    pub(super) button: &'static str,
    /// Own messages are at the right.
    pub(super) has_sides: bool,
}

/// Draws the messages, the oldest at the top.
pub(super) fn svg(theme: &Theme, bubbles: &[Bubble]) -> String {
    let mut body = String::new();
    let mut y = MARGIN;
    for bubble in bubbles {
        y = draw_bubble(theme, bubble, y, &mut body) + 10.0;
    }
    let Theme { label, width, back, text, .. } = theme;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {y:.0}\" role=\"img\" \
         aria-label=\"{label}\">\n<rect width=\"{width:.0}\" height=\"{y:.0}\" rx=\"8\" \
         fill=\"{back}\"/>\n<g font-family=\"system-ui, 'Segoe UI', Roboto, Helvetica, Arial, \
         sans-serif\" font-size=\"{SIZE}\" fill=\"{text}\">\n{body}</g>\n</svg>\n"
    )
}

/// Draws a message from `top`, and returns its lower end.
fn draw_bubble(theme: &Theme, bubble: &Bubble, top: f64, svg: &mut String) -> f64 {
    let most = theme.width - 2.0 * MARGIN - if theme.has_sides { 40.0 } else { 0.0 };
    let inner = most - 2.0 * PADDING;
    let rows: Vec<PictureLine> =
        bubble.lines.iter().flat_map(|line| wrap(line, inner - 12.0)).collect();
    let named = !theme.has_sides;
    let height = rows.iter().map(row_height).sum::<f64>()
        + 2.0 * PADDING
        + if named { LINE + 2.0 } else { 0.0 };
    let widest = rows.iter().map(row_width).fold(0.0, f64::max) + 2.0 * PADDING + 12.0;
    let width = if named || !bubble.buttons.is_empty() { most } else { widest.min(most) };
    let left = if theme.has_sides && bubble.is_own { theme.width - MARGIN - width } else { MARGIN };
    let fill = if bubble.is_own { theme.own } else { theme.bot };
    writeln!(
        svg,
        "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"10\" \
         fill=\"{fill}\"/>"
    )
    .unwrap();
    let mut y = top + PADDING;
    if named {
        let style = PictureStyle { bold: true, ..PictureStyle::default() };
        let colour = if bubble.is_own { theme.text } else { theme.accent };
        draw_span(bubble.author, style, SIZE, (left + PADDING, y + 15.0), colour, svg);
        y += LINE + 2.0;
    }
    for row in &rows {
        draw_row(theme, row, (left + PADDING, y), width - 2.0 * PADDING, svg);
        y += row_height(row);
    }
    draw_buttons(theme, bubble, (left, y + PADDING), width, svg)
}

/// Draws the rows of buttons, and returns their lower end.
fn draw_buttons(
    theme: &Theme,
    bubble: &Bubble,
    (left, mut y): (f64, f64),
    width: f64,
    svg: &mut String,
) -> f64 {
    for row in &bubble.buttons {
        y += 4.0;
        let each = (width - 4.0 * (row.len() - 1) as f64) / row.len() as f64;
        for (place, label) in row.iter().enumerate() {
            let x = left + place as f64 * (each + 4.0);
            writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{each:.1}\" height=\"{BUTTON}\" rx=\"6\" \
                 fill=\"{}\"/>\n<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" \
                 fill=\"#ffffff\">{}</text>",
                theme.button,
                x + each / 2.0,
                y + 22.0,
                escape_xml(label)
            )
            .unwrap();
        }
        y += BUTTON;
    }
    y
}

fn draw_row(
    theme: &Theme,
    row: &PictureLine,
    (left, top): (f64, f64),
    width: f64,
    svg: &mut String,
) {
    let (height, base) = (row_height(row), top + row_height(row) - 6.0);
    let mut x = left;
    match row.kind {
        LineKind::Code => {
            writeln!(
                svg,
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
                 fill=\"{}\"/>",
                theme.code_back
            )
            .unwrap();
            x += 6.0;
        }
        LineKind::Quote => {
            writeln!(
                svg,
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"3\" height=\"{height:.1}\" \
                 fill=\"{}\"/>",
                theme.accent
            )
            .unwrap();
            x += 10.0;
        }
        LineKind::Plain | LineKind::Heading(_) => {}
    }
    for (text, style) in &row.spans {
        let colour = if style.link { theme.accent } else { "" };
        x += draw_span(text, *style, size(row.kind), (x, base), colour, svg);
    }
}

/// Draws a text with one style, and returns its width.
fn draw_span(
    text: &str,
    style: PictureStyle,
    size: f64,
    (x, y): (f64, f64),
    colour: &str,
    svg: &mut String,
) -> f64 {
    let width = span_width(text, style, size);
    let (start, shown) = (text.trim_start(), text.trim());
    if shown.is_empty() {
        return width;
    }
    // Spaces at the ends are not drawn, so the text is placed without them.
    let before = span_width(&text[..text.len() - start.len()], style, size);
    let length = span_width(shown, style, size);
    let mut attributes = String::new();
    for (on, attribute) in [
        (style.bold, " font-weight=\"bold\""),
        (style.italic, " font-style=\"italic\""),
        (
            style.code,
            " font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\"",
        ),
    ] {
        attributes.push_str(if on { attribute } else { "" });
    }
    if !colour.is_empty() {
        write!(attributes, " fill=\"{colour}\"").unwrap();
    }
    let drawn = if style.code { size - 1.0 } else { size };
    if (drawn - SIZE).abs() > 0.1 {
        write!(attributes, " font-size=\"{drawn}\"").unwrap();
    }
    writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{y:.1}\" textLength=\"{length:.1}\" \
         lengthAdjust=\"spacingAndGlyphs\"{attributes}>{}</text>",
        x + before,
        escape_xml(shown)
    )
    .unwrap();
    width
}

fn size(kind: LineKind) -> f64 {
    match kind {
        LineKind::Heading(level) => [20.0, 18.0, 16.0][level.clamp(1, 3) - 1],
        _ => SIZE,
    }
}

fn row_height(row: &PictureLine) -> f64 {
    if row.spans.is_empty() { LINE / 2.0 } else { LINE + size(row.kind) - SIZE }
}

fn row_width(row: &PictureLine) -> f64 {
    row.spans.iter().map(|(text, style)| span_width(text, *style, size(row.kind))).sum()
}

/// Wraps a line at its spaces. Code is not wrapped.
fn wrap(line: &PictureLine, most: f64) -> Vec<PictureLine> {
    let empty = || PictureLine { kind: line.kind, spans: Vec::new() };
    let mut rows = vec![empty()];
    let mut used = 0.0;
    for (text, style) in &line.spans {
        for word in text.split_inclusive(' ') {
            let width = span_width(word.trim_end(), *style, size(line.kind));
            if used + width > most && used > 0.0 && line.kind != LineKind::Code {
                rows.push(empty());
                used = 0.0;
            }
            let row = rows.last_mut().unwrap();
            match row.spans.last_mut() {
                Some((before, known)) if known == style => before.push_str(word),
                _ => row.spans.push((word.to_owned(), *style)),
            }
            used += span_width(word, *style, size(line.kind));
        }
    }
    rows
}

/// Estimates the width of a text in pixels.
fn span_width(text: &str, style: PictureStyle, size: f64) -> f64 {
    let em: f64 = text.chars().map(|c| if style.code { 0.602 } else { character_width(c) }).sum();
    em * if style.code { size - 1.0 } else { size } * if style.bold { 1.06 } else { 1.0 }
}

/// The usual width of a character in a sans-serif font, in em.
fn character_width(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '\'' | '|' => 0.23,
        ' ' | 'f' | 't' | 'I' | '.' | ',' | ':' | ';' | '!' | '(' | ')' | '[' | ']' | '/' => 0.29,
        'r' | '-' | '"' | '“' | '”' | '`' | '•' => 0.35,
        'm' | 'M' | 'W' | 'w' | '@' | '%' | '…' => 0.85,
        'A'..='Z' | '+' | '=' | '<' | '>' | '&' => 0.67,
        '\0'..='ÿ' | '€' => 0.55,
        _ => 1.0,
    }
}
