//! Telegram and Discord, as their people see them.

use std::fmt::Display;

use async_trait::async_trait;
use avocet_protocol::chat::REPEAT_MARK;
use avocet_testkit::discord::{self, DiscordFake, Route};
use avocet_testkit::telegram::{self, TelegramFake};
use avocet_tests::Home;
use serde_json::{Value, json};

use super::{FakePlatformSide, Repetition, check};
use crate::patience::with_timeout;

const TOKEN: &str = "4711:AA-secret";
/// The person on Telegram.
const ANN: i64 = 7;

pub(super) struct TelegramSide {
    fake: TelegramFake,
    /// The person's last message, as the platform sends it.
    last: Value,
}

impl TelegramSide {
    pub(super) async fn start() -> Self {
        Self { fake: TelegramFake::start(TOKEN).await, last: Value::Null }
    }
}

#[async_trait(?Send)]
impl FakePlatformSide for TelegramSide {
    fn account(&self) -> String {
        "telegram:main".to_owned()
    }

    fn table(&mut self, _home: &Home) -> String {
        self.fake.set_now(avocet_tests::now());
        table("telegram", &self.fake.base_url(), ANN)
    }

    async fn wait_until_disconnected(&mut self) {
        with_timeout("the end of the poll", self.fake.wait_for_no_poll()).await;
    }

    async fn say(&mut self, text: &str) {
        let posted = self.fake.private_text(ANN, text);
        let person = json!({ "id": ANN, "is_bot": false, "first_name": "Ann" });
        let chat = json!({ "id": ANN, "type": "private", "first_name": "Ann" });
        let date = avocet_tests::now().0 / 1000;
        self.last = json!({ "message_id": posted.id, "date": date, "from": person, "chat": chat,
            "text": text });
    }

    async fn repeat_event(&mut self) {
        self.fake.push("message", self.last.clone());
    }

    async fn lose_answer(&mut self) -> Repetition {
        let sends = telegram::On::method("sendMessage");
        self.fake.inject(sends, 1, telegram::InjectedFault::ResetAfter);
        Repetition::Marked(REPEAT_MARK)
    }

    async fn choose(&mut self, choice: &str) {
        let asked = self.fake.sent().pop().unwrap();
        self.fake.press(ANN, &asked, choice);
    }

    fn typings(&mut self) -> Option<usize> {
        Some(self.fake.calls("sendChatAction"))
    }

    async fn texts(&mut self) -> Vec<String> {
        self.fake.sent().into_iter().map(|message| message.text).collect()
    }

    fn refusals(&self) -> Vec<String> {
        self.fake.refusals().iter().map(|refusal| format!("{refusal:?}")).collect()
    }
}

pub(super) struct DiscordSide {
    fake: DiscordFake,
    ann: u64,
    /// The person's last message.
    last: u64,
}

impl DiscordSide {
    pub(super) async fn start() -> Self {
        let fake = DiscordFake::start(TOKEN).await;
        fake.limit_rates(false);
        let ann = fake.user("ann");
        Self { fake, ann, last: 0 }
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
        self.last = self.fake.say(self.fake.dm(self.ann), self.ann, text);
    }

    async fn repeat_event(&mut self) {
        self.fake.push("MESSAGE_CREATE", &self.fake.describe_message(self.last));
    }

    async fn lose_answer(&mut self) -> Repetition {
        let sends = discord::On::route(Route::CreateMessage);
        self.fake.inject(sends, 1, discord::InjectedFault::ResetAfter);
        Repetition::Recognised
    }

    async fn choose(&mut self, choice: &str) {
        let asked = self.fake.sent().pop().unwrap();
        self.fake.press(self.ann, asked.id, choice);
    }

    fn typings(&mut self) -> Option<usize> {
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn telegram_keeps_the_contract_of_channels() {
    check(TelegramSide::start().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn discord_keeps_the_contract_of_channels() {
    check(DiscordSide::start().await).await;
}
