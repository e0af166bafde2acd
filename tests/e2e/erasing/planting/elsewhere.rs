//! Plants the markers in a group, on the other channels, and by a stranger.

use avocet_testkit::discord::UserMessage as DiscordMessage;
use avocet_testkit::socket::SocketClient;
use serde_json::json;

use super::super::people::{ANN, BOB, Person, STRANGER};
use super::{GROUP, Planting};
use crate::support::{printed, soon};
use crate::web::Browser;

impl Planting {
    pub(super) async fn plant_in_group(&self) {
        for (person, other) in [(ANN, BOB), (BOB, ANN)] {
            self.telegram.say(person.writes_in(GROUP, &person.mark("earlier")));
            self.settle().await;
            self.telegram.say(other.writes_in(GROUP, &addressed_text(other)));
            self.settle().await;
        }
        for person in [ANN, BOB] {
            let question = json!({ "question": person.mark_by_model("groupquestion") });
            let text = format!("@avocet_bot do ask_user {question}");
            self.telegram.say(person.writes_in(GROUP, &text));
            let marker = person.mark("groupquestion");
            let is_asked =
                self.telegram.wait_for(|sent| sent.iter().any(|one| one.text.contains(&marker)));
            soon(&marker, is_asked).await;
            let answer = format!("@avocet_bot {}", person.mark("groupanswer"));
            self.telegram.say(person.writes_in(GROUP, &answer));
            self.settle().await;
        }
        for (person, other) in [(ANN, BOB), (BOB, ANN)] {
            let quoting = format!("a thing to quote: {}", other.mark("quoting"));
            let quoted = self.telegram.say(other.writes_in(GROUP, &quoting));
            let text = "@avocet_bot say I see";
            self.telegram.say(person.writes_in(GROUP, text).reply_to(quoted.id));
            self.settle().await;
        }
        // The answer to one person repeats the message of the other.
        for (person, other) in [(ANN, BOB), (BOB, ANN)] {
            let story = "a long story about";
            let told = format!("@avocet_bot {story} {}", other.mark("story"));
            self.telegram.say(other.writes_in(GROUP, &told));
            self.settle().await;
            let repeated = format!("{story} {}", other.mark("story").replace('Q', "+Q"));
            let text = format!("@avocet_bot say I was told {repeated}, and more");
            self.telegram.say(person.writes_in(GROUP, &text));
            self.settle().await;
        }
    }

    pub(super) async fn plant_on_discord(&self) {
        for person in [ANN, BOB] {
            let user = u64::try_from(person.id).unwrap();
            let dm = self.discord.dm(user);
            let before = self.discord.sent().len();
            let reply = person.mark_by_model("discordreply");
            self.discord.say(dm, user, &format!("{} say {reply}", person.mark("discordtext")));
            soon("the answer", self.discord.wait_for_sent(before + 1)).await;
            let name = format!("{}.txt", person.mark("discordfile"));
            let contents = person.mark("discordcontents");
            let file =
                DiscordMessage::new(dm, user, "see").file(&name, "text/plain", contents.as_bytes());
            self.discord.post(file);
            soon("the answer", self.discord.wait_for_sent(before + 2)).await;
        }
        self.settle().await;
    }

    pub(super) async fn plant_on_terminal_and_console(&self) {
        let reply = ANN.mark_by_model("terminalreply");
        let text = format!("{} say {reply}", ANN.mark("terminaltext"));
        printed(&self.home, &["ask", "me", &text, "--wait"]);
        let browser = Browser::of(&self.home).await;
        let name = format!("{}.txt", ANN.mark("uploadname"));
        let line = format!("POST /v1/files?name={name}");
        let stored = browser.send(&line, &ANN.mark("uploaded")).await.json();
        let file = json!({ "reference": stored["reference"], "kind": "document", "name": name });
        let message = json!({ "session": "web:console:main", "text": ANN.mark("weblog"),
            "attachments": [file] });
        let accepted = browser.post("/v1/messages", &message).await.json();
        let id = accepted["id"].as_str().unwrap();
        let answered = browser.get(&format!("/v1/messages/{id}?wait=60")).await.json();
        assert_eq!(answered["outcome"], "replied", "{answered}");
    }

    /// A program that is a channel, like that of mail.
    pub(super) async fn plant_by_program(&self) {
        let client = SocketClient::connect(&self.home.socket()).await.unwrap();
        let account = json!({ "channel": "external", "account": "own" });
        client.call("attach", account).await.unwrap();
        for (person, sender) in [(ANN, "ann"), (BOB, "bob")] {
            let part = |kind: &str| json!([{ "from": "Eve", "text": person.mark(kind) }]);
            let message = json!({
                "chat": format!("external:own:{sender}"), "chat_kind": "private", "sender": sender,
                "sender_name": format!("{}.", person.mark("mailname")), "key": sender, "text": person.mark("mailtext"),
                "forwarded": part("mailforward"), "quotes": part("mailquote"),
                "untrusted": part("mailcard"),
            });
            client.call("publish", message).await.unwrap();
            loop {
                let request = soon("the answer", client.incoming.recv_async()).await.unwrap();
                if request["method"] == "deliver" {
                    client.respond(&request["id"]).await.unwrap();
                    break;
                }
            }
        }
        self.settle().await;
    }

    pub(super) async fn plant_by_stranger(&self) {
        let name =
            json!({ "id": STRANGER.id, "is_bot": false, "first_name": ANN.mark("strangername") });
        let message = STRANGER.writes(&format!("let me in, {}", STRANGER.mark("pairing")));
        self.telegram.say(message.with("from", name));
        self.settle().await;
    }
}

/// The text with which a person addresses the agent in the group.
fn addressed_text(person: Person) -> String {
    let reply = person.mark_by_model("groupreply");
    format!("@avocet_bot {} say {reply}", person.mark("addressed"))
}
