//! The plan of the agent: the editor shows the calls of `update_plan` as a plan.

use agent_client_protocol::v1::schema::{
    Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate,
};
use avocet_protocol::tool::UPDATE_PLAN;
use avocet_protocol::turn::LoggedCall;
use serde_json::{Map, Value};

/// The names under which models send the entries.
const ENTRIES: [&str; 3] = ["entries", "plan", "todos"];

/// Returns `true` for a call that the editor shows as a plan.
pub(crate) fn is_plan(call: &LoggedCall) -> bool {
    call.call.name == UPDATE_PLAN
}

/// Returns the plan of a call; `None` if it has no entry that can be read.
pub(crate) fn read_plan(call: &LoggedCall) -> Option<SessionUpdate> {
    let entries = read_entries(&call.call.arguments.to_object());
    (!entries.is_empty()).then(|| SessionUpdate::Plan(Plan::new(entries)))
}

fn read_entries(arguments: &Map<String, Value>) -> Vec<PlanEntry> {
    let entries = ENTRIES.iter().find_map(|name| arguments.get(*name));
    let decoded = match entries {
        // Some models send the list as a string.
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
        Some(entries) => entries.clone(),
        None => Value::Null,
    };
    let entries = decoded.as_array().map_or(&[][..], Vec::as_slice);
    entries.iter().filter_map(read_entry).collect()
}

fn read_entry(entry: &Value) -> Option<PlanEntry> {
    let content = entry["content"].as_str()?;
    let status = match entry["status"].as_str().unwrap_or_default() {
        "completed" => PlanEntryStatus::Completed,
        "in_progress" => PlanEntryStatus::InProgress,
        _ => PlanEntryStatus::Pending,
    };
    let priority = match entry["priority"].as_str().unwrap_or_default() {
        "high" => PlanEntryPriority::High,
        "low" => PlanEntryPriority::Low,
        _ => PlanEntryPriority::Medium,
    };
    Some(PlanEntry::new(content, priority, status))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn read_entries_takes_what_can_be_read() {
        let step = |content: &str, status: &str| json!({ "content": content, "status": status });
        let entry =
            |content: &str, status| PlanEntry::new(content, PlanEntryPriority::Medium, status);
        let table = [
            (
                json!({ "entries": [step("a", "completed"), step("b", "in_progress")] }),
                vec![
                    entry("a", PlanEntryStatus::Completed),
                    entry("b", PlanEntryStatus::InProgress),
                ],
            ),
            (
                json!({ "todos": [step("a", "odd"), { "content": 1 }, "b"] }),
                vec![entry("a", PlanEntryStatus::Pending)],
            ),
            (
                json!({ "plan": "[{\"content\": \"a\", \"priority\": \"high\"}]" }),
                vec![PlanEntry::new("a", PlanEntryPriority::High, PlanEntryStatus::Pending)],
            ),
            (json!({ "entries": "no list" }), Vec::new()),
            (json!({}), Vec::new()),
        ];
        for (arguments, expected) in table {
            let read = read_entries(arguments.as_object().unwrap());
            assert_eq!(read, expected, "{arguments}");
        }
    }
}
