//! A row of the table of hostile input, and the check of a row.

use std::sync::Arc;

use avocet_testkit::discord::DiscordFake;
use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_user_text};
use avocet_testkit::telegram::TelegramFake;
use avocet_tests::{Home, now, program};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::log::number;
use crate::model::{asked, begun, config, held, held_back};
use crate::patience::{logged, stop, until};

pub(crate) const TOKEN: &str = "4711:AA-secret";
pub(crate) const ANN: i64 = 7;
/// A group in which the bot reads all messages.
pub(crate) const GROUP: i64 = -20;
/// A message whose answer waits for a permit.
pub(crate) const HELD: &str = "Think first.";
/// A message whose answer begins at once, and waits for a permit in the middle.
pub(crate) const STORY: &str = "Once upon a time there was a bird.";
const BEGINNING: &str = "Once upon a time there ";

/// A fault of the platform, and the place where the bot reports it.
pub(crate) struct FaultRow<P> {
    pub(crate) name: &'static str,
    pub(crate) asks: Asks<P>,
    pub(crate) breaks: fn(&P),
    pub(crate) says: Says,
    pub(crate) mends: fn(&P),
    /// Checks the messages at the end.
    pub(crate) ends: fn(&P),
}

/// A message that is sent before the fault, and answered only during it.
pub(crate) enum Asks<P> {
    Nothing,
    /// [`HELD`]: the answer has not begun to show.
    Held(fn(&P)),
    /// [`STORY`]: the chat shows the beginning.
    Begun(fn(&P)),
}

/// The place of the report, which comes once.
#[derive(Clone, Copy)]
pub(crate) enum Says {
    /// In one line of the log, a warning or an error, with all of these words.
    Log(&'static [&'static str]),
    /// In `avocet status`.
    Status(&'static str),
    /// In the chat.
    Chat(&'static str),
}

/// The features of a platform that every row needs.
pub(crate) trait TestedPlatform {
    /// Returns the bot's table in the configuration.
    fn table(&self) -> String;
    /// Sends a private message from Ann.
    fn ask(&self, text: &str);
    /// Returns all messages of the bot, in any chat.
    fn told(&self) -> Vec<String>;
}

impl TestedPlatform for TelegramFake {
    fn table(&self) -> String {
        self.set_now(now());
        format!(
            "[channels.telegram]\ntoken = \"${{TOKEN}}\"\napi_url = \"{}\"\nowners = [{ANN}]\n\
             pairing = false\n[channels.telegram.groups.\"{GROUP}\"]\nmention = false\n",
            self.base_url()
        )
    }

    fn ask(&self, text: &str) {
        self.private_text(ANN, text);
    }

    fn told(&self) -> Vec<String> {
        self.sent().into_iter().map(|message| message.text).collect()
    }
}

/// Discord, with a server in which Ann and the bot are.
pub(crate) struct Discord {
    pub(crate) fake: DiscordFake,
    pub(crate) server: u64,
    pub(crate) channel: u64,
}

impl Discord {
    pub(crate) async fn start() -> Self {
        let fake = DiscordFake::start(TOKEN).await;
        fake.limit_rates(false);
        let server = fake.guild("Birds");
        let channel = fake.channel(server, "nest");
        Self { fake, server, channel }
    }

    pub(crate) fn said_in_server(&self) -> Vec<String> {
        self.fake.sent_in(self.channel).into_iter().map(|message| message.text).collect()
    }
}

impl TestedPlatform for Discord {
    fn table(&self) -> String {
        self.fake.set_now(now());
        format!(
            "[channels.discord]\ntoken = \"${{TOKEN}}\"\napi_url = \"{}\"\nowners = [{ANN}]\n\
             pairing = false\n",
            self.fake.base_url()
        )
    }

    fn ask(&self, text: &str) {
        let ann = ANN.unsigned_abs();
        self.fake.say(self.fake.dm(ann), ann, text);
    }

    fn told(&self) -> Vec<String> {
        self.fake.sent().into_iter().map(|message| message.text).collect()
    }
}

/// A model that repeats the last message.
pub(crate) async fn parrot(permits: &Arc<Semaphore>) -> OpenAiFake {
    let permits = permits.clone();
    OpenAiFake::start(move |request| match last_user_text(request) {
        text if text.ends_with(HELD) => held_back(&permits, text),
        text if text.ends_with(STORY) => begun(BEGINNING, &permits, "was a bird."),
        text => ModelAnswer::says(text),
    })
    .await
}

pub(crate) fn home(platform: &impl TestedPlatform, model: &OpenAiFake) -> Home {
    Home::new(program!()).with_config(&config(model, &platform.table())).with("TOKEN", TOKEN)
}

/// Waits until a message of the bot contains these words.
pub(crate) async fn told(platform: &impl TestedPlatform, words: &str) {
    let is_told = async || platform.told().iter().any(|text| text.contains(words));
    until(&format!("{words:?} in a chat"), is_told).await;
}

pub(crate) async fn is_answered(platform: &impl TestedPlatform, text: &str) {
    platform.ask(text);
    told(platform, text).await;
}

pub(crate) fn status(home: &Home) -> Value {
    serde_json::from_str(&home.run(&["status", "--json"]).out).unwrap()
}

/// Waits until all work is done, and checks that every message has an outcome.
pub(crate) async fn is_settled(home: &Home) {
    until("nothing left to do", async || {
        let log = &status(home)["log"];
        ["queued", "running", "waiting", "pending"].iter().all(|what| log[*what] == 0)
    })
    .await;
    assert_eq!(number(home, "SELECT count(*) FROM inbound WHERE outcome IS NULL"), 0);
}

/// Returns the warnings and errors of a log.
pub(crate) fn trouble(log: &str) -> Vec<&str> {
    log.lines().filter(|line| line.contains(" WARN ") || line.contains(" ERROR ")).collect()
}

pub(crate) async fn check<P: TestedPlatform>(platform: &P, row: FaultRow<P>) {
    eprintln!("{}", row.name);
    let permits = held();
    let model = parrot(&permits).await;
    let home = home(platform, &model);
    let mut daemon = home.daemon();
    is_answered(platform, "Before.").await;
    match row.asks {
        Asks::Nothing => {}
        Asks::Held(asks) => {
            asks(platform);
            asked(&model, 2).await;
        }
        Asks::Begun(asks) => {
            asks(platform);
            told(platform, "there …").await;
        }
    }
    (row.breaks)(platform);
    permits.add_permits(1);
    match row.says {
        Says::Log(words) => logged(&mut daemon, words[0], 1).await,
        Says::Chat(words) => told(platform, words).await,
        Says::Status(words) => {
            until(words, async || home.run(&["status"]).out.contains(words)).await;
        }
    }
    is_settled(&home).await;
    (row.mends)(platform);
    is_answered(platform, "After.").await;
    is_settled(&home).await;
    assert_eq!((daemon.ended(), &status(&home)["pid"]), (None, &json!(daemon.pid())));
    let (ended, log) = stop(daemon).await;
    assert!(ended.success() && !log.contains("secret"), "{log}");
    match (row.says, &trouble(&log)[..]) {
        (Says::Log(words), [line]) => {
            assert!(words.iter().all(|words| line.contains(words)), "{words:?}: {line}");
        }
        (Says::Chat(_) | Says::Status(_), []) => {}
        (_, lines) => panic!("{lines:#?}"),
    }
    (row.ends)(platform);
}
