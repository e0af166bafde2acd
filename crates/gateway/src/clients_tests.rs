use super::*;

const DAEMON: u32 = 1000;

fn peer(uid: u32, gid: u32) -> Peer {
    Peer { uid, gid, ours: DAEMON }
}

fn secret(token: &str) -> Secret {
    Secret::new(token.to_owned())
}

fn client(name: &str, identity: ClientIdentity) -> NamedClient {
    let chats = ChatPatterns::all();
    NamedClient::new(name, identity, ClientRole::Sender, chats, None).unwrap()
}

fn users(uids: &[u32], gids: &[u32]) -> SystemUsers {
    SystemUsers { uids: uids.iter().copied().collect(), gids: gids.iter().copied().collect() }
}

/// `alice` is user 2001, `team` group 300, `both` needs user 2001 or 2003 and a token, and `key` a
/// token alone.
fn clients() -> Clients {
    let named = |users| ClientIdentity { users: Some(users), token: None };
    Clients::new(vec![
        client("alice", named(users(&[2001], &[]))),
        client("team", named(users(&[], &[300]))),
        client(
            "both",
            ClientIdentity { users: Some(users(&[2001, 2003], &[])), token: Some(secret("two")) },
        ),
        client("key", ClientIdentity { users: None, token: Some(secret("one")) }),
    ])
}

fn sender(caller: &Caller) -> &str {
    caller.sender.as_str()
}

#[test]
fn admit_makes_the_daemons_user_and_root_operators() {
    for clients in [Clients::default(), clients()] {
        for uid in [0, DAEMON] {
            let caller = clients.admit_connection(peer(uid, 1)).unwrap().unwrap();
            assert_eq!(sender(&caller), format!("uid:{uid}"));
            assert_eq!((caller.role, caller.chats.are_all()), (ClientRole::Operator, true));
        }
    }
}

#[test]
fn admit_refuses_a_user_whom_no_client_can_be_and_names_the_setting() {
    let named = ClientIdentity { users: Some(users(&[2001], &[])), token: None };
    for clients in [Clients::default(), Clients::new(vec![client("alice", named)])] {
        assert_eq!(
            clients.admit_connection(peer(1001, 1001)).unwrap_err(),
            "user 1001 may not use this socket; it belongs to user 1000. Run the command as that \
             user, or name user 1001 in the configuration: [gateway.clients.NAME] uid = 1001"
        );
    }
}

#[test]
fn admit_and_hello_give_the_rights_of_the_proved_client() {
    let clients = clients();
    let hello = |peer, client: Option<&str>, token: Option<&str>| {
        let (client, token) = (client.map(str::to_owned), token.map(secret));
        let hello = Hello { client, token, ..Hello::default() };
        clients.admit_named(peer, &hello)
    };
    let admitted =
        |uid, gid| clients.admit_connection(peer(uid, gid)).unwrap().map(|one| one.sender);
    assert_eq!(admitted(2001, 1).unwrap().as_str(), "client:alice");
    assert_eq!(admitted(2002, 300).unwrap().as_str(), "client:team");
    assert_eq!(admitted(2001, 300), None, "it is both");
    assert_eq!(admitted(2003, 1), None, "it has to send a token");

    let (alice, both, third, other) = (peer(2001, 1), peer(2001, 300), peer(2003, 1), peer(9, 9));
    for (from, client, token, expected) in [
        (both, Some("team"), None, "client:team"),
        (other, None, Some("one"), "client:key"),
        (other, Some("key"), Some("one"), "client:key"),
        (third, None, Some("two"), "client:both"),
        (alice, Some("both"), Some("two"), "client:both"),
        // The daemon's own user and root may choose any rights.
        (peer(DAEMON, 1), Some("both"), None, "client:both"),
        (peer(0, 0), Some("key"), None, "client:key"),
    ] {
        assert_eq!(sender(&hello(from, client, token).unwrap()), expected);
    }
    for (from, client, token, why) in [
        (
            other,
            None,
            Some("1"),
            "the token is not that of a client; compare it with token in \
          [gateway.clients.NAME]",
        ),
        (other, Some("both"), Some("one"), "compare it with token in [gateway.clients.both]"),
        (
            other,
            None,
            Some("two"),
            "user 9 is not the client both; to permit it, change uid, user \
          or group in [gateway.clients.both]",
        ),
        (other, Some("alice"), None, "user 9 is not the client alice"),
        (third, Some("both"), None, "the client both needs its token"),
        (alice, Some("nix"), None, "there is no client \"nix\"; add a table [gateway.clients.nix]"),
    ] {
        let error = hello(from, client, token).unwrap_err();
        assert_eq!(error.code, RpcError::NOT_ALLOWED);
        assert!(error.message.contains(why), "{error}");
    }
}

#[test]
fn hello_first_names_the_clients_of_the_user_or_asks_for_a_token() {
    let clients = clients();
    let message = |uid, gid| clients.hello_first(peer(uid, gid)).message;
    assert!(message(2001, 300).contains("\"client\": \"alice\"}}; there are alice, team"));
    assert!(message(2003, 1).contains("has to say hello with a token first"));
}
