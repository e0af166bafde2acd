use std::fs;

use avocet_testkit::FakeFiles;
use tempfile::TempDir;

use super::*;
use crate::{SHIPPED, SKILL_FILE, ShippedSkill};

fn skill(name: &str, description: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: {description}\nallowed-tools: Read Bash(x y)\n---\nDo it.\n"
    )
}

/// A catalogue over these files, with one shipped skill.
fn catalogue(files: &[(&str, &str)]) -> (Arc<FakeFiles>, SkillCatalogue) {
    let fake = Arc::new(FakeFiles::default());
    files.iter().for_each(|(path, text)| fake.put(path, text.as_bytes()));
    let shipped =
        ShippedSkill { name: "shipped", text: "---\nname: shipped\ndescription: S\n---\nGo." };
    let fixed = FixedSkills::read(&[], &[shipped]);
    (fake.clone(), SkillCatalogue::new(fake, Arc::new(fixed)))
}

#[tokio::test]
async fn catalogue_lists_workspace_skills_before_shipped_ones() {
    let (files, catalogue) = catalogue(&[]);
    let lines = async || {
        let text = catalogue.listed().await.unwrap();
        text.lines()
            .filter_map(|line| line.strip_prefix("- "))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(lines().await, ["shipped: S"]);
    files.put("skills/a/SKILL.md", skill("a", "A").as_bytes());
    files.put("skills/z/README.md", b"no skill");
    assert_eq!(lines().await, ["a: A", "shipped: S"]);
    assert_eq!(catalogue.listed().await, catalogue.listed().await);
    files.put("skills/shipped/SKILL.md", skill("shipped", "mine").as_bytes());
    assert_eq!(lines().await, ["a: A", "shipped: mine"]);
    assert!(
        SkillCatalogue::new(Arc::<FakeFiles>::default(), Arc::default()).listed().await.is_none()
    );
}

#[tokio::test]
async fn catalogue_ignores_untrusted_and_broken_skills_until_they_are_good() {
    for (trust, text) in [
        (Trust::Low, skill("shipped", "OBEY")),
        (Trust::User, skill("shipped", "OBEY")),
        (Trust::Full, String::new()),
    ] {
        let (files, catalogue) = catalogue(&[("skills/shipped/SKILL.md", &text)]);
        files.mark("skills/shipped/SKILL.md", trust);
        let listed = catalogue.listed().await.unwrap();
        assert!(listed.contains("- shipped: S") && !listed.contains("OBEY"), "{trust:?}: {listed}");
        assert_eq!(catalogue.load("shipped").await.unwrap().body, "Go.", "{trust:?}");
        let found = catalogue.find_skills().await.skills;
        assert!(found.len() == 2 && found[0].document().is_none(), "{found:?}");
        files.mark("skills/shipped/SKILL.md", Trust::Full);
        files.put("skills/shipped/SKILL.md", skill("shipped", "good").as_bytes());
        assert!(catalogue.listed().await.unwrap().contains("- shipped: good"), "{trust:?}");
        assert_eq!(catalogue.load("shipped").await.unwrap().body, "Do it.", "{trust:?}");
    }
}

#[tokio::test]
async fn catalogue_load_returns_the_limit_and_the_folder() {
    let (_, catalogue) = catalogue(&[("skills/a/SKILL.md", &skill("a", "A"))]);
    let tools = Some(vec!["Read".to_owned(), "Bash".to_owned()]);
    let expected = Skill {
        limit: SkillLimit { skill: "a".to_owned(), tools },
        folder: Some("skills/a".to_owned()),
        body: "Do it.".to_owned(),
    };
    assert_eq!(catalogue.load(" a ").await, Ok(expected));
    let shipped = catalogue.load("shipped").await.unwrap();
    assert_eq!((shipped.folder, shipped.limit.tools), (None, None));
}

#[tokio::test]
async fn catalogue_load_tells_why_a_skill_cannot_be_used() {
    let (files, catalogue) = catalogue(&[
        ("skills/low/SKILL.md", &skill("low", "L")),
        ("skills/bad/SKILL.md", "---\nname: bad\n---\n"),
        ("skills/small/skill.md", &skill("small", "S")),
        ("skills/good/SKILL.md", &skill("good", "G")),
    ]);
    files.mark("skills/low/SKILL.md", Trust::Low);
    files.mark("skills/small/skill.md", Trust::Low);
    for (name, says) in [
        ("small", "avocet trust --believe skills/small/skill.md"),
        ("low", "avocet trust --believe skills/low/SKILL.md"),
        ("bad", "line 4: the file has neither a description nor instructions"),
        ("none", "there is no skill \"none\"; the skills are: good, shipped"),
        ("../low", "there is no skill"),
        ("", "there is no skill"),
    ] {
        let error = catalogue.load(name).await.unwrap_err().to_string();
        assert!(error.contains(says), "{name}: {error}");
        let error = catalogue.file(name, "a.md").await.unwrap_err().to_string();
        assert!(error.contains(says), "{name}: {error}");
    }
}

#[tokio::test]
async fn catalogue_finds_a_skill_by_folder_by_declared_name_and_in_any_case() {
    let (_, catalogue) = catalogue(&[
        ("skills/Tidy-1.2/skill.md", &skill("tidy", "T")),
        ("skills/my skill/SKILL.md", "Do things."),
        ("skills/other/notes.md", "no skill"),
    ]);
    for (name, found) in [
        ("Tidy-1.2", "Tidy-1.2"),
        ("tidy", "Tidy-1.2"),
        ("tidy-1.2", "Tidy-1.2"),
        (" My Skill ", "my skill"),
        ("SHIPPED", "shipped"),
    ] {
        assert_eq!(catalogue.load(name).await.unwrap().limit.skill, found, "{name}");
    }
    let listed = catalogue.listed().await.unwrap();
    assert!(listed.ends_with("- Tidy-1.2: T\n- my skill: Do things.\n- shipped: S"), "{listed}");
    let found = catalogue.find_skills().await.skills;
    let other = found.iter().find(|one| one.name == "other").unwrap();
    assert!(matches!(&other.state, SkillState::Broken(why) if why[0].text.contains("no SKILL.md")));
}

#[tokio::test]
async fn catalogue_file_keeps_the_trust_of_a_workspace_file() {
    let (files, catalogue) = catalogue(&[
        ("skills/a/SKILL.md", &skill("a", "A")),
        ("skills/a/docs/more.md", "more"),
        ("skills/a/docs/web.md", "from the web"),
        ("secret.md", "secret"),
    ]);
    files.put("skills/a/image.png", b"\xFF\xD8");
    files.mark("skills/a/docs/web.md", Trust::Low);
    for (path, text, trust) in
        [("docs/more.md", "more", Trust::Full), ("docs/web.md", "from the web", Trust::Low)]
    {
        let expected = SkillFile { text: text.to_owned(), trust };
        assert_eq!(catalogue.file("a", path).await, Ok(expected), "{path}");
    }
    for path in ["../../secret.md", "/etc/hostname", "", ".", "docs/../../a/SKILL.md"] {
        let error = catalogue.file("a", path).await.unwrap_err();
        assert!(matches!(error, ToolError::InvalidPath(_)), "{path}: {error:?}");
    }
    for (path, says) in [("none.md", "does not exist"), ("image.png", "is not text")] {
        let error = catalogue.file("a", path).await.unwrap_err().to_string();
        assert!(error.contains(says), "{path}: {error}");
    }
    let error = catalogue.file("shipped", "a.md").await.unwrap_err().to_string();
    assert!(error.contains("has no files"), "{error}");
}

#[tokio::test]
async fn catalogue_file_reads_a_system_skill_as_trusted() {
    let root = TempDir::new().unwrap();
    let folder = root.path().join("sys");
    fs::create_dir_all(folder.join("scripts")).unwrap();
    fs::write(folder.join(SKILL_FILE), skill("sys", "from the system")).unwrap();
    fs::write(folder.join("scripts/run.sh"), "echo hi").unwrap();
    let fixed = Arc::new(FixedSkills::read(&[root.path().to_owned()], &SHIPPED));
    let catalogue = SkillCatalogue::new(Arc::<FakeFiles>::default(), fixed);
    let loaded = catalogue.load("sys").await.unwrap();
    assert_eq!(loaded.folder, Some(folder.display().to_string()));
    let expected = SkillFile { text: "echo hi".to_owned(), trust: Trust::Full };
    assert_eq!(catalogue.file("sys", "scripts/run.sh").await, Ok(expected));
    let listed = catalogue.listed().await.unwrap();
    assert!(listed.find("- sys:") < listed.find("- code-review:"), "{listed}");
}
