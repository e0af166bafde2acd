//! Tests of `status`, `doctor` and the log while a provider, a platform or a key has a fault.

use avocet_testkit::discord::DiscordFake;
use avocet_testkit::openai::{KEY, ModelAnswer, OpenAiFake};
use avocet_testkit::telegram::TelegramFake;
use avocet_tests::{Home, ProgramOutput, now, program};
use serde_json::Value;

use crate::chat::AttachedChat;
use crate::patience::{stop, until};

const TELEGRAM: &str = "4711:AA-secret";
const DISCORD: &str = "discord.secret";
/// The exit code for scripts while something is down.
const DOWN: Option<i32> = Some(76);

/// Runs a command to its end, off the test's own threads.
async fn ran(home: &Home, arguments: &[&str]) -> ProgramOutput {
    let mut command = home.command(arguments);
    let output = avocet_supervise::run_blocking(move || command.output()).await.unwrap();
    ProgramOutput::from(output.unwrap())
}

async fn json(home: &Home, arguments: &[&str]) -> (Option<i32>, Value) {
    let ran = ran(home, &[arguments, &["--json"]].concat()).await;
    (ran.code, serde_json::from_str(&ran.out).unwrap())
}

/// Returns the worst check of this name in a section.
fn check<'a>(found: &'a Value, section: &str, name: &str) -> &'a Value {
    let checks = found[section].as_array().unwrap();
    let worst =
        |check: &&Value| ["good", "fair", "bad"].iter().position(|it| check["state"] == *it);
    let named = checks.iter().filter(|check| check["name"] == name);
    named.max_by_key(worst).unwrap_or_else(|| panic!("{section} {name}: {found}"))
}

fn provider(url: &str, more: &str) -> String {
    format!(
        "[providers.fake]\nkind = \"openai\"\nbase_url = \"{url}\"\nmax_retries = 0\n\
         api_key = \"${{FAKE_KEY}}\"\n[agents.defaults]\nmodel = \"fake/good\"\n{more}"
    )
}

fn home(url: &str, more: &str) -> Home {
    Home::new(program!()).with_config(&provider(url, more)).with("FAKE_KEY", KEY)
}

/// Returns a command in a shell without the daemon's secrets.
fn another_shell(home: &Home, arguments: &[&str]) -> std::process::Command {
    let mut command = home.command(arguments);
    command.env_remove("FAKE_KEY").env_remove("TELEGRAM").env_remove("DISCORD");
    command
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_of_a_working_provider_is_up_without_a_model_call() {
    let model =
        OpenAiFake::start_listing(&["good", "other"], |_| ModelAnswer::says("Hello.")).await;
    let home = home(&model.base_url(), "");
    let daemon = home.daemon();
    let (code, status) = json(&home, &["status"]).await;
    assert_eq!((code, &status["providers"][0]["fault"]), (Some(0), &Value::Null), "{status}");
    let (_, found) = json(&home, &["doctor"]).await;
    assert_eq!(check(&found, "providers", "fake/good")["state"], "good", "{found}");
    assert_eq!(model.requests().len(), 0, "nothing was paid for");
    let chat = AttachedChat::join(&home, "ann").await;
    chat.ask("hello").await;
    chat.reply().await;
    let shown = ran(&home, &["status"]).await;
    assert!(shown.out.contains("provider fake   up: last answer "), "{}", shown.out);
    stop(daemon).await;
}

/// Such a list says nothing about the key, but a request of the daemon does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_takes_an_answer_as_proof_of_the_key_if_the_list_of_models_is_public() {
    let says = |_: &Value| ModelAnswer::says("Hello.");
    let model = OpenAiFake::start_with_public_list(&["good", "other"], says).await;
    let home = home(&model.base_url(), "");
    let daemon = home.daemon();
    let (_, found) = json(&home, &["doctor"]).await;
    let unchecked = check(&found, "providers", "fake/good");
    assert_eq!(unchecked["state"], "fair", "{found}");
    assert!(unchecked["says"].as_str().unwrap().contains("its key is untested"), "{found}");
    let chat = AttachedChat::join(&home, "ann").await;
    chat.ask("hello").await;
    chat.reply().await;
    let (_, found) = json(&home, &["doctor"]).await;
    let proven = check(&found, "providers", "fake/good");
    assert_eq!(
        (&proven["state"], &proven["says"]),
        (&"good".into(), &"the key and the model are good".into())
    );
    stop(daemon).await;
}

