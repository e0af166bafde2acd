use super::*;

#[test]
fn blocks_show_headings_paragraphs_code_and_quotes_around_a_table() {
    let markdown = "# Birds\n\nSee **the [list](https://a.example)**:\n\n\
        | Bird | Eggs |\n|--|--:|\n| Goose | 5 |\n| Duck | |\n\n> Said Ann\n\n```rust\nlet x;\n```\n\nEnd.";
    let expected = json!([
        { "type": "heading", "text": "Birds", "size": 1 },
        { "type": "paragraph", "text": ["See ", { "type": "bold", "text": ["the ",
            { "type": "url", "url": "https://a.example/", "text": "list" }] }, ":"] },
        { "type": "table", "is_bordered": true, "cells": [
            [{ "align": "left", "valign": "top", "text": "Bird", "is_header": true },
                { "align": "right", "valign": "top", "text": "Eggs", "is_header": true }],
            [{ "align": "left", "valign": "top", "text": "Goose" },
                { "align": "right", "valign": "top", "text": "5" }],
            [{ "align": "left", "valign": "top", "text": "Duck" },
                { "align": "right", "valign": "top" }]] },
        { "type": "blockquote", "blocks": [{ "type": "paragraph", "text": "Said Ann" }] },
        { "type": "pre", "text": "let x;", "language": "rust" },
        { "type": "paragraph", "text": "End." }
    ]);
    let shown = Value::Array(blocks(&Content::text(markdown)).unwrap());
    let slashed = shown.to_string().replace("https://a.example\"", "https://a.example/\"");
    assert_eq!(slashed, expected.to_string());
}

#[test]
fn blocks_are_none_without_a_table_and_above_the_limits() {
    let table = |columns: usize, rows: usize| {
        let row = |cell: &str| format!("|{}\n", format!("{cell}|").repeat(columns));
        Content::text(row("a") + &row("--") + &row("1").repeat(rows))
    };
    assert!(blocks(&table(20, 3)).is_some());
    assert_eq!(blocks(&table(21, 3)), None);
    assert_eq!(blocks(&table(1, 500)), None);
    assert_eq!(blocks(&Content::text("# Birds")), None);
}
