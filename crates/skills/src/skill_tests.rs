use proptest::prelude::*;

use super::*;

const VALID: &str = "---\nname: a-b\ndescription: >-\n  Does a thing.\n  Use it often.\nlicense: MIT\n\
                     compatibility: needs git\nmetadata:\n  version: 1.0\nallowed-tools: Bash(git:*) \
                     Read\nmodel: x\n---\n\n# Do it\n\nNow.\n";

fn read(folder: &str, text: &str) -> ParsedSkill {
    let parsed = ParsedSkill::read(folder, text.as_bytes());
    assert_eq!(parsed.document.is_none(), !parsed.problems.is_empty(), "{text:?}");
    parsed
}

fn shown(notes: &[SkillProblem]) -> Vec<String> {
    notes.iter().map(ToString::to_string).collect()
}

#[test]
fn skill_is_read_with_all_keys_of_the_format() {
    let ParsedSkill { document, problems, notes } = ParsedSkill::read("a-b", VALID.as_bytes());
    assert_eq!(problems, []);
    let tool = |name: &str, within: Option<&str>| AllowedTool {
        name: name.to_owned(),
        within: within.map(str::to_owned),
    };
    let expected = SkillDocument {
        name: "a-b".to_owned(),
        declared_name: None,
        description: "Does a thing. Use it often.".to_owned(),
        license: Some("MIT".to_owned()),
        compatibility: Some("needs git".to_owned()),
        metadata: [("version".to_owned(), "1.0".to_owned())].into(),
        allowed_tools: Some(vec![tool("Bash", Some("git:*")), tool("Read", None)]),
        body: "# Do it\n\nNow.".to_owned(),
    };
    assert_eq!(document, Some(expected));
    assert_eq!(
        shown(&notes),
        [
            "line 10: `Bash(git:*)` allows every call of Bash: the part in parentheses has no effect",
            "line 11: the key `model` is unknown and has no effect",
        ]
    );
}

#[test]
fn skill_with_faults_is_used_with_remarks() {
    for (text, description, notes) in [
        (
            "---\nname: Other\ndescription: [x, y]\nallowed-tools: a;b\n---\nbody",
            "x, y",
            vec![
                "line 2: `name` is \"Other\"; the skill has the name of its folder, \"a-b\", and is \
                 found by both",
                "line 4: `allowed-tools`: \"a;b\" is not the name of a tool, and is left out",
                "line 4: `allowed-tools` names no tool, so it sets no limit",
            ],
        ),
        (
            "---\nlicense: x\n---\n\n# Title\n\nFirst **words**\nof it.\n\nMore.",
            "First **words** of it.",
            vec!["line 4: there is no `description`; the first paragraph stands for it"],
        ),
        (
            "# A skill\n\n## Part\n",
            "A skill Part",
            vec![
                "line 1: there is no front matter between two lines of ---",
                "line 1: there is no `description`; the first paragraph stands for it",
            ],
        ),
        (
            "---\ndescription: d\nDescription: e\ndescription: f\n---\n",
            "f",
            vec![
                "line 4: the key `description` is there twice; the last one counts",
                "line 6: there are no instructions below the front matter",
            ],
        ),
    ] {
        let parsed = read("a-b", text);
        assert_eq!(shown(&parsed.notes), notes, "{text:?}");
        assert_eq!(parsed.document.unwrap().description, description);
    }
}

#[test]
fn skill_of_other_encodings_is_read() {
    let text = "---\nname: a-b\ndescription: Grüße\n---\nbody\n";
    let units: Vec<u16> = "\u{FEFF}".encode_utf16().chain(text.encode_utf16()).collect();
    for bytes in [
        text.as_bytes().to_vec(),
        format!("\u{FEFF}{text}").into_bytes(),
        text.replace('\n', "\r\n").into_bytes(),
        text.replace('\n', "\r").into_bytes(),
        units.iter().flat_map(|unit| unit.to_le_bytes()).collect(),
        units.iter().flat_map(|unit| unit.to_be_bytes()).collect(),
    ] {
        let document = ParsedSkill::read("a-b", &bytes).document.unwrap();
        assert_eq!((&*document.description, &*document.body), ("Grüße", "body"), "{bytes:?}");
    }
    let parsed = ParsedSkill::read("a-b", b"---\nname: a-b\ndescription: \xFF\n---\nx");
    assert_eq!(parsed.document.unwrap().description, "\u{FFFD}");
    assert_eq!(shown(&parsed.notes), ["line 3: a character is not UTF-8, and is read as \u{FFFD}"]);
}

