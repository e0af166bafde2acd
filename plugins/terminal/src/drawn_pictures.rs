//! Pictures that a terminal draws itself: the escape sequences, and the size in cells.
//!
//! | protocol | terminals | formats |
//! |---|---|---|
//! | [Kitty graphics](https://sw.kovidgoyal.net/kitty/graphics-protocol/) | kitty, Ghostty | PNG |
//! | [inline images](https://iterm2.com/documentation-images.html) | iTerm2, WezTerm | PNG, JPEG, GIF, WebP |
//!
//! A picture is drawn without moving the cursor: rows are made free first, so that the rows of the
//! conversation above and below stay where the painter expects them.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::live::TerminalSize;

/// The way in which a terminal takes pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureProtocol {
    /// The graphics protocol of kitty.
    Kitty,
    /// Inline images of iTerm2.
    Inline,
}

/// The most rows of a picture.
const MOST_ROWS: usize = 20;
/// The size of a cell in pixels, about. It is only used to keep small pictures small.
const CELL: (usize, usize) = (10, 20);
/// Bytes of base64 in one escape sequence of kitty.
const PIECE: usize = 4096;
/// The size of a picture in pixels whose header is unknown.
const USUAL: (usize, usize) = (800, 600);
const ENDINGS: [&str; 5] = ["gif", "jpeg", "jpg", "png", "webp"];

/// Returns the paths of the pictures that a text of the daemon names, one in each line for a file.
pub(crate) fn picture_paths(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| line.starts_with("[file: "));
    let paths =
        lines.filter_map(|line| line.strip_suffix(']')?.rsplit_once(", in the workspace: "));
    let is_picture = |path: &&str| {
        let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_lowercase());
        ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
    };
    paths.map(|(_, path)| path).filter(is_picture).collect()
}

/// Returns the escape sequences that draw a picture and leave the cursor below it; `None` if the
/// terminal does not take the format.
pub(crate) fn draw_picture(
    protocol: PictureProtocol,
    bytes: &[u8],
    terminal: TerminalSize,
) -> Option<String> {
    let is_png = bytes.starts_with(b"\x89PNG\r\n\x1a\n");
    let (columns, rows) = size_in_cells(pixels(bytes), terminal);
    let data = BASE64_STANDARD.encode(bytes);
    let drawn = match protocol {
        PictureProtocol::Kitty if is_png => kitty_sequences(&data, columns, rows),
        PictureProtocol::Kitty => return None,
        PictureProtocol::Inline => format!(
            "\u{1b}]1337;File=inline=1;size={};width={columns};height={rows};preserveAspectRatio=1:{data}\u{7}",
            bytes.len()
        ),
    };
    let free = "\r\n".repeat(rows);
    Some(format!("{free}\u{1b}[{rows}A\u{1b}7{drawn}\u{1b}8\u{1b}[{rows}B"))
}

/// Sends a PNG in pieces. `q=2`: the terminal answers nothing, which would be read as keys.
fn kitty_sequences(data: &str, columns: usize, rows: usize) -> String {
    let mut sequences = String::new();
    let pieces = data.len().div_ceil(PIECE);
    for (number, start) in (0..data.len()).step_by(PIECE).enumerate() {
        let piece = &data[start..data.len().min(start + PIECE)];
        let more = u8::from(number + 1 < pieces);
        let keys = if number == 0 {
            format!("a=T,f=100,q=2,C=1,c={columns},r={rows},m={more}")
        } else {
            format!("q=2,m={more}")
        };
        sequences.push_str(&format!("\u{1b}_G{keys};{piece}\u{1b}\\"));
    }
    sequences
}

