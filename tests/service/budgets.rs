//! Tests of budgets and recorded costs in the real program, across a restart.

use avocet_testkit::openai::{ModelAnswer, OpenAiFake};
use avocet_tests::{Home, program};
use serde_json::Value;

use crate::chat::AttachedChat;
use crate::model::config;
use crate::patience::stop;

/// A model that answers everything, at twelve tokens read and three written.
async fn model() -> OpenAiFake {
    OpenAiFake::start(|_| ModelAnswer::says("At your service.")).await
}

fn printed(home: &Home, arguments: &[&str]) -> String {
    let ran = home.run(arguments);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{arguments:?}");
    ran.out
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn budget_holds_across_a_restart_and_usage_shows_the_spending() {
    let model = model().await;
    let budgets = "[budgets]\nsession_tokens = 30\n";
    let home = Home::new(program!()).with_config(&config(&model, budgets));
    assert_eq!(printed(&home, &["usage"]), "No costs in the last 30 days.\n");
    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    for _ in 0..2 {
        chat.ask("hello").await;
        assert_eq!(chat.reply().await.text, "At your service.");
    }
    let usage = ["usage", "--json"];
    let running: Value = serde_json::from_str(&printed(&home, &usage)).unwrap();
    let (_, log) = stop(daemon).await;
    assert!(!log.contains("price"), "no budget uses a price: {log}");
    let stopped: Value = serde_json::from_str(&printed(&home, &usage)).unwrap();
    assert_eq!(stopped["rows"], running["rows"]);
    let row = &stopped["rows"][0];
    assert_eq!((&row["model"], &row["answers"]), (&"fake/fake".into(), &2.into()));
    assert_eq!((&row["input"], &row["output"]), (&24.into(), &6.into()));
    assert_eq!((&row["cost_usd"], &row["unpriced_tokens"]), (&Value::Null, &30.into()));
    let table = printed(&home, &["usage", "--by", "session"]);
    assert!(table.contains("terminal:local:ann") && table.contains("price unknown"), "{table}");

    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    chat.ask("hello").await;
    assert_eq!(
        chat.reply().await.text,
        "The budget of this conversation is spent: 30 of 30 tokens. It starts again with /new; \
         budgets.session_tokens raises it. /retry tries it again."
    );
    assert_eq!(model.requests().len(), 2, "the model is not asked");
    chat.ask("/new").await;
    chat.reply().await;
    chat.ask("hello").await;
    assert_eq!(chat.reply().await.text, "At your service.");
    stop(daemon).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn budget_in_dollars_warns_of_models_without_a_known_price() {
    let model = model().await;
    let text = config(&model, "fallbacks = [\"offline/commands\"]\n[budgets]\nday_usd = 10\n");
    let home = Home::new(program!()).with_config(&text);
    let mut daemon = home.spawn(&["run"]);
    let warning = daemon.wait_for("price");
    assert!(warning.contains("WARN") && warning.contains("budgets.day_usd"), "{warning}");
    assert!(warning.contains("\"fake/fake\""), "that one alone: {warning}");
    daemon.kill();
}