#[test]
fn skill_without_any_text_or_too_large_is_refused_with_the_reason() {
    for (bytes, says) in [
        (Vec::new(), "neither a description nor instructions"),
        (b"---\nname: a-b\n---\n \n".to_vec(), "neither a description nor instructions"),
        (b"---\nname:\0".to_vec(), "line 2: the file is not text"),
        (vec![b'x'; MAX_SKILL_BYTES + 1], "more than 1048576 bytes"),
    ] {
        let parsed = ParsedSkill::read("a-b", &bytes);
        let problems = shown(&parsed.problems);
        assert!(parsed.document.is_none() && problems[0].contains(says), "{problems:?}");
    }
}

#[test]
fn skill_with_a_long_description_or_body_is_used_with_a_remark() {
    let of = |length: usize| {
        read("a-b", &format!("---\nname: a-b\ndescription: {}\n---\nbody", "é".repeat(length)))
    };
    assert!(of(1024).notes.is_empty());
    let long = of(1025);
    assert_eq!(
        shown(&long.notes),
        ["line 3: `description` has 1025 characters; the first 1024 are used"]
    );
    assert_eq!(long.document.unwrap().description, "é".repeat(1023) + "…");
    for length in [33_000, 300_000] {
        let body = "Step: do it.\n".repeat(length / 13);
        let parsed = read("a-b", &format!("---\nname: a-b\ndescription: d\n---\n{body}"));
        assert!(shown(&parsed.notes)[0].contains("reads them in parts"), "{:?}", parsed.notes);
        assert_eq!(parsed.document.unwrap().body, body.trim());
    }
}

#[test]
fn skill_text_is_one_line_per_key_without_invisible_characters() {
    let text = "---\nname: a-b\ndescription: |\n  one\n  - two: hid\u{200B}den\n---\nbo\u{200B}dy";
    let document = ParsedSkill::read("a-b", text.as_bytes()).document.unwrap();
    assert_eq!(document.description, "one - two: hidden");
    assert_eq!(document.body, "body");
}

#[test]
fn check_name_accepts_every_name_of_a_folder_that_fits_in_a_line() {
    let longest = "a".repeat(255);
    for name in ["a", "a-b", "A_b", "-a", "a--b", "é", "a b", "代码审查", "x.v1.2", &longest] {
        assert_eq!(check_name(name), Ok(()), "{name}");
    }
    for name in ["", ".", "..", "a/b", "../x", "a\nb", "a\u{200B}b", "a\u{FFFD}"] {
        assert!(check_name(name).is_err(), "{name}");
    }
}

/// Pieces of front matter, of which texts are put together at random.
const PIECES: [&str; 40] = [
    "---\n",
    "---",
    "name",
    "description",
    "allowed-tools",
    "metadata",
    ": ",
    ":",
    "\n",
    "\n  ",
    "\t",
    " ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'",
    "|\n",
    ">-\n",
    "&a",
    "*a",
    "!t ",
    "@",
    "%",
    "`",
    "#",
    "<!--",
    "-->",
    "\r\n",
    "\u{FEFF}",
    "\0",
    "é",
    "\u{200B}",
    "? ",
    "...\n",
    ",",
    "null",
    "text",
];

