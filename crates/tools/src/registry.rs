//! Every tool by its name. A call is looked up and its arguments are checked here, so that no tool
//! can forget to; its time limit is held here, and a panic in it is its error.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use avocet_protocol::{
    Arguments, Clock, Description, Evidence, PreparedCall, Role, Tool, ToolCall, ToolContext,
    ToolError, ToolName, ToolOutcome, ToolSpec, Toolbox, Verdict, fits, within,
};
use avocet_supervise::catch;
use jsonschema::Validator;
use serde_json::{Map, Value};

use crate::aliases;
use crate::erased::ErasedTool;
use crate::schema;

/// Who registers a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// This program.
    BuiltIn,
    /// The operator's configuration: it may replace what has the name.
    Configuration,
}

/// A name is taken, and only the operator's configuration may replace a tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a tool named {0} is registered already")]
pub struct AlreadyRegistered(pub ToolName);

/// The tools of this daemon.
#[derive(Debug)]
pub struct Registry {
    tools: BTreeMap<ToolName, Registered>,
    for_users: Arc<[ToolSpec]>,
    for_owners: Arc<[ToolSpec]>,
    clock: Arc<dyn Clock>,
}

#[derive(Debug)]
struct Registered {
    tool: Box<dyn ErasedTool>,
    description: Description,
    schema: Value,
    validator: Validator,
}

impl Registry {
    /// No tools.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let (for_users, for_owners) = (Arc::new([]), Arc::new([]));
        Self { tools: BTreeMap::new(), for_users, for_owners, clock }
    }

    /// Adds a tool. One from the operator's configuration replaces a tool of the same name.
    ///
    /// # Errors
    /// [`AlreadyRegistered`] if the name is taken and the tool is not from the configuration.
    ///
    /// # Panics
    /// If the schema of the tool's arguments is none; it is made from their type.
    pub fn add<T: Tool>(&mut self, tool: T, origin: Origin) -> Result<(), AlreadyRegistered> {
        let description = Tool::describe(&tool);
        let name = description.name.clone();
        if self.tools.contains_key(&name) {
            if origin != Origin::Configuration {
                return Err(AlreadyRegistered(name));
            }
            tracing::info!(tool = %name, "replaced by the configuration");
        }
        let mut schema = schema::of::<T::Arguments>();
        aliases::add_to(&mut schema);
        let validator = match jsonschema::validator_for(&schema) {
            Ok(validator) => validator,
            Err(error) => panic!("the arguments of {name} have no valid schema: {error}"),
        };
        let tool = Box::new(tool);
        self.tools.insert(name, Registered { tool, description, schema, validator });
        self.list();
        Ok(())
    }

    /// Gives tools for owners to users too: all whose name fits the pattern, in which `*` stands for
    /// any characters. Returns how many fit.
    pub fn open_to_users(&mut self, pattern: &str) -> usize {
        let fitting = self.tools.values_mut().filter(|one| fits(pattern, one.name()));
        let opened = fitting.map(|one| one.description.role = Role::User).count();
        self.list();
        opened
    }

    /// Makes the lists that are offered: once, so that they are the same at all times.
    fn list(&mut self) {
        let specs = |role| self.offered(role).map(|one| self.spec(one)).collect();
        (self.for_users, self.for_owners) = (specs(Role::User), specs(Role::Owner));
    }

    fn spec(&self, registered: &Registered) -> ToolSpec {
        let others = aliases::of_tool(registered.name()).iter();
        let others = others.filter(|alias| !self.tools.contains_key(**alias));
        ToolSpec {
            name: registered.name().to_owned(),
            aliases: others.map(|alias| (*alias).to_owned()).collect(),
            description: registered.description.text.to_owned(),
            parameters: registered.schema.clone(),
        }
    }

    fn offered(&self, role: Role) -> impl Iterator<Item = &Registered> {
        self.tools.values().filter(move |one| one.description.role <= role)
    }

    /// The tool of a call, if it is for whoever the turn works for.
    fn permitted(&self, call: &ToolCall, role: Role) -> Result<&Registered, ToolError> {
        let registered = self.find(call, role)?;
        if registered.description.role <= role {
            return Ok(registered);
        }
        Err(ToolError::PermissionDenied(format!("{} is for owners", registered.called(call))))
    }

    /// The tool of this name, or else that which others call so.
    fn find(&self, call: &ToolCall, role: Role) -> Result<&Registered, ToolError> {
        let name = call.name.as_str();
        let alike = || self.tools.values().find(|one| one.name().eq_ignore_ascii_case(name));
        let other = || self.tools.get(aliases::tool(name)?);
        self.tools.get(name).or_else(alike).or_else(other).ok_or_else(|| {
            let names: Vec<&str> = self.offered(role).map(Registered::name).collect();
            let similar = |name: &&&str| strsim::jaro_winkler(name, &call.name) > schema::ALIKE;
            let meant = names.iter().find(similar);
            let meant = meant.map(|name| format!("did you mean {name}? ")).unwrap_or_default();
            let listed = match names.is_empty() {
                true => "There are no tools: answer without calls".to_owned(),
                false => format!("The tools are: {}", names.join(", ")),
            };
            ToolError::NotFound(format!("{name}; {meant}{listed}"))
        })
    }
}

