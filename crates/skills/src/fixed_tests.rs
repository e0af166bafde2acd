use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// Writes a file with its directories.
fn put(root: &TempDir, path: &str, text: &str) {
    let path = root.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn valid(name: &str) -> String {
    format!("---\nname: {name}\ndescription: from {name}\n---\nbody")
}

#[test]
fn shipped_skills_are_valid_and_sorted() {
    let fixed = FixedSkills::read(&[], &SHIPPED);
    for skill in &fixed.found.skills {
        let document = skill.document().unwrap_or_else(|| panic!("{skill:?}"));
        assert_eq!((&document.name, &skill.notes[..]), (&skill.name, &[][..]));
        assert!(document.allowed_tools.is_some(), "{}", skill.name);
        assert!(document.body.len() < 2500, "{}: a short body leaves room", skill.name);
    }
    assert_eq!(fixed.found.skills.len(), SHIPPED.len());
    assert!(SHIPPED.is_sorted_by_key(|skill| skill.name));
}

/// The names of the skills, with their descriptions or the reasons why they are not used.
fn described(fixed: &FixedSkills) -> Vec<(&str, String)> {
    let about = |one: &FoundSkill| match &one.state {
        SkillState::Usable(document) => document.description.clone(),
        SkillState::Broken(problems) => format!("! {}", problems[0]),
        SkillState::Untrusted(_) => "untrusted".to_owned(),
    };
    fixed.found.skills.iter().map(|one| (&*one.name, about(one))).collect()
}

#[test]
fn fixed_skills_of_a_directory_are_read_by_name_or_listed_with_the_reason() {
    let root = TempDir::new().unwrap();
    put(&root, "b/skill.md", &valid("b"));
    put(&root, "a/SKILL.md", &valid("a"));
    put(&root, "a/Any näme (1).txt", "x");
    put(&root, "c/SKILL.md", "no front matter");
    put(&root, "Any Name 1.2/Skill.md", &valid("d"));
    put(&root, "empty/README.md", "nothing");
    put(&root, "no\u{200B}name/SKILL.md", &valid("e"));
    put(&root, ".git/config", "nothing");
    put(&root, "SKILL.md", &valid("e"));
    symlink("a", root.path().join("linked")).unwrap();
    symlink("nowhere", root.path().join("dangling")).unwrap();
    let missing = root.path().join("missing");
    let fixed = FixedSkills::read(&[missing, root.path().to_owned()], &[]);
    let no_file = "! the folder has no SKILL.md, so it is no skill; if its skills are in folders \
                   below, move these up";
    let expected = [
        ("Any Name 1.2", "from d"),
        ("a", "from a"),
        ("b", "from b"),
        ("c", "no front matter"),
        ("dangling", no_file),
        ("empty", no_file),
        ("linked", "from a"),
        (
            "no\u{200B}name",
            "! \"no\\u{200b}name\" is not a name: it has invisible characters; rename the folder",
        ),
    ];
    assert_eq!(described(&fixed), expected.map(|(name, about)| (name, about.to_owned())));
    assert_eq!(fixed.found.skills[1].folder, root.path().join("a").display().to_string());
    assert_eq!(
        fixed.found.skills[2].file_path(),
        root.path().join("b/skill.md").display().to_string()
    );
}

/// Skills as other programs have them, from the field.
#[test]
fn skills_of_other_programs_are_all_used() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/corpus");
    let fixed = FixedSkills::read(&[root], &[]);
    let expected = [
        ("1password", "Use the op CLI to read secrets. Use when somebody asks for a secret."),
        ("atsign", "@mentions and `backticks` at the start"),
        (
            "colon",
            "Make interfaces production-ready: error handling, empty states. Use when: asked.",
        ),
        ("comment", "a comment first"),
        ("leading-blank", "Blank lines before the front matter."),
        ("nofront", "Do things."),
        ("noname", "Without a name, the folder is the name."),
        ("openclaw-min", "One bin."),
        ("openclaw-yaml", "Multi line YAML."),
        ("percent", "100% useful"),
        ("tabs", "a tab after the colon"),
    ];
    assert_eq!(described(&fixed), expected.map(|(name, about)| (name, about.to_owned())));
}

#[test]
fn read_file_stays_in_the_folder_of_the_skill() {
    let root = TempDir::new().unwrap();
    put(&root, "secret.txt", "secret");
    put(&root, "a/SKILL.md", &valid("a"));
    put(&root, "a/docs/more.md", "more");
    let folder = root.path().join("a");
    symlink("../secret.txt", folder.join("out.md")).unwrap();
    symlink("docs/more.md", folder.join("in.md")).unwrap();
    for path in ["docs/more.md", "in.md"] {
        assert_eq!(read_file(&folder, path, 10).unwrap(), b"more", "{path}");
    }
    assert_eq!(
        read_file(&folder, "docs/more.md", 2).unwrap(),
        b"mor",
        "one byte more than allowed"
    );
    for path in ["../secret.txt", "/etc/hostname", "out.md", "docs/../../secret.txt", "docs"] {
        let error = read_file(&folder, path, 10).unwrap_err();
        assert!(matches!(error, ToolError::InvalidPath(_)), "{path}: {error:?}");
    }
    let error = read_file(&folder, "none.md", 10).unwrap_err();
    assert!(matches!(error, ToolError::FileNotFound(_)), "{error:?}");
}
