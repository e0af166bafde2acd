//! The list of a server's tools: read page by page, limited, and completed by tools for its
//! resources and prompts.

use std::borrow::Cow;
use std::collections::HashSet;

use avocet_protocol::tool::McpToolHints;
use avocet_text::fits_pattern;
use rmcp::model::{PaginatedRequestParams, ServerPeerInfo, Tool};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde_json::{Value, json};

use crate::errors::describe_request;
use crate::form::cut_text;
use crate::memory::{ListedTool, ToolKind};
use crate::names::plain_name;
use crate::wire::remarks_of;

/// The most tools of a server that are used.
const MOST_TOOLS: usize = 200;
/// The most tools that are read.
const MOST_READ: usize = 10_000;
/// The most pages of a list.
const MOST_PAGES: usize = 200;
/// The longest name of a tool that is used, in bytes.
const LONGEST_NAME: usize = 256;
/// Characters of a name that is too long, as they are shown.
const SHOWN: usize = 80;
/// The largest schema of a tool, and the part of its description that is kept, in bytes.
const LARGEST_SCHEMA: usize = 64 * 1024;

/// A list of tools, and the reasons for those that are left out.
#[derive(Debug, Default)]
pub(crate) struct ToolList {
    pub(crate) tools: Vec<ListedTool>,
    pub(crate) left_out: Vec<String>,
}

impl ToolList {
    /// Asks a server for its tools. Only those that match one of `patterns` are used.
    pub(crate) async fn read(
        peer: &Peer<RoleClient>,
        patterns: &[String],
    ) -> Result<Self, ServiceError> {
        let info = peer.peer_info();
        let has = |of: &dyn Fn(&ServerPeerInfo) -> bool| info.as_deref().is_some_and(of);
        let resources = has(&|info| info.capabilities.resources.is_some());
        let prompts = has(&|info| info.capabilities.prompts.is_some());
        let (all, remarks) = if has(&|info| info.capabilities.tools.is_some()) {
            read_pages(peer).await?
        } else if !resources && !prompts {
            // Some servers state nothing, and have tools. Others refuse the question.
            match read_pages(peer).await {
                Err(ServiceError::McpError(_)) => Default::default(),
                read => read?,
            }
        } else {
            Default::default()
        };
        let mut list = Self::select_tools(all, patterns);
        list.left_out.extend(remarks);
        let own = resources.then(of_resources).into_iter().flatten();
        for tool in own.chain(prompts.then(of_prompts).into_iter().flatten()) {
            let is_wanted = patterns.iter().any(|pattern| fits_pattern(pattern, &tool.name));
            if is_wanted && !list.tools.iter().any(|known| known.name == tool.name) {
                list.tools.push(tool);
            }
        }
        Ok(list)
    }

    fn select_tools(all: Vec<Tool>, patterns: &[String]) -> Self {
        let mut list = Self::default();
        let wanted = all
            .into_iter()
            .filter(|tool| patterns.iter().any(|pattern| fits_pattern(pattern, &tool.name)));
        let wanted: Vec<Tool> = wanted.collect();
        if wanted.len() > MOST_TOOLS {
            list.left_out.push(format!(
                "it has {} tools, and the first {MOST_TOOLS} are used; choose others with `tools`",
                wanted.len()
            ));
        }
        for tool in wanted.into_iter().take(MOST_TOOLS) {
            let mut tool = list_tool(tool);
            // A model gets the beginning of a description only.
            tool.description.truncate(tool.description.floor_char_boundary(LARGEST_SCHEMA));
            if tool.name.len() > LONGEST_NAME {
                list.left_out.push(format!(
                    "the name of a tool is longer than {LONGEST_NAME} bytes: {:?}",
                    cut_text(&tool.name, SHOWN)
                ));
            } else if tool.schema.to_string().len() > LARGEST_SCHEMA {
                let limit = LARGEST_SCHEMA / 1024;
                list.left_out.push(format!(
                    "the schema of the tool {:?} is larger than {limit} KB",
                    tool.name
                ));
            } else if let Some(known) = list.tools.iter().find(|known| are_same(known, &tool)) {
                let why = if known.name == tool.name {
                    format!("it has two tools named {:?}", tool.name)
                } else {
                    format!(
                        "its tools {:?} and {:?} would have the same name; the first is used",
                        known.name, tool.name
                    )
                };
                list.left_out.push(why);
            } else {
                list.tools.push(tool);
            }
        }
        list
    }
}

/// Returns `true` if two tools would have the same name in the registry.
fn are_same(one: &ListedTool, other: &ListedTool) -> bool {
    plain_name(&one.name) == plain_name(&other.name)
}

