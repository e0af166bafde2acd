//! Tools of other programs, which come and go while the daemon runs. Each has the checks of a
//! built-in tool.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::ids::ToolName;
use avocet_protocol::tool::{
    Evidence, Leaving, OutsideTool, Question, ToolContext, ToolError, ToolOutcome, ToolSource,
    Verdict,
};
use avocet_text::fits_pattern;
use parking_lot::RwLock;
use serde_json::{Map, Value};

use crate::erased::{CallReview, ErasedTool};
use crate::registered::RegisteredTool;
use crate::{aliases, schema};

/// The present tools of a source.
pub(crate) type OutsideTools = Arc<BTreeMap<ToolName, Arc<RegisteredTool>>>;

/// The source, and its tools as the registry needs them.
#[derive(Debug)]
pub(crate) struct OutsideSource {
    source: Arc<dyn ToolSource>,
    /// Names that the tools cannot take.
    taken: Vec<String>,
    /// The groups of our own tools.
    groups: Vec<String>,
    /// Patterns of the tools that are open to users.
    users: Vec<String>,
    /// The tools of the version.
    known: RwLock<(Option<u64>, OutsideTools)>,
}

impl OutsideSource {
    /// Takes tools from a source, except those with a name in `taken`. A group with a name in
    /// `groups` gets another name.
    pub(crate) fn new(
        source: Arc<dyn ToolSource>,
        taken: Vec<String>,
        groups: Vec<String>,
        users: Vec<String>,
    ) -> Self {
        Self { source, taken, groups, users, known: RwLock::default() }
    }

    /// Takes tools from another source, under the same rules.
    pub(crate) fn with_other_source(&self, source: Arc<dyn ToolSource>) -> Self {
        let Self { taken, groups, users, .. } = self;
        Self::new(source, taken.clone(), groups.clone(), users.clone())
    }

    /// Returns the version of [`Self::current_tools`].
    pub(crate) fn source_version(&self) -> u64 {
        self.source.version()
    }

    /// Returns `true` if a tool can have a name that matches the pattern.
    pub(crate) fn may_have(&self, pattern: &str) -> bool {
        self.source.may_have(pattern)
    }

    /// Returns the present tools, by name.
    pub(crate) fn current_tools(&self) -> OutsideTools {
        let version = Some(self.source.version());
        let known = self.known.read();
        if known.0 == version {
            return known.1.clone();
        }
        drop(known);
        let tools: OutsideTools = Arc::new(self.register_tools());
        *self.known.write() = (version, tools.clone());
        tools
    }

    fn register_tools(&self) -> BTreeMap<ToolName, Arc<RegisteredTool>> {
        let mut tools = BTreeMap::new();
        for tool in self.source.tools() {
            let mut description = tool.describe();
            let name = description.name.clone();
            let is_taken = self.taken.iter().any(|other| other.eq_ignore_ascii_case(name.as_str()))
                || aliases::tool_of_alias(name.as_str()).is_some()
                || tools.contains_key(&name);
            if is_taken {
                tracing::warn!(%name, "a tool of a server is left out: the name is taken");
                continue;
            }
            let schema = schema::of_server(tool.schema(), description.trust);
            let validator = match jsonschema::validator_for(&schema) {
                Ok(validator) => validator.into(),
                Err(error) => {
                    let error = error.to_string();
                    tracing::warn!(%name, error, "a tool of a server is left out: invalid schema");
                    continue;
                }
            };
            if self.groups.iter().any(|group| *group == description.group) {
                description.group = format!("mcp_{}", description.group).into();
            }
            if self.users.iter().any(|pattern| fits_pattern(pattern, name.as_str())) {
                description.role = avocet_protocol::access::Role::User;
            }
            let tool = Box::new(ServerTool(tool));
            tools.insert(name, Arc::new(RegisteredTool { tool, description, schema, validator }));
        }
        tools
    }
}

/// A tool of a server behind the interface of all tools.
#[derive(Debug)]
struct ServerTool(Arc<dyn OutsideTool>);

#[async_trait]
impl ErasedTool for ServerTool {
    async fn prepare(
        &self,
        _: &Map<String, Value>,
        _: &ToolContext,
    ) -> Result<Option<Evidence>, ToolError> {
        Ok(None)
    }

    async fn execute(
        &self,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        self.0.execute(arguments, context).await
    }

    async fn verify(&self, _: &Evidence) -> Verdict {
        Verdict::Unknown
    }

    async fn review(
        &self,
        arguments: &Map<String, Value>,
        _: &ToolContext,
    ) -> Result<CallReview, ToolError> {
        Ok(CallReview { caution: self.0.caution(), leaving: self.0.leaving(arguments) })
    }

    fn paths(&self, _: &Map<String, Value>) -> Result<Vec<String>, ToolError> {
        Ok(Vec::new())
    }

    fn leaving(&self, arguments: &Map<String, Value>) -> Result<Vec<Leaving>, ToolError> {
        Ok(self.0.leaving(arguments))
    }

    fn found(&self, _: &Value) -> Vec<String> {
        Vec::new()
    }

    fn answered(&self, _: &Value) -> Option<String> {
        None
    }

    async fn question(
        &self,
        _: &Map<String, Value>,
        _: &ToolContext,
    ) -> Result<Option<Question>, ToolError> {
        Ok(None)
    }
}

#[cfg(test)]
#[path = "outside_tests.rs"]
mod tests;