impl Registered {
    fn name(&self) -> &str {
        self.description.name.as_str()
    }

    /// Its name, and what the model called it if that is another.
    fn called(&self, call: &ToolCall) -> String {
        match self.name() {
            name if name == call.name => name.to_owned(),
            name => format!("{name} (called as {})", call.name),
        }
    }

    /// An error that says which tool it is of, where the model has called it by another name.
    fn named(&self, call: &ToolCall, error: ToolError) -> ToolError {
        let named = |text: String| match self.name() == call.name {
            true => text,
            false => format!("{}: {text}", self.called(call)),
        };
        match error {
            ToolError::NotFound(text) => ToolError::NotFound(named(text)),
            ToolError::InvalidArgs(text) => ToolError::InvalidArgs(named(text)),
            ToolError::ExecutionFailed(text) => ToolError::ExecutionFailed(named(text)),
            ToolError::PermissionDenied(text) => ToolError::PermissionDenied(named(text)),
            ToolError::FileNotFound(text) => ToolError::FileNotFound(named(text)),
            ToolError::InvalidPath(text) => ToolError::InvalidPath(named(text)),
            ToolError::Timeout(seconds) => ToolError::Timeout(seconds),
        }
    }

    async fn prepare(
        &self,
        call: &ToolCall,
        context: &ToolContext,
    ) -> Result<Option<Evidence>, ToolError> {
        self.tool.prepare(&*self.arguments(call)?, context).await
    }

    /// Runs a call within the tool's time limit; its panic is its error.
    async fn execute(
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

    /// The arguments of a call, under the names of the schema, if they fit it.
    fn arguments<'c>(&self, call: &'c ToolCall) -> Result<Cow<'c, Map<String, Value>>, ToolError> {
        let complaint = match &call.arguments {
            Arguments::Object(given) => {
                let arguments = aliases::resolved(&self.schema, given);
                let arguments = arguments.map_err(ToolError::InvalidArgs)?;
                match schema::complaint(&self.validator, &self.schema, &arguments) {
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

#[async_trait]
impl Toolbox for Registry {
    fn specs(&self, role: Role) -> Arc<[ToolSpec]> {
        match role {
            Role::User => self.for_users.clone(),
            Role::Owner => self.for_owners.clone(),
        }
    }

    async fn prepare(
        &self,
        call: &ToolCall,
        _approved: bool,
        context: &ToolContext,
    ) -> Result<PreparedCall, ToolError> {
        let registered = self.permitted(call, context.role)?;
        let prepared = registered.prepare(call, context).await;
        let evidence = prepared.map_err(|error| registered.named(call, error))?;
        let Description { class, parallel, .. } = registered.description;
        Ok(PreparedCall { class, parallel, evidence, approval: None })
    }

    async fn execute(
        &self,
        call: &ToolCall,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let registered = self.permitted(call, context.role)?;
        let executed = registered.execute(call, context, self.clock.as_ref()).await;
        executed.map_err(|error| registered.named(call, error))
    }

    async fn verify(&self, call: &ToolCall, evidence: &Evidence) -> Verdict {
        match self.find(call, Role::Owner) {
            Ok(registered) => registered.tool.verify(evidence).await,
            Err(_) => Verdict::Unknown,
        }
    }
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
