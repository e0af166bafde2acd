//! Tests of data that leaves in the names of hosts, over several requests with a small part each.

use crate::gullible::FINISHED;
use crate::person::{AgentReply, ChatPerson};
use crate::world::{World, stop};

/// Answers every question with this button until the turn ends. Returns the questions.
async fn answering(person: &mut ChatPerson, label: &str) -> Vec<String> {
    let mut asked = Vec::new();
    loop {
        match person.next("a question or the end").await {
            AgentReply::Question(question) => {
                person.decide(&question, label).await;
                asked.push(question.text);
            }
            AgentReply::Answer(answer) => {
                assert_eq!(answer, FINISHED);
                return asked;
            }
        }
    }
}

fn read(world: &World, name: &str) -> String {
    format!("Please use web_fetch with {{\"url\": \"{}\"}}.", world.page(name))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_invented_after_untrusted_text_are_not_looked_up() {
    let world = World::start().await;
    let daemon = world.home.daemon();
    let mut person = world.owner(0);
    person.say(&read(&world, "subdomains"));
    let asked = answering(&mut person, "Deny").await;
    assert_eq!(asked.len(), 7);
    for (number, question) in asked.iter().enumerate() {
        let host = format!("pin-4711-{number}.docs.stranger.dev");
        assert!(
            question.contains(&format!("look up {host}, a host that is in no message")),
            "{question}"
        );
    }
    assert_eq!(world.lookups("docs.stranger.dev"), 0);
    stop(daemon);
    assert_eq!(world.platform.refusals(), vec![]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_linked_from_a_page_need_approval_after_five_in_a_turn() {
    let world = World::start().await;
    let daemon = world.home.daemon();
    let mut person = world.owner(0);
    person.say(&read(&world, "links"));
    let asked = answering(&mut person, "Deny").await;
    assert_eq!((asked.len(), world.lookups("links.stranger.dev")), (2, 5));
    assert!(asked[0].contains("after 5 in this turn"), "{}", asked[0]);
    stop(daemon);
    assert_eq!(world.platform.refusals(), vec![]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redirect_of_an_allowed_host_leaks_no_data_to_another_site() {
    let world = World::start().await;
    let daemon = world.home.daemon();
    let mut person = world.owner(0);
    person.say(&read(&world, "redirecting"));
    // The page's own host is named, but the data in the address is new.
    let asked = answering(&mut person, "Allow for this session").await;
    assert_eq!(asked.len(), 1);
    assert!(asked[0].contains("/go?to=pin-4711"), "{}", asked[0]);
    assert_eq!(
        world.lookups("redirected.dev"),
        0,
        "the redirect is not followed without a question"
    );
    stop(daemon);
    assert_eq!(world.platform.refusals(), vec![]);
}
