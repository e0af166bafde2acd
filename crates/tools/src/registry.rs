//! The registry of all tools. It checks every call, for every role, place and trust level, so that
//! tools need no checks of their own.

mod budget;
mod decide;
mod offered;
mod review;
mod session_tools;
mod skill_limit;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::access::{Role, Rule};
use avocet_protocol::chat::{ChatKind, Content, SessionId};
use avocet_protocol::clock::Clock;
use avocet_protocol::ids::ToolName;
use avocet_protocol::model::ToolCall;
use avocet_protocol::tool::{
    Caution, ChoiceBits, Description, Evidence, HeldForCall, MAX_ABOUT, Place, PreparedCall, Tool,
    ToolClass, ToolContext, ToolError, ToolOutcome, ToolOutput, ToolSource, ToolSpec, Toolbox,
    UPDATE_PLAN, UsedBits, Verdict, WaitRequest,
};
use avocet_text::{Redactor, fits_pattern, main_argument};
use dashmap::DashMap;

use crate::outside::OutsideSource;
use crate::paths::PathLocks;
use crate::policy::{AgentPolicy, PolicyCase};
use crate::registered::RegisteredTool;
use crate::rule_policy::describe_rule;
use crate::{aliases, approval, schema};

pub use review::ChangeReviews;
pub use session_tools::{SessionOffer, SessionSources};
pub use skill_limit::allows_tool as skill_allows;

/// Default time after which an unanswered approval counts as denied.
const APPROVALS: Duration = Duration::from_hours(1);

/// The name of the tool is taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a tool named {0} is registered already")]
pub struct AlreadyRegistered(pub ToolName);

/// A list of tools, and the version of the outside tools in it.
#[derive(Debug)]
struct OfferedTools {
    version: u64,
    specs: Arc<[ToolSpec]>,
}

/// The tools of this daemon.
#[derive(Debug)]
pub struct ToolRegistry {
    tools: BTreeMap<ToolName, Arc<RegisteredTool>>,
    /// Tools that the program calls by itself. Models are not offered them, and lists of tools do
    /// not concern them.
    internal: BTreeMap<ToolName, Arc<RegisteredTool>>,
    policy: AgentPolicy,
    approvals: Duration,
    /// The bits that the choices of a turn may tell after untrusted text.
    budget: ChoiceBits,
    redactor: Arc<Redactor>,
    /// Lets calls run that a person can undo; `None` to ask before each of them.
    reviews: Option<ChangeReviews>,
    /// The hosts that the configuration names.
    hosts: Arc<[String]>,
    paths: Arc<PathLocks>,
    /// The tools of other programs.
    outside: Option<Arc<OutsideSource>>,
    /// The tools of single sessions.
    sessions: Arc<SessionSources>,
    /// Cached tool lists per role and place, so that a model gets the identical list until the
    /// version of the outside tools changes.
    offered: DashMap<(Role, Place), OfferedTools>,
    clock: Arc<dyn Clock>,
}

