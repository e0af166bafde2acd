//! Tests of turns that end without an answer: their notices, `/retry`, and the detection of turns
//! that kill the process.

use avocet_protocol::bus::Publish;
use avocet_protocol::turn::TurnRecord;

use super::people::household;
use super::*;

fn unreachable() -> Scripted {
    let (model, detail) = ("local/qwen".to_owned(), "connection refused".to_owned());
    Scripted::Error(ModelError::Unreachable { model, detail: detail.into() })
}

impl SessionHarness {
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
    let mut harness =
        SessionHarness::new(ScriptedModel::answering(move |request| match last_said(request) {
            "go" => Scripted::When(gate.clone(), Box::new(Scripted::calls(&[("echo", json!({}))]))),
            _ => Scripted::Hang,
        }))
        .await;
    harness.say("/queue steer").await;
    harness.channel.texts(1).await;
    let mut ids = vec![harness.say("go").await];
    harness.asked(1).await;
    ids.extend([harness.say("and this").await, harness.say("and that").await]);
    permits.add_permits(1);
    harness.asked(2).await;
    for _ in 0..2 {
        harness = harness.restart(hanging()).await;
        harness.asked(1).await;
    }
    let harness = harness.restart(parrot()).await;
    let notice = "I dropped what you asked because I crashed 3 times while working on it: “go”, \
                  “and this”, “and that”. /retry tries it again.";
    assert_eq!(harness.channel.texts(2).await[1], notice);
    for id in ids {
        assert_eq!(harness.settled(id).await, Outcome::Dropped);
    }
}

#[tokio::test]
async fn error_notice_names_every_unanswered_message() {
    let setup = Setup { limits: LaneLimits::default(), ..Setup::default() };
    let burst = setup.limits.burst;
    let harness = SessionHarness::with(ScriptedModel::answering(|_| unreachable()), setup).await;
    harness.say("/queue collect").await;
    harness.channel.texts(1).await;
    let ids = [harness.say("one").await, harness.say("two").await];
    harness.clock.sleeper_within(burst..=burst).await;
    harness.clock.advance(burst);
    let reason = "I could not answer: local/qwen cannot be reached (connection refused).";
    let notice = format!("{reason} This concerns “one”, “two”. /retry tries it again.");
    assert_eq!(harness.channel.texts(2).await[1], notice);
    for id in ids {
        assert_eq!(harness.settled(id).await, Outcome::Error);
    }
}

#[tokio::test]
async fn retry_runs_the_last_failed_turn_again_once() {
    let answers = [unreachable(), Scripted::says("here you are")];
    let harness = SessionHarness::new(ScriptedModel::new(answers.into())).await;
    let asked = harness.say("bring it").await;
    assert_eq!(harness.settled(asked).await, Outcome::Error);
    harness.say("/retry").await;
    let texts = harness.channel.texts(3).await;
    assert_eq!(texts[1..], ["I am running it again.", "here you are"]);
    assert_eq!(harness.outcome(asked).await, Some(Outcome::Error), "what was recorded stays");
    let turns = harness.transcript("a").await;
    let again = &turns[1].origin.messages()[0];
    assert_eq!(again.model_text(), "bring it");
    assert_eq!(harness.settled(again.id).await, Outcome::Replied);

    harness.say("/retry 2").await;
    let bad = harness.channel.texts(4).await.remove(3);
    assert!(bad.contains("\"2\""), "{bad}");
    let once_more = harness.say("/RETRY").await;
    assert_eq!(harness.settled(once_more).await, Outcome::Replied);
    let nothing = harness.channel.texts(5).await.remove(4);
    assert!(nothing.starts_with("There is nothing to repeat"), "{nothing}");
    assert_eq!(harness.transcript("a").await.len(), 2);
}

#[tokio::test]
async fn retry_refuses_a_turn_that_failed_more_than_a_day_ago() {
    let harness = SessionHarness::new(ScriptedModel::new(vec![unreachable()])).await;
    let asked = harness.say("bring it").await;
    harness.settled(asked).await;
    harness.clock.advance(Duration::from_hours(25));
    harness.say("/retry").await;
    let nothing = harness.channel.texts(2).await.remove(1);
    assert!(nothing.starts_with("There is nothing to repeat"), "{nothing}");
}

#[tokio::test]
async fn retry_absorbs_a_redelivery_of_the_retried_message() {
    let answers = [unreachable(), Scripted::says("here you are")];
    let harness = SessionHarness::new(ScriptedModel::new(answers.into())).await;
    let asked = harness.say("bring it").await;
    harness.settled(asked).await;
    harness.say("/retry").await;
    harness.channel.texts(3).await;
    let again = harness.say_in("a", "bring it").await;
    assert_eq!(again.what, avocet_protocol::store::AcceptedAs::Duplicate);
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
        assert_eq!(
            crate::run_turn::is_poison(deaths, alone),
            poison,
            "{deaths} deaths, {alone} alone"
        );
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
    let harness = SessionHarness::new(hanging()).await;
    harness.say_in("poison", "boom").await;
    harness.asked(1).await;

    let harness = harness.restart(boom_hangs()).await;
    harness.asked(1).await;
    let beside = harness.say_in("beside", "after one death").await.id;
    assert_eq!(harness.settled(beside).await, Outcome::Replied);

    let harness = harness.restart(boom_hangs()).await;
    harness.asked(1).await;
    let later = harness.say_in("beside", "after two deaths").await.id;
    while harness.sessions.lanes.count_busy() < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(harness.model.requests().len(), 1, "only the suspect runs");
    assert_eq!(harness.outcome(later).await, None);
    harness.say_in("poison", "/stop").await;
    assert_eq!(harness.settled(later).await, Outcome::Replied);
}

