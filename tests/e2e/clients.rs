//! Other users of the system at the socket: members of its group with a table in
//! `[gateway.clients]`, and programs with a token.

use std::os::unix::process::CommandExt;
use std::process::Command;

use avocet_tests::{Home, program};
use serde_json::json;

use crate::support::{
    as_nobody, assert_fails, end, is_root, printed, printed_json, set_mode, start, stop,
};

/// The group of the user that `as_nobody` uses, on Debian.
const GROUP: &str = "nogroup";
const GID: u32 = 65534;

const SOCKET: &str = "[gateway]\nsocket = \"~/run/avocet.sock\"\n";
const GUEST: &str =
    "[gateway.clients.guest]\nrole = \"sender\"\nchats = [\"terminal:local:guest\"]\n";

/// Sends each line of its standard input, and prints the answers.
const RELAY: &str = "
import socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
lines = connection.makefile('rw')
for line in sys.stdin:
    lines.write(line)
    lines.flush()
    print(lines.readline(), end='')
";

fn home(config: &str) -> Home {
    let home = Home::new(program!()).with_config(config);
    set_mode(&home, "", 0o755);
    home
}

#[test]
fn group_member_with_a_table_reaches_its_own_chat_alone() {
    if !is_root() {
        // There is no other user to connect as.
        return;
    }
    let config = format!("{SOCKET}group = \"{GROUP}\"\n{GUEST}group = \"{GROUP}\"\n");
    let home = home(&config);
    let daemon = home.daemon();
    let run = |arguments: &[&str]| end(start(as_nobody(&home, arguments), b""));
    let asked = run(&["ask", "guest", "count to 3", "--wait"]);
    assert_eq!((asked.code, asked.out.as_str()), (Some(0), "1, 2, 3.\n"), "{asked:?}");
    let foreign =
        ["terminal:local:me is not one of its chats", "set chats in [gateway.clients.guest]"];
    assert_fails(&run(&["ask", "me", "count to 3"]), 1, &foreign);
    assert_fails(&run(&["send", "me", "hello"]), 1, &foreign);
    let turns = printed_json(&home, &["sessions", "show", "guest"]);
    let sender = &turns[0]["origin"]["messages"][0]["message"]["inbound"]["sender"]["id"];
    assert_eq!(sender, "client:guest");
    assert!(printed(&home, &["sessions", "show", "guest"]).contains("client:guest"));
    stop(daemon);
}

#[test]
fn group_member_without_a_table_is_refused_with_the_setting() {
    if !is_root() {
        return;
    }
    let home = home(&format!("{SOCKET}group = \"{GROUP}\"\n"));
    let daemon = home.daemon();
    let refused = end(start(as_nobody(&home, &["ask", "guest", "hi"]), b""));
    let words = ["user 65534 may not use this socket", "[gateway.clients.NAME] uid = 65534"];
    assert_fails(&refused, 1, &words);
    stop(daemon);
}

#[test]
fn program_of_another_user_says_hello_with_its_token() {
    if !is_root() {
        return;
    }
    let config = format!("{SOCKET}group = \"{GROUP}\"\n{GUEST}token = \"0123456789abcdef\"\n");
    let home = home(&config);
    let mut daemon = home.daemon();
    let ask = json!({"session": "terminal:local:guest", "text": "count to 2"});
    let requests = [
        json!({"id": 1, "method": "ask", "params": ask}),
        json!({"id": 2, "method": "ping"}),
        json!({"id": 3, "method": "hello", "params": {"token": "0123456789abcdeX"}}),
        json!({"id": 4, "method": "hello", "params": {"token": "0123456789abcdef"}}),
        json!({"id": 5, "method": "ask", "params": ask}),
        json!({"id": 6, "method": "status"}),
        json!({"id": 7, "method": "rules.add", "params": {"text": "be rude"}}),
        json!({"id": 8, "method": "rules.remove", "params": {"rule": "r1"}}),
    ];
    let input: Vec<String> = requests.iter().map(|request| format!("{request}\n")).collect();
    let mut python = Command::new("python3");
    python.args(["-c", RELAY]).arg(home.path("run/avocet.sock")).uid(GID).gid(GID);
    let ran = end(start(python, input.concat().as_bytes()));
    let answers: Vec<serde_json::Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let codes: Vec<Option<i64>> =
        answers.iter().map(|answer| answer["error"]["code"].as_i64()).collect();
    let refused = Some(-32001);
    assert_eq!(codes, [refused, None, refused, None, None, refused, refused, refused], "{ran:?}");
    assert_eq!(answers[3]["result"]["sender"], "client:guest");
    let line = daemon.wait_for("a client was refused");
    assert!(line.contains("user=65534") && !line.contains("0123456789"), "{line}");
    assert_eq!(answers[4]["result"]["message"], "m1");
    stop(daemon);
}

#[test]
fn group_that_cannot_reach_the_socket_or_does_not_exist_is_an_error_at_the_start() {
    let home = Home::new(program!()).with_config("[gateway]\ngroup = \"root\"\n");
    let words = ["members of the group root cannot enter", "[gateway] socket"];
    assert_fails(&home.run(&["run"]), 78, &words);
    let home = Home::new(program!()).with_config("[gateway]\ngroup = \"no-such-group\"\n");
    assert_fails(&home.run(&["run"]), 78, &["`gateway.group`: this system has no group"]);
}