/// A fault of a provider, and the reports about it.
struct Outage {
    config: String,
    key: &'static str,
    reason: &'static str,
    /// The doctor's finding before the first request; `None` if only a request reveals the fault.
    doctor: Option<&'static str>,
    fix: &'static str,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_of_a_failing_provider_is_down_in_status_doctor_and_log() {
    let good = OpenAiFake::start_listing(&["good"], |_| ModelAnswer::says("Hello.")).await;
    let quota = "{\"error\": {\"message\": \"You exceeded your current quota\", \"type\": \
                 \"insufficient_quota\", \"code\": \"insufficient_quota\"}}";
    let broke = OpenAiFake::start_listing(&["good"], move |_| {
        ModelAnswer::Status(429, vec![], quota.to_owned())
    })
    .await;
    let other = OpenAiFake::start_listing(&["goood", "x"], |_| {
        ModelAnswer::Status(404, vec![], "{\"error\": {\"message\": \"no such model\"}}".to_owned())
    })
    .await;
    let outages = [
        Outage {
            config: provider(&good.base_url(), ""),
            key: "sk-expired-1234567890",
            reason: "refused the key (401: Incorrect API key provided: [secret].)",
            doctor: Some("refused the key (401: Incorrect API key provided: [secret].)"),
            fix: "correct api_key in [providers.fake]",
        },
        Outage {
            config: provider("http://127.0.0.1:1/v1", ""),
            key: KEY,
            reason: "cannot be reached (Connection refused)",
            doctor: Some("cannot be reached (Connection refused)"),
            fix: "check base_url in [providers.fake], and that the server runs",
        },
        Outage {
            config: provider(&broke.base_url(), ""),
            key: KEY,
            reason: "You exceeded your current quota",
            doctor: None,
            fix: "avocet ask me hello --wait",
        },
        Outage {
            config: provider(&other.base_url(), ""),
            key: KEY,
            reason: "no such model",
            doctor: Some("there is no such model; did you mean goood?"),
            fix: "correct `model` in [agents]",
        },
    ];
    for outage in outages {
        check_outage(outage).await;
    }
}

/// Checks that an outage is in the doctor's findings, in the answers, in the status and in the log.
async fn check_outage(outage: Outage) {
    let Outage { config, key, reason, doctor, fix } = outage;
    let home = Home::new(program!()).with_config(&config).with("FAKE_KEY", key);
    let daemon = home.daemon();
    let (code, found) = json(&home, &["doctor"]).await;
    let before = check(&found, "providers", "fake/good");
    if let Some(doctor) = doctor {
        assert_eq!((code, &before["state"]), (DOWN, &"bad".into()), "{found}");
        assert!(before["says"].as_str().unwrap().contains(doctor), "{before}");
        assert!(before["fix"].as_str().unwrap().contains(fix), "{before}");
    }
    let chat = AttachedChat::join(&home, "ann").await;
    for _ in 0..5 {
        chat.ask("hello").await;
        assert!(chat.reply().await.text.contains(reason), "{reason}");
    }
    let (code, status) = json(&home, &["status"]).await;
    let provider = &status["providers"][0];
    assert_eq!(code, DOWN, "{status}");
    assert!(provider["fault"].as_str().unwrap().contains(reason), "{status}");
    assert_eq!(provider["requests"]["failure"]["in_a_row"], 5, "{status}");
    let shown = avocet_supervise::run_blocking({
        let mut command = another_shell(&home, &["status"]);
        move || command.output()
    });
    let shown = ProgramOutput::from(shown.await.unwrap().unwrap());
    assert!(shown.code == DOWN && shown.out.contains("provider fake   down: "), "{shown:?}");
    let (code, found) = json(&home, &["doctor"]).await;
    let after = check(&found, "providers", "fake/good");
    assert_eq!((code, &after["state"]), (DOWN, &"bad".into()), "{found}");
    assert!(after["fix"].as_str().unwrap().contains(fix), "{after}");
    let (_, log) = stop(daemon).await;
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("the turn failed")).collect();
    assert_eq!(lines.len(), 1, "one line, and the rest are counted: {log}");
    for part in [" WARN ", "terminal:local:ann", "model=\"fake/good\"", reason] {
        assert!(lines[0].contains(part), "{part}: {}", lines[0]);
    }
    assert!(!log.contains(key) && !shown.out.contains(key), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_of_a_provider_that_recovers_is_up() {
    let turns = std::sync::atomic::AtomicUsize::new(0);
    let model =
        OpenAiFake::start(move |_| match turns.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0..2 => ModelAnswer::Status(503, vec![], "{}".to_owned()),
            _ => ModelAnswer::says("Hello."),
        })
        .await;
    let home = home(&model.base_url(), "");
    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    for code in [DOWN, DOWN, Some(0)] {
        chat.ask("hello").await;
        chat.reply().await;
        assert_eq!(ran(&home, &["status"]).await.code, code);
    }
    let (_, status) = json(&home, &["status"]).await;
    let requests = &status["providers"][0]["requests"];
    assert!(
        requests["success"].is_number() && requests["failure"]["reason"].is_string(),
        "{status}"
    );
    let (_, log) = stop(daemon).await;
    assert!(log.contains("turns succeed again") && log.contains("repeated=1"), "{log}");
}

