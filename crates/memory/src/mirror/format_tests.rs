use avocet_protocol::ids::{MemoryChangeId, MemoryId};
use avocet_protocol::store::MemorySource;

use super::*;

fn memory(id: i64, text: &str) -> Memory {
    let source = MemorySource {
        session: None,
        turn: None,
        message: None,
        said_by: Some("irc:main:a-->b".parse().unwrap()),
        written_at: Timestamp(1_700_000_000_000),
    };
    Memory {
        id: MemoryId(id),
        scope: MemoryScope::Everyone,
        text: text.to_owned(),
        trust: Trust::User,
        source,
        revision: 3,
        forgotten: false,
    }
}

fn state(texts: &[&str]) -> ScopeMemories {
    let memories = (1..).zip(texts).map(|(id, text)| memory(id, text)).collect();
    ScopeMemories { memories, last: ShownChange { id: MemoryChangeId(57), at: Timestamp(9) } }
}

fn entry(shown: Option<i64>, text: &str) -> FileEntry {
    let shown = shown.map(|id| ShownMemory { id: MemoryId(id), revision: 3, trust: Trust::User });
    FileEntry { shown, text: text.to_owned() }
}

#[test]
fn file_shows_scope_change_and_entries() {
    let rest = ["junk".to_owned()];
    let file =
        render_scope(&MemoryScope::Everyone, &state(&["one\n\n- two\n  three", "four"]), &rest);
    let [help, rest_help] = [HELP.join("\n"), REST_HELP.to_owned()];
    let expected = format!(
        "# Memory: everyone\n\n<!-- avocet c57 9 -->\n{help}\n\n\
         - <!-- m1 r3 user 2023-11-14 irc:main:a--_b --> one\n\n  - two\n    three\n\
         - <!-- m2 r3 user 2023-11-14 irc:main:a--_b --> four\n\n\
         ## Not taken in\n\n{rest_help}\n\njunk\n"
    );
    assert_eq!(file, expected);
    assert!(REST_HELP.contains(&MAX_MEMORY_BYTES.to_string()));
}

/// An unchanged file contains no edits, for every text.
#[test]
fn file_returns_every_text_unchanged() {
    let long = "x".repeat(2 * MAX_MEMORY_BYTES);
    let texts = [
        "plain",
        "two\nlines",
        "blank\n\n\nlines",
        "  indented\n    more\n\ttab",
        "- a\n- list\n* of\n+ items",
        "# Heading\n## Not taken in\n# Memory: chat a:b:c",
        "<!-- m2 r9 full --> looks like a mark",
        "<!-- avocet c1 1 -->\n-->",
        "-->\n<!--",
        "```\n- code\n```",
        "ends with spaces  \nand\ttabs\t",
        "Windows\r\nlines\r\n",
        "\u{feff}東京\u{2028}x",
        "one\rreturn",
        &long,
    ];
    let state = state(&texts);
    for rest in [&[][..], &["# Heading".to_owned(), String::new(), "- entry".to_owned()]] {
        let file = render_scope(&MemoryScope::Everyone, &state, rest);
        for file in [file.clone(), file.replace('\n', "\r\n"), format!("\u{feff}{file}")] {
            let parsed = ParsedFile::read(&file, &state.memories);
            let expected = (1..).zip(&texts).map(|(id, text)| entry(Some(id), &visible_text(text)));
            assert_eq!(parsed.entries, expected.collect::<Vec<_>>());
            assert_eq!(parsed.scope, Some(MemoryScope::Everyone));
            assert_eq!((parsed.shown_to, &*parsed.rest), (Some(state.last), rest));
        }
    }
}

#[test]
fn file_of_a_person_is_read_as_markdown() {
    let table: [(&str, &[FileEntry], &[&str]); 14] = [
        ("", &[], &[]),
        ("- one\n- two", &[entry(None, "one"), entry(None, "two")], &[]),
        ("* one\n+ two\n-\n", &[entry(None, "one"), entry(None, "two")], &[]),
        ("- one\n  more\n\n  and more\n", &[entry(None, "one\nmore\n\nand more")], &[]),
        ("- one\n\tmore\n more", &[entry(None, "one\nmore\nmore")], &[]),
        ("- one\nlazy line\n\nother text", &[entry(None, "one\nlazy line")], &["other text"]),
        ("- one\n# heading\ntext", &[entry(None, "one")], &["# heading", "text"]),
        ("text before\n\n- one", &[entry(None, "one")], &["text before"]),
        ("- <!-- m1 r3 user --> ONE", &[entry(Some(1), "ONE")], &[]),
        ("-   <!-- m1 r3 user any words-->ONE", &[entry(Some(1), "ONE")], &[]),
        ("- <!-- m1 r3 user -->\n  below", &[entry(Some(1), "below")], &[]),
        ("- <!-- m1 r3 user -->\n", &[], &[]),
        ("- <!-- m1 r3 --> x", &[entry(None, "<!-- m1 r3 --> x")], &[]),
        ("1. one", &[], &["1. one"]),
    ];
    for (text, entries, rest) in table {
        let parsed = ParsedFile::read(text, &state(&["one"]).memories);
        assert_eq!((&*parsed.entries, parsed.shown_to), (entries, None), "{text:?}");
        assert_eq!(parsed.rest, rest, "{text:?}");
    }
}

#[test]
fn entry_that_is_too_long_is_no_edit_and_stays_in_the_file() {
    let long = "y".repeat(MAX_MEMORY_BYTES + 1);
    let state = state(&["one"]);
    let text = format!("- <!-- m1 r3 user --> {long}\n  end\n- {long}\n- short");
    let parsed = ParsedFile::read(&text, &state.memories);
    assert_eq!(parsed.entries, [entry(Some(1), "one"), entry(None, "short")]);
    let kept = [format!("- <!-- m1 r3 user --> {long}"), "  end".to_owned(), format!("- {long}")];
    assert_eq!(parsed.rest, kept);
    let again = ParsedFile::read(
        &render_scope(&MemoryScope::Everyone, &state, &parsed.rest),
        &state.memories,
    );
    assert_eq!((again.entries, again.rest), (vec![entry(Some(1), "one")], kept.to_vec()));
}