/// Fits a picture into the terminal: a cell is twice as high as it is wide.
fn size_in_cells((width, height): (usize, usize), terminal: TerminalSize) -> (usize, usize) {
    let most_columns = terminal.columns.saturating_sub(1).max(1);
    let most_rows = MOST_ROWS.min(terminal.rows / 2).max(1);
    let (width, height) = (width.max(1), height.max(1));
    let mut rows = height.div_ceil(CELL.1).clamp(1, most_rows);
    let mut columns = (2 * rows * width).div_ceil(height).max(1);
    if columns > most_columns {
        columns = most_columns;
        rows = (columns * height).div_ceil(2 * width).clamp(1, most_rows);
    }
    (columns, rows)
}

/// Returns the width and the height in pixels, from the header of a PNG or a GIF.
fn pixels(bytes: &[u8]) -> (usize, usize) {
    let number = |at: usize, length: usize| {
        let digits = bytes.get(at..at + length)?;
        Some(digits.iter().fold(0usize, |sum, digit| sum * 256 + usize::from(*digit)))
    };
    let found = if bytes.starts_with(b"\x89PNG") {
        number(16, 4).zip(number(20, 4))
    } else if bytes.starts_with(b"GIF8") {
        number(6, 2).zip(number(8, 2)).map(|(width, height)| (swapped(width), swapped(height)))
    } else {
        None
    };
    found.filter(|(width, height)| *width > 0 && *height > 0).unwrap_or(USUAL)
}

/// Swaps the two bytes of a number: a GIF has the lower one first.
fn swapped(number: usize) -> usize {
    (number % 256) * 256 + number / 256
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes
    }

    const TERMINAL: TerminalSize = TerminalSize { columns: 80, rows: 24 };

    #[test]
    fn picture_paths_are_those_of_lines_for_files() {
        let text = "Here:\n[file: a.png, 12 bytes, in the workspace: out/a.png]\n\
            [file: b.pdf, in the workspace: b.pdf]\n[file: c.JPG, in the workspace: c.JPG]\n\
            in the workspace: d.png]\n[file: e.png]";
        assert_eq!(picture_paths(text), ["out/a.png", "c.JPG"]);
    }

    #[test]
    fn size_in_cells_keeps_the_shape_and_fits_into_the_terminal() {
        for (pixels, expected) in [
            ((800, 600), (32, 12)),
            ((20, 20), (2, 1)),
            ((4000, 400), (79, 4)),
            ((100, 4000), (1, 12)),
            ((0, 0), (2, 1)),
        ] {
            assert_eq!(size_in_cells(pixels, TERMINAL), expected, "{pixels:?}");
        }
        assert_eq!(pixels(&png(640, 480)), (640, 480));
        assert_eq!(pixels(b"GIF89a\x20\x01\x10\0"), (288, 16));
        assert_eq!(pixels(b"\x89PNG"), USUAL);
    }

    #[test]
    fn draw_picture_frees_rows_and_keeps_the_cursor() {
        let small = draw_picture(PictureProtocol::Kitty, &png(20, 20), TERMINAL).unwrap();
        let data = BASE64_STANDARD.encode(png(20, 20));
        assert_eq!(
            small,
            format!(
                "\r\n\u{1b}[1A\u{1b}7\u{1b}_Ga=T,f=100,q=2,C=1,c=2,r=1,m=0;{data}\u{1b}\\\u{1b}8\u{1b}[1B"
            )
        );
        let mut large = png(20, 20);
        large.resize(4000, 0);
        let large = draw_picture(PictureProtocol::Kitty, &large, TERMINAL).unwrap();
        assert!(large.contains("r=1,m=1;") && large.contains("\u{1b}_Gq=2,m=0;"), "{large}");
        assert_eq!(draw_picture(PictureProtocol::Kitty, b"GIF89a", TERMINAL), None);
        let inline = draw_picture(PictureProtocol::Inline, b"GIF89a\x14\0\x14\0", TERMINAL);
        let inline = inline.unwrap();
        assert!(inline.contains("\u{1b}]1337;File=inline=1;size=10;width=2;height=1;"), "{inline}");
    }
}
