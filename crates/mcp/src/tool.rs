//! A tool of a server, as the registry sees it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::access::Trust;
use avocet_protocol::tool::{
    Caution, Description, Leaving, OutsideTool, ToolClass, ToolContext, ToolError, ToolOutcome,
};
use avocet_text::sanitise;
use serde_json::{Map, Value};

use crate::elicit::{MOST_QUESTIONS, TIME_LIMIT};
use crate::link::START_LIMIT;
use crate::memory::ListedTool;
use crate::names::registry_name;
use crate::provider_schema::for_providers;
use crate::server::ConfiguredServer;

/// The longest time of a call whose server reports progress.
const LONGEST_CALL: Duration = Duration::from_hours(1);
/// Bytes of a description that a model gets.
const LONGEST_TEXT: usize = 4096;

/// A tool in the form that its server listed.
#[derive(Debug)]
pub(crate) struct ServerTool {
    pub(crate) server: Arc<ConfiguredServer>,
    pub(crate) listed: ListedTool,
}

impl ServerTool {
    /// Returns the class. An untrusted server's statements do not count.
    pub(crate) fn class_of(is_trusted: bool, listed: &ListedTool) -> ToolClass {
        if is_trusted && listed.hints.read_only == Some(true) {
            ToolClass::Pure
        } else {
            ToolClass::Effect
        }
    }

    fn is_trusted(&self) -> bool {
        self.server.config.trusted
    }

    /// The trust level of a result. That of a tool in an open world is others' text.
    fn trust_of_results(&self) -> Trust {
        let is_closed = self.is_trusted() && self.listed.hints.open_world == Some(false);
        if is_closed { Trust::Full } else { Trust::Low }
    }
}

#[async_trait]
impl OutsideTool for ServerTool {
    fn describe(&self) -> Description {
        let name = registry_name(&self.server.name, &self.listed.name);
        let text = sanitise(&self.listed.description).text;
        let text = text[..text.floor_char_boundary(LONGEST_TEXT)].to_owned();
        let class = Self::class_of(self.is_trusted(), &self.listed);
        let described = Description::new(&name, class, text).in_group(self.server.name.to_string());
        let trust = if self.is_trusted() { Trust::Full } else { Trust::Low };
        // The timeout of the configuration begins again with each report of progress.
        let questions = TIME_LIMIT * MOST_QUESTIONS;
        let time_limit =
            self.server.config.time_limit().max(LONGEST_CALL) + START_LIMIT * 2 + questions;
        let parallel = class == ToolClass::Pure;
        Description { trust, time_limit, parallel, ..described }
    }

    fn schema(&self) -> Value {
        for_providers(&self.listed.schema)
    }

    fn caution(&self) -> Caution {
        if !self.is_trusted() {
            let name = &self.server.name;
            return Caution::Because(format!("the MCP server {name} is not a trusted one"));
        }
        match self.listed.hints.destructive {
            Some(true) if self.listed.hints.read_only != Some(true) => {
                Caution::Because("its server says that it may destroy something".to_owned())
            }
            _ => Caution::ByTrust,
        }
    }

    fn leaving(&self, arguments: &Map<String, Value>) -> Vec<Leaving> {
        vec![Leaving::Data(Value::Object(arguments.clone()).to_string())]
    }

    async fn execute(
        &self,
        arguments: &Map<String, Value>,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        context.read.lower_to(self.trust_of_results());
        let call = self.server.call_tool(&self.listed, arguments, context);
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => {
                Err(ToolError::ExecutionFailed("the call was cancelled".to_owned()))
            }
            result = call => Ok(result?.into()),
        }
    }
}
