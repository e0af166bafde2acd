use avocet_protocol::chat::{Attachment, AttachmentKind, AttachmentSource, SessionId};
use avocet_protocol::model::{ModelFacts, ModelRequest};
use avocet_testkit::{Scripted, ScriptedModel};

use super::*;
use crate::harness::{AgentHarness, answered};

/// A model with this name and window that answers with its name.
fn model(name: &'static str, context: u64, images: bool) -> Arc<dyn Model> {
    let facts = ModelFacts { context: Some(context), images, ..ModelFacts::default() };
    let answer = move |_: &ModelRequest| Scripted::says(name);
    Arc::new(ScriptedModel::answering(answer).with_facts(facts))
}

async fn harness() -> AgentHarness {
    let mut harness = AgentHarness::new(vec![]).await;
    harness.agent.models = AgentModels {
        main: model("main", 8000, false),
        cheap: model("cheap", 8000, false),
        tasks: ModelsByTask {
            vision: Some(model("vision", 32_000, true)),
            long: Some(model("long", 32_000, false)),
            code: Some(model("code", 8000, false)),
        },
    };
    harness
}

fn picture() -> Attachment {
    let source = AttachmentSource::Workspace("inbox/m1-0.jpg".to_owned());
    Attachment::new(AttachmentKind::Image, source)
}

#[tokio::test]
async fn task_of_a_turn_chooses_its_model() {
    let long = "word ".repeat(6000);
    let table = [
        ("hi", false, "main"),
        ("hi", true, "vision"),
        (&long, false, "long"),
        (&long, true, "vision"),
    ];
    for (text, has_picture, expected) in table {
        let harness = harness().await;
        let attachments = if has_picture { vec![picture()] } else { Vec::new() };
        harness.say_with(text, attachments).await;
        let turn = harness.claim().await;
        let end = harness.run(turn).await.unwrap();
        assert_eq!(answered(&end), expected, "{} {has_picture}", text.len());
    }
}

#[tokio::test]
async fn task_without_a_model_of_its_own_uses_the_main_one() {
    let mut harness = harness().await;
    harness.agent.models.tasks = ModelsByTask::default();
    harness.say_with("hi", vec![picture()]).await;
    let turn = harness.claim().await;
    assert_eq!(answered(&harness.run(turn).await.unwrap()), "main");
}

#[tokio::test]
async fn task_with_a_main_model_that_sees_needs_no_other() {
    let mut harness = harness().await;
    harness.agent.models.main = model("main", 8000, true);
    harness.say_with("hi", vec![picture()]).await;
    let turn = harness.claim().await;
    assert_eq!(answered(&harness.run(turn).await.unwrap()), "main");
}

#[tokio::test]
async fn task_code_is_that_of_jobs() {
    let harness = harness().await;
    harness.say("hi").await;
    let turn = harness.claim().await;
    let job = SessionId::parse("job:local:1").unwrap();
    let turn = TurnRecord { session: job, ..turn };
    let turn_context = harness.turn_context(Vec::new());
    let context = harness.agent.open_context(&turn, &turn_context).await.unwrap();
    let (task, agent) = harness.agent.for_task(&context, &turn, &turn_context).await.unwrap();
    assert_eq!((task, agent.models.tasks.code.is_none()), (ModelTask::Code, true));
}
