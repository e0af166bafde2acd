//! Connections through a proxy.

use std::net::SocketAddr;

use avocet_discord::DiscordConfig;
use avocet_protocol::channel::{Channel, ChannelConfig, FetchError, SendError};
use avocet_protocol::chat::Content;
use avocet_testkit::SocksFake;
use avocet_testkit::discord::{DiscordFake, UserMessage};

use crate::{ANN, World, delivery};

const HOST: &str = "http://discord.test";

fn address(platform: &DiscordFake) -> SocketAddr {
    platform.base_url().strip_prefix("http://").unwrap().parse().unwrap()
}

fn gateway(world: &World) -> SocketAddr {
    world.platform.gateway_url().strip_prefix("ws://").unwrap().parse().unwrap()
}

/// Returns a world in which the REST API is reachable through the proxy only.
async fn through(login: &str, of_bot: &str) -> (World, SocksFake) {
    let world = World::new().await;
    let proxy = SocksFake::start(address(&world.platform), login).await;
    proxy.route(&gateway(&world).to_string(), gateway(&world));
    let url = format!("socks5h://{of_bot}@{}", proxy.address());
    let world = world.restarted_with(|config| {
        config.api_url = HOST.to_owned();
        config.proxy = Some(url.into());
    });
    (world, proxy)
}

#[tokio::test]
async fn proxy_carries_requests_and_the_gateway() {
    let (world, proxy) = through("ann:p@ss", "ann:p%40ss").await;
    let _running = world.connected().await;
    world.platform.say(world.dm, ANN, "hello");
    assert_eq!(world.texts(1).await, ["hello"]);
    world.discord.deliver(&delivery(world.dm, Content::text("good morning"))).await.unwrap();
    assert_eq!(world.platform.sent()[0].text, "good morning");
    let requested = proxy.requested();
    let (gateway, api): (Vec<&String>, Vec<&String>) =
        requested.iter().partition(|host| **host == gateway(&world).to_string());
    assert_eq!(gateway.len(), 1, "{requested:?}");
    assert!(!api.is_empty() && api.iter().all(|host| *host == "discord.test:80"), "{requested:?}");
}

#[tokio::test]
async fn proxy_carries_downloads_and_refuses_those_from_other_hosts() {
    let (world, proxy) = through("ann:secret", "ann:secret").await;
    let _running = world.connected().await;
    let mut answers = Vec::new();
    for (place, host) in
        [HOST, "http://files.test", "https://cdn.discordapp.com.test"].into_iter().enumerate()
    {
        world.platform.files_at(host);
        let said = UserMessage::new(world.dm, ANN, "look").file("note.txt", "text/plain", b"hi");
        world.platform.post(said);
        let inbound = world.bus.taken(place + 1).await.pop().unwrap();
        let avocet_protocol::chat::AttachmentSource::Platform(reference) =
            &inbound.content.attachments[0].source
        else {
            panic!("{inbound:?}")
        };
        answers.push(world.discord.fetch(reference, 100).await);
    }
    assert_eq!(answers[0], Ok(b"hi".to_vec()));
    for answer in &answers[1..] {
        assert!(matches!(answer, Err(FetchError::Gone(error)) if error.contains("proxy")));
    }
    let requested = proxy.requested();
    assert!(!requested.iter().any(|host| host.starts_with("files") || host.starts_with("cdn")));
}

#[tokio::test]
async fn proxy_that_refuses_the_login_means_not_sent_and_is_not_shown() {
    let (world, proxy) = through("ann:right", "ann:wrong-secret").await;
    let sent = world.discord.deliver(&delivery(world.dm, Content::text("hello"))).await;
    let Err(SendError::Failed(error)) = sent else { panic!("{sent:?}") };
    let checks = format!("{:?}", world.discord.probe().await);
    assert!(checks.contains("check proxy, api_url and the network"), "{checks}");
    for shown in [error, checks, format!("{:?}", world.discord)] {
        assert!(!shown.contains("wrong-secret"), "{shown}");
    }
    assert_eq!(proxy.requested(), [""; 0]);
    assert_eq!(world.platform.sent(), []);
}

#[test]
fn check_names_the_key_of_an_invalid_proxy_without_its_password() {
    let check = |proxy: &str| {
        let proxy = Some(proxy.to_owned().into());
        DiscordConfig { proxy, ..DiscordConfig::default() }.check()
    };
    for proxy in ["socks5h://user:pass@proxy.example:1080", "http://proxy.example:3128"] {
        assert_eq!(check(proxy), Ok(()), "{proxy}");
    }
    for proxy in ["", "proxy.example:1080", "socks4://h:1", "ftp://u:secret@h:1"] {
        let (key, error) = check(proxy).unwrap_err();
        assert_eq!(key, "proxy", "{proxy}");
        assert!(error.contains("socks5h://") && !error.contains("secret"), "{error}");
    }
}
