//! Test helpers: the properties of any styled text, and Markdown of all kinds.

use proptest::prelude::*;

use crate::{Style, Styled};

/// A corpus of Markdown: snippets between lines of `%%%`.
pub(crate) fn corpus() -> Vec<&'static str> {
    let text = include_str!("testing/corpus.md");
    text.split("\n%%%\n").collect()
}

/// Panics unless the ranges have the form that [`Styled`] promises.
#[track_caller]
pub(crate) fn assert_valid(styled: &Styled) {
    let Styled { text, styles } = styled;
    let mut open: Vec<&crate::StyleRange> = Vec::new();
    let mut last = (0, usize::MAX);
    for range in styles {
        assert!(range.start < range.end, "empty: {range:?} in {styled:?}");
        assert!(text.get(range.start..range.end).is_some(), "outside or in a character: {range:?}");
        let part = &text[range.start..range.end];
        assert_eq!(part.trim_end(), part, "ends in white space: {styled:?}");
        let place = (range.start, usize::MAX - range.end);
        assert!(last == (0, usize::MAX) || last <= place, "not sorted: {styled:?}");
        last = place;
        open.retain(|outer| outer.end > range.start);
        for outer in &open {
            assert!(outer.end >= range.end, "{range:?} crosses {outer:?}");
            assert_ne!(outer.style, range.style, "inside its own kind");
            let is_pre = |style: &Style| matches!(style, Style::Pre { .. });
            let is_code = is_pre(&outer.style) || outer.style == Style::Code;
            assert!(!is_code && !is_pre(&range.style), "{range:?} in {outer:?}");
        }
        open.push(range);
    }
}

/// Pieces of Markdown, and text that is hard to split.
const SOUP: &[&str] = &[
    "*",
    "**",
    "***",
    "_",
    "__",
    "~~",
    "~",
    "`",
    "``",
    "```",
    "```rust\n",
    "\n```\n",
    "||",
    "|",
    "\n",
    "\n\n",
    "  \n",
    "\\\n",
    " ",
    "  ",
    "    ",
    "\t",
    "> ",
    "\n> ",
    "- ",
    "\n- ",
    "\n  - ",
    "1. ",
    "\n1. ",
    "\n10) ",
    "# ",
    "\n## ",
    "\n---\n",
    "\n===\n",
    "|a|b|\n|-|-|\n|c|d|\n",
    "[",
    "]",
    "(",
    ")",
    "](http://x.org)",
    "](javascript:x)",
    "![",
    "<http://x.org/a_b>",
    "<a@b.c>",
    "<",
    ">",
    "<b>",
    "</b>",
    "<div>\n",
    "\n</div>\n",
    "<!-- c -->",
    "&amp;",
    "&nbsp;",
    "&#32;",
    "\\",
    "\\*",
    "\\|",
    "\\`",
    "!",
    "@everyone",
    "<@1>",
    "https://x.org/?a=b&c=d",
    "[^1]",
    "\n[^1]: note\n",
    "[x]: http://y.org\n",
    "[x]",
    "\n- [ ] ",
    "a",
    "b",
    "word",
    "Ünïcödé",
    "👨‍👩‍👧",
    "e\u{301}\u{301}",
    "漢字",
    "。",
    ".",
    "! ",
    "? ",
    ": ",
    "=",
    "+",
    "\u{a0}",
    "\u{2003}",
    "\u{200b}",
    "\r",
    "\0",
    "0",
    "7",
];

/// Tokens of Markdown in any order: a higher share of markup than in any real text.
pub(crate) fn soup() -> impl Strategy<Value = String> {
    let token = prop::sample::select(SOUP);
    let tokens = prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat());
    prop_oneof![8 => tokens, 1 => any::<String>()]
}

/// Returns the visible characters of a text.
pub(crate) fn visible(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
