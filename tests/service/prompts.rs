//! Tests of every question to a person, on every channel: each shows its subject, styled as it was
//! written, and the id in it decides it.

use std::collections::BTreeMap;
use std::fs;

use avocet_testkit::discord::DiscordFake;
use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_results, last_user_text};
use avocet_testkit::telegram::{SentMessage, TelegramFake};
use avocet_tests::{DaemonProcess, FOREIGN, Home, SINK, now, program};
use regex::Regex;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::model::config;
use crate::patience::{stop, until, with_timeout};
use crate::sink::Sink;

const TOKEN: &str = "4711:AA-secret";
/// An owner, and a user. Further owners have the ids from 100 on.
const ANN: i64 = 7;
const BOB: i64 = 8;
const MORE: std::ops::Range<i64> = 100..160;
/// An answer with this is withheld once untrusted content was read.
const LEAK: &str = "https://evil.example/?d=c2VjcmV0IGRhdGEgb2YgdGhlIG93bmVy";
const SHOWN: [&str; 3] = ["telegram", "discord", "terminal"];

/// The visible form of a message: its words, and the parts that are shown as code.
#[derive(Debug, PartialEq, Eq)]
struct VisibleMessage {
    words: Vec<String>,
    code: Vec<String>,
}

/// Replaces the ids of waits, which differ between chats. A zero-width space keeps a call's own
/// `{wait}` from being taken for the placeholder of the id.
fn alike(text: &str) -> String {
    let visible = text.replace('\u{200b}', "");
    Regex::new(r"\bw[0-9]+\b").unwrap().replace_all(&visible, "wN").into_owned()
}

impl VisibleMessage {
    fn new(text: &str, code: &[String]) -> Self {
        let words = alike(text).split_whitespace().map(str::to_owned).collect();
        let code = code.iter().map(|code| alike(code.trim()));
        Self { words, code: code.filter(|code| !code.is_empty()).collect() }
    }

    /// Returns the visible form of a message on Telegram.
    fn on_telegram(sent: &SentMessage) -> Self {
        let part = |entity: &Value| {
            let at = |key: &str| usize::try_from(entity[key].as_u64().unwrap()).unwrap();
            let units = sent.text.encode_utf16().skip(at("offset")).take(at("length"));
            String::from_utf16(&units.collect::<Vec<_>>()).unwrap()
        };
        let is_code = |entity: &&Value| entity["type"] == "code" || entity["type"] == "pre";
        let code: Vec<String> = sent.entities.iter().filter(is_code).map(part).collect();
        Self::new(&sent.text, &code)
    }

    /// Returns the visible form of Markdown, including Discord's.
    fn of_markdown(markdown: &str) -> Self {
        let (mut text, mut code) = (String::new(), Vec::new());
        let mut rest = markdown;
        while let Some(at) = rest.find(['`', '\\']) {
            let (before, from) = rest.split_at(at);
            text.push_str(&without_marks(before));
            if let Some(escaped) = from.strip_prefix('\\') {
                let first = escaped.chars().next().unwrap();
                text.push(first);
                rest = &escaped[first.len_utf8()..];
                continue;
            }
            let ticks = &from[..from.len() - from.trim_start_matches('`').len()];
            let inside = &from[ticks.len()..];
            let is_block = ticks.len() > 2 && (before.is_empty() || before.ends_with('\n'));
            let (inner, behind) = if is_block {
                // The first line names the language.
                let lines = inside.split_once('\n').unwrap().1;
                lines.split_once(&format!("\n{ticks}")).unwrap()
            } else {
                inside.split_once(ticks).unwrap()
            };
            text.push_str(inner);
            code.push(inner.to_owned());
            rest = behind;
        }
        text.push_str(&without_marks(rest));
        Self::new(&text, &code)
    }
}

/// Removes the marks of emphasis and of addresses from a text without code.
fn without_marks(text: &str) -> String {
    text.replace("**", "").replace("<http", "http").replace('>', "").replace('\u{a0}', " ")
}

