//! Access by roles of a server.

use avocet_discord::ServerConfig;
use avocet_testkit::discord::{ApiError, InjectedFault, On, Route, UserMessage};
use serde_json::json;

use crate::{ANN, BOB, World};

const MEMBERS: u64 = 5001;
const OTHERS: u64 = 5002;

/// Starts a world in which members of a role have access, and Bob is one. Returns the server, too.
async fn world() -> (World, u64) {
    let servers = |allow_roles: Vec<u64>| {
        let server = ServerConfig { allow_roles, owner_roles: vec![OTHERS + 1] };
        [("77".to_owned(), server)].into()
    };
    let world = World::with(|config| config.servers = servers(vec![MEMBERS])).await;
    let description = world.platform.describe_channel(world.channel);
    let guild = description["guild_id"].as_str().unwrap().parse().unwrap();
    world.platform.grant(guild, BOB, MEMBERS);
    world.platform.grant(guild, BOB, OTHERS);
    (world, guild)
}

#[tokio::test]
async fn message_names_those_roles_of_its_author_that_give_access() {
    let (world, _) = world().await;
    let _running = world.connected().await;
    for user in [BOB, ANN] {
        world.platform.post(UserMessage::new(world.channel, user, "hello").mention());
    }
    world.platform.slash(BOB, world.channel, "stop", &json!([]));
    world.platform.say(world.dm, ANN, "hello");
    let received = world.bus.taken(4).await;
    let roles: Vec<_> = received.iter().map(|one| one.content.author_roles.clone()).collect();
    let named = vec![MEMBERS.to_string()];
    assert_eq!(roles, [named.clone(), vec![], named, vec![]]);
    assert_eq!(world.platform.calls(Route::GetMember), 0, "live events report the roles");
}

#[tokio::test]
async fn missed_message_gets_the_roles_of_its_author_by_a_request() {
    let (world, _) = world().await;
    let running = world.connected().await;
    world.mention(world.channel, "first");
    world.bus.taken(1).await;
    world.stop.cancel();
    running.await.unwrap().unwrap();
    for text in ["second", "third"] {
        world.platform.post(UserMessage::new(world.channel, BOB, text).mention());
    }
    let server = ServerConfig { allow_roles: vec![MEMBERS], ..ServerConfig::default() };
    let world = world.restarted_with(|config| config.servers = [("77".to_owned(), server)].into());
    let trouble = InjectedFault::Refuse(ApiError::internal());
    world.platform.inject(On::route(Route::GetMember), 1, trouble);
    let _running = world.run();
    let received = tokio::select! {
        biased;
        received = world.bus.taken(3) => received,
        () = world.pass_short_waits() => unreachable!(),
    };
    for missed in &received[1..] {
        assert_eq!(missed.content.author_roles, [MEMBERS.to_string()], "{missed:?}");
    }
    assert_eq!(world.platform.calls(Route::GetMember), 2, "one failed, and one is remembered");
}

#[tokio::test]
async fn message_after_the_loss_of_a_role_names_no_role() {
    let (world, guild) = world().await;
    let running = world.connected().await;
    let say = |text: &str| {
        world.platform.post(UserMessage::new(world.channel, BOB, text).mention());
    };
    say("with the role");
    world.bus.taken(1).await;
    world.platform.revoke_role(guild, BOB, MEMBERS);
    say("without it");
    let received = world.bus.taken(2).await;
    assert_eq!(received[0].content.author_roles, [MEMBERS.to_string()]);
    assert_eq!(received[1].content.author_roles, [""; 0]);
    // A message that was missed gets the roles of the time at which it is read.
    world.stop.cancel();
    running.await.unwrap().unwrap();
    say("missed");
    let server = ServerConfig { allow_roles: vec![MEMBERS], ..ServerConfig::default() };
    let world = world.restarted_with(|config| config.servers = [("77".to_owned(), server)].into());
    let _running = world.run();
    let missed = world.bus.taken(3).await.pop().unwrap();
    assert_eq!(
        (&missed.content.author_roles[..], world.platform.calls(Route::GetMember)),
        (&[][..], 1)
    );
}