impl ToolRegistry {
    /// Creates a registry without tools and without operator's rules.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            tools: BTreeMap::new(),
            internal: BTreeMap::new(),
            policy: AgentPolicy::default(),
            approvals: APPROVALS,
            budget: budget::DEFAULT_BUDGET,
            redactor: Arc::default(),
            reviews: None,
            hosts: Arc::default(),
            paths: Arc::default(),
            outside: None,
            sessions: Arc::default(),
            offered: DashMap::new(),
            clock,
        }
    }

    /// Creates a registry with the same tools and without operator's rules. The tools are in memory
    /// once.
    #[must_use]
    pub fn with_same_tools(&self) -> Self {
        let (tools, internal) = (self.tools.clone(), self.internal.clone());
        let (outside, sessions) = (self.outside.clone(), self.sessions.clone());
        Self { tools, internal, outside, sessions, ..Self::new(self.clock.clone()) }
    }

    /// Sets the rules. An approval that is unanswered after `approvals` counts as denied.
    #[must_use]
    pub fn with_policy(self, policy: AgentPolicy, approvals: Duration) -> Self {
        Self { policy, approvals, ..self }
    }

    /// Sets the bits that the choices of a turn may tell after untrusted text without a question.
    /// With zero, each choice is asked about.
    #[must_use]
    pub fn with_budget(self, budget: ChoiceBits) -> Self {
        Self { budget, ..self }
    }

    /// Lets calls run after untrusted text that a person can undo at the end of the turn.
    #[must_use]
    pub fn with_reviews(self, reviews: ChangeReviews) -> Self {
        Self { reviews: Some(reviews), ..self }
    }

    /// Sets the secrets to look for.
    #[must_use]
    pub fn with_secrets(self, redactor: Arc<Redactor>) -> Self {
        Self { redactor, ..self }
    }

    /// Sets the hosts of the configuration, in lower case; a leading `*.` stands for all names
    /// below it.
    #[must_use]
    pub fn with_hosts(self, hosts: Arc<[String]>) -> Self {
        Self { hosts, ..self }
    }

    /// Shares the path locks with other registries that work in the same directories.
    #[must_use]
    pub fn with_paths(self, paths: Arc<PathLocks>) -> Self {
        Self { paths, ..self }
    }

    /// Adds the tools of a source, which come and go. Those whose name matches one of the patterns
    /// `users` are open to users. A tool with the name of a tool of ours is left out. Must come after
    /// the other tools and before [`Self::with_same_tools`].
    #[must_use]
    pub fn with_source(self, source: Arc<dyn ToolSource>, users: Vec<String>) -> Self {
        let own = self.tools.keys().chain(self.internal.keys());
        let taken = own.map(|name| name.as_str().to_owned()).collect();
        let groups = self.tools.values().map(|one| one.description.group.to_string()).collect();
        Self { outside: Some(Arc::new(OutsideSource::new(source, taken, groups, users))), ..self }
    }

    /// The names of all tools of ours, in order.
    pub fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.tools.values().map(|one| one.name())
    }

    /// Returns `true` if a pattern matches a tool, or can match one of a source.
    #[must_use]
    pub fn has_match(&self, pattern: &str) -> bool {
        let outside = self.outside.as_ref();
        self.tools.values().any(|one| fits_pattern(pattern, one.name()))
            || outside.is_some_and(|outside| outside.may_have(pattern))
            || session_tools::may_match(pattern)
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// [`AlreadyRegistered`] if the name is taken.
    ///
    /// # Panics
    /// If the schema made from the type of the tool's arguments is invalid.
    pub fn add_tool<T: Tool>(&mut self, tool: T) -> Result<(), AlreadyRegistered> {
        let (name, registered) = self.register_tool(tool)?;
        self.tools.insert(name, registered);
        self.offered.clear();
        Ok(())
    }

    /// Adds a tool that only the program calls. Rules and approvals apply to its calls.
    ///
    /// # Errors
    /// [`AlreadyRegistered`] if the name is taken.
    ///
    /// # Panics
    /// See [`Self::add_tool`].
    pub fn add_internal<T: Tool>(&mut self, tool: T) -> Result<(), AlreadyRegistered> {
        let (name, registered) = self.register_tool(tool)?;
        self.internal.insert(name, registered);
        Ok(())
    }

    fn register_tool<T: Tool>(
        &self,
        tool: T,
    ) -> Result<(ToolName, Arc<RegisteredTool>), AlreadyRegistered> {
        let description = Tool::describe(&tool);
        let name = description.name.clone();
        if self.tools.contains_key(&name) || self.internal.contains_key(&name) {
            return Err(AlreadyRegistered(name));
        }
        let mut schema = schema::schema_of::<T::Arguments>();
        aliases::add_to(&mut schema);
        // The schema comes from a type, so that a test of the tool finds a fault.
        debug_assert!(
            jsonschema::validator_for(&schema).is_ok(),
            "the arguments of {name} have no valid schema"
        );
        let (tool, validator) = (Box::new(tool), OnceLock::new());
        Ok((name, RegisteredTool { tool, description, schema, validator }.into()))
    }

    /// Opens owners' tools to users: all whose name matches the pattern, in which `*` stands for
    /// any characters. Returns the number of matching tools. Must come before
    /// [`Self::with_same_tools`].
    pub fn open_to_users(&mut self, pattern: &str) -> usize {
        let own = self.tools.values_mut().filter_map(Arc::get_mut);
        let fitting = own.filter(|one| fits_pattern(pattern, one.name()));
        let opened = fitting.map(|one| one.description.role = Role::User).count();
        self.offered.clear();
        opened
    }

    /// The reason why a tool is always refused there, even with approval; `None` if it may be
    /// called.
    fn why_refused(&self, registered: &RegisteredTool, case: PolicyCase<'_>) -> Option<String> {
        let description = &registered.description;
        if description.role > case.role {
            return Some("is for owners".to_owned());
        }
        if registered.name() == UPDATE_PLAN && !case.place.is_editor {
            return Some("is only for sessions of editors, which show plans".to_owned());
        }
        let is_internal = self.internal.contains_key(&description.name);
        if let Some(table) = self.policy.left_out(&description.name, case).filter(|_| !is_internal)
        {
            return Some(format!("is not a tool here, because of {table}"));
        }
        let decision = self.policy.decide_call(description, &Caution::Never, case);
        (decision.rule == Rule::Deny).then(|| format!("is not allowed here: {}", decision.why))
    }

    /// The tool of a call, if it may be called there, and under the skill in use.
    fn find_permitted(
        &self,
        call: &ToolCall,
        context: &ToolContext,
    ) -> Result<Arc<RegisteredTool>, ToolError> {
        let case = policy_case(context);
        let registered = self.find_tool(call, case, Some(&context.session))?;
        let refusal = self.why_refused(&registered, case);
        let is_internal = self.internal.contains_key(&registered.description.name);
        let by_skill = || self.skill_refusal(&registered, context).filter(|_| !is_internal);
        match refusal.or_else(by_skill) {
            None => Ok(registered),
            Some(why) => {
                let called = registered.name_as_called(call);
                Err(ToolError::PermissionDenied(format!("{called} {why}")))
            }
        }
    }

    /// Finds the tool of a call by its name or by an alias.
    fn find_tool(
        &self,
        call: &ToolCall,
        case: PolicyCase<'_>,
        session: Option<&SessionId>,
    ) -> Result<Arc<RegisteredTool>, ToolError> {
        let name = call.name.as_str();
        let found = self.named_in(name, session).or_else(|| self.internal.get(name).cloned());
        found.ok_or_else(|| {
            if let Some(why) = self.describe_missing(name, session) {
                return ToolError::NotFound(why);
            }
            let available = self.available_tools(case);
            let names: Vec<&str> = available.iter().map(|one| one.name()).collect();
            let similar = |name: &&&str| strsim::jaro_winkler(name, &call.name) > schema::ALIKE;
            let meant = names.iter().find(similar);
            let meant = meant.map(|name| format!("did you mean {name}? ")).unwrap_or_default();
            let own = available.iter().filter(|one| self.tools.contains_key(&one.description.name));
            let own: Vec<&str> = own.map(|one| one.name()).collect();
            let listed = if own.is_empty() {
                "There are no tools: answer without calls".to_owned()
            } else {
                format!("The tools are: {}", own.join(", "))
            };
            ToolError::NotFound(format!("{name}; {meant}{listed}"))
        })
    }
}

