//! The table of the tools of MCP servers.

use avocet_protocol::tool::McpToolView;
use avocet_text::PlainTable;

use super::changes;

/// Formats the tools as a table for people, with the changes since their approval below it.
pub(crate) fn tools_text(tools: &[McpToolView]) -> String {
    if tools.is_empty() {
        return "There are no tools of MCP servers.\n".to_owned();
    }
    let mut table = PlainTable::with_head(&["tool", "state", "class", "description"]);
    for McpToolView { name, state, class, description, .. } in tools {
        let description = description.lines().next().unwrap_or_default().to_owned();
        let class = serde_json::to_value(class).ok();
        let class = class.as_ref().and_then(|class| class.as_str()).unwrap_or_default();
        table.row([name.clone(), state.as_str().to_owned(), class.to_owned(), description]);
    }
    let mut text = table.to_string();
    let changed = || tools.iter().filter(|tool| tool.state.is_disabled());
    if changed().next().is_some() {
        text.push_str("Changed and added tools are disabled until they are approved.\n");
    }
    changed().for_each(|tool| text.push_str(&changes::changes_text(tool)));
    text
}
