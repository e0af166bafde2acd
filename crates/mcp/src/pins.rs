//! The pins of a server's tools: a tool keeps the form that a person or a rule has approved.
//!
//! A server may change a tool at any time: its text for the model, its parameters, its hints. A
//! description that was harmless when a person approved the tool may order something else later. So
//! an approval covers a form, and not a name.
//!
//! ```text
//! digest of the listed form   state      offered   a call
//! no pin under this name      New        yes       the policy decides; then pinned
//! that of the pin             Approved   yes       the policy decides
//! another one                 Changed    no        refused
//! no pin, a trusted server    Added      no        refused
//! ```
//!
//! - **The first call pins**, because the policy has approved it by then: a person saw the call, or
//!   a rule of the operator allows it.
//! - **A trusted server's first list pins**, because the operator trusts the server by its table, and
//!   a call that only reads asks nobody. So a tool that the server adds later waits for an approval.
//! - **The link is opened before the check.** The start of a server lists its tools again. So the
//!   check sees the form that the server has now, and refuses one that has gone.
//! - **The key of a pin** is the name in the registry. Another spelling of the name cannot get
//!   around the pin. The digest covers the name itself, too.
//! - **A person ends Changed**, or the server does by going back to the approved form. `avocet mcp
//!   tools` shows the changes. An approval that names the digests of the forms it saw is refused if
//!   a form has changed since.
//!
//! A file in the data directory keeps the pins (`memory.rs`). If it cannot be read, every tool is
//! new.

use avocet_protocol::tool::{McpError, McpToolState, ToolError};

use crate::memory::ListedTool;
use crate::names::registry_name;
use crate::server::ConfiguredServer;

impl ConfiguredServer {
    /// Pins a new tool with its first call, which a person or a rule has approved. Refuses a tool
    /// that has changed.
    pub(crate) fn pin_tool(&self, listed: &ListedTool) -> Result<(), ToolError> {
        let digest = listed.pin_digest();
        let known = self.known_server();
        let is_present = known.tools.iter().any(|tool| tool.pin_digest() == digest);
        let state = known.tool_state(listed);
        match state {
            McpToolState::Changed | McpToolState::Added => {}
            _ if !is_present => {}
            McpToolState::Approved => return Ok(()),
            McpToolState::New => {
                self.change_known(|known| known.approve_tool(listed));
                return Ok(());
            }
        }
        let (server, tool) = (&self.name, &listed.name);
        Err(ToolError::PermissionDenied(match state {
            McpToolState::Added => format!(
                "the server {server} has added the tool {tool} since its tools were approved; the \
                 operator has to approve it"
            ),
            _ => format!(
                "the server {server} has changed the tool {tool} since its approval; the operator \
                 has to approve it again"
            ),
        }))
    }

    /// Approves the present form of a tool, or of all. Returns the names of those that were not
    /// approved before. `shown` are the digests of the forms that the person has seen.
    ///
    /// # Errors
    /// [`McpError`], if there is no such tool, or its form was not shown.
    pub(crate) fn approve_tools(
        &self,
        tool: Option<&str>,
        shown: Option<&[String]>,
    ) -> Result<Vec<String>, McpError> {
        let server = || self.name.to_string();
        let known = self.known_server();
        let is_meant = |one: &&ListedTool| {
            tool.is_none_or(|tool| one.name == tool || registry_name(&self.name, &one.name) == tool)
        };
        let meant: Vec<ListedTool> = known.tools.iter().filter(is_meant).cloned().collect();
        if meant.is_empty() && tool.is_some() {
            let tool = tool.unwrap_or_default().to_owned();
            return Err(McpError::UnknownTool { server: server(), tool });
        }
        let new: Vec<&ListedTool> =
            meant.iter().filter(|one| known.tool_state(one) != McpToolState::Approved).collect();
        let names = |tools: &[&ListedTool]| -> Vec<String> {
            tools.iter().map(|one| registry_name(&self.name, &one.name)).collect()
        };
        let was_shown = |one: &&&ListedTool| {
            shown.is_none_or(|shown| shown.iter().any(|digest| *digest == one.pin_digest()))
        };
        let unseen: Vec<&ListedTool> = new.iter().filter(|one| !was_shown(one)).copied().collect();
        if !unseen.is_empty() {
            let tools = names(&unseen).join(", ");
            return Err(McpError::ChangedMeanwhile { server: server(), tools });
        }
        self.change_known(|known| meant.iter().for_each(|one| known.approve_tool(one)));
        Ok(names(&new))
    }
}
