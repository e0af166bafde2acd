use super::*;

#[test]
fn unique_name_says_editor_and_collides_with_no_other() {
    let taken: BTreeSet<String> = ["editor-files", "editor-files-2"].map(str::to_owned).into();
    for (given, expected) in [
        ("GitHub MCP", "editor-github-mcp"),
        ("files", "editor-files-3"),
        ("日本", "editor-server"),
        ("", "editor-server"),
        ("a__b", "editor-a_b"),
        ("a-name-that-is-longer-than-others", "editor-a-name-that-is-longer"),
    ] {
        let name = unique_name(given, &taken);
        assert_eq!(name, expected, "{given}");
        assert_eq!(McpServerConfig::check_name(&name), Ok(()), "{name}");
    }
}

#[test]
fn secrets_of_servers_are_headers_and_variables_for_secrets() {
    let pairs = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter();
        pairs.map(|(name, value)| ((*name).to_owned(), Secret::new((*value).to_owned()))).collect()
    };
    let server = SessionServer {
        env: pairs(&[
            ("API_KEY", "key-1"),
            ("DATABASE_URL", "postgres://me:word@host/db"),
            ("MODE", "production"),
        ]),
        headers: pairs(&[("Accept", "application/json"), ("X-Team", "team-1")]),
        ..SessionServer::default()
    };
    let secrets = secrets_of(&[server]);
    let secrets: Vec<&str> = secrets.iter().map(Secret::expose).collect();
    assert_eq!(secrets, ["key-1", "postgres://me:word@host/db", "team-1"]);
}
