//! The gateway connection: it is always made again, and IDENTIFY stays within its limits (F9).

use std::time::Duration;

use avocet_protocol::channel::{Channel, ChannelError, Health};
use avocet_protocol::chat::Cursor;
use avocet_protocol::clock::Clock;
use avocet_testkit::discord::{
    ApiError, DiscordFake, GatewayFault, HEARTBEAT_INTERVAL, InjectedFault, On, Route,
};

use crate::{ANN, TOKEN, World};

/// Timeout for an acknowledgement, for HELLO, and for the start of a session.
const REPLY_TIMEOUT: Duration = Duration::from_secs(15);
const MINUTE: Duration = Duration::from_mins(1);

impl World {
    fn identify_counts(&self) -> Vec<String> {
        let counts = self.bus.moves().into_iter().filter(|cursor| cursor.scope == "identify");
        counts.map(|cursor| cursor.position).collect()
    }

    /// Lets short waits pass until a sleeper waits exactly this long.
    async fn sleeper_past_short_waits(&self, wait: Duration) {
        tokio::select! {
            biased;
            () = self.clock.sleeper_within(wait..=wait) => {}
            () = self.pass_short_waits() => {}
        }
    }

    /// Checks that the next connection gets a session, and that its messages are received.
    async fn receives_again(&self, connection: u64, what: &str) {
        self.connected_again(connection).await;
        let received = self.bus.taken(0).await.len();
        self.platform.say(self.dm, ANN, what);
        assert_eq!(self.texts(received + 1).await.last().unwrap(), what);
        assert_eq!(self.discord.health(), Health::Up, "{what}");
    }
}

