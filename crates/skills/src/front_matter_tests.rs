use super::*;

#[test]
fn split_cuts_a_file_at_its_second_fence() {
    for (text, front, body, lines) in [
        ("---\na: 1\n---\nbody\n", "a: 1\n", "body\n", (2, 4)),
        ("---\na: 1\n--- \nbody\n", "a: 1\n", "body\n", (2, 4)),
        ("\n\n  \n---\na: 1\n---\nbody", "a: 1\n", "body", (5, 7)),
        ("<!-- a\n--- b\n-->\n---\na: 1\n---\nbody", "a: 1\n", "body", (5, 7)),
        (" ---\na: 1\n----\nbody", "a: 1\n", "body", (2, 4)),
        ("---\na: 1\n...\nbody", "a: 1\n", "body", (2, 4)),
        ("---\n---\nbody", "", "body", (2, 3)),
        ("---\na: |\n  x\n  ---\n---\nbody", "a: |\n  x\n  ---\n", "body", (2, 6)),
    ] {
        let expected = (front, body, lines, None);
        let SplitFile { front_matter, front_line, body, body_line, note } =
            split_front_matter(text);
        assert_eq!((front_matter, body, (front_line, body_line), note), expected, "{text:?}");
    }
}

#[test]
fn split_without_a_front_matter_takes_all_as_the_body_with_a_remark() {
    for (text, says) in [
        ("", "no front matter"),
        ("# Title\n---\na: 1\n---\n", "no front matter"),
        ("---\nSome text\n---\nmore", "no `key: value`"),
    ] {
        let SplitFile { front_matter, body, note, .. } = split_front_matter(text);
        assert_eq!((front_matter, body), ("", text));
        assert!(note.is_some_and(|note| note.text.contains(says)), "{text:?}");
    }
    let unfinished = split_front_matter("---\na: 1\nb: 2\n\nbody: x\n");
    assert_eq!((unfinished.front_matter, unfinished.body), ("a: 1\nb: 2\n", "\nbody: x\n"));
    assert!(unfinished.note.is_some_and(|note| note.text.contains("no end")));
}

/// The values of the entries, as they are used.
fn values(yaml: &str) -> Vec<(usize, String, String)> {
    let shown = |value: FrontValue| match value {
        FrontValue::Text(text) => text,
        FrontValue::List(list) => format!("{list:?}"),
        FrontValue::Map(pairs) => format!("{pairs:?}"),
    };
    let entries = parse_front_matter(yaml, 2).entries.into_iter();
    entries.map(|entry| (entry.line, entry.key, shown(entry.value))).collect()
}

#[test]
fn parse_reads_texts_lists_and_maps_with_their_lines() {
    let yaml = "name: a # a comment\ndescription: >\n  two\n  lines\n\nlicense: 'it''s'\n\
                metadata:\n  version: \"1.0\"\n  deep: [[x]]\nallowed-tools: [Read, git_*]\nmore:\n\
                - Bash(git:*)\n- {a: b}\n";
    let expected = [
        (2, "name", "a"),
        (3, "description", "two lines\n"),
        (7, "license", "it's"),
        (8, "metadata", r#"[("version", "1.0")]"#),
        (11, "allowed-tools", r#"["Read", "git_*"]"#),
        (12, "more", r#"["Bash(git:*)"]"#),
    ];
    let expected = expected.map(|(line, key, value)| (line, key.to_owned(), value.to_owned()));
    assert_eq!(values(yaml), expected);
    assert!(parse_front_matter(yaml, 2).notes.is_empty());
    assert_eq!(values(""), []);
    assert_eq!(values("# nothing\n"), []);
}

#[test]
fn parse_reads_a_value_that_is_no_yaml_as_text_with_a_remark() {
    for (value, expected) in [
        ("use it: now", "use it: now"),
        ("@mentions and `ticks`", "@mentions and `ticks`"),
        ("`ticks` first", "`ticks` first"),
        ("*bold* words", "*bold* words"),
        ("%d percent", "%d percent"),
        ("\"quoted\" and more", "\"quoted\" and more"),
        ("\"never closed", "\"never closed"),
        ("[Beta] does x", "[Beta] does x"),
        ("{placeholder}", "{placeholder}"),
        ("*unknown", "*unknown"),
        ("a: b\n  and c: d", "a: b and c: d"),
        ("|\n\ttabs: below", "tabs: below"),
        ("> - x", "> - x"),
    ] {
        let yaml = format!("name: a\ndescription: {value}\nmodel: b\n");
        let read = values(&yaml);
        assert_eq!(read[1], (3, "description".to_owned(), expected.to_owned()), "{value:?}");
        assert_eq!((read[0].2.as_str(), read[2].2.as_str()), ("a", "b"), "{value:?}");
        let notes = parse_front_matter(&yaml, 2).notes;
        assert!(
            notes.iter().any(|note| note.line == 3 && note.text.contains("not YAML")),
            "{value}"
        );
    }
}

#[test]
fn parse_reads_what_other_programs_take_as_yaml() {
    for (yaml, expected) in [
        ("description: !important do it\n", "!important do it"),
        ("description: !!str 1\n", "1"),
        ("description: &a text\n", "text"),
        ("x: &a text\ndescription: *a\n", "text"),
        ("description: 100% useful # really\n", "100% useful"),
        ("description: ~\n", ""),
        ("description: a\n  second line\n", "a second line"),
        ("name:\ttabs\ndescription:\ta tab\n", "a tab"),
        ("description:no space\n", "no space"),
        ("  name: x\n  description: indented\n", "indented"),
        ("? [x]\n: 2\ndescription: complex\n", "complex"),
        ("metadata:\n\ttabs: 1\ndescription: d\n", "d"),
    ] {
        let read = values(yaml);
        let value = read.iter().rfind(|(_, key, _)| key == "description").map(|one| &*one.2);
        assert_eq!(value, Some(expected), "{yaml:?}");
    }
}

#[test]
fn parse_skips_nested_values_of_any_depth() {
    let deep = |open: &str, close: &str, depth| open.repeat(depth) + &close.repeat(depth);
    for depth in [6, 200, 5_000, 40_000] {
        for metadata in [deep("[", "]", depth), deep("{\"a\":", "}", depth), deep("- ", "", depth)]
        {
            let yaml = format!("name: a\nmetadata: {metadata}\ndescription: d\n");
            let read = values(&yaml);
            let last = read.last().map(|(_, key, value)| (key.as_str(), value.as_str()));
            assert_eq!(last, Some(("description", "d")), "{depth}");
        }
    }
}
