//! Tests of turns that end without an answer: their notices, `/retry`, and the detection of turns
//! that kill the process.

use avocet_protocol::TurnRecord;

use super::*;

fn unreachable() -> Scripted {
    let (model, detail) = ("local/qwen".to_owned(), "connection refused".to_owned());
    Scripted::Error(ModelError::Unreachable { model, detail })
}

impl World {
    async fn settled(&self, message: MessageId) -> Outcome {
        loop {
            match self.outcome(message).await {
                Some(outcome) => return outcome,
                None => tokio::task::yield_now().await,
            }
        }
    }

    async fn transcript(&self, chat: &str) -> Vec<TurnRecord> {
        self.store.transcript(&session(chat), 99).await.unwrap()
    }
}

fn hanging() -> ScriptedModel {
    ScriptedModel::answering(|_| Scripted::Hang)
}

#[tokio::test]
async fn dropped_turn_gives_every_bound_message_its_outcome_and_names_them_all() {
    let permits = Arc::new(Semaphore::new(0));
    let gate = permits.clone();
    let mut world = World::new(ScriptedModel::answering(move |request| match last_said(request) {
        "go" => Scripted::When(gate.clone(), Box::new(Scripted::calls(&[("echo", json!({}))]))),
        _ => Scripted::Hang,
    }))
    .await;
    world.say("/queue steer").await;
    world.channel.texts(1).await;
    let mut ids = vec![world.say("go").await];
    world.asked(1).await;
    ids.extend([world.say("and this").await, world.say("and that").await]);
    permits.add_permits(1);
    world.asked(2).await;
    for _ in 0..2 {
        world = world.restart(hanging()).await;
        world.asked(1).await;
    }
    let world = world.restart(parrot()).await;
    let notice = "I dropped what you asked because I crashed 3 times while working on it: “go”, \
                  “and this”, “and that”. /retry tries it again.";
    assert_eq!(world.channel.texts(2).await[1], notice);
    for id in ids {
        assert_eq!(world.settled(id).await, Outcome::Dropped);
    }
}

#[tokio::test]
async fn error_notice_names_every_unanswered_message() {
    let setup = Setup { limits: LaneLimits::default(), ..Setup::default() };
    let burst = setup.limits.burst;
    let world = World::with(ScriptedModel::answering(|_| unreachable()), setup).await;
    world.say("/queue collect").await;
    world.channel.texts(1).await;
    let ids = [world.say("one").await, world.say("two").await];
    world.clock.sleeper_within(burst..=burst).await;
    world.clock.advance(burst);
    let reason = "I could not answer: local/qwen cannot be reached (connection refused).";
    let notice = format!("{reason} This concerns “one”, “two”. /retry tries it again.");
    assert_eq!(world.channel.texts(2).await[1], notice);
    for id in ids {
        assert_eq!(world.settled(id).await, Outcome::Error);
    }
}

#[tokio::test]
async fn retry_runs_the_last_failed_turn_again_once() {
    let answers = [unreachable(), Scripted::says("here you are")];
    let world = World::new(ScriptedModel::new(answers.into())).await;
    let asked = world.say("bring it").await;
    assert_eq!(world.settled(asked).await, Outcome::Error);
    world.say("/retry").await;
    let texts = world.channel.texts(3).await;
    assert_eq!(texts[1..], ["I run it again.", "here you are"]);
    assert_eq!(world.outcome(asked).await, Some(Outcome::Error), "what was recorded stays");
    let turns = world.transcript("a").await;
    let again = &turns[1].origin.messages()[0];
    assert_eq!(again.model_text(), "bring it");
    assert_eq!(world.settled(again.id).await, Outcome::Replied);

    world.say("/retry 2").await;
    let bad = world.channel.texts(4).await.remove(3);
    assert!(bad.contains("\"2\""), "{bad}");
    let once_more = world.say("/RETRY").await;
    assert_eq!(world.settled(once_more).await, Outcome::Replied);
    let nothing = world.channel.texts(5).await.remove(4);
    assert!(nothing.starts_with("There is nothing to run again"), "{nothing}");
    assert_eq!(world.transcript("a").await.len(), 2);
}

#[tokio::test]
async fn retry_refuses_a_turn_that_failed_more_than_a_day_ago() {
    let world = World::new(ScriptedModel::new(vec![unreachable()])).await;
    let asked = world.say("bring it").await;
    world.settled(asked).await;
    world.clock.advance(Duration::from_hours(25));
    world.say("/retry").await;
    let nothing = world.channel.texts(2).await.remove(1);
    assert!(nothing.starts_with("There is nothing to run again"), "{nothing}");
}

#[tokio::test]
async fn retry_absorbs_a_redelivery_of_the_retried_message() {
    let answers = [unreachable(), Scripted::says("here you are")];
    let world = World::new(ScriptedModel::new(answers.into())).await;
    let asked = world.say("bring it").await;
    world.settled(asked).await;
    world.say("/retry").await;
    world.channel.texts(3).await;
    let again = world.say_in("a", "bring it").await;
    assert_eq!(again.what, avocet_protocol::AcceptedAs::Duplicate);
}

#[test]
fn is_poison_requires_deaths_while_the_turn_ran_alone() {
    let table = [
        (1, 1, false),
        (2, 2, false),
        (3, 0, false),
        (3, 1, false),
        (3, 2, true),
        (3, 3, true),
        (9, 0, false),
        (9, 1, false),
        (9, 2, true),
    ];
    for (deaths, alone, poison) in table {
        assert_eq!(crate::lane::is_poison(deaths, alone), poison, "{deaths} deaths, {alone} alone");
    }
}

#[tokio::test]
async fn run_suspect_runs_a_turn_alone_after_two_deaths() {
    let boom_hangs = || {
        ScriptedModel::answering(|request| match last_said(request) {
            "boom" => Scripted::Hang,
            text => Scripted::says(text),
        })
    };
    let world = World::new(hanging()).await;
    world.say_in("poison", "boom").await;
    world.asked(1).await;

    let world = world.restart(boom_hangs()).await;
    world.asked(1).await;
    let beside = world.say_in("beside", "after one death").await.id;
    assert_eq!(world.settled(beside).await, Outcome::Replied);

    let world = world.restart(boom_hangs()).await;
    world.asked(1).await;
    let later = world.say_in("beside", "after two deaths").await.id;
    while world.sessions.lanes.busy() < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.model.requests().len(), 1, "only the suspect runs");
    assert_eq!(world.outcome(later).await, None);
    world.say_in("poison", "/stop").await;
    assert_eq!(world.settled(later).await, Outcome::Replied);
}
