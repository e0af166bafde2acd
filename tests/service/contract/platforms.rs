//! Telegram and Discord, as their people see them.

use std::fmt::Display;

use async_trait::async_trait;
use avocet_testkit::discord::{DiscordFake, Route};
use avocet_testkit::telegram::TelegramFake;
use avocet_tests::Home;

use super::FakePlatformSide;
use crate::patience::with_timeout;

const TOKEN: &str = "4711:AA-secret";
/// The person on Telegram.
const ANN: i64 = 7;

pub(super) struct TelegramSide(TelegramFake);

impl TelegramSide {
    pub(super) async fn start() -> Self {
        Self(TelegramFake::start(TOKEN).await)
    }
}

#[async_trait(?Send)]
impl FakePlatformSide for TelegramSide {
    fn account(&self) -> String {
        "telegram:main".to_owned()
    }

    fn table(&mut self, _home: &Home) -> String {
        self.0.set_now(avocet_tests::now());
        table("telegram", &self.0.base_url(), ANN)
    }

    async fn wait_until_disconnected(&mut self) {
        with_timeout("the end of the poll", self.0.wait_for_no_poll()).await;
    }

    async fn say(&mut self, text: &str) {
        self.0.private_text(ANN, text);
    }

    async fn choose(&mut self, choice: &str) {
        let asked = self.0.sent().pop().unwrap();
        self.0.press(ANN, &asked, choice);
    }

    fn typings(&self) -> Option<usize> {
        Some(self.0.calls("sendChatAction"))
    }

    async fn texts(&mut self) -> Vec<String> {
        self.0.sent().into_iter().map(|message| message.text).collect()
    }

    fn refusals(&self) -> Vec<String> {
        self.0.refusals().iter().map(|refusal| format!("{refusal:?}")).collect()
    }
}

pub(super) struct DiscordSide {
    fake: DiscordFake,
    ann: u64,
}

impl DiscordSide {
    pub(super) async fn start() -> Self {
        let fake = DiscordFake::start(TOKEN).await;
        fake.limit_rates(false);
        let ann = fake.user("ann");
        Self { fake, ann }
    }
}

#[async_trait(?Send)]
impl FakePlatformSide for DiscordSide {
    fn account(&self) -> String {
        "discord:main".to_owned()
    }

    fn table(&mut self, _home: &Home) -> String {
        self.fake.set_now(avocet_tests::now());
        table("discord", &self.fake.base_url(), self.ann)
    }

    async fn say(&mut self, text: &str) {
        self.fake.say(self.fake.dm(self.ann), self.ann, text);
    }

    async fn choose(&mut self, choice: &str) {
        let asked = self.fake.sent().pop().unwrap();
        self.fake.press(self.ann, asked.id, choice);
    }

    fn typings(&self) -> Option<usize> {
        Some(self.fake.calls(Route::Typing))
    }

    async fn texts(&mut self) -> Vec<String> {
        self.fake.sent().into_iter().map(|message| message.text).collect()
    }

    fn refusals(&self) -> Vec<String> {
        self.fake.refusals().iter().map(|refusal| format!("{refusal:?}")).collect()
    }
}

fn table(platform: &str, url: &str, owner: impl Display) -> String {
    format!("[channels.{platform}]\ntoken = \"{TOKEN}\"\napi_url = \"{url}\"\nowners = [{owner}]\n")
}
