//! The pictures of chats in the book, drawn from real runs on the fakes of Telegram and Discord.

mod draw;
mod lines;

use std::fs;

use avocet_testkit::discord::{DiscordFake, DiscordMessage};
use avocet_testkit::openai::{ModelAnswer, OpenAiFake, last_results, last_user_text};
use avocet_testkit::telegram::{SentMessage, TelegramFake};
use avocet_tests::picture::assert_picture;
use avocet_tests::{Home, now, program};
use regex::Regex;
use serde_json::{Value, json};

use crate::model::config;
use crate::patience::{stop, with_timeout};
use crate::telegram::TOKEN;
use draw::{Bubble, PictureLine, Theme, svg};

const ANN: i64 = 7;
const QUESTION: &str = "How much of the trip's budget is left?";
const ANSWER: &str = "## 188 € of 600 € are left

The **hotel** costs less than planned, and `trip.md` has *no food* yet.

| For | Planned | Paid |
|:----|--------:|-----:|
| Train | 180 | 164 |
| Hotel | 320 | 248 |
| Food | 100 | 0 |

1. Pay the second night before Friday, see [the terms](https://hotel.example/terms).
2. The sum comes from this line:

```python
left = sum(planned) - sum(paid)
```

> The return ticket can be exchanged until Sunday.
";
const ADD: &str = "Add 35 € for food.";
const ADDED: &str = "Done: 35 € for food. **153 €** are left.";
const DELETE: &str = "And delete the old notes.";

const TELEGRAM: Theme = Theme {
    label: "A chat with Avocet on Telegram",
    width: 420.0,
    back: "#0e1621",
    bot: "#182533",
    own: "#2b5278",
    text: "#f5f5f5",
    code_back: "#0d1520",
    accent: "#6ab3f3",
    button: "#2b3c4e",
    has_sides: true,
};
const DISCORD: Theme = Theme {
    label: "A chat with Avocet on Discord",
    width: 560.0,
    back: "#313338",
    bot: "#313338",
    own: "#313338",
    text: "#dbdee1",
    code_back: "#2b2d31",
    accent: "#7d9bff",
    button: "#4e5058",
    has_sides: false,
};

/// A model that reads, then writes, then deletes.
fn assistant(request: &Value) -> ModelAnswer {
    match (last_user_text(request), last_results(request).len()) {
        (QUESTION, 0) => ModelAnswer::call("read_file", json!({ "path": "trip.md" })),
        (QUESTION, _) => ModelAnswer::says(ANSWER),
        (ADD, 0) => ModelAnswer::call(
            "edit_file",
            json!({ "path": "trip.md", "old_text": "Food 0", "new_text": "Food 35" }),
        ),
        (ADD, _) => ModelAnswer::says(ADDED),
        _ => ModelAnswer::call("exec_shell", json!({ "command": "rm -r notes/2023" })),
    }
}

fn home(model: &OpenAiFake, channel: &str) -> Home {
    let asks = "[tools.policy]\nedit_file = \"ask\"\nexec_shell = \"ask\"\n";
    let config = config(model, &format!("{asks}{channel}pairing = false\npreview_seconds = 0\n"));
    let home = Home::new(program!()).with_config(&config).with("TOKEN", TOKEN);
    fs::create_dir_all(home.workspace()).unwrap();
    fs::write(home.workspace().join("trip.md"), "Train 164\nHotel 248\nFood 0\n").unwrap();
    home
}

fn own(text: &str) -> Bubble {
    Bubble { author: "Ann", is_own: true, lines: lines::plain(text), buttons: Vec::new() }
}

fn bot(lines: Vec<PictureLine>, buttons: Vec<Vec<String>>) -> Bubble {
    Bubble { author: "Avocet", is_own: false, lines, buttons }
}

const DECIDED: &str = r"^Allowed by .+? at \d\d:\d\d";
const DECIDED_LASTING: &str = "Allowed by Ann at 12:04";

/// Replaces the time of a decision.
fn lasting(text: &str) -> String {
    Regex::new(DECIDED).unwrap().replace(text, DECIDED_LASTING).into_owned()
}

/// Replaces the time of a decision, and moves the entities behind it.
fn lasting_message(message: &SentMessage) -> SentMessage {
    let mut lasting = message.clone();
    if let Some(found) = Regex::new(DECIDED).unwrap().find(&message.text) {
        lasting.text.replace_range(found.range(), DECIDED_LASTING);
        let length = |text: &str| text.encode_utf16().count() as u64;
        for entity in &mut lasting.entities {
            let offset = entity["offset"].as_u64().unwrap();
            let moved = offset + length(DECIDED_LASTING) - length(found.as_str());
            entity["offset"] = json!(moved);
        }
    }
    lasting
}

/// Returns the labels, row for row.
fn labels(rows: &[Value], buttons: &str, label: &str) -> Vec<Vec<String>> {
    let label = |button: &Value| button[label].as_str().unwrap().to_owned();
    let row = |row: &Value| {
        let row = if buttons.is_empty() { row } else { &row[buttons] };
        row.as_array().unwrap().iter().map(label).collect()
    };
    rows.iter().map(row).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn picture_of_telegram_shows_a_real_chat() {
    let platform = TelegramFake::start(TOKEN).await;
    let model = OpenAiFake::start(assistant).await;
    let channel = format!(
        "[channels.telegram]\ntoken = \"${{TOKEN}}\"\napi_url = \"{}\"\nowners = [{ANN}]\n",
        platform.base_url()
    );
    let home = home(&model, &channel);
    platform.set_now(now());
    let daemon = home.daemon();
    let told = async |count: usize| {
        with_timeout("a message", platform.wait_for_sent(count)).await.pop().unwrap()
    };
    platform.private_text(ANN, QUESTION);
    told(1).await;
    platform.private_text(ANN, ADD);
    platform.press(ANN, &told(2).await, "/approve w1");
    told(3).await;
    platform.private_text(ANN, DELETE);
    told(4).await;
    let is_over = |sent: &[SentMessage]| sent[1].buttons().is_empty();
    let sent = with_timeout("the outcome", platform.wait_for(is_over)).await;
    let shown = |place: usize| {
        let message = lasting_message(&sent[place]);
        let keyboard = message.keyboard.as_ref().map(|keyboard| &keyboard["inline_keyboard"]);
        let rows = keyboard.and_then(Value::as_array).cloned().unwrap_or_default();
        bot(lines::of_telegram(&message), labels(&rows, "", "text"))
    };
    let chat = [own(QUESTION), shown(0), own(ADD), shown(1), shown(2), own(DELETE), shown(3)];
    assert_picture("telegram.svg", &svg(&TELEGRAM, &chat));
    assert!(stop(daemon).await.0.success());
    assert_eq!(platform.refusals(), vec![]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn picture_of_discord_shows_a_real_chat() {
    let platform = DiscordFake::start(TOKEN).await;
    platform.limit_rates(false);
    let model = OpenAiFake::start(assistant).await;
    let channel = format!(
        "[channels.discord]\ntoken = \"${{TOKEN}}\"\napi_url = \"{}\"\nowners = [{ANN}]\n",
        platform.base_url()
    );
    let home = home(&model, &channel);
    platform.set_now(now());
    let ann = ANN.unsigned_abs();
    let dm = platform.dm(ann);
    let daemon = home.daemon();
    let told = async |count: usize| {
        with_timeout("a message", platform.wait_for_sent(count)).await.pop().unwrap()
    };
    platform.say(dm, ann, QUESTION);
    told(1).await;
    platform.say(dm, ann, ADD);
    platform.press(ann, told(2).await.id, "/approve w1");
    told(3).await;
    platform.say(dm, ann, DELETE);
    told(4).await;
    let is_over = |sent: &[DiscordMessage]| sent[1].buttons().is_empty();
    let sent = with_timeout("the outcome", platform.wait_for(is_over)).await;
    let shown = |place: usize| {
        let message = &sent[place];
        let buttons = labels(&message.components, "components", "label");
        bot(lines::of_discord(&lasting(&message.text)), buttons)
    };
    let chat = [own(QUESTION), shown(0), own(ADD), shown(1), shown(2), own(DELETE), shown(3)];
    assert_picture("discord.svg", &svg(&DISCORD, &chat));
    assert!(stop(daemon).await.0.success());
    assert_eq!(platform.refusals(), vec![]);
}
