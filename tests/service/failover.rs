//! Tests of a model that fails, and the next one that answers.

use avocet_testkit::openai::{ModelAnswer, OpenAiFake, delta_event, last_user_text};
use avocet_tests::{Home, program};
use serde_json::{Value, json};

use crate::chat::AttachedChat;
use crate::patience::stop;

/// Configures a model and its fallback, both without retries.
fn config(first: &OpenAiFake, second: &OpenAiFake) -> String {
    let provider = |name: &str, model: &OpenAiFake| {
        let url = model.base_url();
        format!(
            "[models.\"{name}/*\"]\ncontext = 65_536\n[providers.{name}]\nkind = \"openai\"\n\
             base_url = \"{url}\"\nmax_retries = 0\n"
        )
    };
    let agent = "[agents.defaults]\nmodel = \"one/fake\"\nfallbacks = [\"two/fake\"]\n";
    format!("{}{}{agent}", provider("one", first), provider("two", second))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f31_failover_answers_with_the_next_model_and_cools_down_the_first() {
    let busy = OpenAiFake::start(|_| {
        let asked = vec![("retry-after", "3600".to_owned())];
        ModelAnswer::Status(429, asked, "{}".to_owned())
    });
    let (first, second) = tokio::join!(
        busy,
        OpenAiFake::start(|request| ModelAnswer::says(format!(
            "You said {}",
            last_user_text(request)
        )))
    );
    let home = Home::new(program!()).with_config(&config(&first, &second));
    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    for text in ["hello", "again"] {
        chat.ask(text).await;
        assert_eq!(chat.reply().await.text, format!("You said {text}"));
    }
    let (status, log) = stop(daemon).await;
    assert!(status.success() && log.contains("asking another model"), "{log}");
    assert_eq!((first.requests().len(), second.requests().len()), (1, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failover_counts_the_usage_of_a_model_that_broke_off() {
    let half = || ModelAnswer::Events(vec![delta_event(&json!({ "content": "so far" }), None)]);
    let (first, second) = tokio::join!(
        OpenAiFake::start(move |_| half()),
        OpenAiFake::start(|_| ModelAnswer::says("so good"))
    );
    let home = Home::new(program!()).with_config(&config(&first, &second));
    let daemon = home.daemon();
    let chat = AttachedChat::join(&home, "ann").await;
    chat.ask("hello").await;
    assert_eq!(chat.reply().await.text, "so good");
    stop(daemon).await;
    let usage: Value = serde_json::from_str(&home.run(&["usage", "--json"]).out).unwrap();
    let rows = usage["rows"].as_array().unwrap();
    let one = rows.iter().find(|row| row["model"] == "one/fake").unwrap();
    assert!(one["input"].as_u64() > Some(100) && one["output"] == 1, "{usage}");
}
