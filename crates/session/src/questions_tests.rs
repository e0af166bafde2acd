//! Tests of questions that running calls ask.

use avocet_protocol::tool::{
    AnswerCheck, AnswerOption, AskPerson, PersonAnswer, PersonQuestion, UnansweredQuestion,
};

use super::people::household;
use super::*;
use crate::questions::{UNKNOWN, USAGE};

fn question(chat: &str, is_from_owner: bool) -> PersonQuestion {
    let session = session(chat);
    PersonQuestion {
        chat: session.address(),
        session,
        is_from_owner,
        text: "How many?".to_owned(),
        options: vec![AnswerOption::new("One", "1")],
        check: AnswerCheck::new(|answer| match answer.parse::<u8>() {
            Ok(_) => Ok(()),
            Err(_) => Err("That is no number.".to_owned()),
        }),
        time_limit: Duration::from_mins(10),
    }
}

/// Returns the code in the text of a question.
fn code(text: &str) -> String {
    let (_, rest) = text.split_once("/answer ").unwrap();
    rest.split_whitespace().next().unwrap().to_owned()
}

impl SessionHarness {
    async fn ask(&self, question: PersonQuestion) -> Result<PersonAnswer, UnansweredQuestion> {
        self.sessions.lanes.parts.questions.ask(question).await
    }
}

#[tokio::test]
async fn question_is_answered_by_the_command_of_an_owner_after_the_check() {
    let harness = SessionHarness::with(parrot(), household()).await;
    let person = async {
        let text = harness.sent_to("own", 1).await;
        let code = code(&text);
        let hint = format!("Answer with `/answer {code} …` or `/answer {code} decline`.");
        assert_eq!(text, format!("How many?\n\n{hint}"));
        let choices = harness.channel.taken(1).await.remove(0).content.choices;
        let says: Vec<String> = choices.into_iter().map(|choice| choice.says).collect();
        assert_eq!(says, [format!("/answer {code} 1"), format!("/answer {code} decline")]);
        for (count, (sender, command, reply)) in (2..).zip([
            ("bob", format!("/answer {code} 1"), "/answer is for my owner.".to_owned()),
            ("me", "/answer".to_owned(), USAGE.to_owned()),
            ("me", "/answer 12 3".to_owned(), UNKNOWN.to_owned()),
            (
                "me",
                format!("/answer {code} many"),
                format!("That is no number. Try again: /answer {code} …"),
            ),
            ("me", format!("/ANSWER {} 5", code.to_uppercase()), "Passed on.".to_owned()),
            ("me", format!("/answer {code} 6"), UNKNOWN.to_owned()),
        ]) {
            harness.publish_from(sender, "own", &command).await.unwrap();
            assert_eq!(harness.sent_to("own", count).await, reply, "{command}");
        }
    };
    let (answer, ()) = tokio::join!(harness.ask(question("own", true)), person);
    assert_eq!(answer, Ok(PersonAnswer::Text("5".to_owned())));
}

#[tokio::test]
async fn question_of_a_user_goes_to_owners_and_can_be_declined_there() {
    let harness = SessionHarness::with(parrot(), household()).await;
    harness.publish_from("me", "own", "/status").await.unwrap();
    harness.sent_to("own", 1).await;
    let person = async {
        let asked = harness.sent_to("b", 1).await;
        assert_eq!(asked, "I have asked my owner a question, and go on after the answer.");
        let notice = harness.sent_to("own", 2).await;
        assert!(notice.starts_with("In `terminal:local:b`:\n\nHow many?"), "{notice}");
        let decline = format!("/answer {} decline", code(&notice));
        harness.publish_from("me", "own", &decline).await.unwrap();
        assert_eq!(harness.sent_to("own", 3).await, "Declined.");
    };
    let (answer, ()) = tokio::join!(harness.ask(question("b", false)), person);
    assert_eq!(answer, Ok(PersonAnswer::Declined));
}

#[tokio::test]
async fn question_ends_with_its_time_and_a_restart_forgets_it() {
    let harness = SessionHarness::new(parrot()).await;
    let late = async {
        let text = harness.channel.texts(1).await.remove(0);
        harness.clock.advance(Duration::from_mins(10));
        code(&text)
    };
    let (answer, code) = tokio::join!(harness.ask(question("a", true)), late);
    assert_eq!(answer, Err(UnansweredQuestion::Late(600)));
    harness.say(&format!("/answer {code} 1")).await;
    assert_eq!(harness.channel.texts(2).await[1], UNKNOWN);

    let open = async {
        tokio::select! {
            _ = harness.ask(question("a", true)) => unreachable!("no person answers"),
            texts = harness.channel.texts(3) => texts,
        }
    };
    let code = self::code(&open.await[2]);
    harness.sent().await;
    let harness = harness.restart(parrot()).await;
    harness.say(&format!("/answer {code} 1")).await;
    assert_eq!(harness.channel.texts(4).await[3], UNKNOWN);
}

#[tokio::test]
async fn question_to_a_chat_without_a_channel_fails() {
    let harness = SessionHarness::new(parrot()).await;
    let chat = "telegram:none:1".parse().unwrap();
    let answer = harness.ask(PersonQuestion { chat, ..question("a", true) }).await;
    assert!(matches!(answer, Err(UnansweredQuestion::Unsent(_))), "{answer:?}");
}

#[tokio::test]
async fn question_whose_answer_is_not_recorded_ends_with_a_reason_of_its_own() {
    let harness = SessionHarness::new(parrot()).await;
    let person = async {
        let text = harness.channel.texts(1).await.remove(0);
        let questions = &harness.sessions.lanes.parts.questions;
        // The command fails before it gives the answer.
        drop(crate::answer_command::plan_answer(questions, &format!("{} 1", code(&text))));
    };
    let (answer, ()) = tokio::join!(harness.ask(question("a", true)), person);
    assert_eq!(answer, Err(UnansweredQuestion::Unrecorded));
}
