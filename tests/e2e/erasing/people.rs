//! The people of the test, the model that they speak with, and their markers.

use avocet_testkit::openai::{ModelAnswer, last_results, last_user_text};
use avocet_testkit::telegram::UserMessage;
use serde_json::{Value, json};

/// Stands in a message between a person's word and the rest of a marker that the model writes. So the
/// marker is in no message.
const JOINED_BY_MODEL: &str = "+";
/// Stands in a task for the sub-agent's own [`JOINED_BY_MODEL`].
const JOINED_BY_SUB_AGENT: &str = "~";

/// A person with the word in which all markers of that person begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct Person {
    pub(super) id: i64,
    pub(super) word: &'static str,
}

pub(super) const ANN: Person = Person { id: 7, word: "ANNQ" };
pub(super) const BOB: Person = Person { id: 8, word: "BOBQ" };
/// A stranger, who wants to speak with the agent. The stranger's data goes with that of Ann.
pub(super) const STRANGER: Person = Person { id: 9, word: ANN.word };
/// A third owner, who gets a message of the others.
pub(super) const DAN: i64 = 6;

impl Person {
    /// Returns a marker that the person writes.
    pub(super) fn mark(self, kind: &str) -> String {
        format!("{}{kind}", self.word)
    }

    /// Returns a marker that the model writes when it reads this.
    pub(super) fn mark_by_model(self, kind: &str) -> String {
        format!("{}{JOINED_BY_MODEL}{kind}", self.word)
    }

    /// Returns a marker that a sub-agent writes when it reads its task.
    pub(super) fn mark_by_sub_agent(self, kind: &str) -> String {
        format!("{}{JOINED_BY_SUB_AGENT}{kind}", self.word)
    }

    /// The id in `avocet people`.
    pub(super) fn on_telegram(self) -> String {
        format!("telegram:main:{}", self.id)
    }

    /// Returns a text of the person in the private chat.
    pub(super) fn writes(self, text: &str) -> UserMessage {
        self.named(UserMessage::private(self.id, text))
    }

    /// Returns a message of the person without a text.
    pub(super) fn sends(self, kind: &str, thing: Value) -> UserMessage {
        self.named(UserMessage::thing(self.id, self.id, kind, thing))
    }

    /// Returns a text of the person in a group.
    pub(super) fn writes_in(self, group: i64, text: &str) -> UserMessage {
        self.named(UserMessage::group(self.id, group, text))
    }

    /// Returns a text that lets the model call a tool.
    pub(super) fn asks_for(self, tool: &str, arguments: &Value) -> UserMessage {
        self.writes(&format!("do {tool} {arguments}"))
    }

    fn named(self, message: UserMessage) -> UserMessage {
        let name = format!("{}.", self.mark("name"));
        message.with("from", json!({ "id": self.id, "is_bot": false, "first_name": name }))
    }
}

/// Answers by the last line with an order: `say TEXT`, `do TOOL ARGUMENTS` or `fail TEXT`.
pub(super) fn answer(request: &Value) -> ModelAnswer {
    let is_summary = request["messages"][0].to_string().contains("You keep the memory");
    if is_summary {
        let of = if request.to_string().contains(ANN.word) { ANN } else { BOB };
        return ModelAnswer::says(format!("They talked about {}.", of.mark("summary")));
    }
    if !last_results(request).is_empty() {
        return ModelAnswer::says("done");
    }
    let Some(order) = last_user_text(request).lines().rev().find_map(find_order) else {
        return ModelAnswer::says("ok");
    };
    let joined = order.replace(JOINED_BY_MODEL, "");
    let joined = joined.replace(JOINED_BY_SUB_AGENT, JOINED_BY_MODEL);
    match joined.split_once(' ') {
        Some(("do", call)) => {
            let (tool, arguments) = call.split_once(' ').unwrap();
            ModelAnswer::call(tool, serde_json::from_str(arguments).unwrap())
        }
        Some(("fail", text)) => {
            let body = json!({ "error": { "message": text } });
            ModelAnswer::Status(400, Vec::new(), body.to_string())
        }
        Some((_, text)) => ModelAnswer::says(text),
        None => ModelAnswer::says("ok"),
    }
}

/// Returns the order in a line.
fn find_order(line: &str) -> Option<&str> {
    let start = ["say ", "do ", "fail "].iter().filter_map(|verb| line.find(verb)).min()?;
    Some(&line[start..])
}
