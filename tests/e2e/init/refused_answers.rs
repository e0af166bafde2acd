//! Answers to `avocet init` that are neither sent nor shown, and a second provider.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use avocet_testkit::discord::DiscordFake;
use avocet_testkit::openai::{KEY, ModelAnswer, OpenAiFake, last_user_text};
use avocet_tests::{Home, program};

use super::{
    ASKS_DAEMON, ASKS_KEY, ASKS_TOKEN, FirstRun, LAST_LINE, NO_SERVERS, TOKEN, answer,
    assert_fails_after_output, assert_nothing_written, open, text,
};
use crate::support::run;

const ASKS_PROVIDER: &str = "Provider of the key";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn init_sends_only_tokens_to_the_platforms() {
    let discord = DiscordFake::start("MTIz.secret.token").await;
    let url = discord.base_url();
    let home = Home::new(program!());
    let arguments = ["init", "--discord-api-url", &url, "--local-ports", NO_SERVERS];
    let mut terminal = open(&home, &arguments);
    answer(&mut terminal, ASKS_KEY, "");
    let without_number = TOKEN.split(':').next_back().unwrap();
    for given in ["hello", without_number, "4711:AA", "www.example.com"] {
        answer(&mut terminal, ASKS_TOKEN, given);
        terminal
            .wait_for(&format!("({} characters)\nThat is neither a Telegram token", given.len()));
    }
    terminal.wait_for("Nothing was sent.");
    assert!(!terminal.all().contains("Asking"), "{}", terminal.all());
    answer(&mut terminal, ASKS_TOKEN, "MTIz.secret.token");
    terminal.wait_for("Asking Discord about the bot...");
    terminal.wait_for("owns the application.");
    assert_eq!(terminal.leave("\x03"), Some(1));
    assert_nothing_written(&home);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn init_takes_no_secret_for_a_name_and_does_not_show_it() {
    let home = Home::new(program!());
    let mut terminal = open(&home, &["init", "--local-ports", NO_SERVERS]);
    answer(&mut terminal, ASKS_KEY, TOKEN);
    terminal.wait_for("That looks like the token of a bot, which comes after the model.");
    answer(&mut terminal, ASKS_KEY, "unknown-key");
    answer(&mut terminal, ASKS_PROVIDER, TOKEN);
    terminal.wait_for("The token of the bot comes after the model.");
    terminal.wait_for("Enter: another key): (hidden)");
    assert!(!terminal.shown().contains("secret"), "{}", terminal.shown());
    answer(&mut terminal, ASKS_PROVIDER, "opnai");
    terminal.wait_for("there is no provider \"opnai\"; did you mean openai?");
    answer(&mut terminal, ASKS_PROVIDER, "");
    answer(&mut terminal, ASKS_KEY, "");
    terminal.wait_for("Without a provider");
    assert_eq!(terminal.leave("\x03"), Some(1));
}

/// A provider that refuses its newest model.
async fn with_refused_model() -> OpenAiFake {
    OpenAiFake::start_listing(&["gpt-5.1", "gpt-5", "whisper-1"], |request| {
        if request["model"] == "gpt-5.1" {
            let body = r#"{"error": {"message": "Verify your organization to use it."}}"#;
            return ModelAnswer::Status(400, vec![], body.to_owned());
        }
        ModelAnswer::says("ok")
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn init_tests_the_model_and_asks_again_after_a_refusal() {
    let fake = with_refused_model().await;
    let url = fake.base_url();
    let home = Home::new(program!());
    let mut terminal = open(&home, &["init", "--base-url", &url]);
    answer(&mut terminal, ASKS_KEY, KEY);
    answer(&mut terminal, "Enter: gpt-5.1):", "");
    terminal.wait_for("openai refuses gpt-5.1: ");
    terminal
        .wait_for("Verify your organization to use it. Choose another model, or this one again");
    answer(&mut terminal, "Model (a number", "gpt-5");
    terminal.wait_for("Testing gpt-5 with a short question...\nThe model is openai/gpt-5.\n");
    answer(&mut terminal, ASKS_TOKEN, "");
    answer(&mut terminal, ASKS_DAEMON, "n");
    terminal.wait_for(LAST_LINE);
    assert_eq!(terminal.leave(""), Some(0));
    let requests = fake.requests();
    assert_eq!((requests.len(), &requests[1]["model"]), (2, &"gpt-5".into()));
    assert_eq!(last_user_text(&requests[1]), "Say ok");
    assert_eq!(fake.refusals(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn init_takes_a_refused_model_that_is_chosen_again_and_fails_without_a_terminal() {
    let fake = with_refused_model().await;
    let url = fake.base_url();
    let home = Home::new(program!());
    fs::write(home.path("key"), KEY).unwrap();
    let ran = run(&home, &["init", "--base-url", &url, "--api-key-file", "key"]);
    assert_fails_after_output(&ran, 1, "to use it; nothing was written");
    assert_nothing_written(&home);
    let mut terminal = open(&home, &["init", "--base-url", &url, "--api-key-file", "key"]);
    answer(&mut terminal, "Enter: gpt-5.1):", "");
    terminal.wait_for("or this one again to keep it.");
    answer(&mut terminal, "Enter: gpt-5.1):", "");
    terminal.wait_for("The model is openai/gpt-5.1.");
    assert_eq!(terminal.leave("\x03"), Some(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn init_makes_the_model_of_a_second_provider_a_fallback() {
    let run_of = FirstRun::new().await;
    let [model, _] = &run_of.addresses;
    let before = format!(
        "[providers.local]\nkind = \"openai\"\nbase_url = {model:?}\n\n[agents.defaults]\nmodel = \
         \"local/gpt-5\"\n"
    );
    let home = run_of.home.with_config(&before);
    let file = home.path(".config/avocet/config.toml");
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    let mut terminal = open(&home, &["init", "--local-ports", NO_SERVERS, "--base-url", model]);
    answer(&mut terminal, ASKS_KEY, KEY);
    answer(&mut terminal, "Model (a number", TOKEN);
    terminal.wait_for("The token of the bot comes next.");
    answer(&mut terminal, "Model (a number", "gpt-5.1");
    terminal.wait_for("The model stays local/gpt-5, and openai/gpt-5.1 answers if it fails.");
    answer(&mut terminal, ASKS_DAEMON, "n");
    terminal.wait_for(LAST_LINE);
    assert_eq!(terminal.leave(""), Some(0));
    let after = text(&home);
    assert!(after.contains("\"local/gpt-5\"\nfallbacks = [\"openai/gpt-5.1\"]\n"), "{after}");
    assert_eq!(run(&home, &["config", "check"]).code, Some(0));
}
