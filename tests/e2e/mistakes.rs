//! Tests that people's mistakes get errors in plain words, without the terms of libraries.

use std::fmt::Write;
use std::fs;

use avocet_testkit::http::Piece;
use avocet_testkit::openai::{ModelAnswer, OpenAiFake};
use avocet_tests::{Home, program};

use crate::bad_config::{CASES, SECRET};
use crate::support::run;

/// Words of serde, of TOML's parser, of HTTP libraries and of Rust.
const JARGON: [&str; 22] = [
    "TOML parse error",
    "client error",
    "deserializ",
    "enum ",
    "error sending request",
    " expected a",
    " expected one of",
    "http2",
    "hyper",
    "invalid digit",
    "invalid type",
    "invalid value: ",
    "missing field",
    "os error",
    "panicked",
    "relative URL",
    "reqwest",
    "serde",
    "struct ",
    "unknown variant",
    "untagged",
    "unwrap",
];

/// Configurations beside those of [`CASES`].
const CONFIGS: &[&str] = &[
    "[log]\nlevel = \"loud\"\n",
    "[log]\nlevel = \"verbose\"\n",
    "[log]\nlevel = \"info,avocet_agnet=debug\"\n",
    "[log]\nformat = \"xml\"\n",
    "[channels.telegram]\n",
    "[channels.telegram]\ntoken = \"\"\n",
    "[channels.telegram]\ntoken = \"bot 12345\"\n",
    "[channels.telegram]\ntoken = 12345\n",
    "[channels.telegram]\ntoken = \"1:a\"\nallow = [\"ann\"]\n",
    "[channels.telegram]\ntoken = \"1:a\"\nallow = 7\n",
    "[channels.telegram]\ntoken = \"1:a\"\nowners = [-100]\n",
    "[channels.telegram]\ntoken = \"1:a\"\npoll_seconds = 0\n",
    "[channels.telegram]\ntoken = \"1:a\"\napi_url = \"api.telegram.org\"\n",
    "[channels.telegram]\ntoken = \"1:a\"\ngroups = { friends = {} }\n",
    "[channels.telegram]\ntoken = \"1:a\"\npairing = \"yes\"\n",
    "[channels.discord]\ntoken = \"\"\n",
    "[channels.discord]\ntoken = \"bot 12345\"\n",
    "[channels]\ntelegram = true\n",
    "[sessions]\nmax_running = 0\n",
    "[sessions]\nmax_running = -1\n",
    "[sessions]\nmax_running = 1.5\n",
    "[sessions]\nqueue_mode = \"fifo\"\n",
    "[sessions]\nanswer_edits = \"true\"\n",
    "[rules]\neveryone = [\"be brief\", \" \"]\n",
    "[rules]\neveryone = [\n\"be brief\",\n\"be brief\",\n]\n",
    "[rules]\neveryone = \"be brief\"\n",
    "[rules]\nall = [\"be brief\"]\n",
    "[rules]\nagents = { cook = [\"no salt\"] }\n",
    "[rules.chats]\nhome = [\"speak English\"]\n",
    "[rules.people]\n\"telegram:7\" = [\"use metres\"]\n",
    "[agents.defaults]\nworkspace = \"~\"\n",
    "[agents.defaults]\nworkspace = \"/\"\n",
    "[agents.defaults]\nworkspace = 7\n",
    "[agents.defaults]\nfallbacks = \"offline/commands\"\n",
    "[agents.defaults]\nmax_turn_tokens = 5\n",
    "[agents.defaults]\nmodel = \"\"\n",
    "[agents]\ndefaults = \"offline/commands\"\n",
    "[tools.policy]\nexec_shel = \"ask\"\n",
    "[tools.policy]\nbash = \"ask\"\n",
    "[tools.policy]\nbananas = \"ask\"\n",
    "[tools.policy]\nexec_shell = \"sometimes\"\n",
    "[tools.policy]\nexec_shell = true\n",
    "[tools.policy]\nexec_shell = { user = \"deny\" }\n",
    "[tools]\nusers = [\"raed_file\"]\n",
    "[tools.roles.user]\ndeny = [\"web_fetsh\"]\n",
    "[tools.roles.guest]\ndeny = []\n",
    "[tools]\napproval_minutes = 0\n",
    "[sandbox]\nmax_processes = 0\n",
    "[sandbox]\ntimeout_seconds = \"10 min\"\n",
    "[providers.a]\nkind = \"openai\"\napi_key = \"\"\n",
    "[providers.a]\nkind = \"openai\"\napi_key = 7\n",
    "[providers.a]\nkind = \"openai\"\ntotal_seconds = 0\n",
    "[providers.a]\nkind = \"openai\"\nmax_retries = -1\n",
    "[providers.a]\nkind = \"openai\"\ntools = \"yaml\"\n",
    "[providers.a]\nkind = \"openai\"\nheaders = [\"X: y\"]\n",
    "[providers.a]\nkind = \"openai\"\nbase_url = \"localhost:8080/v1\"\n",
    "[providers.a]\nkind = \"anthropic\"\nthinking_tokens = 7\n",
    "[providers.a]\nkind = [\"openai\"]\n",
    "[providers]\na = \"openai\"\n",
    "[models.\"offline/x\"]\nprice = 3\n",
    "[models.\"offline/x\"]\nprice = { input = 1 }\n",
    "[tools.web_search]\n",
    "[transcription]\ntotal_seconds = 0\n",
    "[speech]\nmax_characters = 5000\n",
    "[speech]\nwhen = \"always\"\n",
    "[budgets]\nday_usd = \"5 $\"\n",
    "[gateway]\nsocket = 7\n",
    "model = offline\n",
    "[agents.defaults\n",
    "data_dir = 'a' durability = 'synced'\n",
    "data_dir = \"a\"\ndata_dir = \"b\"\n",
    "[providers.a]\nkind = \"openai\"\napi_key = \"${credential:a/b}\"\n",
];

