//! Tests of secrets: files in a workspace, which are closed until the operator opens them; the
//! daemon's own files; and values of the configuration, which no output shows.

use std::fs;

use avocet_tests::{Home, ProgramOutput, program};

use crate::support::{assert_fails, printed, run, until};

#[test]
fn secret_files_are_readable_only_if_the_configuration_allows_it() {
    let open = "data_dir = \"data\"\n[agents.defaults]\nworkspace = \".\"\n[tools]\n\
        secret_files = [\"open.pem\"]\n";
    let home = Home::new(program!());
    fs::create_dir(home.path("files")).unwrap();
    for path in ["open.pem", "closed.pem", "notes.txt"] {
        fs::write(home.path("files").join(path), format!("content of {path}")).unwrap();
    }
    fs::write(home.path("files/avocet.toml"), open).unwrap();
    let config = home.path("files/avocet.toml").display().to_string();
    let home = home.with("AVOCET_CONFIG", &config);
    let _daemon = home.daemon();
    let read = |path: &str| printed(&home, &["ask", "me", &format!("read_file {path}"), "--wait"]);
    for path in ["open.pem", "notes.txt"] {
        assert!(read(path).contains(&format!("content of {path}")), "{path}");
    }
    let own = ["avocet.toml", "data/avocet.db"];
    for path in ["closed.pem"].into_iter().chain(own) {
        let refused = read(path);
        assert!(refused.contains("is not opened") && refused.contains("secret_files"), "{refused}");
    }
}

#[test]
fn secret_files_refuses_an_invalid_pattern_by_name() {
    let home = Home::new(program!()).with_config("[tools]\nsecret_files = [\"a[\"]\n");
    assert_fails(&run(&home, &["run"]), 78, &["[tools] secret_files", "a["]);
}

/// Secrets by the names of their variables. All services that use them are unreachable.
const SECRETS: [(&str, &str); 7] = [
    ("OPENAI_KEY", "0pen-\"ai\"-k3y+/="),
    ("CLAUDE_KEY", "cl4ude-key-%41-x"),
    ("GEMINI_KEY", "gem1ni?key&more=x"),
    ("OLLAMA_KEY", "0llama\\key\\n-x"),
    ("PROXY_KEY", "pr0xy key of two words"),
    ("TELEGRAM_KEY", "123456789:AAtelegram-secret-token-of-this-t"),
    ("DISCORD_KEY", "d1scord-secret.token.here"),
];
const CONFIG: &str = "log.level = \"trace\"
    [agents.defaults]
    model = \"openai/m\"
    fallbacks = [\"claude/m\", \"gemini/m\", \"ollama/m\"]
    [providers.openai]
    kind = \"openai\"
    base_url = \"http://127.0.0.1:1/v1\"
    api_key = \"${OPENAI_KEY}\"
    headers = { \"X-Proxy\" = \"${PROXY_KEY}\" }
    max_retries = 0
    [providers.claude]
    kind = \"anthropic\"
    base_url = \"http://127.0.0.1:1\"
    api_key = \"${CLAUDE_KEY}\"
    max_retries = 0
    [providers.gemini]
    kind = \"gemini\"
    base_url = \"http://127.0.0.1:1\"
    api_key = \"${GEMINI_KEY}\"
    max_retries = 0
    [providers.ollama]
    kind = \"ollama\"
    base_url = \"http://127.0.0.1:1\"
    api_key = \"${OLLAMA_KEY}\"
    max_retries = 0
    [channels.telegram]
    token = \"${TELEGRAM_KEY}\"
    api_url = \"http://127.0.0.1:1\"
    owners = [1]
    [channels.discord]
    token = \"${DISCORD_KEY}\"
    api_url = \"http://127.0.0.1:1\"
    owners = [1]
";

/// Returns the spellings that a secret may have in a text.
fn spellings(secret: &str) -> [String; 4] {
    let json = serde_json::to_string(secret).unwrap();
    let percent = secret.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    });
    let percent: String = percent.collect();
    let hex = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    [secret.to_owned(), json[1..json.len() - 1].to_owned(), percent, hex]
}

#[test]
fn f15_secrets_are_not_shown_if_every_connection_is_refused() {
    for format in ["text", "json"] {
        let config = CONFIG.replace("log.level", &format!("log.format = \"{format}\"\nlog.level"));
        let home = SECRETS
            .iter()
            .fold(Home::new(program!()), |home, (name, secret)| home.with(name, secret))
            .with_config(&config);
        let mut daemon = home.spawn(&["run"]);
        daemon.wait_for("ready");
        let mut outputs = Vec::new();
        // Messages are stored as they were written; this test leaves them out.
        let commands: [&[&str]; 9] = [
            &["ask", "me", "hello", "--wait"],
            &["doctor"],
            &["doctor", "--json"],
            &["sessions", "show", "me"],
            &["status"],
            &["models"],
            &["config", "check"],
            &["audit"],
            &["usage"],
        ];
        for command in commands {
            let ProgramOutput { out, err, .. } = run(&home, command);
            outputs.push((command.join(" "), format!("{out}{err}")));
        }
        for channel in ["telegram", "discord"] {
            let target = format!("avocet_{channel}");
            until(&target, || (daemon.logged(&target) > 0).then_some(()));
        }
        stop_into(daemon, &mut outputs);
        for file in ["avocet.db", "avocet.db-wal", "avocet.db-shm"] {
            let bytes = fs::read(home.data_dir().join(file)).unwrap_or_default();
            outputs.push((file.to_owned(), String::from_utf8_lossy(&bytes).into_owned()));
        }
        assert!(outputs[0].1.contains("Connection refused"), "{outputs:?}");
        for (name, secret) in SECRETS {
            for spelling in spellings(secret) {
                for (what, output) in &outputs {
                    let at = output.find(&spelling);
                    let around =
                        at.map(|at| output[..at].chars().rev().take(300).collect::<String>());
                    let around = around.map(|text| text.chars().rev().collect::<String>());
                    assert_eq!(around, None, "{name} is in {what}, as {spelling}");
                }
            }
        }
    }
}

fn stop_into(daemon: avocet_tests::DaemonProcess, outputs: &mut Vec<(String, String)>) {
    let (status, log) = daemon.stop();
    assert!(status.success(), "{status}: {log}");
    outputs.push(("the log".to_owned(), log));
}

#[test]
fn f15_secrets_are_not_shown_in_configuration_errors() {
    let table = [
        "[providers.x]\nkind = \"openai\"\nbase_url = \"${KEY}\"\n",
        "[providers.x]\nkind = \"${KEY}\"\n",
        "[providers.x]\nkind = \"openai\"\ntools = \"${KEY}\"\n",
        "[agents.defaults]\nmodel = \"nowhere/${KEY}\"\n",
        "[gateway]\nsocket = \"/dev/null/${KEY}/s\"\n",
        "data_dir = \"/dev/null/${KEY}\"\n",
    ];
    for config in table {
        let home = Home::new(program!()).with("KEY", "the-s3cret-value").with_config(config);
        let ran = run(&home, &["run"]);
        assert!(ran.code != Some(0) && ran.err.contains("error: "), "{config}: {ran:?}");
        assert!(!ran.err.contains("the-s3cret-value"), "{config}: {ran:?}");
    }
}
