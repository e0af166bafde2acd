//! Plants the markers: each way in which a text of a person, or one that the agent makes of it, gets into the
//! data directory.

mod elsewhere;

use avocet_testkit::discord::DiscordFake;
use avocet_testkit::openai::OpenAiFake;
use avocet_testkit::socket::SocketClient;
use avocet_testkit::telegram::{TelegramFake, UserMessage};
use avocet_testkit::transcription::TranscriptionFake;
use avocet_tests::{DaemonProcess, Home, now, program};
use serde_json::{Value, json};

use super::people::{self, ANN, BOB, DAN, Person};
use crate::support::{printed_json, soon, stop};

const TELEGRAM_TOKEN: &str = "4711:AA-secret";
const DISCORD_TOKEN: &str = "discord.secret";
const GROUP: i64 = -20;
/// A file that the agent writes in its workspace.
pub(super) const AGENT_FILE: &str = "notes-7.txt";
/// The kinds of markers in the private chats of Telegram.
const PRIVATE: [&str; 33] = [
    "text",
    "reply",
    "name",
    "caption",
    "filename",
    "contents",
    "contact",
    "phone",
    "poll",
    "option",
    "venue",
    "forward",
    "quote",
    "edit",
    "memory",
    "everyone",
    "chatmemory",
    "schedule",
    "later",
    "task",
    "label",
    "subreply",
    "plan",
    "message",
    "other",
    "search",
    "approved",
    "written",
    "denied",
    "reason",
    "question",
    "answer",
    "rule",
];
/// Further kinds there, after the summary.
const LATER: [&str; 3] = ["summary", "failure", "waiting"];
const IN_GROUP: [&str; 7] =
    ["groupquestion", "groupanswer", "earlier", "addressed", "groupreply", "quoting", "story"];
/// The kinds of Ann alone.
const ELSEWHERE: [&str; 17] = [
    "voice",
    "pairing",
    "strangername",
    "discordtext",
    "discordreply",
    "discordfile",
    "discordcontents",
    "terminaltext",
    "terminalreply",
    "uploaded",
    "uploadname",
    "weblog",
    "mailtext",
    "mailname",
    "mailforward",
    "mailquote",
    "mailcard",
];

/// Makes the arguments of a call that a person asks for.
type MakeArguments = fn(Person) -> Value;

/// Returns the markers that the test plants for Ann.
pub(super) fn markers_of_ann() -> Vec<String> {
    let kinds = PRIVATE.iter().chain(&LATER).chain(&IN_GROUP).chain(&ELSEWHERE);
    kinds.map(|kind| ANN.mark(kind)).collect()
}

/// Returns markers that the test plants for Bob.
pub(super) fn markers_of_bob() -> Vec<String> {
    // What the agent got beside a message of Ann's goes with that message.
    let is_own = |kind: &&&str| !["earlier", "quoting"].contains(*kind);
    let kinds = PRIVATE.iter().chain(&LATER).chain(&IN_GROUP).filter(is_own);
    kinds.map(|kind| BOB.mark(kind)).collect()
}

/// The daemon with its platforms.
pub(super) struct Planting {
    home: Home,
    daemon: Option<DaemonProcess>,
    client: SocketClient,
    telegram: TelegramFake,
    discord: DiscordFake,
    _model: OpenAiFake,
    _ear: TranscriptionFake,
}

impl Planting {
    pub(super) async fn start() -> Self {
        let telegram = TelegramFake::start(TELEGRAM_TOKEN).await;
        telegram.set_now(now());
        let discord = DiscordFake::start(DISCORD_TOKEN).await;
        discord.limit_rates(false);
        discord.set_now(now());
        let model = OpenAiFake::start(people::answer).await;
        let ear = TranscriptionFake::saying(&ANN.mark("voice")).await;
        let config = format!(
            "[models.\"fake/*\"]\ncontext = 65_536\n\
             [providers.fake]\nkind = \"openai\"\nbase_url = \"{}\"\nmax_retries = 0\n\
             [agents.defaults]\nmodel = \"fake/fake\"\ntools = {{ core = [\"*\"] }}\n\
             [tools.policy]\nwrite_file = \"ask\"\n[memory]\nmirror = true\n\
             [sessions]\nanswer_edits = true\n[transcription]\nbase_url = \"{}\"\n\
             [channels.telegram]\ntoken = \"${{TOKEN}}\"\napi_url = \"{}\"\n\
             owners = [{}, {}, {DAN}]\npreview_seconds = 0\n\
             [channels.telegram.groups.\"{GROUP}\"]\nmention = true\n\
             [channels.discord]\ntoken = \"${{OTHER_TOKEN}}\"\napi_url = \"{}\"\nowners = [{}, {}]\n\
             [channels.external.own]\nowners = [\"ann\", \"bob\"]\n",
            model.base_url(),
            ear.base_url(),
            telegram.base_url(),
            ANN.id,
            BOB.id,
            discord.base_url(),
            ANN.id,
            BOB.id,
        );
        let home = Home::new(program!()).with_config(&config);
        let home = home.with("TOKEN", TELEGRAM_TOKEN).with("OTHER_TOKEN", DISCORD_TOKEN);
        let daemon = Some(home.daemon());
        let client = SocketClient::connect(&home.socket()).await.unwrap();
        Self { home, daemon, client, telegram, discord, _model: model, _ear: ear }
    }

