//! Requests through a proxy.

use std::net::SocketAddr;

use avocet_protocol::channel::{Channel, ChannelConfig, SendError};
use avocet_protocol::chat::Content;
use avocet_telegram::TelegramConfig;
use avocet_testkit::SocksFake;
use avocet_testkit::telegram::TelegramFake;

use crate::{ANN, World, delivery, telegram_with};

fn address(platform: &TelegramFake) -> SocketAddr {
    platform.base_url().strip_prefix("http://").unwrap().parse().unwrap()
}

/// A bot whose requests to a host go through a proxy.
fn through(world: &World, host: &str, proxy: &str) -> avocet_telegram::Telegram {
    telegram_with(host, &world.clock, |config| config.proxy = Some(proxy.to_owned().into()))
}

#[tokio::test]
async fn socks5h_lets_the_proxy_resolve_the_host_and_logs_in() {
    let world = World::new().await;
    let proxy = SocksFake::start(address(&world.platform), "ann:p@ss").await;
    let url = format!("socks5h://ann:p%40ss@{}", proxy.address());
    let telegram = through(&world, "http://telegram.test", &url);
    telegram.deliver(&delivery(ANN, Content::text("hello"))).await.unwrap();
    assert_eq!(world.platform.sent()[0].text, "hello");
    assert_eq!(proxy.requested(), ["telegram.test:80"]);
}

#[tokio::test]
async fn socks5_resolves_the_host_before_the_proxy() {
    let world = World::new().await;
    let proxy = SocksFake::start(address(&world.platform), "").await;
    let url = format!("socks5://{}", proxy.address());
    let telegram = through(&world, "http://localhost:8081", &url);
    telegram.deliver(&delivery(ANN, Content::text("hello"))).await.unwrap();
    assert_eq!(proxy.requested(), ["127.0.0.1:8081"]);
}

#[tokio::test]
async fn proxy_that_refuses_the_login_means_not_sent_and_is_not_shown() {
    let world = World::new().await;
    let proxy = SocksFake::start(address(&world.platform), "ann:right").await;
    let url = format!("socks5h://ann:wrong-secret@{}", proxy.address());
    let telegram = through(&world, "http://telegram.test", &url);
    let sent = telegram.deliver(&delivery(ANN, Content::text("hello"))).await;
    let Err(SendError::Failed(error)) = sent else { panic!("{sent:?}") };
    let checks = format!("{:?}", telegram.probe().await);
    assert!(checks.contains("check proxy, api_url and the network"), "{checks}");
    let official = through(&world, "https://api.telegram.org", &url);
    let official = format!("{:?}", official.probe().await);
    for part in ["no connection to the Bot API at api.telegram.org", "check proxy and the network"]
    {
        assert!(official.contains(part), "{official}");
    }
    for shown in [error, checks, format!("{telegram:?}")] {
        assert!(!shown.contains("wrong-secret"), "{shown}");
    }
    assert_eq!(proxy.requested(), [""; 0]);
}

#[test]
fn check_names_the_key_of_an_invalid_proxy_without_its_password() {
    let check = |proxy: &str| {
        let proxy = Some(proxy.to_owned().into());
        TelegramConfig { proxy, ..TelegramConfig::default() }.check()
    };
    for proxy in [
        "socks5h://user:pass@proxy.example:1080",
        "socks5://127.0.0.1:1080",
        "http://proxy.example:3128",
    ] {
        assert_eq!(check(proxy), Ok(()), "{proxy}");
    }
    for proxy in ["", "proxy.example:1080", "socks4://h:1", "socks5h://", "ftp://u:secret@h:1"] {
        let (key, error) = check(proxy).unwrap_err();
        assert_eq!(key, "proxy", "{proxy}");
        assert!(error.contains("socks5h://") && !error.contains("secret"), "{error}");
    }
    let (fits, long) = ("%C3%A9".repeat(127), "x".repeat(256));
    assert_eq!(check(&format!("socks5h://{fits}:{fits}@h:1")), Ok(()));
    assert_eq!(check(&format!("http://{long}:{long}@h:1")), Ok(()), "SOCKS5 has this limit");
    for login in [format!("{long}:secret"), format!("ann:{long}")] {
        let (key, error) = check(&format!("socks5://{login}@h:1")).unwrap_err();
        assert_eq!(key, "proxy");
        assert!(error.contains("255 bytes") && !error.contains("secret"), "{error}");
    }
}