const COMMANDS: &[&[&str]] = &[
    &["run", "--log", "loud"],
    &["run", "--log", "info,agent=debug"],
    &["stauts"],
    &["ask", "two:parts", "hi"],
    &["ask", "me", "hi", "--key", "a/b"],
    &["ask", "me", "hi", "--wait", "--timeout", "soon"],
    &["audit", "--kind", "bananas"],
    &["audit", "--since", "yesterday"],
    &["audit", "--limit", "-1"],
    &["approvals", "approve", "seven"],
    &["completions", "tcsh"],
    &["link", "me"],
    &["pair", "approve", "nonsense"],
    &["people", "remove", "telegram:main"],
    &["send", "telegram:main:1", "hi"],
    &["sessions", "list", "--limit", "many"],
    &["sessions", "show", "me", "--turns", "99999999999"],
    &["usage", "--days", "0"],
    &["usage", "--by", "hour"],
    &["trust", "nowhere.txt"],
    &["--config", "absent.toml", "status"],
];

#[track_caller]
fn assert_plain(said: &str) {
    for word in JARGON {
        assert!(!said.to_lowercase().contains(&word.to_lowercase()), "{word:?} is in {said}");
    }
    assert!(!said.contains(SECRET), "{said}");
}

#[test]
fn config_mistakes_have_errors_in_plain_words() {
    let home = Home::new(program!()).with("KEY", SECRET);
    let path = home.path("bad.toml").display().to_string();
    let mut told = String::new();
    let of_others = CASES.iter().map(|(text, ..)| *text);
    let mut count = 0;
    for text in CONFIGS.iter().copied().chain(of_others) {
        fs::write(home.path("bad.toml"), text).unwrap();
        let ran = run(&home, &["--config", &path, "config", "check"]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(78), ""), "{text:?}: {ran:?}");
        assert_plain(&ran.err);
        let error = home.without_home(&ran.err);
        writeln!(told, "{}\n    {}", text.trim_end().replace('\n', " | "), error.trim_end())
            .unwrap();
        count += 1;
    }
    assert!(count >= 60, "{count}");
    insta::assert_snapshot!(told);
}

#[test]
fn command_line_mistakes_have_errors_in_plain_words() {
    let home = Home::new(program!());
    let mut told = String::new();
    for arguments in COMMANDS {
        let ran = run(&home, arguments);
        assert_ne!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        assert_plain(&format!("{}{}", ran.out, ran.err));
        let said = home.without_home(&format!("{}{}", ran.out, ran.err));
        let first = said.lines().next().unwrap_or_default();
        writeln!(told, "avocet {}\n    {:?} {first}", arguments.join(" "), ran.code.unwrap())
            .unwrap();
    }
    insta::assert_snapshot!(told);
}

/// Returns faulty model servers, by the name of the fault.
async fn wrong_answers() -> Vec<(&'static str, Option<OpenAiFake>)> {
    let event = |data: &str| ModelAnswer::Events(vec![format!("data: {data}\n\n")]);
    let table: Vec<(&str, ModelAnswer)> = vec![
        ("no JSON", event("{oops")),
        ("half of JSON", event("{\"choices\": [")),
        ("other JSON", event("{\"choices\": 7}")),
        (
            "401",
            ModelAnswer::Status(401, vec![], "{\"error\": {\"message\": \"bad key\"}}".to_owned()),
        ),
        ("404", ModelAnswer::Status(404, vec![], "<html>nothing here</html>".to_owned())),
        ("closed", ModelAnswer::Raw(vec![Piece::Close])),
    ];
    let mut fakes = vec![("refused", None)];
    for (name, answer) in table {
        let answer = parking_lot::Mutex::new(Some(answer));
        let fake = OpenAiFake::start(move |_| {
            let taken = answer.lock().take();
            taken.unwrap_or(ModelAnswer::Raw(vec![Piece::Close]))
        });
        fakes.push((name, Some(fake.await)));
    }
    fakes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn provider_mistakes_have_errors_in_plain_words() {
    let mut told = String::new();
    for (name, fake) in wrong_answers().await {
        let url = fake.as_ref().map_or("http://127.0.0.1:1/v1".to_owned(), OpenAiFake::base_url);
        let home = Home::new(program!()).with_config(&format!(
            "[providers.a]\nkind = \"openai\"\nbase_url = \"{url}\"\nmax_retries = 0\n\
             [agents.defaults]\nmodel = \"a/x\"\n"
        ));
        let daemon = home.daemon();
        let asked = home.command(&["ask", "me", "hello", "--wait"]);
        let ran = avocet_supervise::run_blocking(move || {
            crate::support::end(crate::support::start(asked, b""))
        });
        let ran = ran.await.unwrap();
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{name}: {ran:?}");
        assert_plain(&ran.err);
        writeln!(told, "{name}\n    {}", ran.err.trim_end()).unwrap();
        drop(daemon);
    }
    insta::assert_snapshot!(told);
}
