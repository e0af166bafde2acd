use super::*;

fn one(json: &str) -> Imported {
    servers(json, None).unwrap()
}

#[test]
fn servers_reads_the_forms_of_known_programs() {
    let expected = ServerTable {
        name: "git-hub".to_owned(),
        command: Some("npx".to_owned()),
        args: vec!["-y".to_owned()],
        env: BTreeMap::from([("TOKEN".to_owned(), "${TOKEN}".to_owned())]),
        ..ServerTable::default()
    };
    let entry =
        r#"{"Git Hub": {"command": "npx", "args": ["-y"], "env": {"TOKEN": "${env:TOKEN}"}}}"#;
    for form in [
        format!(r#"{{"mcpServers": {entry}}}"#),
        format!(r#"{{"servers": {entry}, "inputs": []}}"#),
        format!(r#"{{"editor.fontSize": 12, "mcp": {{"servers": {entry}}}}}"#),
    ] {
        let imported = one(&form);
        assert_eq!(imported.servers, std::slice::from_ref(&expected), "{form}");
        assert_eq!(imported.warnings, [r#"server "Git Hub": its name here is git-hub"#]);
    }
}

#[test]
fn servers_with_a_url_keep_their_headers() {
    let imported = one(r#"{"servers": {"a": {"type": "http", "url": "https://example.org/mcp",
            "headers": {"Authorization": "Bearer ${input:api-key}"}},
            "b": {"type": "sse", "serverUrl": "http://127.0.0.1:1/sse", "alwaysAllow": []},
            "c": {"command": "x", "disabled": true}}}"#);
    let urls: Vec<_> = imported.servers.iter().map(|server| server.url.as_deref()).collect();
    assert_eq!(urls, [Some("https://example.org/mcp"), Some("http://127.0.0.1:1/sse")]);
    assert_eq!(imported.servers[0].headers["Authorization"], "Bearer ${API_KEY}");
    assert_eq!(
        imported.warnings,
        [
            r#"server "a": set API_KEY in the environment of the daemon"#,
            r#"server "b": ignored alwaysAllow"#,
            r#"server "b": the transport "sse" is out of use; its URL is tried with streamable HTTP"#,
            r#"server "c": left out, because it is disabled in the file"#,
        ]
    );
}

#[test]
fn servers_of_one_name_leaves_the_others_out() {
    let json =
        r#"{"mcpServers": {"a": {"command": "x"}, "b": {"command": "${workspaceFolder}/y"}}}"#;
    let names =
        |imported: Imported| imported.servers.into_iter().map(|one| one.name).collect::<Vec<_>>();
    assert_eq!(names(servers(json, Some("a")).unwrap()), ["a"]);
    assert_eq!(servers(json, Some("z")).unwrap_err(), r#"the file has no server "z" to add"#);
    assert!(servers(json, None).unwrap_err().contains("${workspaceFolder} has no meaning here"));
}

#[test]
fn servers_refuses_other_texts_with_the_reason() {
    let table = [
        ("{", "the file is not JSON: "),
        ("[]", "the file has no object \"mcpServers\" or \"servers\""),
        (r#"{"mcpServers": {}}"#, "the file has no server to add"),
        (r#"{"mcpServers": {"a": {}}}"#, r#"server "a": it has neither command nor url"#),
        (r#"{"mcpServers": {"a": {"command": ["x"]}}}"#, r#"server "a": invalid type"#),
        (r#"{"mcpServers": {"é": {"command": "x"}}}"#, "the name has no letter"),
        (r#"{"mcpServers": {"a": {"command": "${A"}}}"#, "lacks a closing brace"),
        (r#"{"mcpServers": {"a": {"command": "${A:-b}"}}}"#, "${A:-b} has no meaning here"),
        (r#"{"mcpServers": {"a b": {"url": "x"}, "a.b": {"url": "x"}}}"#, "becomes \"a-b\", too"),
    ];
    for (text, expected) in table {
        let refused = servers(text, None).unwrap_err();
        assert!(refused.contains(expected), "{text}: {refused}");
    }
}

#[test]
fn literal_secrets_are_named_with_a_variable_and_without_their_value() {
    let pairs = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    let server = ServerTable {
        name: "hub".to_owned(),
        env: pairs(&[("API_KEY", "s3cret"), ("HOME_TOKEN", "${A}"), ("LEVEL", "debug")]),
        headers: pairs(&[("Authorization", "Bearer s3cret")]),
        ..ServerTable::default()
    };
    let remarks = literal_secrets(&server);
    assert_eq!(remarks.len(), 2, "{remarks:?}");
    assert!(remarks[0].contains("API_KEY") && remarks[0].contains("${HUB_API_KEY}"), "{remarks:?}");
    assert!(remarks[1].contains("the header Authorization"), "{remarks:?}");
    assert!(!remarks.concat().contains("s3cret"), "{remarks:?}");
}

#[test]
fn valid_name_has_no_double_underscore_and_a_limit() {
    let table = [("a__b", "a_b"), ("_A b_", "a-b"), ("x", "x"), ("Ärger", "rger")];
    for (name, expected) in table {
        assert_eq!(valid_name(name).unwrap(), expected, "{name}");
    }
    assert_eq!(valid_name(&"a".repeat(32)).unwrap().len(), 32);
    assert!(valid_name(&"a".repeat(33)).unwrap_err().contains("33 characters"));
}