#[tokio::test]
async fn f12_every_failure_sends_a_notice() {
    let detail = "connection refused".to_owned();
    let unreachable =
        ModelError::Unreachable { model: "local/qwen".to_owned(), detail: detail.into() };
    let table = [
        (
            Scripted::Error(unreachable),
            "I could not answer: local/qwen cannot be reached (connection refused). /retry tries \
             it again.",
        ),
        (
            Scripted::calls(&[("panic", json!({}))]),
            "I could not answer because of an internal error: a bug in the tool. /retry tries it again.",
        ),
    ];
    for (answer, notice) in table {
        let harness = SessionHarness::new(ScriptedModel::new(vec![answer])).await;
        let id = harness.say("go").await;
        assert_eq!(harness.channel.texts(1).await, [notice]);
        assert_eq!(harness.outcome(id).await, Some(Outcome::Error));
    }
}

#[tokio::test]
async fn no_answer_is_plain_for_a_member_and_explained_to_the_owner() {
    let answers = (0..2).map(|_| unreachable()).collect();
    let harness = SessionHarness::with(ScriptedModel::new(answers), household()).await;
    harness.publish_from("me", "own", "/status").await.unwrap();
    harness.sent_to("own", 1).await;
    let asked = harness.publish_from("bob", "b", "bring it").await.unwrap();
    let plain = "I cannot answer just now. My owner has been told. /retry tries it again.";
    assert_eq!(harness.sent_to("b", 1).await, plain);
    let told = harness.sent_to("own", 2).await;
    let cause = "I could not answer `bob` in `terminal:local:b`. I could not answer: local/qwen \
                 cannot be reached (connection refused). `avocet trace m2` shows this message";
    assert!(told.starts_with(cause), "{told}");
    assert_eq!(harness.settled(asked).await, Outcome::Error);
    harness.publish_from("bob", "b", "again").await.unwrap();
    assert_eq!(harness.sent_to("b", 2).await, plain);
    harness.publish_from("me", "own", "/id").await.unwrap();
    let next = harness.sent_to("own", 3).await;
    assert!(next.starts_with("This chat is"), "the owner is told once an hour: {next}");
}

#[tokio::test]
async fn no_answer_that_its_reader_can_change_says_how_and_tells_no_owner() {
    let refuses = ScriptedModel::answering(|_| {
        let (model, detail) = ("local/qwen".to_owned(), "the model refuses this".to_owned());
        Scripted::Error(ModelError::Refused { model, detail: detail.into(), lasting: false })
    });
    let harness = SessionHarness::with(refuses, household()).await;
    harness.publish_from("me", "own", "/status").await.unwrap();
    harness.sent_to("own", 1).await;
    harness.publish_from("bob", "b", "bring it").await.unwrap();
    let plain = "I may not answer this. Please say it in other words. /retry tries it again.";
    assert_eq!(harness.sent_to("b", 1).await, plain);
    harness.publish_from("me", "own", "/id").await.unwrap();
    assert!(harness.sent_to("own", 2).await.starts_with("This chat is"));
}

#[tokio::test]
async fn deleted_message_stops_its_turn_and_gets_no_answer() {
    let harness = SessionHarness::with(hanging(), household()).await;
    let id = harness.publish_from("bob", "b", "bring it").await.unwrap();
    harness.asked(1).await;
    let chat = session("b").address();
    harness.bus.withdraw_message(&chat, &"bring it".parse().unwrap()).await.unwrap();
    assert_eq!(harness.settled(id).await, Outcome::Stopped);
    harness.idle().await;
    harness.sent().await;
    harness.publish_from("bob", "b", "/id").await.unwrap();
    assert!(harness.sent_to("b", 1).await.starts_with("This chat is"), "nothing came before");
}

#[tokio::test]
async fn f12_turn_that_kills_the_process_is_dropped_with_a_notice_and_others_are_not() {
    // The order of the suspects is open; an innocent one must survive any order.
    let gate = Arc::new(Semaphore::new(0));
    let kills = || {
        let gate = gate.clone();
        ScriptedModel::answering(move |request| match last_said(request) {
            "boom" => Scripted::Hang,
            text => Scripted::When(gate.clone(), Box::new(Scripted::says(text))),
        })
    };
    let mut harness = SessionHarness::new(kills()).await;
    let poison = harness.say_in("poison", "boom").await.id;
    let innocent = harness.say_in("innocent", "hello").await.id;
    harness.asked(2).await;
    // Two ran at the first death; from then on suspects run one at a time.
    for death in 1..=2 {
        harness = harness.restart(kills()).await;
        let mut asked = harness.asked(1).await;
        if last_said(&asked[0]) == "hello" {
            assert_eq!(asked.len(), 1, "death {death}: alone");
            gate.add_permits(1);
            asked = harness.asked(2).await;
            harness.sent().await;
        }
        assert_eq!(last_said(asked.last().unwrap()), "boom", "death {death}");
    }
    let harness = harness.restart(parrot()).await;
    let texts = harness.channel.texts(2).await;
    assert!(texts.contains(&"hello".to_owned()), "{texts:?}");
    let notice = "I dropped this message because I crashed 3 times while working on it: “boom”. \
                  /retry tries it again.";
    assert!(texts.contains(&notice.to_owned()), "{texts:?}");
    assert_eq!(harness.outcome(poison).await, Some(Outcome::Dropped));
    assert_eq!(harness.outcome(innocent).await, Some(Outcome::Replied));
}