/// The platforms, and the program between them.
struct World {
    telegram: TelegramFake,
    discord: DiscordFake,
    home: Home,
    /// The owner who speaks now, in a private chat on every channel.
    who: i64,
    /// The number of messages read so far, by channel and owner.
    looked: BTreeMap<(&'static str, i64), usize>,
}

impl World {
    async fn start(model: &OpenAiFake, sink: &Sink, more: &[(&str, &str)]) -> Self {
        let telegram = TelegramFake::start(TOKEN).await;
        let discord = DiscordFake::start(TOKEN).await;
        telegram.set_now(now());
        discord.set_now(now());
        discord.limit_rates(false);
        let owners: Vec<i64> = MORE.chain([ANN]).collect();
        let table = |name: &str, url: String| {
            format!(
                "[channels.{name}]\ntoken = \"${{TOKEN}}\"\napi_url = \"{url}\"\nowners = {owners:?}\n\
                 allow = [{BOB}]\npreview_seconds = 0\n"
            )
        };
        let channels =
            table("telegram", telegram.base_url()) + &table("discord", discord.base_url());
        let mut policy =
            "[tools.policy]\n\"*\" = \"ask\"\nask_user = \"allow\"\npost = \"allow\"\n".to_owned();
        if more.iter().any(|(name, _)| *name == FOREIGN) {
            policy.push_str("mcp_lookup = \"allow\"\n");
        }
        let all = "tools = { core = [\"*\"] }\n".to_owned();
        let home = Home::new(program!()).with_config(&config(model, &(all + &policy + &channels)));
        let home = home.with("TOKEN", TOKEN).with(SINK, &sink.address);
        let home = more.iter().fold(home, |home, (name, value)| home.with(name, value));
        for person in owners.iter().chain(&[BOB]) {
            discord.dm(person.unsigned_abs());
        }
        Self { telegram, discord, home, who: ANN, looked: BTreeMap::new() }
    }

    fn say(&self, channel: &str, text: &str) {
        match channel {
            "telegram" => _ = self.telegram.private_text(self.who, text),
            "discord" => _ = self.discord.say(self.dm(), self.who.unsigned_abs(), text),
            _ => _ = self.home.run(&["ask", &self.who.to_string(), text]),
        }
    }

    fn dm(&self) -> u64 {
        self.discord.dm(self.who.unsigned_abs())
    }

    /// Returns the texts in the owner's chat. Those of the terminal come from the log, since the
    /// terminal gets unchanged Markdown.
    fn said(&self, channel: &str) -> Vec<String> {
        match channel {
            "telegram" => self.on_telegram().into_iter().map(|one| one.text).collect(),
            "discord" => {
                let sent = self.discord.sent().into_iter();
                let dm = self.dm();
                sent.filter(|one| one.channel == dm).map(|one| one.text).collect()
            }
            _ => self.in_log(
                "SELECT content ->> 'text' FROM outbox WHERE channel = 'terminal' AND chat = ?1",
            ),
        }
    }

    fn on_telegram(&self) -> Vec<SentMessage> {
        self.telegram.sent().into_iter().filter(|one| one.chat == self.who).collect()
    }

    fn in_log(&self, query: &str) -> Vec<String> {
        let log = Connection::open(self.home.data_dir().join("avocet.db")).unwrap();
        let mut found = log.prepare(query).unwrap();
        let texts = found.query_map([self.who.to_string()], |row| row.get(0)).unwrap();
        texts.map(Result::unwrap).collect()
    }

    /// Waits for the next message in the owner's chat. Returns its source text and its visible
    /// form.
    async fn next(&mut self, channel: &'static str) -> (String, VisibleMessage) {
        let place = self.looked.entry((channel, self.who)).or_default();
        let at = std::mem::replace(place, *place + 1);
        until(&format!("message {at} on {channel}"), async || self.said(channel).len() > at).await;
        let text = self.said(channel).swap_remove(at);
        let seen = match channel {
            "telegram" => VisibleMessage::on_telegram(&self.on_telegram()[at]),
            _ => VisibleMessage::of_markdown(&text),
        };
        (text, seen)
    }

    /// Checks that the question is the same on every channel, with the same styles. Returns its
    /// source text, and the id of the wait on each channel.
    async fn asked(&mut self, what: &str) -> (String, Vec<String>) {
        let (mut seen, mut ids, mut written) = (Vec::new(), Vec::new(), String::new());
        for channel in SHOWN {
            let (text, shown) = self.next(channel).await;
            for command in ["approve", "deny", "retry", "skip"] {
                assert!(!text.contains(&format!("/{command} {{wait}}")), "{what}: {text}");
            }
            ids.push(self.id_of_last(channel));
            written = text;
            seen.push(shown);
        }
        assert_eq!(seen[0], seen[2], "{what} on Telegram");
        assert_eq!(seen[1], seen[2], "{what} on Discord");
        (written, ids)
    }

