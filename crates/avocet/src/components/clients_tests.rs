use super::*;

fn table(lines: &str) -> (ConfigDocument, ConfigSettings) {
    let text = format!("[gateway.clients.ci]\nchats = [\"*\"]\n{lines}");
    let document = ConfigDocument::parse(text, None, &|_| None).unwrap();
    let settings = document.table("").unwrap();
    (document, settings)
}

#[test]
fn users_are_found_by_number_name_and_group() {
    let users = |lines: &str| system_users(&table(lines).1.gateway.clients["ci"]).unwrap();
    assert_eq!(users("token = \"0123456789abcdef\""), None);
    let all = users("uid = 7\nuser = \"root\"\ngroup = \"root\"").unwrap();
    assert!(all.uids.is_superset(&[0, 7].into()), "{all:?}");
    assert_eq!(all.gids, [0].into());
}

#[test]
fn check_and_clients_name_the_key_with_an_unusable_value() {
    for (lines, expected) in [
        ("uid = 7", None),
        ("uid = 7\nmethods = [\"ask\"]", None),
        ("", Some("`gateway.clients.ci.uid`: the client has neither a user nor a token")),
        ("token = \"x\"", Some("`gateway.clients.ci.token`: the token is too short")),
        (
            "uid = 7\nmethods = [\"dance\"]",
            Some("there is no method `dance`; there are agents.list"),
        ),
        ("user = \"no-such-user\"", Some("`gateway.clients.ci.user`: this system has no user")),
        ("group = \"no-such-group\"", Some("`gateway.clients.ci.group`: this system has no group")),
    ] {
        let (document, settings) = table(lines);
        let checked =
            check_clients(&document, &settings).and_then(|()| read_clients(&document, &settings));
        let error = checked.err().map(|error| error.to_string());
        let names = |expected: &str| error.as_ref().is_some_and(|error| error.contains(expected));
        assert!(expected.map_or(error.is_none(), names), "{lines}: {error:?}");
    }
}

#[test]
fn operators_are_the_clients_with_this_role() {
    let (_, settings) = table("uid = 7\nrole = \"operator\"\n[gateway.clients.other]\nuid = 8");
    let senders: Vec<String> = operator_ids(&settings).iter().map(ToString::to_string).collect();
    assert_eq!(senders, ["client:ci"]);
}