    pub(super) async fn plant_everything(&mut self) {
        self.telegram.private_text(DAN, "hello");
        self.settle().await;
        self.plant_messages().await;
        self.plant_calls().await;
        self.plant_questions().await;
        self.plant_in_group().await;
        self.plant_on_discord().await;
        self.plant_by_program().await;
        self.plant_by_stranger().await;
        self.plant_late().await;
        // No program shows the answers of the terminal, so that they stay pending.
        self.plant_on_terminal_and_console().await;
        assert_eq!(self.telegram.refusals(), vec![]);
    }

    /// Stops the daemon. Returns the ids of Ann on the other channels.
    pub(super) fn stop(&mut self) -> (Home, Vec<String>) {
        let person = |session: &str| {
            let turns = printed_json(&self.home, &["sessions", "show", session]);
            let sender = &turns[0]["origin"]["messages"][0]["message"]["inbound"]["sender"]["id"];
            let (channel, _) = session.rsplit_once(':').unwrap();
            format!("{channel}:{}", sender.as_str().unwrap())
        };
        let sessions = ["terminal:local:me", "web:console:main"];
        let mut people: Vec<String> = sessions.into_iter().map(person).collect();
        people.push(format!("discord:main:{}", ANN.id));
        people.push("external:own:ann".to_owned());
        stop(self.daemon.take().unwrap());
        (self.home.clone(), people)
    }

    pub(super) fn start_again(&self) -> DaemonProcess {
        self.home.daemon()
    }

    /// Waits until all messages are in the log, and all work and deliveries are done.
    async fn settle(&self) {
        soon("the confirmation", self.telegram.wait_for_confirmed()).await;
        let is_open = async || {
            let log = self.client.call("status", json!({})).await.unwrap()["log"].take();
            ["queued", "running", "waiting", "pending"].iter().any(|state| log[*state] != 0)
        };
        let settled = async {
            while is_open().await {
                tokio::task::yield_now().await;
            }
        };
        soon("the end of all work", settled).await;
    }

    /// Lets both people send a message to the bot.
    async fn both(&self, message: impl Fn(Person) -> UserMessage) {
        for person in [ANN, BOB] {
            self.telegram.say(message(person));
        }
        self.settle().await;
    }

    /// Lets both people send a message, and waits for a question with this marker in each chat.
    async fn both_are_asked(&self, marker: &str, message: impl Fn(Person) -> UserMessage) {
        for person in [ANN, BOB] {
            self.telegram.say(message(person));
        }
        for person in [ANN, BOB] {
            let text = person.mark(marker);
            let asked = self.telegram.wait_for(|sent| {
                sent.iter().any(|one| one.chat == person.id && one.text.contains(&text))
            });
            soon(&text, asked).await;
        }
    }

