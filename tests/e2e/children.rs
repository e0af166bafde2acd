//! Programs of channels that misbehave: the daemon names the fault and serves the others.

use avocet_tests::{Home, child::PYTHON, program};

use crate::support::{printed, status, stop, until};

const SECRET: &str = "a-token-of-the-platform";
/// Says hello and attaches as the account of its environment.
const ATTACHES: &str = "
import json, os, sys, time
account = os.environ['AVOCET_CHANNEL'].split(':')[1]
def request(number, method, params):
    print(json.dumps({'jsonrpc': '2.0', 'id': number, 'method': method, 'params': params}), flush=True)
request(1, 'hello', {'protocol': 1})
request(2, 'attach', {'channel': 'external', 'account': account})
";
const EXITS: &str = "import os, sys; sys.exit('no server ' + os.environ['TOKEN'])";
const SILENT: &str = "import sys; sys.stdin.read()";
const PRINTS: &str = "
print('Loading...'); print(7); print('{\"a\": 1}'); print('x' * 2000000); print([]); sys.stdout.flush()
request(3, 'cursor.move', {'channel': 'external', 'account': account, 'cursor': {'position': '1'}})
health = {'jsonrpc': '2.0', 'method': 'health', 'params': {'up': False, 'reason': 'the lines are down'}}
print(json.dumps(health), flush=True)
sys.stdin.read()
";
/// Tries to change the rules of the owners, and ends with the refusals.
const CHANGES_RULES: &str = "
request(3, 'rules.add', {'text': 'be rude'})
request(4, 'rules.remove', {'rule': 'r1'})
request(5, 'rules.list', {})
refusals = {}
while len(refusals) < 3:
    answer = json.loads(sys.stdin.readline())
    if answer.get('id') in (3, 4, 5):
        refusals[answer['id']] = answer['error']['code']
sys.exit(f'refused: {refusals[3]} {refusals[4]} {refusals[5]}')
";
/// Never reads, and ignores the end of its input.
const SLOW: &str = "time.sleep(1000)";

fn channel(name: &str, script: &str) -> String {
    format!(
        "[channels.{name}]\nowners = [\"ann\"]\nenv = {{ TOKEN = \"${{CHILD_TOKEN}}\" }}\n\
         command = [{PYTHON:?}, \"-c\", {script:?}]\n"
    )
}

#[test]
fn channel_programs_that_misbehave_are_named_and_harm_no_other() {
    let with = |more: &str| format!("{ATTACHES}{more}");
    let config = [
        channel("exits", EXITS),
        "[channels.missing]\ncommand = [\"/usr/bin/no-such-program\"]\n".to_owned(),
        channel("prints", &with(PRINTS)),
        channel("silent", SILENT),
        channel("slow", &with(SLOW)),
    ];
    let home = Home::new(program!()).with("CHILD_TOKEN", SECRET).with_config(&config.concat());
    let mut daemon = home.daemon();
    for (account, fault) in [
        ("exits", "the program ended with exit code 1; its last line was: no server"),
        ("missing", "the program cannot be started: there is no program /usr/bin/no-such-program"),
        ("prints", "the lines are down"),
        ("silent", "the program was started, and has not attached yet"),
    ] {
        let account = format!("external:{account}");
        until(&account, || {
            let status = status(&home);
            let channels = status["channels"].as_array()?;
            let channel = channels.iter().find(|channel| channel["account"] == account)?;
            channel["fault"].as_str()?.contains(fault).then_some(())
        });
        // A program that is being started again keeps its last fault.
        for command in ["doctor", "status"] {
            let shown = home.run(&[command, "--json"]).out;
            assert!(shown.contains(fault), "{command} of {account}: {shown}");
        }
    }
    let slow = || {
        let status = status(&home);
        let channels = status["channels"].as_array()?.clone();
        let slow = channels.into_iter().find(|channel| channel["account"] == "external:slow")?;
        slow["fault"].is_null().then_some(())
    };
    until("the slow program", slow);
    // More lines than the pipe and the queue of the connection take.
    for _ in 0..3 {
        printed(&home, &["send", "external:slow:a", &"word ".repeat(20_000)]);
    }
    assert_eq!(daemon.logged("the program printed a line that is no message"), 5);
    assert_eq!(daemon.logged(SECRET), 0);
    assert!(daemon.logged("no server") > 0);
    stop(daemon);
}

#[test]
fn channel_program_can_neither_add_nor_remove_nor_read_rules() {
    let script = format!("{ATTACHES}{CHANGES_RULES}");
    let home =
        Home::new(program!()).with("CHILD_TOKEN", SECRET).with_config(&channel("changes", &script));
    printed(&home, &["rules", "add", "be brief"]);
    let rules = printed(&home, &["rules"]);
    let daemon = home.daemon();
    until("the refusals", || {
        let status = status(&home);
        let fault = status["channels"].as_array()?.iter().find_map(|one| one["fault"].as_str())?;
        fault.contains("its last line was: refused: -32001 -32001 -32001").then_some(())
    });
    assert_eq!(printed(&home, &["rules"]), rules);
    stop(daemon);
}
