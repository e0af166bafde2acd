use super::*;

fn among(
    protection: &PathProtection,
    directory: &str,
    entries: &[(&str, bool)],
) -> Vec<(String, ProtectedKind)> {
    let named = entries.iter().map(|(name, is_dir)| (OsStr::new(name), *is_dir));
    let found = protection.protected_entries(Path::new(directory), named);
    found.into_iter().map(|(at, kind)| (entries[at].0.to_owned(), kind)).collect()
}

#[test]
fn among_finds_configuration_and_hooks_in_every_kind_of_git_directory() {
    let protection = PathProtection::default();
    let config = ("config", ProtectedKind::Config);
    let worktree = ("config.worktree", ProtectedKind::Config);
    let (common, hooks) = (("commondir", ProtectedKind::Link), ("hooks", ProtectedKind::Hooks));
    let inside = [
        ("config", false),
        ("config.worktree", false),
        ("commondir", false),
        ("hooks", true),
        ("index", false),
        ("description", false),
    ];
    for (directory, with, expected) in [
        ("a/.git", &[][..], &[config, worktree, common, hooks][..]),
        ("a/.GIT", &[], &[config, worktree, common, hooks]),
        ("a/b.git", &[("objects", true), ("refs", true)], &[config, worktree, common, hooks]),
        ("odd/place", &[("OBJECTS", true), ("refs", false)], &[config, worktree, common, hooks]),
        (".git/worktrees/a", &[("HEAD", false)], &[config, worktree, common, hooks]),
        (
            ".git/modules/a",
            &[("objects", true), ("refs", true)],
            &[config, worktree, common, hooks],
        ),
        ("a/src", &[("objects", true), ("HEAD", false)], &[config, worktree, common, hooks][..0]),
    ] {
        // A directory without `commondir` is not the git directory of a worktree.
        let entries: Vec<_> = match directory {
            "a/src" => inside
                .iter()
                .filter(|(name, _)| *name != "commondir")
                .chain(with)
                .copied()
                .collect(),
            _ => inside.iter().chain(with).copied().collect(),
        };
        let expected: Vec<_> =
            expected.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect();
        assert_eq!(among(&protection, directory, &entries), expected, "{directory}");
    }
    let links = [(".git", false), (".Git", false), (".git", true)];
    let found = among(&protection, "a", &links);
    assert_eq!(
        found,
        [(".git".to_owned(), ProtectedKind::Link), (".Git".to_owned(), ProtectedKind::Link)]
    );
}

#[test]
fn among_finds_paths_of_patterns_in_every_directory_but_those_of_packages() {
    let protection = PathProtection::default();
    for (directory, name, is_protected) in [
        ("", ".envrc", true),
        ("a/b", ".ENVRC", true),
        ("", ".vscode", true),
        ("a", "my.code-workspace", true),
        ("", "code-workspace", false),
        (".config", "fish", true),
        ("a/.config", "Fish", true),
        ("config", "fish", false),
        ("", "fish", false),
        ("node_modules/a", ".vscode", false),
        (".venv/lib/python3.13/site-packages/a", ".idea", false),
        ("", ".gitignore", false),
        ("", ".gitattributes", false),
    ] {
        let found = among(&protection, directory, &[(name, true)]);
        assert_eq!(!found.is_empty(), is_protected, "{directory} {name}");
    }
}

#[test]
fn has_name_holds_for_protected_paths_and_all_paths_below() {
    let protection = PathProtection::default();
    for (path, has_name) in [
        (".git/hooks/pre-commit", true),
        (".git/info/exclude", true),
        (".git", true),
        ("a/.GIT/config", true),
        (".e\u{200b}nvrc", true),
        ("a/.vscode/tasks.json", true),
        (".config/fish/config.fish", true),
        (".husky/pre-commit", true),
        (".pre-commit-config.yaml", true),
        ("a/lefthook.yml", true),
        (".lefthook.toml", true),
        (".lintstagedrc.mjs", true),
        ("lint-staged.config.js", true),
        (".npmrc", true),
        (".yarnrc.yml", true),
        (".devcontainer/devcontainer.json", true),
        (".codex/config.toml", true),
        (".gemini/settings.json", true),
        (".kiro/hooks/a.kiro.hook", true),
        (".windsurf/hooks.json", true),
        (".continue/config.yaml", true),
        (".opencode/plugin/a.ts", true),
        ("opencode.json", true),
        (".aider.conf.yml", true),
        ("lefthook/notes.md", false),
        ("package.json", false),
        ("src/main.rs", false),
        (".github/workflows/a.yml", false),
        (".gitmodules", false),
        ("hooks/pre-commit", false),
        (".", false),
    ] {
        assert_eq!(protection.has_name(Path::new(path)), has_name, "{path}");
    }
    let own = PathProtection::new(&["Makefile".to_owned(), "deploy/*.sh".to_owned()]).unwrap();
    for (path, has_name) in [
        ("a/makefile", true),
        ("x/deploy/a.sh", true),
        ("deploy/a/b.sh", false),
        (".git/config", false),
        (".envrc", false),
    ] {
        assert_eq!(own.has_name(Path::new(path)), has_name, "{path}");
    }
    assert!(!PathProtection::without_patterns().has_name(Path::new(".git/config")));
}

#[test]
fn new_refuses_an_invalid_pattern_and_names_the_key() {
    for pattern in ["", "/etc", "../x", "a/../b"] {
        let error = PathProtection::new(&[pattern.to_owned()]).unwrap_err().to_string();
        assert!(error.starts_with("[sandbox] protected: ") && error.contains(pattern), "{error}");
    }
}