    async fn plant_messages(&self) {
        let document = |person: Person| format!("document{}", person.id);
        for person in [ANN, BOB] {
            let contents = person.mark("contents");
            self.telegram.add_file(&document(person), None, contents.as_bytes());
        }
        self.both(|person| {
            let reply = person.mark_by_model("reply");
            person.writes(&format!("{} say {reply}", person.mark("text")))
        })
        .await;
        self.both(|person| {
            let file = json!({ "file_id": document(person), "file_unique_id": "u", "file_size": 13,
                "file_name": format!("{}.txt", person.mark("filename")), "mime_type": "text/plain" });
            person.sends("document", file).with("caption", person.mark("caption").into())
        })
        .await;
        self.both(|person| {
            let contact = json!({ "first_name": person.mark("contact"),
                "phone_number": person.mark("phone") });
            person.sends("contact", contact)
        })
        .await;
        self.both(|person| {
            let options = json!([{ "text": person.mark("option"), "voter_count": 0 },
                { "text": "no", "voter_count": 0 }]);
            let poll = json!({ "id": "1", "question": person.mark("poll"), "options": options,
                "total_voter_count": 0, "is_closed": false, "is_anonymous": true, "type": "regular",
                "allows_multiple_answers": false });
            person.sends("poll", poll)
        })
        .await;
        self.both(|person| {
            let location = json!({ "latitude": 1.5, "longitude": 2.5 });
            let venue =
                json!({ "location": location, "title": person.mark("venue"), "address": "x" });
            person.sends("venue", venue).with("location", location)
        })
        .await;
        self.both(|person| {
            person.writes(&person.mark("forward")).forwarded_from(66, 1_700_000_000)
        })
        .await;
        self.both(|person| {
            let quote = json!({ "text": person.mark("quote"), "position": 0, "is_manual": true });
            person.writes("what about this?").reply_to(1).with("quote", quote)
        })
        .await;
        let said: Vec<_> = [ANN, BOB]
            .map(|person| self.telegram.say(person.writes("hello")))
            .into_iter()
            .collect();
        self.settle().await;
        for (heard, person) in said.into_iter().zip([ANN, BOB]) {
            self.telegram.edit(heard, &person.mark("edit"));
        }
        self.settle().await;
        let voice = json!({ "file_id": document(ANN), "file_unique_id": "u", "duration": 2,
            "mime_type": "audio/ogg", "file_size": 13 });
        self.telegram.say(ANN.sends("voice", voice));
        self.settle().await;
    }

    async fn plant_calls(&self) {
        // Otherwise each call is a question, because of the forwarded text.
        self.both(|person| person.writes("/trust")).await;
        for (marker, scope) in
            [("memory", "person"), ("chatmemory", "chat"), ("everyone", "everyone")]
        {
            self.both(|person| {
                let text = format!("a fact: {}", person.mark_by_model(marker));
                person.asks_for("memory_write", &json!({ "text": text, "scope": scope }))
            })
            .await;
        }
        let calls: [(&str, MakeArguments); 6] = [
            (
                "schedule",
                |person| json!({ "action": "add", "in": "9h", "text": person.mark_by_model("schedule") }),
            ),
            (
                "schedule",
                |person| json!({ "action": "add", "every": "1 day", "task": person.mark_by_model("later") }),
            ),
            ("spawn", |person| {
                let (task, reply) =
                    (person.mark_by_model("task"), person.mark_by_sub_agent("subreply"));
                json!({ "task": format!("{task}: say {reply}"), "label": person.mark_by_model("label") })
            }),
            ("update_plan", |person| {
                let step = json!({ "content": person.mark_by_model("plan"), "status": "pending" });
                json!({ "entries": [step] })
            }),
            ("message", |person| json!({ "text": person.mark_by_model("message") })),
            (
                "message",
                |person| json!({ "text": person.mark_by_model("other"), "chat": format!("telegram:main:{DAN}") }),
            ),
        ];
        for (tool, arguments) in calls {
            self.both(|person| person.asks_for(tool, &arguments(person))).await;
        }
        self.both(|person| {
            let query = person.mark_by_model("search");
            person.asks_for("search_history", &json!({ "query": query }))
        })
        .await;
        self.both(|person| {
            person.writes(&format!("/rule add --person never say {}", person.mark("rule")))
        })
        .await;
    }

    async fn plant_questions(&self) {
        self.both(|person| person.writes("/trust")).await;
        self.both_are_asked("approved", |person| {
            let path = AGENT_FILE.replace('7', &person.id.to_string());
            let content =
                format!("{} {}", person.mark_by_model("approved"), person.mark_by_model("written"));
            person.asks_for("write_file", &json!({ "path": path, "content": content }))
        })
        .await;
        self.both(|person| person.writes("/approve")).await;
        self.both_are_asked("denied", |person| {
            let content = person.mark_by_model("denied");
            person.asks_for("write_file", &json!({ "path": "no.txt", "content": content }))
        })
        .await;
        self.both(|person| person.writes(&format!("/deny {}", person.mark("reason")))).await;
        self.both_are_asked("question", |person| {
            person.asks_for("ask_user", &json!({ "question": person.mark_by_model("question") }))
        })
        .await;
        self.both(|person| person.writes(&person.mark("answer"))).await;
    }

    /// Plants what ends a conversation: a summary, a failure, and a question that stays open.
    async fn plant_late(&self) {
        self.both(|person| person.writes(&"a long story ".repeat(99))).await;
        self.both(|person| person.writes("/compact")).await;
        self.both(|person| person.writes(&format!("fail {}", person.mark_by_model("failure"))))
            .await;
        self.both_are_asked("waiting", |person| {
            person.asks_for("ask_user", &json!({ "question": person.mark_by_model("waiting") }))
        })
        .await;
        soon("the confirmation", self.telegram.wait_for_confirmed()).await;
    }
}
