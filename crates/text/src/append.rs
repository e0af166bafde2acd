//! Appends formatted text to a string.

use std::fmt::{Arguments, Write};

/// Appends what `format!` would return, without a second string.
pub fn append_text(text: &mut String, arguments: Arguments<'_>) {
    let written = text.write_fmt(arguments);
    debug_assert!(written.is_ok(), "a string takes every text, so a `Display` is faulty");
}

/// Appends a line and its end.
pub fn append_line(text: &mut String, arguments: Arguments<'_>) {
    append_text(text, arguments);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn append_line_adds_the_end_and_append_text_adds_none() {
        let mut text = String::from("a");
        append_text(&mut text, format_args!("{}", 1));
        append_line(&mut text, format_args!("{:>2}", 2));
        append_text(&mut text, format_args!(""));
        assert_eq!(text, "a1 2\n");
    }
}
