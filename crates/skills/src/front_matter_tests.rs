use super::*;

#[test]
fn split_cuts_a_file_at_its_second_fence() {
    for text in
        ["---\na: 1\n---\nbody\n", "---\r\na: 1\r\n---\r\nbody\n", "---\na: 1\n--- \nbody\n"]
    {
        let split = split(text).unwrap();
        assert_eq!(split.front_matter.trim_end(), "a: 1", "{text:?}");
        assert_eq!((split.body, split.body_line), ("body\n", 4), "{text:?}");
    }
    for (text, says) in [
        ("", "must begin"),
        ("# Title\n", "must begin"),
        (" ---\na: 1\n---\n", "must begin"),
        ("---\na: 1\n", "no end"),
    ] {
        let problem = split(text).unwrap_err();
        assert!(problem.line == 1 && problem.text.contains(says), "{text:?}: {problem}");
    }
}

fn text(text: &str) -> FrontValue {
    FrontValue::Text(text.to_owned())
}

#[test]
fn parse_reads_texts_lists_and_maps_with_their_lines() {
    let yaml = "name: a # a comment\ndescription: >\n  two\n  lines\n\nlicense: 'it''s'\n\
                metadata:\n  version: \"1.0\"\nallowed-tools: [Read, git_*]\nmore:\n- Bash(git:*)\n";
    let entries = parse(yaml).unwrap();
    let lines: Vec<_> = entries.iter().map(|entry| (entry.line, entry.key.as_str())).collect();
    let expected = [
        (2, "name"),
        (3, "description"),
        (7, "license"),
        (8, "metadata"),
        (10, "allowed-tools"),
        (11, "more"),
    ];
    assert_eq!(lines, expected);
    let values: Vec<_> = entries.into_iter().map(|entry| entry.value).collect();
    let version = FrontEntry { line: 9, key: "version".to_owned(), value: text("1.0") };
    let expected = [
        text("a"),
        text("two lines\n"),
        text("it's"),
        FrontValue::Map(vec![version]),
        FrontValue::List(vec![text("Read"), text("git_*")]),
        FrontValue::List(vec![text("Bash(git:*)")]),
    ];
    assert_eq!(values, expected);
    assert_eq!(parse("").unwrap(), []);
    assert_eq!(parse("# nothing\n").unwrap(), []);
}

#[test]
fn parse_refuses_faults_with_their_line() {
    for (yaml, line, says) in [
        ("name: a\ndescription: use it: now\n", 3, "not YAML"),
        ("name: a\nname: b\n", 3, "twice"),
        ("a: &x b\nc: *x\n", 2, "refused"),
        ("a: !!int 1\n", 2, "refused"),
        ("- a\n", 2, "key: value"),
        ("just text\n", 2, "key: value"),
        ("a: [[[[[[1]]]]]]\n", 2, "too deeply"),
        ("a: 1\n? [x]\n: 2\n", 3, "a key must be a text"),
        ("a: \"open\n", 2, "not YAML"),
    ] {
        let problem = parse(yaml).unwrap_err();
        assert!(problem.text.contains(says), "{yaml:?}: {problem}");
        assert_eq!(problem.line, line, "{yaml:?}: {problem}");
    }
}

#[test]
fn parse_survives_any_text_of_yaml_signs() {
    let signs = ["a", ":", " ", "-", "\n", "[", "{", "]", "}", "'", "\"", "|", ">", "&", "*", "!"];
    let mut state = 1_u32;
    for _ in 0..2000 {
        let mut yaml = String::new();
        for _ in 0..24 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            yaml.push_str(signs[(state >> 28) as usize]);
        }
        if let Err(problem) = parse(&yaml) {
            assert!(problem.line > 0 && !problem.text.is_empty(), "{yaml:?}");
        }
    }
}
