//! The tools that are offered: those of the registry and of its sources.

use std::sync::Arc;

use avocet_protocol::tool::ToolSpec;

use super::ToolRegistry;
use crate::outside::OutsideTools;
use crate::policy::PolicyCase;
use crate::registered::RegisteredTool;
use crate::{aliases, schema};

impl ToolRegistry {
    pub(super) fn tool_spec(&self, registered: &RegisteredTool) -> ToolSpec {
        let others = aliases::of_tool(registered.name()).iter();
        let others = others.filter(|alias| !self.tools.contains_key(**alias));
        ToolSpec {
            name: registered.name().to_owned(),
            aliases: others.map(|alias| (*alias).to_owned()).collect(),
            group: registered.description.group.clone().into_owned(),
            description: registered.description.text.clone().into_owned(),
            parameters: schema::schema_for_model(&registered.schema),
        }
    }

    /// The tools of sources that are present now.
    pub(super) fn outside_tools(&self) -> OutsideTools {
        self.outside.as_ref().map(|outside| outside.current_tools()).unwrap_or_default()
    }

    /// The tools that may be called there, some only after approval. Sorted by name.
    pub(super) fn available_tools(&self, case: PolicyCase<'_>) -> Vec<Arc<RegisteredTool>> {
        let outside = self.outside_tools();
        let all = self.tools.values().chain(outside.values());
        let mut tools: Vec<Arc<RegisteredTool>> =
            all.filter(|one| self.why_refused(one, case).is_none()).cloned().collect();
        tools.sort_by(|one, other| one.name().cmp(other.name()));
        tools
    }
}
