//! Tests of the model for a conversation, chosen by its agent or with `/model`, and of its
//! workspace.

use std::fs;

use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_user_text};
use avocet_tests::{Home, program};
use serde_json::json;

use crate::chat::AttachedChat;
use crate::patience::{stop, until};

/// A model that replies with its name and the last message.
async fn parrot(name: &'static str) -> OpenAiFake {
    OpenAiFake::start(move |request| {
        ModelAnswer::says(format!("{name}: {}", last_user_text(request)))
    })
    .await
}

/// Creates a home with two providers, the first of which answers by default.
fn home(one: &OpenAiFake, two: &OpenAiFake, more: &str) -> Home {
    let provider = |name: &str, model: &OpenAiFake| {
        format!("[providers.{name}]\nkind = \"openai\"\nbase_url = \"{}\"\n", model.base_url())
    };
    Home::new(program!()).with_config(&format!(
        "[models.\"one/*\"]\ncontext = 65_536\n{}{}[agents.defaults]\nmodel = \"one/small\"\n{more}",
        provider("one", one),
        provider("two", two)
    ))
}

async fn answer(chat: &AttachedChat, text: &str) -> String {
    chat.ask(text).await;
    chat.reply().await.text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn model_command_selects_a_model_across_restarts_until_reset() {
    let (one, two) = tokio::join!(parrot("one"), parrot("two"));
    let home = home(&one, &two, "[models.\"two/*\"]\ncontext = 32_000\n[models.\"two/big\"]\n");
    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    assert_eq!(answer(&chat, "hi").await, "one: hi");
    let shown = answer(&chat, "/model").await;
    assert!(shown.starts_with("one/small answers here, set by the configuration."), "{shown}");
    assert!(shown.contains("two/big: 32 thousand tokens, price unknown"), "{shown}");
    let refused = answer(&chat, "/model three/x").await;
    assert!(refused.contains("there are offline, one, two"), "{refused}");
    let chosen = answer(&chat, "/model two/big").await;
    assert!(chosen.starts_with("two/big answers here from now on"), "{chosen}");
    assert_eq!(answer(&chat, "and now?").await, "two: and now?");
    assert_eq!(two.requests()[0]["model"], "big");
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");

    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    assert_eq!(answer(&chat, "still you?").await, "two: still you?");
    let other = AttachedChat::join(&home, "bob").await;
    assert_eq!(answer(&other, "and here?").await, "one: and here?");
    let back = answer(&chat, "/model default").await;
    assert!(back.starts_with("one/small answers here again"), "{back}");
    assert_eq!(answer(&chat, "hello").await, "one: hello");
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn model_command_with_a_removed_provider_falls_back_with_a_warning() {
    let (one, two) = tokio::join!(parrot("one"), parrot("two"));
    let home = home(&one, &two, "");
    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    answer(&chat, "/model two/big").await;
    stop(daemon).await;
    let config = fs::read_to_string(home.path(".config/avocet/config.toml")).unwrap();
    let home = home.with_config(&config.replace("[providers.two]", "[providers.three]"));
    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    assert_eq!(answer(&chat, "hi").await, "one: hi");
    let (status, log) = stop(daemon).await;
    assert!(status.success() && log.contains("the chosen model is gone"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agent_uses_its_model_and_workspace_in_its_sessions() {
    let two = OpenAiFake::start(|request| {
        if request["messages"].to_string().contains("who.txt") {
            ModelAnswer::says("two has written it")
        } else {
            ModelAnswer::call("write_file", json!({ "path": "who.txt", "content": "two" }))
        }
    });
    let (one, two) = tokio::join!(parrot("one"), two);
    let more = "[agents.work]\nmodel = \"two/big\"\nworkspace = \"work\"\n\
        sessions = [\"terminal:local:work-*\"]\n";
    let home = home(&one, &two, more);
    let daemon = home.daemon();
    let (at_work, elsewhere) =
        tokio::join!(AttachedChat::join(&home, "work-ann"), AttachedChat::join(&home, "ann"));
    assert_eq!(answer(&at_work, "who are you? write it down").await, "two has written it");
    assert_eq!(answer(&elsewhere, "hi").await, "one: hi");
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    let written = home.path(".config/avocet/work/who.txt");
    assert_eq!(fs::read_to_string(written).unwrap(), "two");
    assert!(!home.workspace().join("who.txt").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_window_of_a_model_is_told_to_the_operator_and_to_no_chat() {
    let model = OpenAiFake::start(|_| ModelAnswer::says("At your service.")).await;
    let config = |more: &str| {
        let url = model.base_url();
        format!(
            "[providers.fake]\nkind = \"openai\"\nbase_url = \"{url}\"\n[agents.defaults]\n\
             model = \"fake/nobody-knows\"\n{more}"
        )
    };
    let is_unknown = "the window of this model is unknown";
    let known = "[models.\"fake/*\"]\ncontext = 32_000\n";
    let mut home = Home::new(program!());
    let known = format!("{known}price = {{ input = 1.0, output = 2.0 }}\n");
    for (more, is_told) in [("", true), (&*known, false)] {
        home = home.with_config(&config(more));
        let daemon = home.daemon();
        let chat = AttachedChat::join(&home, "ann").await;
        for text in ["one", "two"] {
            chat.ask(text).await;
            assert_eq!(chat.reply().await.text, "At your service.");
        }
        let sentence = "the window and the price of fake/nobody-knows are unknown";
        let is_shown = || home.run(&["status"]).out.contains(sentence);
        until("the warning in the status", async || is_shown() == is_told).await;
        let (_, log) = stop(daemon).await;
        assert_eq!(log.contains(is_unknown), is_told, "{log}");
    }
}
