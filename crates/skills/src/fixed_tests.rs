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

#[test]
fn fixed_skills_of_a_directory_are_read_by_name_and_others_skipped() {
    let root = TempDir::new().unwrap();
    put(&root, "b/SKILL.md", &valid("b"));
    put(&root, "a/SKILL.md", &valid("a"));
    put(&root, "c/SKILL.md", "no front matter");
    put(&root, "Not-A-Name/SKILL.md", &valid("d"));
    put(&root, "empty/README.md", "nothing");
    put(&root, "SKILL.md", &valid("e"));
    let missing = root.path().join("missing");
    let fixed = FixedSkills::read(&[missing, root.path().to_owned()], &[]);
    let found: Vec<_> =
        fixed.found.skills.iter().map(|one| (&*one.name, one.document().is_some())).collect();
    assert_eq!(found, [("a", true), ("b", true), ("c", false)]);
    assert_eq!(fixed.found.skills[0].folder, root.path().join("a").display().to_string());
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
