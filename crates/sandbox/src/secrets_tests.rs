use super::*;

/// Paths of secrets.
const SECRET: &[&str] = &[
    "home/.cargo/credentials.toml",
    "home/.cargo/credentials",
    "home/.gnupg/private-keys-v1.d/a.key",
    "home/.kube/config",
    "home/.netrc",
    "home/.docker/config.json",
    "home/.pypirc",
    "home/.aws/sso/cache/a.json",
    "home/.config/gcloud/credentials.db",
    "home/.azure/msal_token_cache.json",
    "home/.git-credentials",
    "home/.config/git/credentials",
    "home/.config/gh/hosts.yml",
    "home/.config/rclone/rclone.conf",
    "home/.terraform.d/credentials.tfrc.json",
    "home/.nuget/NuGet/NuGet.Config",
    ".env",
    "a/.ENV",
    ".env.local",
    "home/.ssh/known_hosts",
    ".ssh/deep/x",
    "id_rsa",
    "ID_ED25519",
    "a/b.pem",
    "b.Key",
    ".aws/credentials",
    ".npmrc",
    "more/keys/a.key",
    "specs/prod/.env",
    ".env.",
    ".env . ",
    "a/\u{ff0e}\u{ff45}\u{ff4e}\u{ff56}",
    ".e\u{301}nv",
    ".e\u{200b}nv",
    "\u{feff}.env",
    ".ssh /config",
    "id_r\u{17f}a",
    "a.\u{212a}ey",
    "a.\u{24b6}/x.PEM",
];
/// Paths that are open, some of them by a pattern of the test.
const OPEN: &[&str] = &[
    ".env.example",
    ".environment",
    "id_rsa.pub",
    "src/key.rs",
    "credentials.md",
    ".config/gh/config.yml",
    ".cargo/config.toml",
    "deep/test.pem",
    "deep/spec.pem",
    "keys/a.key",
    ".ssh",
    "environment é",
    "...",
    "a. /b ",
];

#[test]
fn secrets_match_names_in_any_case() {
    let opened = ["test.pem", "spec*", "keys/*"].map(str::to_owned);
    let secrets = SecretRules::new(&opened, &[]).unwrap();
    for path in SECRET {
        assert!(secrets.why_secret(Path::new(path), PathKind::File).is_some(), "{path}");
    }
    for path in OPEN {
        assert_eq!(secrets.why_secret(Path::new(path), PathKind::File), None, "{path}");
    }
    assert_eq!(secrets.why_secret(Path::new("src/credentials"), PathKind::Directory), None);
    let of_secrets = |path: &str| SecretRules::is_of_secrets(Path::new(path));
    assert!([".ssh", "a/.SSH", ".aws", ".docker", ".config/gcloud"].into_iter().all(of_secrets));
    assert!(![".ssh/a", "ssh", ".docker/config.json", "src"].into_iter().any(of_secrets));
    let error = SecretRules::new(&["a[".to_owned()], &[]).unwrap_err().to_string();
    assert!(error.starts_with("[tools] secret_files: "), "{error}");
}

#[test]
fn secrets_include_the_daemons_files_and_directories() {
    let own = [PathBuf::from("state/avocet"), PathBuf::from("config.toml")];
    let opened = ["state/avocet/notes/*", "avocet*"].map(str::to_owned);
    let secrets = SecretRules::new(&opened, &own).unwrap();
    for path in ["Config.toml", "./config.toml", "state/avocet", "state/avocet/avocet.db-wal"] {
        assert!(secrets.why_secret(Path::new(path), PathKind::Directory).is_some(), "{path}");
    }
    for path in ["config.toml.md", "state/avocets", "state", "state/avocet/notes/a"] {
        assert_eq!(secrets.why_secret(Path::new(path), PathKind::File), None, "{path}");
    }
}

#[test]
fn secrets_beside_the_workspace_match_the_whole_path() {
    let opened = ["/srv/docs/keys/*.pem", "a.key", "srv/docs/more/*", "**/any/*"];
    let opened = opened.map(str::to_owned);
    let secrets = |root: &str| {
        SecretRules::new(&opened, &[PathBuf::from("own")]).unwrap().with_directory(Path::new(root))
    };
    for (root, path, is_secret) in [
        ("/srv/docs", "notes.md", false),
        ("/srv/docs", ".", false),
        ("/srv/docs", "keys/b.pem", false),
        ("/srv/docs", "a.key", false),
        ("/srv/docs", "b.key", true),
        ("/srv/docs", "more/b.pem", true),
        ("/srv/docs", "any/b.pem", true),
        ("/srv/docs", "own/x", true),
        ("/srv/other", "keys/b.pem", true),
        ("/srv/other", "srv/docs/keys/b.pem", true),
        ("/home/me/.ssh", "config", true),
        ("/home/me/.SSH/more", "config", true),
        ("/home/me/.docker", "config.json", true),
        ("/home/me/.docker", "config.md", false),
    ] {
        assert_eq!(
            secrets(root).why_secret(Path::new(path), PathKind::File).is_some(),
            is_secret,
            "{root} {path}"
        );
    }
    // In a workspace, only paths from its root count.
    let secrets = SecretRules::new(&opened, &[]).unwrap();
    for (path, is_secret) in [
        ("srv/docs/keys/b.pem", true),
        ("srv/docs/more/b.pem", false),
        ("x/any/b.pem", false),
        ("x/a.key", false),
    ] {
        assert_eq!(
            secrets.why_secret(Path::new(path), PathKind::File).is_some(),
            is_secret,
            "{path}"
        );
    }
}