/// The properties of a call for the policy.
fn policy_case(context: &ToolContext) -> PolicyCase<'_> {
    PolicyCase {
        role: context.role,
        place: &context.place,
        trust: context.trust,
        mode: context.mode,
        can_undo: false,
    }
}

/// Returns `true` if the text read is as trusted as the requester. If an owner asks in a group, the
/// words of users are less trusted.
fn is_trusted(context: &ToolContext) -> bool {
    context.trust.suffices_for(context.role)
}

#[async_trait]
impl Toolbox for ToolRegistry {
    fn specs(&self, role: Role, place: &Place) -> Arc<[ToolSpec]> {
        let key = (role, place.clone());
        let case = PolicyCase::of_offer(role, place);
        let version = self.outside.as_ref().map_or(0, |outside| outside.source_version());
        let list = || {
            let available = self.available_tools(case);
            OfferedTools {
                version,
                specs: available.iter().map(|one| self.tool_spec(one)).collect(),
            }
        };
        let mut offered = self.offered.entry(key).or_insert_with(list);
        if offered.version != version {
            *offered = list();
        }
        offered.specs.clone()
    }

    fn specs_in_session(&self, session: &SessionId, role: Role, place: &Place) -> Arc<[ToolSpec]> {
        self.specs_with_session(session, role, place)
    }

    fn refusal_in(&self, tool: &str, session: &SessionId, place: &Place) -> Option<String> {
        self.why_refused_in(tool, session, place)
    }

    fn skill_allows(&self, pattern: &str, name: &str) -> bool {
        skill_allows(pattern, name)
    }

    fn describe_rule(&self, text: &str) -> Option<String> {
        describe_rule(text)
    }

