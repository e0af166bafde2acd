//! A tool in the registry: checks arguments against the schema, enforces the time limit, and turns
//! panics into errors.

use std::borrow::Cow;
use std::sync::OnceLock;

use avocet_protocol::clock::{Clock, within};
use avocet_protocol::model::{Arguments, ToolCall};
use avocet_protocol::tool::{Description, Evidence, Leaving, ToolContext, ToolError, ToolOutcome};
use avocet_supervise::catch_panic;
use jsonschema::Validator;
use serde_json::{Map, Value};

use crate::erased::{CallReview, ErasedTool};
use crate::{aliases, declared_types, schema};

/// A tool with its description and schema.
#[derive(Debug)]
pub(crate) struct RegisteredTool {
    pub(crate) tool: Box<dyn ErasedTool>,
    pub(crate) description: Description,
    pub(crate) schema: Value,
    /// Compiled for the first call.
    pub(crate) validator: OnceLock<Validator>,
}

impl RegisteredTool {
    pub(crate) fn name(&self) -> &str {
        self.description.name.as_str()
    }

    fn schema_validator(&self) -> &Validator {
        self.validator.get_or_init(|| match jsonschema::validator_for(&self.schema) {
            Ok(validator) => validator,
            // `Registry::add_tool` has the same schema checked in debug builds.
            Err(error) => panic!("the arguments of {} have no valid schema: {error}", self.name()),
        })
    }

    /// The tool's name, and the name that the model used if it differs.
    pub(crate) fn name_as_called(&self, call: &ToolCall) -> String {
        match self.name() {
            name if name == call.name => name.to_owned(),
            name => format!("{name} (called as {})", call.name),
        }
    }

    /// Adds the tool's name to an error if the model used another name.
    pub(crate) fn error_with_name(&self, call: &ToolCall, error: ToolError) -> ToolError {
        let named = |text: String| {
            if self.name() == call.name {
                text
            } else {
                format!("{}: {text}", self.name_as_called(call))
            }
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

    pub(crate) async fn review_call(
        &self,
        call: &ToolCall,
        context: &ToolContext,
    ) -> Result<CallReview, ToolError> {
        self.tool.review(&*self.validated_arguments(call)?, context).await
    }

    /// The data that a call sends out of the machine.
    pub(crate) fn leaving_data(&self, call: &ToolCall) -> Result<Vec<Leaving>, ToolError> {
        self.tool.leaving(&*self.validated_arguments(call)?)
    }

    /// The files and directories that a call reads or changes.
    pub(crate) fn paths_of_call(&self, call: &ToolCall) -> Result<Vec<String>, ToolError> {
        self.tool.paths(&*self.validated_arguments(call)?)
    }

    pub(crate) async fn prepare_call(
        &self,
        call: &ToolCall,
        context: &ToolContext,
    ) -> Result<Option<Evidence>, ToolError> {
        self.tool.prepare(&*self.validated_arguments(call)?, context).await
    }

    /// Runs a call within the tool's time limit. A panic becomes an error.
    pub(crate) async fn execute_call(
        &self,
        call: &ToolCall,
        context: &ToolContext,
        clock: &dyn Clock,
    ) -> Result<ToolOutcome, ToolError> {
        let (arguments, limit) = (self.validated_arguments(call)?, self.description.time_limit);
        let running = catch_panic(self.tool.execute(&arguments, context));
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
    pub(crate) fn validated_arguments<'c>(
        &self,
        call: &'c ToolCall,
    ) -> Result<Cow<'c, Map<String, Value>>, ToolError> {
        let complaint = match &call.arguments {
            Arguments::Object(given) => {
                let arguments = aliases::resolve_names(&self.schema, given);
                let arguments = arguments.map_err(ToolError::InvalidArgs)?;
                let arguments = declared_types::read_as_declared(&self.schema, arguments);
                match schema::describe_faults(self.schema_validator(), &self.schema, &arguments) {
                    None => return Ok(arguments),
                    Some(complaint) => complaint,
                }
            }
            Arguments::Malformed(text) => {
                let shown: String = text.chars().take(200).collect();
                format!(
                    "they cannot be read: {shown}. Expected: {}",
                    schema::describe_arguments(&self.schema)
                )
            }
        };
        Err(ToolError::InvalidArgs(complaint))
    }
}