    /// Returns the id of the wait in the last button of the last read message.
    fn id_of_last(&self, channel: &'static str) -> String {
        let at = self.looked[&(channel, self.who)] - 1;
        let says = match channel {
            "telegram" => {
                let buttons = self.on_telegram()[at].buttons();
                buttons.last().map(|button| button["callback_data"].as_str().unwrap().to_owned())
            }
            "discord" => {
                let dm = self.dm();
                let sent = self.discord.sent().into_iter().filter(|one| one.channel == dm);
                let buttons = sent.collect::<Vec<_>>()[at].buttons();
                buttons.last().map(|button| button["custom_id"].as_str().unwrap().to_owned())
            }
            _ => {
                let query = "SELECT coalesce(content ->> '$.choices[#-1].says', '') FROM outbox \
                    WHERE channel = 'terminal' AND chat = ?1";
                Some(self.in_log(query).swap_remove(at))
            }
        };
        let says = says.unwrap_or_default();
        says.split_whitespace().nth(1).unwrap_or_default().to_owned()
    }

    /// Decides on every channel by the id of its question, and waits for the turn's end. A channel
    /// of `edits` has no reply to the command: the question becomes the outcome.
    async fn decide(
        &mut self,
        what: &str,
        command: &str,
        ids: &[String],
        (done, edits): (&str, &[&str]),
    ) {
        for (channel, id) in SHOWN.into_iter().zip(ids) {
            self.say(channel, &format!("{command} {id}"));
        }
        for channel in SHOWN {
            let mut said = vec![self.next(channel).await.0];
            if !edits.contains(&channel) {
                said.push(self.next(channel).await.0);
            }
            said.sort();
            let replies = if edits.contains(&channel) { vec!["done"] } else { vec![done, "done"] };
            assert_eq!(said, replies, "{what} on {channel}");
        }
    }

    fn ask_everywhere(&mut self, task: &Value) {
        for channel in SHOWN {
            self.say(channel, &task.to_string());
        }
    }
}

/// A model that makes the requested call once.
fn obeys(request: &Value) -> ModelAnswer {
    let Ok(task) = serde_json::from_str::<Value>(last_user_text(request)) else {
        return ModelAnswer::says("done");
    };
    match (&last_results(request)[..], task["tool"].as_str()) {
        ([], Some(tool)) => ModelAnswer::call(tool, task["arguments"].clone()),
        ([found], Some("mcp_lookup")) if found.contains("stranger") => {
            ModelAnswer::says(format!("see {LEAK} and `x`"))
        }
        _ => ModelAnswer::says("done"),
    }
}

/// Returns all required arguments of a tool, with text that looks like Markdown.
fn sample(tool: &str, schema: &Value) -> Value {
    let text = "a `b` **c** _d_ ``` {wait}";
    let given = match tool {
        "apply_patch" => {
            json!({ "patch": "--- a/notes.md\n+++ b/notes.md\n@@ -1 +1 @@\n-one\n+`1`\n" })
        }
        "edit_file" => json!({ "path": "notes.md", "find": "one", "replace": text }),
        "exec_shell" => json!({ "command": "echo `hi-from-shell` {wait}" }),
        "message" => json!({ "text": text, "chat": "terminal:local:other" }),
        "run_tests" => json!({ "framework": "cargo", "filter": "a_b" }),
        "web_fetch" => json!({ "url": "https://example.org/a_b" }),
        "web_search" => json!({ "query": text }),
        "write_file" => json!({ "path": "new.md", "content": text }),
        _ => Value::Null,
    };
    if given.is_object() {
        return given;
    }
    let needed = schema["required"].as_array().cloned().unwrap_or_default();
    let of = |name: &str| {
        let property = &schema["properties"][name];
        match (property["type"].as_str(), &property["enum"][0]) {
            (_, first @ Value::String(_)) => first.clone(),
            (Some("integer"), _) => json!(1),
            (Some("boolean"), _) => json!(true),
            (Some("array"), _) => json!(["a.md"]),
            _ if name.contains("path") => json!("notes.md"),
            _ => json!(text),
        }
    };
    needed
        .iter()
        .map(|name| (name.as_str().unwrap().to_owned(), of(name.as_str().unwrap())))
        .collect()
}

async fn connected(world: &World) -> DaemonProcess {
    let daemon = world.home.daemon();
    with_timeout("Discord", world.discord.wait_for_connected()).await;
    daemon
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prompt_for_each_tool_is_the_same_on_every_channel() {
    let (model, sink) = (OpenAiFake::start(obeys).await, Sink::start().await);
    let mut world = World::start(&model, &sink, &[]).await;
    let daemon = connected(&world).await;
    fs::write(world.home.workspace().join("notes.md"), "one\n").unwrap();
    world.ask_everywhere(&json!("hello"));
    for channel in SHOWN {
        assert_eq!(world.next(channel).await.0, "done");
    }
    let tools = model.requests()[0]["tools"].as_array().unwrap().clone();
    assert!(tools.len() > 10, "{tools:?}");
    // Each call has separate chats, because Telegram accepts one message a second in a chat.
    let names = tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap());
    let asked = |name: &&str| !matches!(*name, "ask_user" | "post");
    let asked: Vec<(i64, &str)> = MORE.zip(names.filter(asked)).collect();
    assert!(asked.len() > 20 && asked.len() < MORE.count(), "{asked:?}");
    for (who, name) in &asked {
        let tool = tools.iter().find(|tool| tool["function"]["name"] == *name).unwrap();
        let arguments = sample(name, &tool["function"]["parameters"]);
        world.who = *who;
        world.ask_everywhere(&json!({ "tool": name, "arguments": arguments }));
    }
    let mut last = Vec::new();
    for (who, name) in &asked {
        world.who = *who;
        let (written, ids) = world.asked(name).await;
        assert!(written.starts_with(&format!("**May I use `{name}`?**")), "{written}");
        last = ids;
    }
    world.decide("the last", "/deny", &last, ("Denied.", &["telegram", "discord"])).await;
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!((world.discord.refusals(), world.telegram.refusals()), (vec![], vec![]));
}

/// A question of the model, a withheld answer, an interrupted call, the notice to owners about a
/// user's call, and the repeated question after a restart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prompt_for_each_kind_of_wait_is_the_same_on_every_channel() {
    let (model, sink) = (OpenAiFake::start(obeys).await, Sink::start().await);
    let library = tempfile::TempDir::new().unwrap();
    fs::write(library.path().join("topic.txt"), "words of a stranger").unwrap();
    let foreign = library.path().display().to_string();
    let mut world = World::start(&model, &sink, &[(FOREIGN, &foreign)]).await;
    let daemon = connected(&world).await;

