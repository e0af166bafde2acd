//! Memory from end to end: a fact from one place is in the requests of later conversations of its
//! scope, and never in those of another scope.

use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_results, last_user_text};
use avocet_testkit::telegram::{TelegramFake, UserMessage};
use avocet_tests::{Home, now, program};
use serde_json::{Value, json};

use crate::chat::AttachedChat;
use crate::crash::{dies, doomed};
use crate::model::{asked, config};
use crate::patience::stop;

const TOKEN: &str = "4711:AA-secret";
/// An owner, and a user.
const ANN: i64 = 7;
const BOB: i64 = 8;
const GROUP: i64 = -20;
const OTHER_GROUP: i64 = -30;

/// A chat, and the person who writes there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Telegram { chat: i64, by: i64 },
    Terminal,
}

const PLACES: [Place; 6] = [
    Place::Telegram { chat: ANN, by: ANN },
    Place::Telegram { chat: BOB, by: BOB },
    Place::Telegram { chat: GROUP, by: ANN },
    Place::Telegram { chat: GROUP, by: BOB },
    Place::Telegram { chat: OTHER_GROUP, by: ANN },
    Place::Terminal,
];

/// A fact: its place of origin, its scope, its subject, and the places that may recall it.
type Fact = (usize, &'static str, &'static str, &'static [usize]);

const ALL: &[usize] = &[0, 1, 2, 3, 4, 5];
const FACTS: [Fact; 11] = [
    (0, "person", "apricot", &[0]),
    (0, "chat", "bassoon", &[0]),
    (0, "everyone", "cathedral", ALL),
    (1, "person", "dolphin", &[1]),
    (1, "chat", "elephant", &[1]),
    (2, "chat", "furnace", &[2, 3]),
    (3, "chat", "gazebo", &[2, 3]),
    (4, "chat", "harbour", &[4]),
    (5, "person", "icicle", &[5]),
    (5, "chat", "jasmine", &[5]),
    (5, "everyone", "kettle", ALL),
];

/// Writes that are refused: the place and the scope.
const REFUSED: [(usize, &str); 3] = [(1, "everyone"), (2, "person"), (3, "everyone")];

struct World {
    platform: TelegramFake,
    model: OpenAiFake,
    home: Home,
}

impl World {
    async fn start() -> Self {
        let platform = TelegramFake::start(TOKEN).await;
        platform.set_now(now());
        let model = OpenAiFake::start(answer).await;
        let telegram = format!(
            "[channels.telegram]\ntoken = \"${{TOKEN}}\"\napi_url = \"{}\"\nowners = [{ANN}]\n\
             allow = [{BOB}]\npreview_seconds = 0\n\
             [channels.telegram.groups.\"{GROUP}\"]\nmention = false\n\
             [channels.telegram.groups.\"{OTHER_GROUP}\"]\nmention = false\n",
            platform.base_url()
        );
        let home =
            Home::new(program!()).with_config(&config(&model, &telegram)).with("TOKEN", TOKEN);
        Self { platform, model, home }
    }

    fn say(&self, place: Place, text: &str) {
        match place {
            Place::Telegram { chat, by } => {
                self.platform.say(UserMessage::group(by, chat, text));
            }
            Place::Terminal => {
                let ran = self.home.run(&["ask", "me", text, "--wait"]);
                assert_eq!(ran.code, Some(0), "{ran:?}");
            }
        }
    }

    /// Lets a message be answered with this number of requests, and returns the last of them.
    async fn request(&self, place: Place, text: &str, requests: usize) -> Value {
        let all = self.model.requests().len() + requests;
        self.say(place, text);
        asked(&self.model, all).await;
        self.model.requests().swap_remove(all - 1)
    }

    async fn remember(&self, place: usize, scope: &str, text: &str) -> String {
        let arguments = json!({ "text": text, "scope": scope });
        let request = self.request(PLACES[place], &format!("remember {arguments}"), 2).await;
        last_results(&request)[0].to_owned()
    }

    /// Returns `true` if the request about a subject contains the fact.
    async fn knows(&self, place: Place, (number, subject): (usize, &str)) -> bool {
        let request = self.request(place, &format!("{subject}?"), 1).await;
        request["messages"].to_string().contains(&secret(number))
    }
}

/// The part of a fact that no question contains.
fn secret(number: usize) -> String {
    format!("quux{number:02}")
}

/// Calls `memory_write` for a message with its arguments.
fn answer(request: &Value) -> ModelAnswer {
    if !last_results(request).is_empty() {
        return ModelAnswer::says("done");
    }
    match last_user_text(request).split_once("remember ") {
        Some((_, arguments)) => {
            let mut values = serde_json::Deserializer::from_str(arguments).into_iter();
            ModelAnswer::call("memory_write", values.next().unwrap().unwrap())
        }
        None => ModelAnswer::says("ok"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_is_in_the_requests_of_its_scope_and_in_no_other_in_77_cases() {
    let world = World::start().await;
    let daemon = world.home.daemon();
    for (number, (place, scope, subject, _)) in FACTS.into_iter().enumerate() {
        let text = format!("the {subject} belongs to {}", secret(number));
        let result = world.remember(place, scope, &text).await;
        assert!(result.starts_with(&format!("remembered ({scope})")), "{subject}: {result}");
    }
    for (place, scope) in REFUSED {
        let result = world.remember(place, scope, "the lantern has no owner").await;
        assert!(result.contains("permission denied"), "{place} {scope}: {result}");
    }
    // The conversations begin again, so that only the memory can have the facts.
    PLACES.iter().for_each(|place| world.say(*place, "/new"));
    let mut wrong = Vec::new();
    for (number, (_, scope, subject, knowing)) in FACTS.into_iter().enumerate() {
        for (at, place) in PLACES.into_iter().enumerate() {
            let knows = world.knows(place, (number, subject)).await;
            if knows != knowing.contains(&at) {
                wrong.push(format!("{subject} ({scope}) in {place:?}: {knows}"));
            }
        }
    }
    // A linked chat also has the memory of the person whose session it joined.
    let linked = world.home.run(&["link", "telegram:main:7", "me"]);
    assert_eq!(linked.code, Some(0), "{linked:?}");
    world.say(PLACES[0], "/new");
    world.say(Place::Terminal, "/new");
    for (number, (_, scope, subject, _)) in FACTS.into_iter().enumerate() {
        let expected = ["apricot", "bassoon", "cathedral", "icicle", "kettle"].contains(&subject);
        if world.knows(Place::Terminal, (number, subject)).await != expected {
            wrong.push(format!("{subject} ({scope}) in the linked terminal: {}", !expected));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(stop(daemon).await.0.success());
}

/// A model that stores each shown memory again, in another spelling.
fn echo(request: &Value) -> ModelAnswer {
    if last_results(request).is_empty() {
        ModelAnswer::call("memory_write", json!({ "text": "The KEY is under the mat!" }))
    } else {
        ModelAnswer::says("done")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f34_memory_that_is_recalled_50_times_is_stored_once() {
    let model = OpenAiFake::start(echo).await;
    let home = Home::new(program!()).with_config(&config(&model, ""));
    let daemon = home.daemon();
    let say = |text: &str| assert_eq!(home.run(&["ask", "me", text, "--wait"]).code, Some(0));
    say("the key is under the mat");
    for _ in 0..50 {
        say("/new");
        say("where is the key?");
    }
    let requests = model.requests();
    let first = requests.iter().filter(|request| last_results(request).is_empty());
    let lengths: Vec<usize> = first
        .skip(1)
        .map(|request| {
            let messages = request["messages"].to_string();
            assert_eq!(messages.matches("- m1 (person, ").count(), 1, "{messages}");
            messages.len()
        })
        .collect();
    assert_eq!(lengths.len(), 50);
    assert!(lengths.iter().all(|length| length.abs_diff(lengths[0]) < 20), "{lengths:?}");
    let results = requests.iter().flat_map(last_results);
    assert_eq!(results.filter(|result| *result == "already known as m1").count(), 50);
    let ran = home.run(&["memory", "list", "--json"]);
    let memories: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(memories.as_array().unwrap().len(), 1, "{memories}");
    assert!(stop(daemon).await.0.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_while_recalled_memories_are_recorded_sends_them_once() {
    for point in ["record-recalled:before", "record-recalled:after"] {
        let model = OpenAiFake::start(|_| ModelAnswer::says("Like this.")).await;
        let home = Home::new(program!()).with_config(&config(&model, ""));
        let added = home.run(&["memory", "add", "The safe opens with 4712"]);
        assert_eq!(added.code, Some(0), "{added:?}");
        let mut daemon = doomed(&home, point);
        daemon.wait_until_ready();
        let chat = AttachedChat::join(&home, "ann").await;
        drop(chat.try_ask("How does the safe open?", None).await);
        dies(daemon).await;

        let daemon = home.daemon();
        let chat = AttachedChat::join(&home, "ann").await;
        assert_eq!(chat.reply().await.text, "Like this.", "{point}");
        let requests = model.requests();
        let sent: Vec<usize> =
            requests.iter().map(|request| request.to_string().matches("4712").count()).collect();
        assert_eq!(sent, [1], "{point}");
        stop(daemon).await;
    }
}
