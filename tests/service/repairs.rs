//! Tests the program with models that need the state of their earlier answers back, and with
//! conversations whose log lacks it.

use avocet_testkit::openai::{Insists, InsistsOnState, ModelAnswer, OpenAiFake, last_user_text};
use avocet_tests::{Home, program};
use serde_json::Value;

use crate::chat::AttachedChat;
use crate::log::change;
use crate::patience::stop;

/// The requirements of servers, each with an answer whose state they want back.
const SERVERS: [(InsistsOnState, &str); 3] = [
    (InsistsOnState::Reasoning, REASONING),
    (InsistsOnState::ReasoningText, REASONING),
    (InsistsOnState::Signatures, SIGNATURE),
];
const REASONING: &str =
    include_str!("../../crates/llm/testdata/openai_state/reasoning-not-returned.sse");
const SIGNATURE: &str =
    include_str!("../../crates/llm/testdata/openai_state/thought-signature-dropped.sse");

/// Calls a tool first, and greets later.
async fn start(on: InsistsOnState, stream: &'static str) -> OpenAiFake {
    let answer = move |request: &Value| match last_user_text(request) {
        "hi" => ModelAnswer::says("Hello."),
        _ if request["messages"].as_array().unwrap().last().unwrap()["role"] == "tool" => {
            ModelAnswer::says("I have looked.")
        }
        _ => ModelAnswer::Events(vec![stream.to_owned()]),
    };
    OpenAiFake::start_insisting(Insists::State(on), answer).await
}

fn home(model: &OpenAiFake) -> Home {
    let url = model.base_url();
    Home::new(program!()).with_config(&format!(
        "[providers.fake]\nkind = \"openai\"\nbase_url = \"{url}\"\n[agents.defaults]\n\
         model = \"fake/m\"\n"
    ))
}

async fn answer(chat: &AttachedChat, text: &str) -> String {
    chat.ask(text).await;
    chat.reply().await.text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn state_of_an_answer_with_a_call_goes_back_in_its_turn_and_later() {
    for (on, stream) in SERVERS {
        let model = start(on, stream).await;
        let home = home(&model);
        let daemon = home.daemon();
        let chat = AttachedChat::join(&home, "ann").await;
        assert_eq!(answer(&chat, "What is here?").await, "I have looked.", "{on:?}");
        assert_eq!(answer(&chat, "hi").await, "Hello.", "{on:?}");
        let (status, log) = stop(daemon).await;
        assert!(status.success(), "{log}");
        assert_eq!(model.refusals(), [""; 0], "{on:?}");
        assert_eq!(model.requests().len(), 3, "{on:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repair_of_a_conversation_that_was_logged_without_state_takes_one_more_request() {
    for (on, stream) in SERVERS {
        let model = start(on, stream).await;
        let home = home(&model);
        let daemon = home.daemon();
        let chat = AttachedChat::join(&home, "ann").await;
        assert_eq!(answer(&chat, "What is here?").await, "I have looked.", "{on:?}");
        stop(daemon).await;
        // The version before did not keep the state.
        change(&home, "UPDATE steps SET reasoning = NULL WHERE reasoning IS NOT NULL");

        let daemon = home.daemon();
        let chat = AttachedChat::join(&home, "ann").await;
        for _ in 0..2 {
            assert_eq!(answer(&chat, "hi").await, "Hello.", "{on:?}");
        }
        let (status, log) = stop(daemon).await;
        assert!(status.success(), "{log}");
        assert!(log.contains("the request was refused; asking once more"), "{log}");
        assert_eq!(model.refusals().len(), 1, "{on:?}: {:?}", model.refusals());
        assert_eq!(model.requests().len(), 4, "{on:?}: two steps, and two greetings");
    }
}
