//! `exec_shell` in the real program: what a command sees, what is refused, and what is left of it.

use avocet_tests::{Home, program};

use crate::support::{printed, stop};

#[test]
fn a_shell_command_runs_in_the_workspace_and_sees_nothing_else() {
    let home = Home::new(program!());
    let mut daemon = home.daemon();
    if daemon.logged("exec_shell is off") > 0 {
        println!("skipped: this system gives no walls for programs, see the daemon's log");
        return stop(daemon);
    }
    let shell =
        |command: &str| printed(&home, &["ask", "me", &format!("exec_shell {command}"), "--wait"]);
    let outside = home.path("").display().to_string();
    let (fails, refused) = ("\"exit_code\":1", "permission denied");
    let table: [(String, &[&str]); 9] = [
        ("'echo hello > a.txt; cat a.txt'".to_owned(), &["hello", "\"exit_code\":0"]),
        ("'mkdir -p src; pwd'".to_owned(), &["workspace"]),
        ("'pwd' --working_dir src".to_owned(), &["workspace/src"]),
        ("'pwd' --working_dir ../..".to_owned(), &["invalid path"]),
        (format!("'cat {outside}/*.toml || exit 1'"), &[fails]),
        ("'echo error >&2; exit 7'".to_owned(), &["error", "\"exit_code\":7"]),
        ("'env | grep -c AVOCET; exit 1'".to_owned(), &["0", fails]),
        ("'sudo ls'".to_owned(), &[refused, "sudo becomes another user"]),
        ("'sleep 100' --timeout 1".to_owned(), &["command timed out after 1s"]),
    ];
    for (command, expected) in table {
        let answer = shell(&command);
        for part in expected {
            assert!(answer.contains(part), "{command}: no {part:?} in {answer}");
        }
    }
    stop(daemon);
}
