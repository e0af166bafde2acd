//! Tests of a configuration with secrets that only the daemon has: operators use it from any shell.

use std::fs;
use std::process::Command;

use avocet_tests::{Home, ProgramOutput, program};

use crate::support::{assert_fails, end, start};

const CONFIG: &str = "[providers.a]
    kind = \"openai\"
    base_url = \"http://127.0.0.1:1/v1\"
    api_key = \"${credential:openai}\"
    headers = { \"X-Proxy\" = \"${PROXY_KEY}\" }
    [agents.work]
    model = \"${WORK_MODEL}\"
    [channels.telegram]
    token = \"${TELEGRAM_TOKEN}\"
    api_url = \"http://127.0.0.1:1\"
    owners = [1]
    [channels.discord]
    token = \"${file:DISCORD_FILE}\"
    api_url = \"http://127.0.0.1:1\"
    owners = [1]
    [transcription]
    api_key = \"${PROXY_KEY}\"
    [tools.web_search]
    provider = \"brave\"
    api_key = \"${PROXY_KEY}\"
";
const TOKEN: &str = "4711:AA-the-secret-of-telegram";
const KEY: &str = "sk-the-secret-of-the-model";

struct Shells {
    home: Home,
}

impl Shells {
    fn new() -> Self {
        let home = Home::new(program!());
        fs::create_dir(home.path("credentials")).unwrap();
        fs::write(home.path("credentials/openai"), KEY).unwrap();
        fs::write(home.path("discord.token"), "d1scord-secret.token.here").unwrap();
        let token = home.path("discord.token").display().to_string();
        let config = CONFIG.replace("DISCORD_FILE", &token);
        Self { home: home.with_config(&config) }
    }

    /// Returns the program in the shell of the daemon, which has the secrets.
    fn own(&self, arguments: &[&str]) -> Command {
        let mut command = self.home.command(arguments);
        command.env("TELEGRAM_TOKEN", TOKEN).env("PROXY_KEY", "pr0xy-key-of-this-test");
        command
            .env("WORK_MODEL", "a/gpt")
            .env("CREDENTIALS_DIRECTORY", self.home.path("credentials"));
        command
    }

    /// Runs the program in another shell.
    fn other(&self, arguments: &[&str]) -> ProgramOutput {
        end(start(self.home.command(arguments), b"help\n"))
    }
}

/// The operators' commands, and their exit codes with a daemon and without one.
const COMMANDS: &[(&[&str], i32, i32)] = &[
    (&["approvals"], 0, 0),
    (&["ask", "me", "help"], 0, 0),
    (&["audit"], 0, 0),
    (&["audit", "verify"], 0, 0),
    (&["config", "check"], 0, 0),
    (&["link"], 0, 0),
    (&["link", "me", "telegram:main:7"], 1, 1),
    (&["models"], 0, 0),
    (&["pair", "list"], 0, 0),
    (&["pair", "approve", "AAAA-BBBB"], 1, 1),
    (&["people", "list"], 0, 0),
    (&["prompt", "me"], 0, 0),
    (&["send", "telegram:main:1", "hello"], 0, 0),
    (&["sessions", "list"], 0, 0),
    (&["sessions", "show", "me"], 0, 0),
    (&["trust", "trusted.txt"], 1, 1),
    (&["usage"], 0, 0),
];

#[test]
fn operator_commands_work_without_the_secrets_of_the_daemon() {
    let shells = Shells::new();
    let mut wrong = Vec::new();
    for running in [true, false] {
        let mut daemon =
            running.then(|| avocet_tests::DaemonProcess::spawn(&mut shells.own(&["run"])));
        daemon.iter_mut().for_each(avocet_tests::DaemonProcess::wait_until_ready);
        for (arguments, with, without) in COMMANDS {
            let code = if running { *with } else { *without };
            let ran = shells.other(arguments);
            let said = format!("{}{}", ran.out, ran.err);
            let secret = [TOKEN, KEY].iter().any(|secret| said.contains(secret));
            if ran.code != Some(code) || secret {
                wrong.push(format!("running: {running}, {arguments:?}: not {code}: {ran:?}"));
            }
        }
        let status = shells.other(&["status"]);
        assert_ne!(status.code, Some(78), "{status:?}");
        let doctor = shells.other(&["doctor", "--offline"]);
        assert_ne!(doctor.code, Some(78), "{doctor:?}");
        let chat = shells.other(&["chat"]);
        if running {
            assert_eq!((chat.code, chat.err.as_str()), (Some(0), ""), "{chat:?}");
        } else {
            // Without a daemon, `avocet chat` starts one itself.
            assert_fails(&chat, 78, &["is not set"]);
        }
        drop(daemon);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_fails(&shells.other(&["run"]), 78, &["config.toml:", "is not set"]);
}