proptest! {
    #[test]
    fn any_text_gives_a_skill_or_a_reason(
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60),
        bytes in prop::collection::vec(any::<u8>(), 0..80),
        is_plain in any::<bool>(),
    ) {
        let mut text = if is_plain { String::new() } else { "---\n".to_owned() };
        text.push_str(&pieces.concat());
        for bytes in [text.as_bytes(), &bytes] {
            let ParsedSkill { document, problems, notes } = ParsedSkill::read("Any name", bytes);
            prop_assert_eq!(document.is_none(), !problems.is_empty());
            prop_assert!(problems.iter().chain(&notes).all(|one| !one.text.is_empty() && one.line > 0));
            if let Some(document) = document {
                let description = &document.description;
                prop_assert!(!description.is_empty() && description.chars().count() <= 1024);
                prop_assert!(description.lines().count() == 1);
            }
        }
    }

    /// A description in one line arrives, whatever stands around it.
    #[test]
    fn a_description_of_words_is_never_lost(
        words in "[a-z]{1,8}( [a-z]{1,8}){0,4}",
        value in "[^\\n\\r\\x00]{0,40}",
        key in "[a-z]{1,4}x",
    ) {
        let words = format!("Use {words}");
        let text = format!("---\nname: a\ndescription: {words}\n{key}: {value}\n---\nbody\n");
        let document = ParsedSkill::read("a", text.as_bytes()).document.unwrap();
        let is_continued = document.description.starts_with(&words);
        prop_assert!(is_continued, "{:?}: {:?}", text, document.description);
    }
}

/// Front matter as people and models write it: each file, and its description, tools and body.
#[test]
fn skill_with_front_matter_of_every_shape_is_read() {
    let tools = |document: &SkillDocument| {
        let tools = document.allowed_tools.iter().flatten().map(|tool| tool.name.clone());
        tools.collect::<Vec<_>>().join(" ")
    };
    for (text, description, allowed, body) in [
        ("---\r\nname: a\r\ndescription: d\r\n---\r\nb", "d", "", "b"),
        ("\u{feff}---\nname: a\ndescription: d\n---\nb", "d", "", "b"),
        ("---\nname:\ta\ndescription:\td\n---\nb", "d", "", "b"),
        ("---\n\tname: a\n\tdescription: d\n---\nb", "d", "", "b"),
        ("---  \nname: a\ndescription: d\n---\t\nb", "d", "", "b"),
        ("---\nname: a\ndescription: d\n\n# b", "d", "", "# b"),
        ("---\nname: a\ndescription: |-\n  d\n  e\n---\nb", "d e", "", "b"),
        ("---\nname: a\ndescription: >+\n  d\n\n  e\n\n---\nb", "d e", "", "b"),
        ("---\nname: \"a\"\ndescription: 'it''s d'\n---\nb", "it's d", "", "b"),
        ("---\nname: a\ndescription: \u{201c}d\u{201d}\n---\nb", "\u{201c}d\u{201d}", "", "b"),
        ("---\n# c\nname: a # c\ndescription: d # c\n---\nb", "d", "", "b"),
        ("---\ndescription: c\ndescription: d\n---\nb", "d", "", "b"),
        ("---\ndescription: d: e\nallowed-tools: Read, Grep\n---\nb", "d: e", "Read Grep", "b"),
        (
            "---\ndescription: d\nallowed-tools:\n- Read\n- Bash(git:*)\n---\nb",
            "d",
            "Read Bash",
            "b",
        ),
        ("---\ndescription: d\nallowed-tools: [\"Read\", Grep]\n---\nb", "d", "Read Grep", "b"),
        (
            "---\ndescription: d\nallowed-tools:\n  Read: true\n  Bash: false\n---\nb",
            "d",
            "Read",
            "b",
        ),
        ("---\ndescription: d\nallowed-tools: all\n---\nb", "d", "", "b"),
        ("---\ndescription: d\nallowedTools: null\n---\nb", "d", "", "b"),
        ("---\ndescription: Use when:\n  - one\n  - two\n---\nb", "Use when: - one - two", "", "b"),
        ("---\nDescription: d\nNAME: a\n---\nb", "d", "", "b"),
        ("---\nname: 名前\ndescription: 日本語\n---\nb", "日本語", "", "b"),
        (
            "---\nname: a\ndescription: d\nmetadata: {\"openclaw\": {\"emoji\": \"x\", \"requires\": [1]}}\n---\nb",
            "d",
            "",
            "b",
        ),
        ("---\ndescription: \"d \\\n  e\"\n---\nb", "d e", "", "b"),
        ("---\ndescription: d\nx: !tag y\nz: &a [*a]\n---\nb", "d", "", "b"),
    ] {
        let document = read("a", text).document.unwrap();
        let found = (&*document.description, tools(&document), &*document.body);
        assert_eq!(found, (description, allowed.to_owned(), body), "{text:?}");
    }
}
