use super::*;

const VALID: &str = "---\nname: a-b\ndescription: >-\n  Does a thing.\n  Use it often.\nlicense: MIT\n\
                     compatibility: needs git\nmetadata:\n  version: 1.0\nallowed-tools: Bash(git:*) \
                     Read\nmodel: x\n---\n\n# Do it\n\nNow.\n";

fn problems(text: &str) -> Vec<String> {
    let parsed = ParsedSkill::read("a-b", text.as_bytes());
    assert_eq!(parsed.document.is_none(), !parsed.problems.is_empty());
    parsed.problems.iter().map(ToString::to_string).collect()
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
        description: "Does a thing. Use it often.".to_owned(),
        license: Some("MIT".to_owned()),
        compatibility: Some("needs git".to_owned()),
        metadata: [("version".to_owned(), "1.0".to_owned())].into(),
        allowed_tools: Some(vec![tool("Bash", Some("git:*")), tool("Read", None)]),
        body: "# Do it\n\nNow.".to_owned(),
    };
    assert_eq!(document, Some(expected));
    let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "line 10: `Bash(git:*)` allows every call of Bash: the part in parentheses has no effect",
            "line 11: the key `model` is unknown and has no effect",
        ]
    );
}

#[test]
fn skill_with_problems_reports_each_with_its_line() {
    for (text, expected) in [
        (
            "---\nname: A\ndescription:\n---\n",
            vec![
                "line 2: `name`: \"A\" is not a name: 1 to 64 of the characters a-z, 0-9 and -",
                "line 3: `description` is empty",
                "line 5: there are no instructions below the front matter",
            ],
        ),
        (
            "---\nlicense: x\n---\nbody",
            vec!["line 2: the key `name` is missing", "line 2: the key `description` is missing"],
        ),
        (
            "---\nname: other\ndescription: [x]\nallowed-tools: a;b\n---\nbody",
            vec![
                "line 2: `name` is \"other\", and its folder is \"a-b\"; make them equal",
                "line 3: `description` must be a text",
                "line 4: `allowed-tools`: \"a;b\" is not the name of a tool",
            ],
        ),
        (
            "no front matter",
            vec!["line 1: the file must begin with front matter between two lines of ---"],
        ),
    ] {
        assert_eq!(problems(text), expected, "{text:?}");
    }
}

#[test]
fn skill_with_a_long_description_or_file_is_refused() {
    let of = |length: usize| {
        problems(&format!("---\nname: a-b\ndescription: {}\n---\nbody", "é".repeat(length)))
    };
    assert_eq!(of(1024), Vec::<String>::new());
    assert_eq!(of(1025), ["line 3: `description` has 1025 characters; at most 1024"]);
    let long = format!("{VALID}{}", "x".repeat(MAX_SKILL_BYTES));
    assert!(problems(&long)[0].contains("more than 32768 bytes"), "{:?}", problems(&long));
    let parsed = ParsedSkill::read("a-b", b"---\nname: a-b\n\xFF");
    assert_eq!(parsed.problems, [SkillProblem::new(3, "the text is not UTF-8")]);
}

#[test]
fn skill_text_is_one_line_per_key_without_invisible_characters() {
    let text = "---\nname: a-b\ndescription: |\n  one\n  - two: hid\u{200B}den\n---\nbo\u{200B}dy";
    let document = ParsedSkill::read("a-b", text.as_bytes()).document.unwrap();
    assert_eq!(document.description, "one - two: hidden");
    assert_eq!(document.body, "body");
}

#[test]
fn check_name_accepts_the_names_of_the_format_only() {
    let longest = "a".repeat(64);
    for name in ["a", "a-b", "9lives", &longest] {
        assert_eq!(check_name(name), Ok(()), "{name}");
    }
    let too_long = "a".repeat(65);
    for name in ["", "A", "a_b", "a/b", "..", "-a", "a-", "a--b", "é", "a b", &too_long] {
        assert!(check_name(name).is_err(), "{name}");
    }
}
