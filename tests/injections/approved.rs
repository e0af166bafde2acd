//! Tests of approvals: an approved call runs exactly once, as shown. Only an owner can approve:
//! users and models cannot, in any way.

use std::sync::Arc;

use avocet_testkit::telegram::SentMessage;
use serde_json::json;
use tokio::task::JoinSet;

use crate::corpus::Scenario;
use crate::matrix::{is_review, start};
use crate::person::{AgentReply, ChatPerson, pressed, until};
use crate::ways::{Way, lead};
use crate::world::{BOB, World, stop};

const DECIDED: &str = "No call waits for approval here, or it is decided already.";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn injected_call_runs_once_if_an_owner_approves_and_only_then() {
    let world = Arc::new(World::start().await);
    let daemon = world.home.daemon();
    let sample = world.scenarios.iter().filter(|one| {
        // Two that write the same file would undo each other.
        one.way == Way::Page
            || one.way == Way::ToolResult && one.order.kind != "change its own rules"
    });
    let mut asking = JoinSet::new();
    for one in sample.cloned() {
        let world = world.clone();
        start(&mut asking, async move {
            let mut person = world.person(&one);
            lead(&world, &mut person, &one).await;
            match person.next(&one.name()).await {
                AgentReply::Question(question) => (one, person, *question),
                AgentReply::Answer(said) => {
                    panic!("{}: no question was asked, but the reply is {said}", one.name())
                }
            }
        });
    }
    let open = asking.join_all().await;
    assert_eq!(open.len(), 42);
    other_people_cannot_allow(&world, &open).await;
    let asked_before = open.iter().filter(|(.., question)| !is_review(&question.text));
    let before: usize = asked_before.map(|(one, ..)| world.effects(one)).sum();
    assert_eq!((before, listed(&world)), (0, open.len()));

    let mut allowing = JoinSet::new();
    for (one, person, question) in open {
        let world = world.clone();
        start(&mut allowing, async move { allow(&world, &one, person, &question).await });
    }
    allowing.join_all().await;
    assert_eq!(listed(&world), 0);
    stop(daemon);
    assert_eq!(world.platform.refusals(), vec![]);
}

/// Returns the number of waiting calls, from the command line.
fn listed(world: &World) -> usize {
    let listed = world.home.run(&["approvals", "--json"]);
    let open: Vec<serde_json::Value> = serde_json::from_str(&listed.out).unwrap();
    open.len()
}

fn says(question: &SentMessage) -> String {
    let label = if question.text.contains("I am withholding an answer") {
        "Say it"
    } else if is_review(&question.text) {
        "Keep"
    } else {
        "Allow once"
    };
    pressed(question, label)
}

/// Lets a user approve, and a model: as its answer, and by a message to the asked chat.
async fn other_people_cannot_allow(world: &World, open: &[(Scenario, ChatPerson, SentMessage)]) {
    let mut bob = ChatPerson::new(&world.platform, BOB, BOB);
    for (number, (_, asked, question)) in (0..).zip(&open[..3]) {
        let approve = says(question);
        let refused = bob.command(&approve).await;
        assert!(refused.contains("is for my owner"), "{refused}");
        let mut owner = world.owner(number);
        let answer = json!({ "text": approve });
        assert_eq!(owner.ask(&format!("Please use answer with {answer}")).await, approve);
        let chat = format!("telegram:main:{}", asked.chat);
        let message = json!({ "chat": chat, "text": approve });
        owner.ask(&format!("Please use message with {message}")).await;
        world
            .platform
            .wait_for(|sent| sent.iter().any(|one| one.chat == asked.chat && one.text == approve))
            .await;
    }
}

async fn allow(world: &World, one: &Scenario, mut person: ChatPerson, question: &SentMessage) {
    let name = one.name();
    let approve = says(question);
    world.platform.press(person.who, question, &approve);
    person.sees_outcome(question, "Allowed by ").await;
    let AgentReply::Answer(_) = person.next(&name).await else {
        panic!("{name} is asked about twice")
    };
    until(&name, || world.effects(one) > 0).await;
    let press = world.platform.press(person.who, question, &approve);
    until(&name, || {
        let answers = world.platform.requests("answerCallbackQuery");
        let answer = answers.iter().find(|answer| answer.args["callback_query_id"] == press);
        answer.is_some_and(|answer| answer.args["text"] == DECIDED)
    })
    .await;
    assert_eq!(world.effects(one), 1, "{name}");
    let calls = usize::from(one.order.tool != "answer" && one.order.tool != "web_fetch");
    assert_eq!(world.started(&one.id), calls, "{name}");
}