/// Reads all pages of the list, and the remarks about them. A cursor that was there before ends the
/// list, and so does an error of a later page.
async fn read_pages(peer: &Peer<RoleClient>) -> Result<(Vec<Tool>, Vec<String>), ServiceError> {
    let (mut all, mut remarks, mut cursor) = (Vec::new(), Vec::new(), None);
    let mut seen = HashSet::new();
    for number in 1..=MOST_PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let page = match peer.list_tools(Some(params)).await {
            Ok(page) => page,
            Err(error @ ServiceError::McpError(_)) if number > 1 => {
                let why = describe_request(&error);
                remarks.push(format!("page {number} of its tools cannot be read: {why}"));
                break;
            }
            Err(error) => return Err(error),
        };
        all.extend(page.tools);
        remarks.extend(remarks_of(page.meta.as_ref()));
        let is_new = page.next_cursor.as_ref().is_some_and(|next| seen.insert(next.clone()));
        cursor = page.next_cursor.filter(|_| is_new);
        if cursor.is_none() || all.len() >= MOST_READ {
            break;
        }
    }
    Ok((all, remarks))
}

fn list_tool(tool: Tool) -> ListedTool {
    let Tool { name, title, description, input_schema, annotations, .. } = tool;
    let annotations = annotations.unwrap_or_default();
    let hints = McpToolHints {
        read_only: annotations.read_only_hint,
        destructive: annotations.destructive_hint,
        idempotent: annotations.idempotent_hint,
        open_world: annotations.open_world_hint,
    };
    let description = description.map(Cow::into_owned).or(title).unwrap_or_default();
    let schema = Value::Object(input_schema.as_ref().clone());
    ListedTool { kind: ToolKind::Tool, name: name.into_owned(), description, schema, hints }
}

fn of_resources() -> [ListedTool; 2] {
    let read = json!({
        "type": "object",
        "properties": {"uri": {"type": "string"}},
        "required": ["uri"],
    });
    [
        own_tool(
            ToolKind::ListResources,
            "resources",
            "List the server's resources.",
            page_schema(),
        ),
        own_tool(ToolKind::ReadResource, "read_resource", "Read a resource of the server.", read),
    ]
}

fn of_prompts() -> [ListedTool; 2] {
    let get = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "arguments": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "required": ["name"],
    });
    [
        own_tool(ToolKind::ListPrompts, "prompts", "List the server's prompts.", page_schema()),
        own_tool(ToolKind::GetPrompt, "get_prompt", "Read a prompt of the server.", get),
    ]
}

fn page_schema() -> Value {
    json!({"type": "object", "properties": {"cursor": {"type": "string"}}})
}

fn own_tool(kind: ToolKind, name: &str, description: &str, schema: Value) -> ListedTool {
    let hints = McpToolHints { read_only: Some(true), ..McpToolHints::default() };
    ListedTool { kind, name: name.to_owned(), description: description.to_owned(), schema, hints }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(names: impl Iterator<Item = String>) -> Vec<Tool> {
        let tool = |name: String| json!({"name": name, "inputSchema": {"type": "object"}});
        names.map(|name| serde_json::from_value(tool(name)).unwrap()).collect()
    }

    #[test]
    fn tool_list_uses_200_tools_that_match_a_pattern() {
        let all = || tools((0..5000).map(|number| format!("t{number}")));
        let list = ToolList::select_tools(all(), &["*".to_owned()]);
        assert_eq!((list.tools.len(), list.left_out.len()), (200, 1));
        let few = ToolList::select_tools(all(), &["t49*".to_owned()]);
        assert_eq!((few.tools.len(), few.left_out.len()), (111, 0));
    }

    #[test]
    fn tool_list_leaves_out_tools_with_long_names_and_cuts_descriptions() {
        let mut all = tools(["a".repeat(257), "b".to_owned(), "c".to_owned()].into_iter());
        all[1].description = Some("x".repeat(LARGEST_SCHEMA + 1).into());
        let list = ToolList::select_tools(all, &["*".to_owned()]);
        assert_eq!((list.tools.len(), list.left_out.len()), (2, 1));
        assert_eq!(list.tools[0].description.len(), LARGEST_SCHEMA);
        assert!(list.left_out.iter().all(|why| why.len() < 200), "{:?}", list.left_out);
    }

    #[test]
    fn tool_list_leaves_out_repeated_names() {
        let names = ["a b", "a b", "a.b", "a"].map(str::to_owned);
        let list = ToolList::select_tools(tools(names.into_iter()), &["*".to_owned()]);
        assert_eq!(list.tools.len(), 2);
        let same = "its tools \"a b\" and \"a.b\" would have the same name; the first is used";
        assert_eq!(list.left_out, ["it has two tools named \"a b\"", same]);
    }
}