#[tokio::test]
async fn f9_connection_that_is_lost_is_restored_within_a_minute() {
    type Loss = (&'static str, fn(&DiscordFake));
    let losses: [Loss; 12] = [
        ("reset (1006)", DiscordFake::drop_connections),
        ("op 7", DiscordFake::request_reconnect),
        ("op 9, resumable", |platform| platform.invalidate_session(true)),
        ("op 9", |platform| platform.invalidate_session(false)),
        ("1000", |platform| platform.close_connections(1000)),
        ("4000", |platform| platform.close_connections(4000)),
        ("4003", |platform| platform.close_connections(4003)),
        ("4005", |platform| platform.close_connections(4005)),
        ("4007", |platform| platform.close_connections(4007)),
        ("4008", |platform| platform.close_connections(4008)),
        ("4009", |platform| platform.close_connections(4009)),
        ("4999", |platform| platform.close_connections(4999)),
    ];
    for (name, lose) in losses {
        let world = World::new().await;
        let _running = world.connected().await;
        let began = world.clock.elapsed();
        lose(&world.platform);
        world.receives_again(2, name).await;
        assert!(world.clock.elapsed() - began < MINUTE, "{name}");
    }
}

#[tokio::test]
async fn overdue_means_a_connection_that_gets_no_time() {
    let world = World::new().await;
    assert!(world.discord.is_starting());
    let running = world.connected().await;
    assert!(!world.discord.is_starting());
    assert_eq!(world.discord.overdue(), None);
    // The connection gets no time to run, as if it were blocked.
    world.clock.advance(10 * MINUTE);
    assert!(world.discord.overdue().is_some());
    drop(running);
}

#[tokio::test]
async fn f9_connection_with_unanswered_heartbeats_is_restored_within_a_minute() {
    for frozen in [false, true] {
        let world = World::new().await;
        let _running = world.connected().await;
        world.platform.wait_for_heartbeats(1).await;
        world.clock.sleeper_within(HEARTBEAT_INTERVAL..).await;
        let began = world.clock.elapsed();
        if frozen {
            world.platform.freeze_connections();
        } else {
            world.platform.acknowledge_heartbeats(false);
        }
        world.clock.advance(HEARTBEAT_INTERVAL);
        world.clock.sleeper_within(REPLY_TIMEOUT..=REPLY_TIMEOUT).await;
        world.clock.advance(REPLY_TIMEOUT);
        world.platform.acknowledge_heartbeats(true);
        world.receives_again(2, "again").await;
        assert!(world.clock.elapsed() - began < MINUTE);
        assert_eq!(world.platform.identifies().len(), 1, "the session goes on");
    }
}

#[tokio::test]
async fn f9_connection_without_hello_is_retried_within_a_minute() {
    let cases = [
        (GatewayFault::NoHello, REPLY_TIMEOUT),
        (GatewayFault::Hang, Duration::from_secs(10)),
        (GatewayFault::Reset, Duration::ZERO),
    ];
    for (fault, limit) in cases {
        let world = World::new().await;
        world.platform.inject_gateway(1, fault);
        let _running = world.run();
        world.platform.wait_for_connections(1).await;
        if !limit.is_zero() {
            world.clock.sleeper_within(limit..=limit).await;
            world.clock.advance(limit);
        }
        world.receives_again(2, "hello").await;
        assert!(world.clock.elapsed() < MINUTE, "{fault:?}");
    }
}

#[tokio::test]
async fn f9_session_resumes_at_the_resume_url_and_misses_no_event() {
    let world = World::new().await;
    world.platform.resume_only_at_its_url(true);
    let _running = world.connected().await;
    world.platform.say(world.dm, ANN, "one");
    world.bus.taken(1).await;
    let read = world.platform.calls(Route::History);
    world.platform.drop_connections();
    world.platform.wait_for_disconnected().await;
    for text in ["two", "three", "four"] {
        world.platform.say(world.dm, ANN, text);
    }
    world.connected_again(2).await;
    assert_eq!(world.texts(4).await, ["one", "two", "three", "four"]);
    let resumes = world.platform.resumes();
    assert!(
        matches!(&resumes[..], [resume] if resume.at_resume_url && resume.taken),
        "{resumes:?}"
    );
    assert_eq!(world.platform.identifies().len(), 1);
    assert_eq!(world.platform.calls(Route::History), read, "there was no gap");
}

#[tokio::test]
async fn f9_close_codes_that_only_an_update_can_repair_are_fatal() {
    for code in [4010, 4012, 4013] {
        let world = World::new().await;
        world.platform.inject_gateway(1, GatewayFault::Close(code));
        let ended = world.run().await.unwrap();
        let Err(ChannelError::Fatal(error)) = ended else { panic!("{code}: {ended:?}") };
        assert!(error.contains("update Avocet") && !error.contains('\n'), "{code}: {error}");
        let Health::Down(shown) = world.discord.health() else { panic!("{code}: up") };
        assert!(shown.ends_with(&error), "{shown}");
    }
}

#[tokio::test]
async fn f9_refused_bot_asks_again_after_1_5_15_and_60_minutes() {
    type Refusal = (&'static str, &'static str, fn(&DiscordFake, usize));
    let refusals: [Refusal; 4] = [
        ("a false 401", "developer portal", |platform, times| {
            let fault = InjectedFault::Refuse(ApiError::unauthorized());
            platform.inject(On::route(Route::GatewayBot), times, fault);
        }),
        ("4004", "developer portal", |platform, times| {
            platform.inject_gateway(times, GatewayFault::Close(4004));
        }),
        ("4011", "remove the bot from some", |platform, times| {
            platform.inject_gateway(times, GatewayFault::Close(4011));
        }),
        ("4014", "Message Content Intent", |platform, times| {
            platform.inject_gateway(times, GatewayFault::Close(4014));
        }),
    ];
    for (name, fix, refuse) in refusals {
        let world = World::new().await;
        let _running = world.connected().await;
        refuse(&world.platform, 6);
        world.platform.invalidate_session(false);
        for (count, minutes) in (1..).zip([1, 5, 15, 60, 60, 60]) {
            let wait = minutes * MINUTE;
            world.sleeper_past_short_waits(wait).await;
            let Health::Down(shown) = world.discord.health() else { panic!("{name}: up") };
            assert!(shown.contains(fix) && !shown.contains(TOKEN), "{name}: {shown}");
            let next = format!("asking again in {minutes} min, or at once when the configuration");
            assert!(shown.contains(&format!("refused {count} time")), "{name}: {shown}");
            assert!(shown.contains(&next), "{name}: {shown}");
            assert!(world.discord.is_refused() && world.discord.overdue().is_none());
            world.clock.advance(wait);
        }
        world.platform.wait_for_connected().await;
        world.platform.say(world.dm, ANN, name);
        assert_eq!(world.texts(1).await, [name]);
        assert_eq!((world.discord.health(), world.discord.is_refused()), (Health::Up, false));
    }
}

#[tokio::test]
async fn f9_token_that_is_revoked_is_named_to_the_operator() {
    let world = World::new().await;
    let _running = world.connected().await;
    world.platform.revoke();
    world.sleeper_past_short_waits(MINUTE).await;
    let Health::Down(shown) = world.discord.health() else { panic!("it is up") };
    assert!(shown.contains("Reset Token") && !shown.contains(TOKEN), "{shown}");
    let checks = world.discord.probe().await;
    assert!(
        checks[0].says.contains("does not know the token (refused 1 time, asking again in 1 min")
    );
    world.platform.reinstate();
    world.clock.advance(MINUTE);
    world.platform.wait_for_connected().await;
    world.platform.say(world.dm, ANN, "hello");
    assert_eq!(world.texts(1).await, ["hello"]);
}

#[tokio::test]
async fn f9_identify_is_counted_before_it_is_sent_and_across_restarts() {
    let world = World::new().await;
    world.bus.set_open(false);
    let running = world.run();
    world.platform.wait_for_connections(1).await;
    assert_eq!(world.platform.identifies(), []);
    world.bus.set_open(true);
    world.platform.wait_for_connected().await;
    let day = world.clock.now().0 / 86_400_000;
    assert_eq!(world.identify_counts(), [format!("{day} 1")]);
    running.abort();

    let world = world.restarted();
    let _running = world.run();
    world.platform.wait_for_identifies(2).await;
    assert_eq!(world.identify_counts(), [format!("{day} 1"), format!("{day} 2")]);
}

#[tokio::test]
async fn f9_identify_waits_grow_while_sessions_keep_ending() {
    let world = World::new().await;
    let day = world.clock.now().0 / 86_400_000;
    let scope = "identify".to_owned();
    let (name, account) = (world.discord.name(), world.discord.account());
    let used = Cursor { scope, position: format!("{day} 800") };
    avocet_protocol::bus::Publish::move_cursor(&*world.bus, &name, &account, used).await.unwrap();
    let _running = world.run();
    // One hundredth of the day.
    let share = Duration::from_secs(864);
    world.clock.sleeper_within(share..=share).await;
    assert!(matches!(world.discord.health(), Health::Down(why) if why.contains("800")));
    assert_eq!(world.platform.connections(), 0);
    world.clock.advance(share);
    world.platform.wait_for_identifies(1).await;
    assert_eq!(world.identify_counts().last(), Some(&format!("{day} 801")));
}

#[tokio::test]
async fn f9_identify_waits_for_the_reset_when_the_platform_has_none_left() {
    let world = World::new().await;
    world.platform.limit_identifies(1);
    let running = world.connected().await;
    running.abort();
    drop(running.await);
    let world = world.restarted();
    let _running = world.run();
    let window = Duration::from_hours(24);
    world.clock.sleeper_within(window..=window).await;
    assert_eq!(world.platform.identifies().len(), 1);
    world.platform.advance(window);
    world.clock.advance(window);
    world.platform.wait_for_identifies(2).await;
}

#[tokio::test]
async fn f9_connection_retries_after_an_api_error_or_rate_limit() {
    let world = World::new().await;
    let on = || On::route(Route::GatewayBot);
    world.platform.inject(on(), 1, InjectedFault::Refuse(ApiError::bad_gateway()));
    let _running = world.run();
    world.connected_again(1).await;

    let world = World::new().await;
    let wait = Duration::from_secs(300);
    world.platform.inject(on(), 1, InjectedFault::Refuse(ApiError::rate_limited(wait)));
    let _running = world.run();
    world.clock.sleeper_within(wait..=wait).await;
    world.clock.advance(wait);
    world.platform.wait_for_connected().await;
}

#[tokio::test]
async fn gateway_events_keep_their_order() {
    let world = World::new().await;
    let _running = world.connected().await;
    let texts: Vec<String> = (0..2000).map(|number| number.to_string()).collect();
    for text in &texts {
        world.platform.say(world.dm, ANN, text);
    }
    assert_eq!(world.texts(texts.len()).await, texts);
}

#[tokio::test]
async fn connection_survives_a_slow_log() {
    let world = World::new().await;
    let _running = world.connected().await;
    world.platform.wait_for_heartbeats(1).await;
    world.bus.set_open(false);
    // These are more events than the queue holds.
    for number in 0..1000 {
        world.platform.say(world.dm, ANN, &number.to_string());
    }
    for beat in 2..6 {
        world.clock.sleeper_within(..=HEARTBEAT_INTERVAL).await;
        while world.platform.heartbeats() < beat {
            world.clock.advance(Duration::from_secs(5));
            tokio::task::yield_now().await;
        }
    }
    world.bus.set_open(true);
    assert_eq!(world.bus.taken(1000).await.len(), 1000);
    assert_eq!(world.platform.connections(), 1);
}

#[tokio::test]
async fn receive_returns_after_stop_is_cancelled() {
    let world = World::new().await;
    let running = world.connected().await;
    world.stop.cancel();
    assert_eq!(running.await.unwrap(), Ok(()));
}

#[tokio::test]
async fn identify_requests_message_content_only_if_configured() {
    const MESSAGE_CONTENT: u64 = 1 << 15;
    let world = World::new().await;
    let _running = world.connected().await;
    assert_ne!(world.platform.identifies()[0].intents & MESSAGE_CONTENT, 0);

    let config = avocet_discord::DiscordConfig {
        token: Some(TOKEN.to_owned().into()),
        api_url: world.platform.base_url(),
        message_content: false,
        ..Default::default()
    };
    let (name, account) = (world.discord.name(), world.discord.account());
    let discord =
        avocet_discord::Discord::new(name, account, &config, world.clock.clone()).unwrap();
    let world = World { discord: discord.into(), ..world };
    world.platform.grant_message_content(false);
    let _running = world.run();
    assert_eq!(world.platform.wait_for_identifies(2).await[1].intents & MESSAGE_CONTENT, 0);
}
