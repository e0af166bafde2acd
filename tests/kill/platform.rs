//! The platforms. People read and write there, with or without a living daemon.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;

use avocet_protocol::chat::REPEAT_MARK;
use avocet_testkit::discord::DiscordFake;
use avocet_testkit::telegram::{PostedMessage, TelegramFake};
use avocet_tests::now;
use parking_lot::Mutex;

const TELEGRAM_TOKEN: &str = "4711:AA-secret";
const DISCORD_TOKEN: &str = "discord.secret";
/// Ports that no outgoing connection uses (Linux, `ip_local_port_range`).
const HTTP_PORTS: Range<u16> = 21_470..21_570;
/// The first person's number on Telegram.
const FIRST_USER: i64 = 1000;

/// A platform with a chat for each person.
pub(crate) enum ChatPlatform {
    Telegram(TelegramFake, Mutex<Vec<PostedMessage>>),
    Discord(DiscordFake, BTreeMap<usize, DiscordAccount>),
}

/// A person on Discord.
pub(crate) struct DiscordAccount {
    user: u64,
    channel: u64,
}

/// A message of the daemon in its current form.
pub(crate) struct ShownMessage {
    pub(crate) id: u64,
    pub(crate) text: String,
    /// `true` if it is marked as sent again.
    pub(crate) marked: bool,
    /// The commands of its buttons.
    pub(crate) says: Vec<String>,
}

/// Telegram's errors for actions that are repeated after a crash: an edit, the answer to a press, a
/// deletion.
const DONE_AGAIN: [&str; 3] =
    ["message is not modified", "query is too old", "message to delete not found"];

/// Discord's error for a deletion that is repeated after a crash.
const DELETED_AGAIN: &str = "Unknown Message";

impl ChatPlatform {
    pub(crate) async fn telegram() -> Self {
        Self::Telegram(TelegramFake::start(TELEGRAM_TOKEN).await, Mutex::default())
    }

    pub(crate) async fn discord(people: impl Iterator<Item = usize>) -> Self {
        let fake = DiscordFake::start(DISCORD_TOKEN).await;
        fake.limit_rates(false);
        let account = |person| {
            let user = fake.user(&format!("p{person}"));
            (person, DiscordAccount { user, channel: fake.dm(user) })
        };
        let accounts = people.map(account).collect();
        Self::Discord(fake, accounts)
    }

    /// Returns the daemon's configuration for this platform.
    pub(crate) fn config(&self, people: impl Iterator<Item = usize>) -> String {
        let (name, token, url) = match self {
            Self::Telegram(fake, _) => ("telegram", TELEGRAM_TOKEN, fake.base_url()),
            Self::Discord(fake, _) => ("discord", DISCORD_TOKEN, fake.base_url()),
        };
        let owners: Vec<String> = people.map(|person| self.user(person).to_string()).collect();
        format!(
            "[channels.{name}]\ntoken = \"{token}\"\napi_url = \"{url}\"\nowners = [{}]\n",
            owners.join(", ")
        )
    }

    /// Makes Telegram post updates to the daemon. Returns the rest of the configuration, which
    /// begins with a key of the bot's table. All daemons of a test have the same port.
    pub(crate) fn post_updates(&self) -> String {
        let Self::Telegram(fake, _) = self else { return String::new() };
        let address = HTTP_PORTS
            .map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
            .find(|address| TcpListener::bind(address).is_ok())
            .unwrap();
        fake.deliver_to(Some(address));
        format!(
            "webhook = \"https://bus.example\"\n[http]\nlisten = \"{address}\"\n\
             hosts = [\"bus.example\"]\n[http.tokens.phone]\ntoken = \"0123456789abcdef\"\n\
             chats = [\"*\"]\n"
        )
    }

    fn user(&self, person: usize) -> i64 {
        match self {
            Self::Telegram(..) => FIRST_USER + person as i64,
            Self::Discord(_, accounts) => accounts[&person].user.cast_signed(),
        }
    }

    /// Sends a person's message. Returns its id, for [`Self::edit`].
    pub(crate) fn say(&self, person: usize, text: &str) -> u64 {
        match self {
            Self::Telegram(fake, said) => {
                fake.set_now(now());
                let mut said = said.lock();
                said.push(fake.private_text(self.user(person), text));
                said.len() as u64 - 1
            }
            Self::Discord(fake, accounts) => {
                let DiscordAccount { user, channel } = &accounts[&person];
                fake.set_now(now());
                fake.say(*channel, *user, text)
            }
        }
    }