fn bots(telegram: &TelegramFake, discord: &DiscordFake) -> Home {
    telegram.set_now(now());
    discord.set_now(now());
    let config = format!(
        "[channels.telegram]\ntoken = \"${{TELEGRAM}}\"\napi_url = \"{}\"\nowners = [7]\n\
         [channels.discord]\ntoken = \"${{DISCORD}}\"\napi_url = \"{}\"\nowners = [7]\n",
        telegram.base_url(),
        discord.base_url()
    );
    Home::new(program!()).with_config(&config).with("TELEGRAM", TELEGRAM).with("DISCORD", DISCORD)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f36_doctor_names_the_fault_of_a_bot_and_the_fix() {
    let (telegram, discord) =
        tokio::join!(TelegramFake::start(TELEGRAM), DiscordFake::start(DISCORD));
    let home = bots(&telegram, &discord);
    // With a daemon, and without one in a shell with the secrets.
    for running in [false, true] {
        let daemon = running.then(|| home.daemon());
        let (_, found) = json(&home, &["doctor"]).await;
        for name in ["telegram:main", "discord:main"] {
            assert_eq!(check(&found, "channels", name)["state"], "good", "{found}");
        }
        telegram.set_webhook();
        discord.grant_message_content(false);
        let (code, found) = json(&home, &["doctor"]).await;
        assert_eq!(code, DOWN, "{found}");
        let (webhook, content) =
            (check(&found, "channels", "telegram:main"), check(&found, "channels", "discord:main"));
        assert!(
            webhook["says"].as_str().unwrap().contains("a webhook at hooks.example.org"),
            "{webhook}"
        );
        assert!(webhook["fix"].as_str().unwrap().contains("/deleteWebhook"), "{webhook}");
        assert!(content["says"].as_str().unwrap().contains("4014"), "{content}");
        assert!(content["fix"].as_str().unwrap().contains("Message Content Intent"), "{content}");
        discord.grant_message_content(true);
        telegram.revoke();
        discord.revoke();
        let (code, found) = json(&home, &["doctor"]).await;
        assert_eq!(code, DOWN, "{found}");
        for (name, where_from) in
            [("telegram:main", "@BotFather"), ("discord:main", "developer portal")]
        {
            let is_told = |check: &Value| {
                let has = |key: &str, words| check[key].as_str().unwrap().contains(words);
                check["name"] == name
                    && has("says", "does not know the token")
                    && has("fix", where_from)
            };
            assert!(found["channels"].as_array().unwrap().iter().any(is_told), "{found}");
        }
        let text = found.to_string();
        assert!(!text.contains(TELEGRAM) && !text.contains(DISCORD), "{text}");
        if let Some(daemon) = daemon {
            until("both channels down", async || {
                let (code, status) = json(&home, &["status"]).await;
                let channels = status["channels"].as_array().unwrap();
                let down = channels.iter().filter(|one| one["fault"].is_string()).count();
                code == DOWN && down == 2
            })
            .await;
            stop(daemon).await;
        }
        telegram.reinstate();
        discord.reinstate();
        telegram.unset_webhook();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_offline_makes_no_requests() {
    let (telegram, discord) =
        tokio::join!(TelegramFake::start(TELEGRAM), DiscordFake::start(DISCORD));
    let home = bots(&telegram, &discord);
    telegram.revoke();
    discord.revoke();
    let (_, found) = json(&home, &["doctor", "--offline"]).await;
    assert_eq!(found["channels"], serde_json::json!([]), "{found}");
    assert_eq!(telegram.refusals().len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_reports_missing_secrets_without_a_daemon() {
    let (telegram, discord) =
        tokio::join!(TelegramFake::start(TELEGRAM), DiscordFake::start(DISCORD));
    let home = bots(&telegram, &discord);
    let mut command = another_shell(&home, &["doctor", "--json"]);
    let output = avocet_supervise::run_blocking(move || command.output()).await.unwrap().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (name, variable) in [("telegram:main", "TELEGRAM"), ("discord:main", "DISCORD")] {
        let check = check(&found, "channels", name);
        assert_eq!(check["state"], "fair", "{check}");
        let says = format!("the environment variable {variable} is not set");
        assert!(check["says"].as_str().unwrap().contains(&says), "{check}");
    }
    assert_eq!(telegram.refusals().len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f36_doctor_names_a_context_that_is_too_small() {
    let model = OpenAiFake::start_listing(&["good"], |_| ModelAnswer::says("Hello.")).await;
    let home = home(&model.base_url(), "[models.\"fake/good\"]\ncontext = 4096\n");
    let (_, found) = json(&home, &["doctor"]).await;
    let check = check(&found, "providers", "fake/good");
    assert_eq!(check["state"], "fair", "{check}");
    assert!(check["says"].as_str().unwrap().contains("only 4,096 tokens"), "{check}");
    assert!(check["fix"].as_str().unwrap().contains("--ctx-size"), "{check}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_checks_each_key_of_a_provider_and_shows_none() {
    const BAD: &str = "sk-expired-1234567890";
    let model = OpenAiFake::start_listing(&["good"], |_| ModelAnswer::says("Hello.")).await;
    let config = provider(&model.base_url(), "")
        .replace("api_key = \"${FAKE_KEY}\"", "api_key = [\"${FAKE_KEY}\", \"${OTHER_KEY}\"]");
    for (first, second) in [(KEY, BAD), (BAD, KEY)] {
        let home = Home::new(program!()).with_config(&config);
        let home = home.with("FAKE_KEY", first).with("OTHER_KEY", second);
        let (code, found) = json(&home, &["doctor"]).await;
        assert_eq!(code, DOWN, "{found}");
        let checks = found["providers"].as_array().unwrap();
        for (place, key) in [(1, first), (2, second)] {
            let start = format!("key {place} of 2: ");
            let has_start = |check: &&Value| {
                check["name"] == "fake/good" && check["says"].as_str().unwrap().starts_with(&start)
            };
            let check = checks.iter().find(has_start).unwrap_or_else(|| panic!("{found}"));
            let (state, says) = match key {
                KEY => ("good", "the key and the model are good"),
                _ => ("bad", "refused the key (401"),
            };
            assert_eq!(check["state"], state, "{check}");
            assert!(check["says"].as_str().unwrap().contains(says), "{check}");
        }
        let shown = format!("{found}");
        assert!(!shown.contains(KEY) && !shown.contains(BAD), "{shown}");
    }
    assert_eq!(model.requests().len(), 0, "nothing was paid for");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dummy_key_of_a_few_letters_is_not_cut_out_of_the_log_and_errors() {
    let model = OpenAiFake::start(|_| ModelAnswer::says("Hello.")).await;
    let home = Home::new(program!()).with_config(&provider(&model.base_url(), ""));
    let home = home.with("FAKE_KEY", "good");
    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    chat.ask("hello").await;
    let reply = chat.reply().await.text;
    assert!(
        reply.contains("fake/good refused the key (401: Incorrect API key provided: good.)"),
        "{reply}"
    );
    let shown = ran(&home, &["doctor"]).await.out;
    let (_, log) = stop(daemon).await;
    assert!(log.contains("fake/good") && shown.contains("fake/good"), "{log}{shown}");
    assert!(!log.contains("[secret]") && !shown.contains("[secret]"), "{log}{shown}");
}
