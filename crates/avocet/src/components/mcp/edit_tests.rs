use super::*;

fn server(name: &str) -> ServerTable {
    ServerTable {
        name: name.to_owned(),
        command: Some("npx".to_owned()),
        args: vec!["-y".to_owned(), "it's".to_owned()],
        env: BTreeMap::from([("API_KEY".to_owned(), "${API_KEY}".to_owned())]),
        ..ServerTable::default()
    }
}

const ADDED: &str = "[tools.mcp_servers.new]\ncommand = \"npx\"\nargs = [\"-y\", \"it's\"]\n\
    env = { API_KEY = \"${API_KEY}\" }\n";

#[test]
fn put_keeps_comments_order_and_spacing() {
    let table = [
        ("", ADDED.to_owned()),
        ("# mine\na = 1 # one\n", format!("# mine\na = 1 # one\n\n{ADDED}")),
        (
            "[tools]\nread = []\n\n[web]\nb = 2\n",
            format!("[tools]\nread = []\n\n{ADDED}\n[web]\nb = 2\n"),
        ),
        (
            "[tools.mcp_servers.old] # kept\nurl = 'u'\n\n# last\n[web]\n",
            format!("[tools.mcp_servers.old] # kept\nurl = 'u'\n\n{ADDED}\n# last\n[web]\n"),
        ),
    ];
    for (before, after) in table {
        assert_eq!(
            put_servers(before, &[server("new")], false).unwrap().trim_start(),
            after,
            "{before}"
        );
    }
}

#[test]
fn put_below_an_inline_table_stays_valid() {
    for before in ["tools = { read = [] }\n", "[tools]\nmcp_servers = { a = { url = 'u' } }\n"] {
        let after = put_servers(before, &[server("new")], false).unwrap();
        let document: DocumentMut = after.parse().unwrap();
        let new = &document["tools"]["mcp_servers"]["new"];
        assert_eq!(new["command"].as_str(), Some("npx"), "{after}");
    }
}

#[test]
fn put_replaces_an_existing_server_only_if_told_and_keeps_its_other_keys() {
    let before =
        "[tools.mcp_servers.new]\nurl = \"u\"\nheaders = { A = \"b\" }\ntrusted = true # mine\n";
    let refused = put_servers(before, &[server("other"), server("new")], false).unwrap_err();
    assert!(refused.contains("already has [tools.mcp_servers.new]; give another"), "{refused}");
    let after = put_servers(before, &[server("new")], true).unwrap();
    assert!(
        after.contains("trusted = true # mine\n") && after.contains("command = \"npx\""),
        "{after}"
    );
    assert!(!after.contains("url") && !after.contains("headers"), "{after}");
}

#[test]
fn put_adds_to_the_lists_of_a_server_that_it_replaces() {
    let before = "[tools.mcp_servers.new]\nurl = \"u\"\nread = [\"/a\", \"/b\"]\n";
    let read = vec!["/b".to_owned(), "/c".to_owned()];
    let after = put_servers(before, &[ServerTable { read, ..server("new") }], true).unwrap();
    assert!(after.contains("read = [\"/a\", \"/b\", \"/c\"]\n"), "{after}");
    let with_hosts = || ServerTable { hosts: vec!["h".to_owned()], ..server("new") };
    let once = put_servers("", &[with_hosts()], false).unwrap();
    assert_eq!(put_servers(&once, &[with_hosts()], true).unwrap(), once);
}

#[test]
fn remove_takes_the_table_and_nothing_else() {
    let before = "# a\n[tools]\nread = []\n\n[tools.mcp_servers.one]\nurl = \"u\"\n\n[web]\n";
    let after = remove_server(before, "one").unwrap();
    assert_eq!(after.as_deref(), Some("# a\n[tools]\nread = []\n\n[web]\n"));
    assert_eq!(remove_server(before, "two").unwrap(), None);
    assert_eq!(remove_server("", "two").unwrap(), None);
}

#[test]
fn text_that_is_no_toml_is_refused_with_the_line() {
    let refused = put_servers("a = 1\nb = [\n", &[server("new")], false).unwrap_err();
    assert!(refused.starts_with("the configuration is not TOML: line "), "{refused}");
    let refused = put_servers("tools = 3\n", &[server("new")], false).unwrap_err();
    assert!(refused.contains("`tools`"), "{refused}");
}

#[test]
fn list_shows_commands_and_urls_in_order() {
    let text = "[tools.mcp_servers.b]\ncommand = \"npx\"\nargs = [\"-y\", \"x\"]\nurl = \"u\"\n\
        [tools.mcp_servers.a]\nurl = \"http://${HOST}\"\n[tools.mcp_servers.c]\n";
    let listed: Vec<_> =
        list_servers(text).unwrap().into_iter().map(|one| (one.name, one.reached_by)).collect();
    let expected = [("b", "npx -y x"), ("a", "http://${HOST}"), ("c", "")];
    assert_eq!(listed, expected.map(|(name, by)| (name.to_owned(), by.to_owned())));
    assert_eq!(list_servers("").unwrap(), []);
}
