//! Changes of checklists, which Telegram reports in service messages (Bot API 9.1). The model
//! learns of them with the next message of the chat. Bots cannot send checklists: `sendChecklist`
//! needs the connection of a business account.

use std::collections::VecDeque;

use avocet_channel_kit::Converted;
use avocet_protocol::LruMap;
use avocet_protocol::chat::{ChatAddress, Quote};
use parking_lot::Mutex;
use serde_json::Value;

/// Changes of a chat that are kept.
const MAX_CHANGES: usize = 20;
/// Largest number of chats whose changes are kept. A further chat removes those of the
/// chat without a change for the longest time.
const MAX_CHATS: usize = 500;
/// Longest text of a change, in characters.
const MAX_TEXT: usize = 600;

/// A change of a checklist: tasks that are done, open again, or new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChecklistChange(Quote);

impl ChecklistChange {
    /// Reads the change from a new message; `None` for other updates.
    pub(crate) fn read(update: &Value) -> Option<Self> {
        let message = update.get("message")?;
        let (list, changes) = if let Some(done) = message.get("checklist_tasks_done") {
            let list = &done["checklist_message"]["checklist"];
            let named = |ids: &str| names(&done[ids], list);
            let done = ("done", named("marked_as_done_task_ids"));
            (list, [done, ("not done", named("marked_as_not_done_task_ids"))])
        } else {
            let added = message.get("checklist_tasks_added")?;
            let list = &added["checklist_message"]["checklist"];
            let tasks = added["tasks"].as_array().into_iter().flatten();
            let tasks = tasks.filter_map(|task| task["text"].as_str()).map(str::to_owned);
            (list, [("added", tasks.collect()), ("", Vec::new())])
        };
        let changes = changes.iter().filter(|(_, tasks)| !tasks.is_empty());
        let changes = changes.map(|(change, tasks)| format!("{change}: {}", tasks.join(", ")));
        let changes: Vec<String> = changes.collect();
        let title = list["title"].as_str().unwrap_or("unknown");
        let text = format!("[checklist {title}: {}]", changes.join("; "));
        let text = text.chars().take(MAX_TEXT).collect();
        // A change without a name would count as words of the author of the next message.
        let names = [
            &message["from"]["first_name"],
            &message["sender_chat"]["title"],
            &message["chat"]["title"],
            &message["chat"]["first_name"],
        ];
        let from = names.iter().find_map(|name| name.as_str()).unwrap_or("unknown");
        let from = Some(from.to_owned());
        (!changes.is_empty()).then_some(Self(Quote { from, text }))
    }
}

/// The texts of the tasks with these ids.
fn names(ids: &Value, list: &Value) -> Vec<String> {
    let name = |id: &Value| {
        let mut tasks = list["tasks"].as_array().into_iter().flatten();
        let text = tasks.find(|task| task["id"] == *id).and_then(|task| task["text"].as_str());
        text.map_or_else(|| format!("task {id}"), str::to_owned)
    };
    ids.as_array().into_iter().flatten().map(name).collect()
}

/// The changes that the model does not know yet. Only memory holds them.
#[derive(Debug, Default)]
pub(crate) struct ChecklistChanges(Mutex<LruMap<ChatAddress, VecDeque<Quote>, MAX_CHATS>>);

impl ChecklistChanges {
    pub(crate) fn note(&self, chat: ChatAddress, change: &ChecklistChange) {
        let mut chats = self.0.lock();
        let changes = chats.get_or_insert_mut(chat, VecDeque::new);
        changes.push_back(change.0.clone());
        if changes.len() > MAX_CHANGES {
            changes.pop_front();
        }
    }

    /// Adds the changes in its chat to a message for the agent.
    pub(crate) fn add_changes(&self, converted: &mut Converted) {
        if let Converted::Inbound(inbound) = converted {
            let chats = self.0.lock();
            let changes = chats.peek(&inbound.address).into_iter().flatten().cloned();
            inbound.content.earlier.extend(changes);
        }
    }

    /// Removes the changes that came with an accepted message.
    pub(crate) fn forget(&self, chat: &ChatAddress) {
        self.0.lock().pop(chat);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(message: &Value) -> Option<String> {
        ChecklistChange::read(&json!({ "message": message })).map(|change| change.0.text)
    }

    #[test]
    fn read_names_the_chat_for_want_of_a_person() {
        let added = json!({ "tasks": [{ "id": 4, "text": "rest" }] });
        let group = json!({ "id": -7, "type": "supergroup", "title": "Birds" });
        let table = [
            (json!({ "from": { "first_name": "Ann" }, "chat": group }), "Ann"),
            (json!({ "sender_chat": { "title": "News" }, "chat": group }), "News"),
            (json!({ "chat": group }), "Birds"),
            (json!({ "chat": { "first_name": "Bob" } }), "Bob"),
            (json!({}), "unknown"),
        ];
        for (mut message, expected) in table {
            message["checklist_tasks_added"] = added.clone();
            let change = ChecklistChange::read(&json!({ "message": message })).unwrap();
            assert_eq!(change.0.from.as_deref(), Some(expected), "{message}");
        }
    }

    #[test]
    fn read_names_the_tasks_that_are_done_open_or_new() {
        let list = json!({ "title": "Trip", "tasks": [
            { "id": 1, "text": "pack" }, { "id": 2, "text": "go" }, { "id": 3, "text": "eat" }] });
        let within = json!({ "message_id": 5, "checklist": list });
        let done = json!({ "checklist_message": within, "marked_as_done_task_ids": [1, 2],
            "marked_as_not_done_task_ids": [3] });
        let added = json!({ "checklist_message": within, "tasks": [{ "id": 4, "text": "rest" }] });
        let alone = json!({ "marked_as_done_task_ids": [7] });
        let table = [
            (
                json!({ "checklist_tasks_done": done }),
                Some("[checklist Trip: done: pack, go; not done: eat]"),
            ),
            (json!({ "checklist_tasks_added": added }), Some("[checklist Trip: added: rest]")),
            (json!({ "checklist_tasks_done": alone }), Some("[checklist unknown: done: task 7]")),
            (json!({ "checklist_tasks_done": {} }), None),
            (json!({ "checklist_tasks_added": 5 }), None),
            (json!({ "checklist": list }), None),
        ];
        for (message, expected) in table {
            assert_eq!(text(&message).as_deref(), expected, "{message}");
        }
    }
}
