//! Settings, and configurations that cannot be used.

use std::sync::Arc;
use std::time::Duration;

use avocet_channel_kit::GroupConfig;
use avocet_discord::{Discord, DiscordConfig, DiscordError};
use avocet_protocol::channel::Channel;
use avocet_protocol::chat::Content;
use avocet_testkit::ManualClock;

use crate::TOKEN;

#[tokio::test]
async fn config_sets_preview_interval_and_chunk_numbers() {
    let clock = Arc::new(ManualClock::default());
    let bot = |numbered, preview_seconds| {
        let token = Some(TOKEN.to_owned().into());
        let config = DiscordConfig { token, numbered, preview_seconds, ..DiscordConfig::default() };
        let (name, account) = ("discord".parse().unwrap(), "main".parse().unwrap());
        Discord::new(name, account, &config, clock.clone()).unwrap()
    };
    let intervals = [0, 1, 5].map(|seconds| bot(false, seconds).capabilities().preview_interval);
    let [fastest, five] =
        [1200, 5000].map(|milliseconds| Some(Duration::from_millis(milliseconds)));
    assert_eq!(intervals, [None, fastest, five]);
    let long = Content::text("word ".repeat(500));
    let ends = |bot: Discord| -> Vec<String> {
        let last_line = |one: &Content| one.text.lines().last().unwrap().to_owned();
        bot.plan(&long).iter().map(last_line).collect()
    };
    assert_eq!(ends(bot(true, 1)), ["(1/2)", "(2/2)"]);
    assert!(ends(bot(false, 1)).iter().all(|line| line.ends_with("word")));
}

#[test]
fn config_that_is_unusable_is_an_error_without_panic() {
    let bot = |config: &DiscordConfig| {
        let (name, account) = ("discord".parse().unwrap(), "main".parse().unwrap());
        Discord::new(name, account, config, Arc::new(ManualClock::default())).unwrap_err()
    };
    assert_eq!(bot(&DiscordConfig::default()), DiscordError::NoToken);
    let with = |token: &str, api_url: &str| DiscordConfig {
        token: Some(token.to_owned().into()),
        api_url: api_url.to_owned(),
        ..Default::default()
    };
    for id in ["birds", "-7", "0"] {
        let groups = [(id.to_owned(), GroupConfig::default())].into();
        let config = DiscordConfig { groups, ..with(TOKEN, "https://discord.com") };
        assert_eq!(bot(&config), DiscordError::Group(id.to_owned()));
    }
    for api_url in ["nonsense", "mailto:ann@example.org", "ftp://example.org", ""] {
        assert_eq!(bot(&with(TOKEN, api_url)), DiscordError::Url, "{api_url}");
    }
    for token in ["a b", "a\nb", "tökén"] {
        assert_eq!(bot(&with(token, "https://discord.com")), DiscordError::Token, "{token}");
    }
    assert_eq!(bot(&with(" ", "https://discord.com")), DiscordError::NoToken);
}
