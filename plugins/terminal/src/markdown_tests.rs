use super::*;
use crate::styled::{Look, width};

fn page(columns: usize) -> PageLayout {
    PageLayout { columns, look: Look::Styled }
}

/// Returns the rows as text, without attributes.
fn shown(rows: &[ScreenRow]) -> String {
    let rows = rows.iter().map(|row| row.paint_row(Look::Plain).trim_end().to_owned());
    rows.collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn check(text: &str, columns: usize, expected: &str) {
    assert_eq!(shown(&rows_of(text, page(columns))), expected, "{text}");
    assert_eq!(shown(&streamed(text, columns)), expected, "in pieces: {text}");
}

/// Renders a text that comes character by character.
fn streamed(text: &str, columns: usize) -> Vec<ScreenRow> {
    let (mut stream, mut rows) = (MarkdownStream::default(), Vec::new());
    for c in text.chars() {
        stream.push(c.encode_utf8(&mut [0; 4]));
        rows.extend(stream.take_finished(page(columns)));
        stream.open(page(columns));
    }
    rows.extend(stream.finish(page(columns)));
    rows
}

#[test]
fn markdown_renders_the_same_whole_and_in_pieces() {
    let table = [
        ("", ""),
        ("one\ntwo", "one\ntwo"),
        ("# Title\ntext\n\nmore", "Title\n\ntext\n\nmore"),
        ("a **bold** `code` ~~old~~ *it*", "a bold code old it"),
        ("- a\n- b\n  - c\n  - d\n- e", "• a\n• b\n  • c\n  • d\n• e"),
        ("Text:\n- a\n\n  more\n- b\n\nend", "Text:\n• a\n\n  more\n• b\n\nend"),
        ("3. a\n4. b\n10. c\n\ntext", "3. a\n4. b\n5. c\n\ntext"),
        ("- [x] done\n- [ ] open\n-\n- end", "• [x] done\n• [ ] open\n•\n• end"),
        ("> quoted\n> > twice\n\nend", "│ quoted\n│ │ twice\n\nend"),
        ("> a\n>\n> b", "│ a\n│\n│ b"),
        (
            "[name](https://a.example) <https://b.example>",
            "name (https://a.example)\nhttps://b.example",
        ),
        ("text\n```rust\nfn f() {\n\n}\n```\nend", "text\n\n  fn f() {\n\n  }\n\nend"),
        ("```\nopen\n  code", "  open\n    code"),
        ("1. a\n   ```sh\n   ls\n   ```\n2. b", "1. a\n\n     ls\n2. b"),
        ("a\n\n---\n\nb", "a\n\n────────────────────────────\n\nb"),
        ("<b>raw</b> html", "<b>raw</b> html"),
        ("`````\n```\n`````", "  ```"),
        (
            "| a | b |\n|---|--:|\n| 1 | 2 |\n| long | 12 |",
            "a    │  b\n─────┼───\n1    │  2\nlong │ 12",
        ),
    ];
    for (text, expected) in table {
        check(text, 28, expected);
    }
}

#[test]
fn table_wraps_its_cells_and_becomes_a_list_on_a_narrow_screen() {
    let text =
        "| Name | Meaning |\n|---|---|\n| alpha | the first letter of it |\n| b | 日本語 |\n";
    check(
        text,
        24,
        "Name  │ Meaning\n──────┼─────────────────\nalpha │ the first letter\n      │ of it\n──────┼─────────────────\nb     │ 日本語",
    );
    let list =
        "Name: alpha\nMeaning: the\nfirst letter\nof it\n────────\nName: b\nMeaning: 日\n本語";
    check(text, 12, list);
}

#[test]
fn markdown_keeps_its_marks_in_a_plain_look() {
    let plain = |text: &str| shown(&rows_of(text, PageLayout { columns: 30, look: Look::Plain }));
    let table = [
        ("## A *b* **c** `d` ~~e~~", "## A *b* **c** `d` ~~e~~"),
        ("- a\n- b", "- a\n- b"),
        ("> a", "> a"),
        ("```rust\nlet a;\n```", "```rust\nlet a;\n```"),
    ];
    for (text, expected) in table {
        assert_eq!(plain(text), expected, "{text}");
    }
}

#[test]
fn markdown_emphasises_with_attributes() {
    let painted = |text: &str| {
        let rows = rows_of(text, page(40));
        rows.iter().map(|row| row.paint_row(Look::Styled)).collect::<Vec<_>>().join("\n")
    };
    let table = [
        ("# A `b`", "\u{1b}[1;4mA \u{1b}[0m\u{1b}[1;4;36mb\u{1b}[0m"),
        ("a *b* **c** ~~d~~", "a \u{1b}[3mb\u{1b}[0m \u{1b}[1mc\u{1b}[0m \u{1b}[9md\u{1b}[0m"),
        ("[a](b)", "\u{1b}[4ma\u{1b}[0m\u{1b}[2m (b)\u{1b}[0m"),
        ("```rs\nlet a = 1;\n```", "  \u{1b}[35mlet\u{1b}[0m a = \u{1b}[36m1\u{1b}[0m;"),
    ];
    for (text, expected) in table {
        assert_eq!(painted(text), expected, "{text}");
    }
}

#[test]
fn take_finished_keeps_only_the_open_block() {
    let mut stream = MarkdownStream::default();
    let mut push = |text: &str| {
        stream.push(text);
        let finished = shown(&stream.take_finished(page(30)));
        (finished, shown(&stream.open(page(30))))
    };
    let table = [
        ("one **tw", "", "one **tw"),
        ("o**\n\n- a\n", "one two", "\n• a"),
        ("- b", "", "\n• a\n• b"),
        ("\n\n```rust\nlet a", "\n• a\n• b\n", "  let a"),
        (" = 1;\nlet", "  let a = 1;", "  let"),
        (";\n```\n", "  let;", ""),
        ("| a ", "", "\n| a"),
        ("|\n|--|\n| b |", "", "\na\n─\nb"),
    ];
    for (text, finished, open) in table {
        assert_eq!(push(text), (finished.to_owned(), open.to_owned()), "{text:?}");
    }
}

#[test]
fn hostile_texts_stay_within_the_page_and_without_control_characters() {
    let hostile = [
        "- ".repeat(20_000),
        "> ".repeat(20_000) + "x",
        (0..400).map(|depth| format!("{}- x\n", "  ".repeat(depth))).collect(),
        "x".repeat(100_000),
        "*a ".repeat(20_000),
        "[".repeat(40_000),
        "|".repeat(3_000) + "\n" + &"|-".repeat(3_000) + "\n" + &"|a".repeat(3_000),
        "```\n".to_owned() + &"y".repeat(100_000),
        "```\n\n```\n".repeat(5_000),
        "a\u{1b}[2J\u{9b}31m\u{7}\r\u{202e}b\u{0}`\u{1b}]0;t\u{7}`\n\u{1b}c".to_owned(),
        "```\u{1b}[31m\n\u{1b}[2J\n```\n| \u{1b}[1m |\n|---|\n| [\u{1b}](\u{1b}[3m) |".to_owned(),
        "&#27;[2J `&#27;` **&#x9b;31m** &#x202e;b [&#27;[1m](&#27;&#x202e;) <a:&#x9b;b> &#10;&#9;c"
            .to_owned(),
        "```rust&#27;[31m&#10;&#x9b;\n&#27;[2J\n```\n\n~~~&#x202e;\nopen".to_owned(),
        "> ```&#27;[31m&#10;\n> &#x9b;\n\n    &#27;\n\n| &#27;[1m |\n|---|\n| [a](&#27;[3m) |"
            .to_owned(),
        "# &#27;c\n![&#27;](&#x9b; \"&#27;\")\n[a]\n\n[a]: &#27;]0;t&#7;".to_owned(),
        "e\u{301}\u{301}\u{301}".repeat(5_000),
        "👨‍👩‍👧".repeat(2_000),
    ];
    for text in hostile {
        for columns in [1, 2, 11, 80] {
            for row in rows_of(&text, page(columns)) {
                let painted = row.paint_row(Look::Styled);
                let attributes = row.spans().len() * 2;
                assert!(painted.matches('\u{1b}').count() <= attributes, "{painted:?}");
                assert!(!painted.contains(['\u{9b}', '\u{202e}']), "{painted:?}");
                let plain = row.paint_row(Look::Plain);
                assert!(!plain.contains(char::is_control), "{plain:?}");
                assert!(width(&plain) <= columns.max(6) || columns < 3, "{columns}: {plain:?}");
            }
        }
    }
}

#[test]
fn rows_of_keeps_a_block_above_the_limit_of_a_stream_whole() {
    let item = format!("**{}**", "word ".repeat(MAX_OPEN / 4).trim_end());
    let rows = rows_of(&item, page(80));
    let is_bold = |row: &ScreenRow| row.spans().iter().all(|span| span.style.bold);
    assert!(rows.iter().all(is_bold));
}

#[test]
fn streamed_entities_leave_no_control_characters() {
    let text = "&#27;[2J `x`\n\n```a&#27;\n&#27;\n```\n[b](&#x9b;1)\n";
    for look in [Look::Plain, Look::Styled] {
        for row in streamed(text, 40) {
            let painted = row.paint_row(look);
            let escapes = painted.matches('\u{1b}').count();
            let own = painted.matches("\u{1b}[").count();
            assert!(escapes == own && !painted.contains("\u{1b}[2J"), "{painted:?}");
            assert!(!painted.contains('\u{9b}'), "{painted:?}");
        }
    }
}
