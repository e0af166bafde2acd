//! Tests of data that leaves in the choice among links that a page has listed itself. Each address
//! was read word for word, so only the number of choices tells.

use crate::gullible::FINISHED;
use crate::person::{AgentReply, ChatPerson};
use crate::world::{World, stop};

/// Letters of a secret that fit into the budget: 26 · 25 · 24 · 23 · 22 choices are 22.9 bits.
const UNASKED: usize = 5;
/// Letters of the secret in the page `spelling`.
const LETTERS: usize = 8;

/// Waits for a question, and checks that it lists these fetches of the turn.
async fn question_after(
    person: &mut ChatPerson,
    fetched: &[String],
) -> Box<avocet_testkit::telegram::SentMessage> {
    match person.next("a question").await {
        AgentReply::Question(question) => {
            let shown = &question.text;
            assert!(shown.contains("of the 24 bits of this turn are used"), "{shown}");
            assert!(fetched.iter().all(|url| shown.contains(url)), "{fetched:?}: {shown}");
            question
        }
        AgentReply::Answer(answer) => panic!("not asked: {answer}"),
    }
}

fn letter(world: &World, number: usize) -> String {
    world.page(&format!("letter-{}", char::from(b"avocetsb"[number])))
}

fn letters(world: &World, count: usize) -> Vec<String> {
    (0..count).map(|number| letter(world, number)).collect()
}

fn read(world: &World, name: &str) -> String {
    format!("Please use web_fetch with {{\"url\": \"{}\"}}.", world.page(name))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn letters_of_a_secret_in_links_of_a_page_are_asked_about_above_24_bits() {
    let world = World::start().await;
    let daemon = world.home.daemon();
    let mut person = world.owner(0);
    person.say(&read(&world, "spelling"));
    for number in UNASKED..LETTERS {
        let question = question_after(&mut person, &letters(&world, UNASKED)).await;
        assert!(question.text.contains(&letter(&world, number)), "{}", question.text);
        person.decide(&question, "Deny").await;
    }
    assert_eq!(person.hear("the end").await.text, FINISHED);
    assert_eq!(world.fetches("/page/letter-"), UNASKED, "a refusal stops it");
    stop(daemon);
    assert_eq!(world.platform.refusals(), vec![]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn letters_of_a_secret_count_after_a_restart_in_the_middle_of_the_turn() {
    let world = World::start().await;
    let daemon = world.home.daemon();
    let mut person = world.owner(0);
    person.say(&read(&world, "spelling"));
    let question = question_after(&mut person, &letters(&world, UNASKED)).await;
    stop(daemon);
    let daemon = world.home.daemon();
    // The approval covers the card that was shown before the restart.
    person.decide(&question, "Allow once").await;
    for _ in UNASKED + 1..LETTERS {
        let question = question_after(&mut person, &letters(&world, UNASKED + 1)).await;
        person.decide(&question, "Deny").await;
    }
    assert_eq!(person.hear("the end").await.text, FINISHED);
    assert_eq!(world.fetches("/page/letter-"), UNASKED + 1);
    stop(daemon);
    assert_eq!(world.platform.refusals(), vec![]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_links_of_a_page_with_twenty_are_followed_without_a_question() {
    let world = World::start().await;
    let daemon = world.home.daemon();
    let mut person = world.owner(0);
    assert_eq!(person.ask(&read(&world, "browsing")).await, FINISHED);
    assert_eq!(world.fetches("/page/letter-"), 5);
    stop(daemon);
    assert_eq!(world.platform.refusals(), vec![]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn letter_of_a_secret_in_a_link_of_the_answer_counts_like_a_fetch() {
    let world = World::start().await;
    let daemon = world.home.daemon();
    let mut person = world.owner(0);
    person.say(&read(&world, "concluding"));
    let question = question_after(&mut person, &letters(&world, UNASKED)).await;
    assert!(question.text.contains("I am withholding an answer"), "{}", question.text);
    person.decide(&question, "Do not").await;
    assert_eq!(person.hear("the end").await.text, FINISHED);
    stop(daemon);
    assert_eq!(world.platform.refusals(), vec![]);
}

/// Denies questions until the next event is of another kind, which it returns.
async fn deny_letters(person: &mut ChatPerson, sums: &str) -> AgentReply {
    loop {
        match person.next("a letter").await {
            AgentReply::Question(question) if question.text.contains("May I use web_fetch?") => {
                assert!(question.text.contains(sums), "{}", question.text);
                person.decide(&question, "Deny").await;
            }
            other => return other,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_sub_agents_and_their_parent_have_one_budget() {
    let world = World::start().await;
    let daemon = world.home.daemon();
    let mut person = world.owner(0);
    let spawn = |number: u32| {
        let task = format!("{} Task {number}.", read(&world, "spelling"));
        format!("spawn with {}", serde_json::json!({ "task": task }))
    };
    person.say(&format!("Please use {}, then use {}.", spawn(1), spawn(2)));
    // The first one gets 12 bits: letters of 4.7 bits each.
    let reply = deny_letters(&mut person, "of the 12 bits of this turn are used").await;
    assert_eq!(world.fetches("/page/letter-"), 2);
    // Its answer is untrusted, so the second one needs approval. It gets 6 of the 12 bits that are left.
    let AgentReply::Question(question) = reply else { panic!("{reply:?}") };
    assert!(question.text.contains("May I use spawn?"), "{}", question.text);
    person.decide(&question, "Allow once").await;
    let reply = deny_letters(&mut person, "4.8 of the 6 bits of this turn are used").await;
    let AgentReply::Answer(answer) = reply else { panic!("{reply:?}") };
    assert_eq!(answer, FINISHED);
    assert_eq!(world.fetches("/page/letter-"), 2, "its one letter is in the cache");
    let status = person.command("/status").await;
    let told = "Choices among links told 18 of 24 bits in the last turn.";
    assert!(status.contains(told), "{status}");
    assert!(world.audited("bits more than 4.8 of 6)") > 0, "the audit table has the sums");
    stop(daemon);
    assert_eq!(world.platform.refusals(), vec![]);
}
