//! Tests of the opposite: without untrusted content, an owner's tasks run without a question.

use crate::corpus::conversations;
use crate::gullible::FINISHED;
use crate::person::until;
use crate::world::{World, stop};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ordinary_requests_of_an_owner_need_no_approval() {
    let world = World::start().await;
    let daemon = world.home.daemon();
    let conversations = conversations(&world.web);
    let mut people: Vec<_> =
        (0..).map(|number| world.owner(number)).take(conversations.len()).collect();
    for (person, one) in people.iter().zip(&conversations) {
        person.say(&format!("Please use {}.", one.calls.join(", and then ")));
    }
    for (person, one) in people.iter_mut().zip(&conversations) {
        let name = &one.name;
        // Sent files are messages, too.
        let effect = one.effect.as_deref().unwrap_or_default();
        let ends_otherwise = effect == "said" || effect.starts_with("told ");
        while person.hear(name).await.text != FINISHED && !ends_otherwise {}
        let refusals = format!("{:?}", world.obeyed.lock().refusals_with(&one.id));
        assert_eq!(refusals, "[]", "{name}");
        if let Some(effect) = &one.effect {
            until(name, || world.effects_of(effect, &one.id) > 0).await;
        }
    }
    let asked =
        world.platform.look(|sent| sent.iter().filter(|one| one.keyboard.is_some()).count());
    assert_eq!((asked, conversations.len()), (0, 26));
    stop(daemon);
    assert_eq!(world.platform.refusals(), vec![]);
}
