//! A tool in the registry: checks arguments against the schema, enforces the time limit, and turns
//! panics into errors.

use std::borrow::Cow;
use std::sync::OnceLock;

use avocet_protocol::{
    Arguments, Clock, Description, Evidence, Leaving, ToolCall, ToolContext, ToolError,
    ToolOutcome, within,
};
use avocet_supervise::catch;
use jsonschema::Validator;
use serde_json::{Map, Value};

use crate::erased::{ErasedTool, Review};
use crate::{aliases, declared_types, schema};

/// A tool with its description and schema.
#[derive(Debug)]
pub(crate) struct Registered {
    pub(crate) tool: Box<dyn ErasedTool>,
    pub(crate) description: Description,
    pub(crate) schema: Value,
    /// Compiled for the first call.
    pub(crate) validator: OnceLock<Validator>,
}

impl Registered {
    pub(crate) fn name(&self) -> &str {
        self.description.name.as_str()
    }

    fn validator(&self) -> &Validator {
        self.validator.get_or_init(|| match jsonschema::validator_for(&self.schema) {
            Ok(validator) => validator,
            // `Registry::add` has the same schema checked in debug builds.
            Err(error) => panic!("the arguments of {} have no valid schema: {error}", self.name()),
        })
    }

    /// The tool's name, and the name that the model used if it differs.
    pub(crate) fn called(&self, call: &ToolCall) -> String {
        match self.name() {
            name if name == call.name => name.to_owned(),
            name => format!("{name} (called as {})", call.name),
        }
    }

    /// Adds the tool's name to an error if the model used another name.
    pub(crate) fn named(&self, call: &ToolCall, error: ToolError) -> ToolError {
        let named = |text: String| {
            if self.name() == call.name { text } else { format!("{}: {text}", self.called(call)) }
        };
        match error {
            ToolError::NotFound(text) => ToolError::NotFound(named(text)),
            ToolError::InvalidArgs(text) => ToolError::InvalidArgs(named(text)),
            ToolError::ExecutionFailed(text) => ToolError::ExecutionFailed(named(text)),
            ToolError::PermissionDenied(text) => ToolError::PermissionDenied(named(text)),
            ToolError::FileNotFound(text) => ToolError::FileNotFound(named(text)),
            ToolError::InvalidPath(text) => ToolError::InvalidPath(named(text)),
            error @ (ToolError::Timeout(_) | ToolError::TimedOut { .. }) => error,
        }
    }

    pub(crate) async fn review(
        &self,
        call: &ToolCall,
        context: &ToolContext,
    ) -> Result<Review, ToolError> {
        self.tool.review(&*self.arguments(call)?, context).await
    }

    /// The data that a call sends out of the machine.
    pub(crate) fn leaving(&self, call: &ToolCall) -> Result<Vec<Leaving>, ToolError> {
        self.tool.leaving(&*self.arguments(call)?)
    }

    /// The files and directories that a call reads or changes.
    pub(crate) fn paths(&self, call: &ToolCall) -> Result<Vec<String>, ToolError> {
        self.tool.paths(&*self.arguments(call)?)
    }

    pub(crate) async fn prepare(
        &self,
        call: &ToolCall,
        context: &ToolContext,
    ) -> Result<Option<Evidence>, ToolError> {
        self.tool.prepare(&*self.arguments(call)?, context).await
    }

    /// Runs a call within the tool's time limit. A panic becomes an error.
    pub(crate) async fn execute(
        &self,
        call: &ToolCall,
        context: &ToolContext,
        clock: &dyn Clock,
    ) -> Result<ToolOutcome, ToolError> {
        let (arguments, limit) = (self.arguments(call)?, self.description.time_limit);
        let running = catch(self.tool.execute(&arguments, context));
        match within(clock, limit, running).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(panicked)) => {
                tracing::error!(tool = self.name(), error = %panicked, "the tool panicked");
                Err(ToolError::ExecutionFailed(panicked.to_string()))
            }
            Err(_) => Err(ToolError::Timeout(limit.as_secs())),
        }
    }

    /// The arguments of a call under the schema's names and in its types, validated.
    pub(crate) fn arguments<'c>(
        &self,
        call: &'c ToolCall,
    ) -> Result<Cow<'c, Map<String, Value>>, ToolError> {
        let complaint = match &call.arguments {
            Arguments::Object(given) => {
                let arguments = aliases::resolved(&self.schema, given);
                let arguments = arguments.map_err(ToolError::InvalidArgs)?;
                let arguments = declared_types::read_as_declared(&self.schema, arguments);
                match schema::complaint(self.validator(), &self.schema, &arguments) {
                    None => return Ok(arguments),
                    Some(complaint) => complaint,
                }
            }
            Arguments::Malformed(text) => {
                let shown: String = text.chars().take(200).collect();
                format!(
                    "they cannot be read: {shown}. Expected: {}",
                    schema::expected(&self.schema)
                )
            }
        };
        Err(ToolError::InvalidArgs(complaint))
    }
}
