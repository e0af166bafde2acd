//! The tools of a request for providers that take schemas in the middle of a conversation. Schemas
//! that a call of `use_tools` loads follow that call. The tools at the beginning stay unchanged, so
//! that the provider's cache of them stays valid.

use std::collections::{BTreeMap, BTreeSet};

use avocet_protocol::model::{Message, ModelRequest, SentCall};
use avocet_protocol::tool::{ToolSpec, USE_TOOLS, groups_to_load};

/// The use of a provider's own deferral of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolDeferral {
    /// Loaded tools join the others at the beginning of the request.
    Off,
    /// Loaded tools follow the call that loads them.
    Native,
}

impl From<bool> for ToolDeferral {
    /// Reads the setting `deferred_tools`.
    fn from(is_on: bool) -> Self {
        if is_on { Self::Native } else { Self::Off }
    }
}

/// The tools of a request, by the place of their schemas.
#[derive(Debug, Default)]
pub(crate) struct PlacedTools<'r> {
    /// At the beginning of the request.
    pub(crate) first: Vec<&'r ToolSpec>,
    /// Later or never, in the order of their names.
    pub(crate) deferred: Vec<&'r ToolSpec>,
    /// After a call of `use_tools`, by the call's id.
    loaded: BTreeMap<&'r str, Vec<&'r ToolSpec>>,
}

impl<'r> PlacedTools<'r> {
    pub(crate) fn new(request: &'r ModelRequest, deferral: ToolDeferral) -> Self {
        let loader = request.tools.iter().position(|tool| tool.name == USE_TOOLS);
        let (ToolDeferral::Native, Some(loader)) = (deferral, loader) else {
            return Self { first: request.tools.iter().collect(), ..Self::default() };
        };
        let (first, others) = request.tools.split_at(loader + 1);
        let mut search = LoadSearch::new(request, others);
        for message in &request.messages {
            if let Message::Assistant { calls, .. } = message {
                search.read_step(calls);
            }
        }
        let LoadSearch { found, loaded, .. } = search;
        let is_found = |tool: &&ToolSpec| found.contains(tool.name.as_str());
        let (later, others): (Vec<_>, Vec<_>) = others.iter().partition(is_found);
        let mut deferred = later;
        deferred.extend(request.deferred.iter());
        deferred.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Self { first: first.iter().chain(others).collect(), deferred, loaded }
    }

    /// Returns the tools that a call of `use_tools` loads; `None` for a call of another tool.
    pub(crate) fn loaded_by(&self, call: &str) -> Option<&[&'r ToolSpec]> {
        self.loaded.get(call).map(Vec::as_slice)
    }

    /// Returns `true` if a call before this tool's own calls loads it.
    pub(crate) fn is_loaded(&self, name: &str) -> bool {
        self.loaded.values().flatten().any(|tool| tool.name == name)
    }
}

/// Looks for the calls that load tools, step by step.
struct LoadSearch<'r> {
    /// The tools that a call can load, in the order of the request.
    groups: [&'r [ToolSpec]; 2],
    /// The calls that succeeded.
    succeeded: BTreeSet<&'r str>,
    /// The names of tools that were called before they were loaded. Their schemas stay at the
    /// beginning of the request, because a provider may refuse the earlier call otherwise.
    called: BTreeSet<&'r str>,
    found: BTreeSet<&'r str>,
    loaded: BTreeMap<&'r str, Vec<&'r ToolSpec>>,
}

impl<'r> LoadSearch<'r> {
    fn new(request: &'r ModelRequest, others: &'r [ToolSpec]) -> Self {
        let succeeded = request.messages.iter().filter_map(|message| match message {
            Message::ToolResult { call, ok: true, .. } => Some(call.as_str()),
            _ => None,
        });
        Self {
            groups: [others, &request.deferred],
            succeeded: succeeded.collect(),
            called: BTreeSet::new(),
            found: BTreeSet::new(),
            loaded: BTreeMap::new(),
        }
    }

    /// Reads the calls of a step. The results of a step follow all its calls.
    fn read_step(&mut self, calls: &'r [SentCall]) {
        let (loads, others): (Vec<_>, Vec<_>) =
            calls.iter().partition(|call| call.name == USE_TOOLS);
        for call in others {
            let tools = self.groups.into_iter().flatten();
            let tools = tools.filter(|tool| tool.is_called(&call.name));
            let unloaded = tools.map(|tool| tool.name.as_str());
            self.called.extend(unloaded.filter(|name| !self.found.contains(name)));
        }
        for call in loads {
            let tools = if self.succeeded.contains(call.id.as_str()) {
                self.new_tools(call)
            } else {
                Vec::new()
            };
            self.found.extend(tools.iter().map(|tool| tool.name.as_str()));
            self.loaded.insert(&call.id, tools);
        }
    }

    /// The tools of the groups that a call names, without those that the model already knows.
    fn new_tools(&self, call: &SentCall) -> Vec<&'r ToolSpec> {
        let groups = self.groups.map(|tools| groups_to_load(&call.arguments, tools)).concat();
        let tools = self.groups.into_iter().flatten();
        let is_new = |tool: &&ToolSpec| {
            let name = tool.name.as_str();
            groups.contains(&tool.group.as_str())
                && !self.called.contains(name)
                && !self.found.contains(name)
        };
        tools.filter(is_new).collect()
    }
}

#[cfg(test)]
#[path = "deferred_tests.rs"]
mod tests;