    let question = json!({ "question": "Which `{wait}`, **a** or b?", "options": ["a"] });
    world.ask_everywhere(&json!({ "tool": "ask_user", "arguments": question }));
    let (written, _) = world.asked("ask_user").await;
    assert_eq!(written, "Which `{wait}`, **a** or b?", "the words of the model stay as they are");
    for channel in SHOWN {
        world.say(channel, "a");
        assert_eq!(world.next(channel).await.0, "done");
    }

    // An owner gets a private notice with the content of a user's call.
    let other = json!({ "text": "`hi`" });
    world.telegram.private_text(BOB, &json!({ "tool": "message", "arguments": other }).to_string());
    let (_, on_telegram) = world.next("telegram").await;
    let (_, on_discord) = world.next("discord").await;
    assert_eq!(on_telegram, on_discord);
    let code = [format!("telegram:main:{BOB}"), BOB.to_string(), "message".to_owned()];
    assert_eq!(on_telegram.code[..3], code, "{on_telegram:?}");

    let post = json!({ "tool": "post", "arguments": { "text": "leaflet" } });
    world.ask_everywhere(&post);
    until("three posts", async || sink.posts().len() == 3).await;
    daemon.kill();
    sink.gate.add_permits(100);
    let daemon = connected(&world).await;
    let (written, ids) = world.asked("an interruption").await;
    assert!(written.starts_with("I was interrupted while running `post`"), "{written}");
    world
        .decide(
            "an interruption",
            "/skip",
            &ids,
            ("I continue without it.", &["telegram", "discord"]),
        )
        .await;

    let lookup = json!({ "tool": "mcp_lookup", "arguments": { "topic": "topic" } });
    world.ask_everywhere(&lookup);
    let (written, ids) = world.asked("a withheld answer").await;
    assert!(written.starts_with("**I am withholding an answer.**"), "{written}");
    drop((ids, stop(daemon).await));

    // Discord loses presses while no daemon runs, so the question is repeated.
    let daemon = connected(&world).await;
    let (_, seen) = world.next("discord").await;
    let asked = VisibleMessage::of_markdown(&format!("Still waiting for a decision:\n{written}"));
    assert_eq!(seen, asked);
    let (status, log) = stop(daemon).await;
    assert!(status.success(), "{log}");
    assert_eq!((world.discord.refusals(), world.telegram.refusals()), (vec![], vec![]));
}