    async fn prepare(
        &self,
        call: &ToolCall,
        allowed: Option<&str>,
        context: &ToolContext,
    ) -> Result<PreparedCall, ToolError> {
        let registered = self.find_permitted(call, context)?;
        let named = |error| registered.error_with_name(call, error);
        let review = registered.review_call(call, context).await.map_err(named)?;
        let places = self.undo_places(&registered, call, &review, context).await;
        let can_undo = places.is_some();
        let decision = self.decide_by_rules(&registered, call, &review, context, can_undo);
        let mut decision = decision.map_err(named)?;
        let mut held = HeldForCall::default();
        let is_to_review = decision.is_to_review && decision.rule == Rule::Allow;
        let approved = (allowed, places.as_deref());
        if is_to_review
            && !self.was_allowed(&registered, call, approved, context).await.map_err(named)?
        {
            match self.keep_copies(&registered, call, places, context).await.map_err(named)? {
                Ok(window) => held = window,
                Err(cannot_undo) => decision = cannot_undo,
            }
        }
        if decision.rule == Rule::Deny {
            let why = format!(
                "{} is not allowed here: {}",
                registered.name_as_called(call),
                decision.why
            );
            return Err(ToolError::PermissionDenied(why));
        }
        let evidence = registered.prepare_call(call, context).await.map_err(named)?;
        let approval = match decision.rule {
            Rule::Ask => {
                let asked = self.approval_request(&registered, call, &decision, context);
                let asked = asked.await.map_err(named)?;
                asked.filter(|request| !request.is_allowed(allowed))
            }
            _ => None,
        };
        let Description { class, parallel, trust, output, .. } = registered.description;
        let output = output.clamp(Description::LEAST_OUTPUT, Description::MOST_OUTPUT);
        Ok(PreparedCall { class, parallel, evidence, trust, output, approval, held })
    }

    async fn execute(
        &self,
        call: &ToolCall,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let registered = self.find_permitted(call, context)?;
        let named = |error| registered.error_with_name(call, error);
        let paths = registered.paths_of_call(call).map_err(named)?;
        let class = registered.description.class;
        let _alone = self.paths.lock_paths(&paths, class).await;
        let outcome = {
            let _changing = self.begin_file_change(&context.session, &paths, class).await?;
            registered.execute_call(call, context, self.clock.as_ref()).await
        };
        // A call that only reads may run between the copies of another call and its start.
        if matches!(class, ToolClass::Verifiable | ToolClass::Effect) {
            self.note_changes(&context.session, &paths).await;
        }
        let outcome = outcome.map_err(named)?;
        let (said, read) = (registered.description.trust, context.read.get());
        Ok(match outcome {
            ToolOutcome::Finished(output) if read < output.trust.unwrap_or(said) => {
                ToolOutcome::Finished(ToolOutput { trust: Some(read), ..output })
            }
            outcome => outcome,
        })
    }

    fn about(&self, call: &ToolCall) -> Option<String> {
        main_argument(&call.arguments.to_object(), MAX_ABOUT, &self.redactor)
    }

    fn hold(&self, text: &str, context: &ToolContext) -> Option<WaitRequest> {
        self.withhold_answer(text, context)
    }

    fn used_bits(&self, context: &ToolContext) -> Option<UsedBits> {
        Some(self.count_used_bits(context))
    }

    fn has_changes(&self, session: &SessionId) -> bool {
        self.reviews.as_ref().is_some_and(|reviews| reviews.copies.has_copies(session))
    }

    async fn review_changes(&self, _text: &str, context: &ToolContext) -> Option<WaitRequest> {
        self.request_review(context).await
    }

    async fn keep_changes(&self, context: &ToolContext) {
        self.end_review_by_keeping(context).await;
    }

    async fn undo_changes(&self, context: &ToolContext) {
        self.end_review_by_undoing(context).await;
    }

    async fn interrupted(&self, call: &ToolCall, context: &ToolContext) -> Content {
        let drawn = async {
            let registered =
                self.find_tool(call, policy_case(context), Some(&context.session)).ok()?;
            let arguments = registered.validated_arguments(call).ok()?;
            registered.tool.question(&arguments, context).await.ok()?
        };
        let shown = match drawn.await {
            Some(question) => question.shown,
            None => approval::plain_question(&call.arguments.to_object()).shown,
        };
        let mut content = approval::of_interruption(&call.name, &shown);
        // The text goes to a chat, so secrets are removed.
        content.text = self.redactor.redact(&content.text).into_owned();
        content
    }

    async fn verify(&self, call: &ToolCall, evidence: &Evidence) -> Verdict {
        let (chat, is_editor) = (ChatKind::Private, false);
        let place = Place { channel: None, chat, is_editor, within: Vec::new() };
        let case = PolicyCase::of_offer(Role::Owner, &place);
        match self.find_tool(call, case, None) {
            Ok(registered) => registered.tool.verify(evidence).await,
            Err(_) => Verdict::Unknown,
        }
    }
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
