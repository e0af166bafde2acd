use super::*;

fn one(json: &str) -> Imported {
    import_servers(json, None, Some("/home/a")).unwrap()
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
        ]
    );
    let [left_out] = &imported.left_out[..] else { panic!("{:?}", imported.left_out) };
    assert_eq!((&*left_out.name, &*left_out.reason), ("c", "it is disabled in the file"));
}

#[test]
fn servers_of_one_name_leaves_the_others_out() {
    let json =
        r#"{"mcpServers": {"a": {"command": "x"}, "b": {"command": "${workspaceFolder}/y"}}}"#;
    let names =
        |imported: Imported| imported.servers.into_iter().map(|one| one.name).collect::<Vec<_>>();
    assert_eq!(names(import_servers(json, Some("a"), None).unwrap()), ["a"]);
    assert_eq!(
        import_servers(json, Some("z"), None).unwrap_err(),
        r#"the file has no server "z" to add"#
    );
    assert!(import_servers(json, Some("b"), None).unwrap_err().contains("has no meaning here"));
    let all = import_servers(json, None, None).unwrap();
    assert!(all.left_out[0].reason.contains("${workspaceFolder} has no meaning here"));
    assert_eq!(names(all), ["a"]);
    let single = import_servers(r#"{"command": "x"}"#, Some("mine"), None).unwrap();
    assert_eq!(names(single), ["mine"]);
}

#[test]
fn servers_refuses_other_texts_with_the_reason() {
    let table = [
        ("{", "the file is not JSON: line 1: "),
        (
            "[]",
            "the file has no MCP servers in a form that is known. Known are the files of Claude Code",
        ),
        (r#"{"mcpServers": {}}"#, "the file has no server to add"),
        (r#"{"mcpServers": {"a": {}}}"#, r#"server "a": it has neither command nor url"#),
        (
            r#"{"mcpServers": {"a": {"command": ""}}}"#,
            r#"server "a": it has neither command nor url"#,
        ),
        (r#"{"mcpServers": {"a": 7}}"#, r#"server "a": it is no object with command or url"#),
        (r#"{"mcpServers": {"a": {"url": "x"}}}"#, r#"server "a": its url cannot be used"#),
        (
            r#"{"mcpServers": {"a": {"type": "ws", "url": "ws://x"}}}"#,
            r#"the transport "ws" is not supported"#,
        ),
        (r#"{"mcpServers": {"a": {"url": "http://x", "headers": {"a b": "c"}}}}"#, "a b"),
    ];
    for (text, expected) in table {
        let refused = import_servers(text, None, None).unwrap_err();
        assert!(refused.contains(expected), "{text}: {refused}");
    }
}

#[test]
fn servers_reads_the_files_of_other_programs() {
    const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/mcp");
    let tables = |imported: &Imported| {
        let table = |server: &ServerTable| {
            let reached_by =
                server.command.clone().or_else(|| server.url.clone()).unwrap_or_default();
            format!("{} {reached_by} {}", server.name, server.args.join(" ")).trim_end().to_owned()
        };
        imported.servers.iter().map(table).collect::<Vec<_>>()
    };
    let files: [(&str, &[&str], &[&str]); 13] = [
        ("trailing.json", &["home https://example.org/mcp"], &[]),
        ("jsonc.json", &["home https://${HA_DOMAIN}/mcp_server/sse"], &[]),
        ("openclaw.json5", &["files mcp-files /srv"], &[]),
        ("default.json", &["good mcp-a", "vault mcp-b --root /srv/vault"], &[]),
        ("bash.json", &["a sh -c echo ${HOME} $USER && exec mcp-a --path $${PWD%/*}"], &[]),
        (
            "sse.json",
            &["a http://127.0.0.1:1/sse", "b http://127.0.0.1:1/mcp", "c http://127.0.0.1:1/mcp"],
            &["d: the transport \"ws\" is not supported"],
        ),
        (
            "longname.json",
            &[
                "short mcp-a",
                "next-devtools-mcp npx next-devtools-mcp@0.3.6",
                "example-play-mcp npx",
            ],
            &[],
        ),
        ("disabled.json", &["c z"], &["a: it is disabled", "b: it is disabled"]),
        (
            "claude_json.json",
            &["files mcp-files", "files-2 mcp-files --other", "web https://example.org/mcp"],
            &[],
        ),
        ("opencode.json", &["files npx -y mcp-files"], &["far: it is disabled"]),
        ("zed.json", &["one mcp-a -y", "two mcp-b 7"], &[]),
        (
            "codex.toml",
            &["docs npx -y docs-mcp", "far https://example.org/mcp"],
            &["off: it is disabled"],
        ),
        ("mixed.json", &["good mcp-a 80 true"], &["bad: it is no object", "worse: `args` has"]),
    ];
    for (file, expected, left_out) in files {
        let text = std::fs::read_to_string(format!("{FILES}/{file}")).unwrap();
        let imported = import_servers(&text, None, Some("/home/a")).unwrap();
        assert_eq!(tables(&imported), expected, "{file}");
        assert_eq!(imported.left_out.len(), left_out.len(), "{file}: {:?}", imported.left_out);
        for (found, expected) in imported.left_out.iter().zip(left_out) {
            let found = format!("{}: {}", found.name, found.reason);
            assert!(found.starts_with(expected), "{file}: {found}");
        }
    }
}

/// Pieces of pages and of files in other languages, each with its server as `name command args`.
#[test]
fn servers_reads_pieces_of_pages_and_yaml() {
    let files: [(&str, &[&str]); 18] = [
        // As a README shows it.
        ("```json\n{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}\n```\n", &["a x"]),
        ("\"mcpServers\": {\"a\": {\"command\": \"x\"}},", &["a x"]),
        ("\"a\": {\"command\": \"x\", \"args\": [\"-y\"]}", &["a x -y"]),
        (
            "```\n\"a\": {\"command\": \"x\"},\n\"b\": {\"url\": \"http://x/\"}\n```",
            &["a x", "b http://x/"],
        ),
        // Goose.
        (
            "GOOSE_PROVIDER: x\nextensions:\n  dev:\n    type: builtin\n    enabled: true\n  git:\n    \
             bundled: null\n    cmd: npx\n    args:\n    - -y\n    - git-mcp\n    enabled: true\n    \
             env_keys: [TOKEN]\n    envs: {}\n    timeout: 300\n    type: stdio\n  web:\n    uri: \
             https://example.org/mcp\n    type: streamable_http\n    headers: {}\n",
            &["git npx -y git-mcp", "web https://example.org/mcp"],
        ),
        // Continue, today and before.
        (
            "name: mine\nversion: 0.0.1\nschema: v1\nmcpServers:\n  - name: Git Hub\n    command: npx\n    \
             args: [\"-y\", git-mcp]\n    env:\n      TOKEN: ${{ secrets.TOKEN }}\n  - name: web\n    \
             type: streamable-http\n    url: https://example.org/mcp\n",
            &["git-hub npx -y git-mcp", "web https://example.org/mcp"],
        ),
        (
            r#"{"experimental": {"modelContextProtocolServers": [{"transport": {"type": "stdio", "command": "uvx", "args": ["x"]}}]}}"#,
            &["server uvx x"],
        ),
        // Hermes, LibreChat.
        ("mcp_servers:\n  a:\n    command: \"x\"\n", &["a x"]),
        (
            "version: 1.2.8\nmcpServers:\n  a:\n    type: sse\n    url: http://localhost:3001/sse\n",
            &["a http://localhost:3001/sse"],
        ),
        // nanobot, PicoClaw, Mistral Vibe, Cherry Studio.
        (r#"{"tools": {"mcpServers": {"a": {"command": "x"}}}}"#, &["a x"]),
        (
            r#"{"tools": {"mcp": {"enabled": true, "servers": {"a": {"enabled": true, "command": "x"}}}}}"#,
            &["a x"],
        ),
        ("[[mcp_servers]]\nname = \"a\"\ntransport = \"stdio\"\ncommand = \"x\"\n", &["a x"]),
        (
            r#"{"mcpServers": {"a": {"isActive": true, "type": "streamableHttp", "baseUrl": "https://example.org/mcp", "name": "A"}}}"#,
            &["a https://example.org/mcp"],
        ),
        // VS Code: a workspace and a container. Gemini CLI with its other keys.
        (r#"{"folders": [], "settings": {"mcp": {"servers": {"a": {"command": "x"}}}}}"#, &["a x"]),
        (
            r#"{"customizations": {"vscode": {"mcp": {"servers": {"a": {"command": "x"}}}}}}"#,
            &["a x"],
        ),
        (
            r#"{"mcp": {"allowed": ["a"]}, "mcpServers": {"a": {"httpUrl": "https://example.org/", "trust": true, "timeout": 5}}}"#,
            &["a https://example.org/"],
        ),
        // Windows, and a home directory.
        (
            r#"{"mcpServers": {"a": {"command": "cmd", "args": ["/c", "npx", "-y", "x"]}}}"#,
            &["a npx -y x"],
        ),
        (
            r#"{"mcpServers": {"a": {"command": "~/bin/x", "args": ["~/notes", "a~/b"]}}}"#,
            &["a /home/a/bin/x /home/a/notes a~/b"],
        ),
    ];
    for (text, expected) in files {
        let found = import_servers(text, None, Some("/home/a"))
            .unwrap_or_else(|why| panic!("{text}: {why}"));
        let shown = found.servers.iter().map(|server| {
            let reached_by =
                server.command.as_deref().or(server.url.as_deref()).unwrap_or_default();
            format!("{} {reached_by} {}", server.name, server.args.join(" ")).trim_end().to_owned()
        });
        assert_eq!(shown.collect::<Vec<_>>(), expected, "{text}");
    }
    let secret = "mcpServers:\n- name: a\n  command: x\n  env: {TOKEN: \"${{ secrets.TOKEN }}\"}\n";
    assert_eq!(one(secret).servers[0].env["TOKEN"], "${TOKEN}");
    for text in ["hello", "a: b", "- a", "\"a\"", "<mcp/>"] {
        assert!(import_servers(text, None, None).is_err(), "{text}");
    }
}

#[test]
fn servers_reads_the_variables_of_gemini_cli() {
    let found = one(
        r#"{"mcpServers": {"a": {"command": "x", "args": ["$HOME"], "env": {"KEY": "$MY_KEY"}},
        "b": {"url": "https://example.org/", "headers": {"Authorization": "Bearer $TOKEN"}}}}"#,
    );
    assert_eq!(found.servers[0].env["KEY"], "${MY_KEY}");
    assert_eq!(found.servers[0].args, ["$HOME"]);
    assert_eq!(found.servers[1].headers["Authorization"], "Bearer ${TOKEN}");
}

#[test]
fn decode_file_reads_utf_16_of_windows() {
    for bytes in [&b"\xff\xfe{\0}\0"[..], b"\xfe\xff\0{\0}", b"{}"] {
        assert_eq!(decode_file(bytes.to_vec()).as_deref(), Ok("{}"));
    }
    assert!(decode_file(vec![0xc3, 0x28]).is_err());
}

#[test]
fn servers_says_what_it_has_changed() {
    let imported = one(r#"{"inputs": [{"id": "t", "description": "the token"}], "servers": {
        "io.github.example/next-devtools-mcp": {"command": "x", "args": ["${A:-b}", "${input:t}"]},
        "日本": {"command": "y"}, "é": {"command": "z"}}}"#);
    let names: Vec<_> = imported.servers.iter().map(|server| &*server.name).collect();
    assert_eq!(names, ["next-devtools-mcp", "server", "server-2"]);
    for (at, remark) in [
        "${A:-b} became its default \"b\"",
        "set T (the token) in the environment of the daemon",
        "its name here is next-devtools-mcp",
        "server \"日本\": its name here is server",
        "server \"é\": its name here is server-2",
    ]
    .iter()
    .enumerate()
    {
        assert!(imported.warnings[at].contains(remark), "{:?}", imported.warnings);
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
