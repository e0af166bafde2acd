//! Messages that were deleted while nobody listened.

use std::time::Duration;

use avocet_testkit::discord::{ApiError, InjectedFault, On, Route};

use crate::World;

#[tokio::test]
async fn message_deleted_while_the_daemon_was_down_is_withdrawn_after_the_restart() {
    let world = World::new().await;
    let thread = world.platform.thread(world.channel, "plans");
    let running = world.connected().await;
    let asked: Vec<u64> = [world.dm, thread, world.channel]
        .into_iter()
        .map(|channel| world.mention(channel, "are you there?"))
        .collect();
    let taken = world.bus.taken(3).await;
    running.abort();
    drop(running.await);
    world.bus.leave_unanswered(&taken);
    world.platform.delete(asked[0]);
    world.platform.delete(asked[1]);
    let world = world.restarted();
    for fault in [ApiError::internal(), ApiError::rate_limited(Duration::from_secs(2))] {
        let on = On::route(Route::GetMessage);
        world.platform.inject(on, 1, InjectedFault::Refuse(fault));
    }
    let _running = world.connected().await;
    while world.bus.withdrawn(0).await.len() < 2 {
        world.pass(Duration::from_secs(1));
        tokio::task::yield_now().await;
    }
    let mut withdrawn = world.bus.withdrawn(2).await;
    withdrawn.sort_by_key(|(_, key)| key.to_string());
    let deleted = taken
        .iter()
        .filter(|message| asked[..2].iter().any(|id| message.key.as_str() == format!("m{id}")));
    let mut deleted: Vec<_> =
        deleted.map(|message| (message.address.clone(), message.key.clone())).collect();
    deleted.sort_by_key(|(_, key)| key.to_string());
    assert_eq!(withdrawn, deleted);
}

#[tokio::test]
async fn messages_are_asked_for_only_behind_a_gap_of_the_session() {
    let world = World::new().await;
    let _running = world.connected().await;
    world.mention(world.dm, "are you there?");
    let taken = world.bus.taken(1).await;
    world.bus.leave_unanswered(&taken);
    world.platform.drop_connections();
    world.connected_again(2).await;
    world.mention(world.dm, "and now?");
    world.bus.taken(2).await;
    assert_eq!(world.platform.calls(Route::GetMessage), 0, "the session was resumed");
}