    /// Edits a person's message.
    pub(crate) fn edit(&self, message: u64, text: &str) {
        match self {
            Self::Telegram(fake, said) => {
                fake.set_now(now());
                let heard = said.lock()[usize::try_from(message).unwrap()];
                fake.edit(heard, text);
            }
            Self::Discord(fake, _) => {
                fake.set_now(now());
                fake.edit(message, text);
            }
        }
    }

    /// Returns the visible messages by person, in order.
    pub(crate) fn shown(&self) -> BTreeMap<usize, Vec<ShownMessage>> {
        let mut shown: BTreeMap<usize, Vec<ShownMessage>> = BTreeMap::new();
        match self {
            Self::Telegram(fake, _) => fake.look(|sent| {
                for message in sent.iter().filter(|message| !message.deleted) {
                    let person = usize::try_from(message.chat - FIRST_USER).unwrap();
                    let buttons = message.buttons();
                    let says = buttons.iter().filter_map(|button| button["callback_data"].as_str());
                    let says = says.map(ToOwned::to_owned).collect();
                    let id = message.id.cast_unsigned();
                    shown.entry(person).or_default().push(ShownMessage::new(
                        id,
                        &message.text,
                        says,
                    ));
                }
            }),
            Self::Discord(fake, accounts) => fake.look(|sent| {
                let people: BTreeMap<u64, usize> =
                    accounts.iter().map(|(person, account)| (account.channel, *person)).collect();
                for message in sent.iter().filter(|message| !message.deleted) {
                    let buttons = message.buttons();
                    let says = buttons.iter().filter_map(|button| button["custom_id"].as_str());
                    let says = says.map(ToOwned::to_owned).collect();
                    let person = people[&message.channel];
                    shown.entry(person).or_default().push(ShownMessage::new(
                        message.id,
                        &message.text,
                        says,
                    ));
                }
            }),
        }
        shown
    }

    pub(crate) fn press(&self, person: usize, message: u64, says: &str) {
        match self {
            Self::Telegram(fake, _) => {
                let is_it = |sent: &&avocet_testkit::telegram::SentMessage| {
                    sent.chat == self.user(person) && sent.id.cast_unsigned() == message
                };
                let found = fake.look(|sent| sent.iter().find(is_it).cloned());
                fake.press(self.user(person), &found.unwrap(), says);
            }
            Self::Discord(fake, accounts) => {
                fake.press(accounts[&person].user, message, says);
            }
        }
    }

    /// Waits until the platform has seen that the daemon is gone.
    pub(crate) async fn sees_it_gone(&self) {
        if let Self::Telegram(fake, _) = self {
            fake.wait_for_no_poll().await;
        }
    }

    /// Returns `true` if a second copy is a fault even with a mark.
    pub(crate) fn never_doubles(&self) -> bool {
        matches!(self, Self::Discord(..))
    }

    /// Returns the daemon's violations of the platform's rules.
    pub(crate) fn complaints(&self) -> Vec<String> {
        match self {
            Self::Telegram(fake, _) => {
                let is_harmless = |text: &str| DONE_AGAIN.iter().any(|done| text.contains(done));
                let refusals = fake.refusals();
                let refusals = refusals.iter().map(|refusal| format!("{refusal:?}"));
                refusals.filter(|refusal| !is_harmless(refusal)).collect()
            }
            Self::Discord(fake, _) => {
                let refusals = fake.refusals();
                let refusals = refusals.iter().map(|refusal| format!("{refusal:?}"));
                let is_harmless =
                    |text: &str| text.contains("DeleteMessage") && text.contains(DELETED_AGAIN);
                refusals.filter(|refusal| !is_harmless(refusal)).collect()
            }
        }
    }

    /// Returns the number of times the daemon has identified itself; `None` if that is free.
    pub(crate) fn identifies(&self) -> Option<usize> {
        match self {
            Self::Telegram(..) => None,
            Self::Discord(fake, _) => Some(fake.identifies().len()),
        }
    }
}

impl ShownMessage {
    fn new(id: u64, text: &str, says: Vec<String>) -> Self {
        let unmarked = text.strip_prefix(REPEAT_MARK).map(str::trim_start);
        Self { id, text: unmarked.unwrap_or(text).to_owned(), marked: unmarked.is_some(), says }
    }
}
