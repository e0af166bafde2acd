//! Decides about a call: it runs, needs approval, or is refused.
//!
//! ```text
//! permitted   role, lists, the skill in use                     else: refused (`registry.rs`)
//! review      the tool's own caution, and the data that leaves
//! places      that a person can undo (`review.rs`): no question by trust alone
//! policy      lists, rules, mode (`policy.rs`)                  deny: refused
//! leaks       a secret, a link that carries data, an unknown host: ask
//! budget      choices among links that tell too much in this turn: ask (`budget.rs`)
//! as text     a call with effects, written as text: ask each time
//! owners      their rules, where they name the call (`rule_policy.rs`): ask each time | deny
//! evidence    of a verifiable tool, taken before the effect
//! grants      of the session; cover it: runs
//! ask         a person, who sees the call itself
//! ```
//!
//! **Refusals come first**, so that no question is asked about a call that can never run.
//!
//! **Leaks come after the policy**, because they only make it stricter. They are looked for after
//! untrusted content only: its author may have written the call. A call that is asked about each
//! time skips the search. The rules for hosts are in `leaks/known.rs`.
//!
//! **A call as text** may be an example in an explanation. So the question tells that, and no grant
//! covers it.
//!
//! **Grants come last**, and only where the decision allows one (`session_grants.rs`). A person who
//! allows a destination for the session has not allowed a secret or the content of a message. Such a
//! leak is asked about each time.
//!
//! **The question shows the call, not words of a model.** All other text in it is ours, and secrets
//! are removed, because it goes to a chat.

use std::sync::Arc;

use avocet_protocol::access::{Grant, Rule, Trust};
use avocet_protocol::model::ToolCall;
use avocet_protocol::tool::{
    Leaving, Question, SeenCall, ToolClass, ToolContext, ToolError, WaitRequest,
};

use super::budget::OverBudget;
use super::{ToolRegistry, is_trusted, policy_case};
use crate::approval::AskReason;
use crate::erased::CallReview;
use crate::leaks::{self, FoundLeak, KnownHosts};
use crate::policy::{PolicyCase, PolicyDecision};
use crate::registered::RegisteredTool;
use crate::rule_policy::{RuledCall, narrow_by_rules};
use crate::session_grants::{CallGrant, GrantCoverage, is_of_file};
use crate::{aliases, approval};

/// The reason for an approval prompt if the call was written as text.
const AS_TEXT: &str = "the model wrote this call as text, perhaps only to explain it";

impl ToolRegistry {
    /// Decides as [`Self::decide_call`], and then by the rules of the owners.
    pub(super) fn decide_by_rules(
        &self,
        registered: &RegisteredTool,
        call: &ToolCall,
        review: &CallReview,
        context: &ToolContext,
        can_undo: bool,
    ) -> Result<PolicyDecision, ToolError> {
        let decision = self.decide_call(registered, call, review, context, can_undo);
        if context.rules.is_empty() {
            return Ok(decision);
        }
        let (paths, class) = (registered.paths_of_call(call)?, registered.description.class);
        let ruled = RuledCall::new(registered.name(), class, call, paths, &review.leaving);
        Ok(narrow_by_rules(decision, &context.rules, &ruled))
    }

    /// Decides by the rules, by the form of the call, and by the data that it would carry away.
    /// Ignores grants for the session.
    pub(super) fn decide_call(
        &self,
        registered: &RegisteredTool,
        call: &ToolCall,
        review: &CallReview,
        context: &ToolContext,
        can_undo: bool,
    ) -> PolicyDecision {
        let tool = &registered.description;
        let case = PolicyCase { can_undo, ..policy_case(context) };
        let mut decision = self.policy.decide_call(tool, &review.caution, case);
        if decision.rule == Rule::Deny {
            return decision;
        }
        // A call that needs approval each time skips the leak check.
        let may_leave =
            decision.once_only || is_trusted(context) || self.policy.lets_go(&tool.name);
        let leaks = if may_leave { Vec::new() } else { self.leaks_in(&review.leaving, context) };
        if !leaks.is_empty() {
            // The destination of a call can be allowed for the session; a message's content or a
            // secret cannot.
            let is_place = leaks.iter().all(|leak| leak.kind.is_place());
            let once_only = tool.class != ToolClass::Pure || !is_place;
            let (why, fetched) = (leaks::why_approval(&leaks), String::new());
            decision = PolicyDecision { fetched, ..PolicyDecision::new(Rule::Ask, why, once_only) };
        } else if !may_leave && decision.rule == Rule::Allow {
            let over = self.over_budget_by_call(registered, call, &review.leaving, context);
            if let Some(OverBudget { why, fetched, remark, .. }) = over {
                let once_only = tool.class != ToolClass::Pure;
                let asked = PolicyDecision::new(Rule::Ask, why, once_only);
                decision = PolicyDecision { fetched, remark: Some(remark), ..asked };
            }
        }
        if context.as_text && tool.class != ToolClass::Pure {
            let why = match decision.rule {
                Rule::Ask => format!("{AS_TEXT}; besides, {}", decision.why),
                Rule::Allow | Rule::Deny => AS_TEXT.to_owned(),
            };
            decision = PolicyDecision { rule: Rule::Ask, why, once_only: true, ..decision };
        }
        decision
    }

    /// The approval prompt; `None` if a grant for the session covers the call.
    pub(super) async fn approval_request(
        &self,
        registered: &RegisteredTool,
        call: &ToolCall,
        decision: &PolicyDecision,
        context: &ToolContext,
    ) -> Result<Option<WaitRequest>, ToolError> {
        let PolicyDecision { why, fetched, once_only, .. } = decision;
        let (question, grant) = self.question_of_call(registered, call, context).await?;
        let coverage = match once_only {
            true => GrantCoverage::Uncovered,
            false => grant.check_coverage(context),
        };
        let new = match coverage {
            GrantCoverage::Covered | GrantCoverage::CoveredByShape => return Ok(None),
            GrantCoverage::NewArguments(new) => new,
            GrantCoverage::Uncovered => Vec::new(),
        };
        let (tool, reason) = (registered.description.name.clone(), AskReason { why, new: &new });
        let (shown, grant) =
            (format!("{}{fetched}", question.shown), (!once_only).then_some(&grant));
        let mut request = approval::of_call(&tool, &shown, reason, grant, self.approvals);
        request.remark.clone_from(&decision.remark);
        // The prompt goes to a chat, so secrets are removed.
        if let Some(prompt) = &mut request.prompt {
            prompt.text = self.redactor.redact(&prompt.text).into_owned();
        }
        Ok(Some(request))
    }

    /// Returns `true` if a grant for the session covers the call, so that its changes of files need no
    /// review. A grant for a shape leaves the review.
    pub(super) async fn is_granted(
        &self,
        registered: &RegisteredTool,
        call: &ToolCall,
        context: &ToolContext,
    ) -> Result<bool, ToolError> {
        if context.grants.is_empty() {
            return Ok(false);
        }
        let (_, grant) = self.question_of_call(registered, call, context).await?;
        Ok(grant.check_coverage(context) == GrantCoverage::Covered)
    }

    /// Returns the question about a call, and the grant that its approval for the session would be.
    async fn question_of_call(
        &self,
        registered: &RegisteredTool,
        call: &ToolCall,
        context: &ToolContext,
    ) -> Result<(Question, CallGrant), ToolError> {
        let arguments = registered.validated_arguments(call)?;
        let question = registered.tool.question(&arguments, context).await?;
        let question = question.unwrap_or_else(|| approval::plain_question(&arguments));
        let tool = &registered.description.name;
        let grant = CallGrant::new(tool, &question, &arguments, &self.redactor);
        Ok((question, grant))
    }

    /// The approval prompt for an answer that would leak data, or whose links would go above the budget
    /// of the turn; `None` if it may be sent.
    pub(super) fn withhold_answer(&self, text: &str, context: &ToolContext) -> Option<WaitRequest> {
        if is_trusted(context) {
            return None;
        }
        let leaks = self.leaks_in(&[Leaving::Text(text.to_owned())], context);
        let (carries, fetched, remark) = if leaks.is_empty() {
            let over = self.over_budget_by_answer(text, context)?;
            (over.carries, over.fetched, Some(over.remark))
        } else {
            (leaks::list_carried(&leaks), String::new(), None)
        };
        let (shown, fetched) = (self.redactor.redact(text), self.redactor.redact(&fetched));
        let request = approval::of_answer(&shown, &carries, &fetched, self.approvals);
        Some(WaitRequest { remark, ..request })
    }

    /// The leaks in `leaving` that need approval.
    pub(super) fn leaks_in(&self, leaving: &[Leaving], context: &ToolContext) -> Vec<FoundLeak> {
        if leaving.is_empty() {
            return Vec::new();
        }
        let known = self.known_hosts(context);
        leaving.iter().flat_map(|one| leaks::find_leaks(one, &self.redactor, &known)).collect()
    }

    /// The hosts and addresses known at the time of a call.
    pub(super) fn known_hosts<'a>(&'a self, context: &'a ToolContext) -> KnownHosts<'a> {
        let mut known = KnownHosts::new(&context.seen, &self.hosts);
        // The scope of a grant is a host if its tool connects somewhere. Commands and lists of
        // arguments have spaces.
        let is_host = |grant: &&Grant| {
            let Grant { tool, scope } = grant;
            scope.contains('.') && !scope.contains(char::is_whitespace) && !is_of_file(tool)
        };
        for Grant { scope, .. } in context.grants.iter().filter(is_host) {
            known.name(scope);
        }
        let before = |call: &&SeenCall| {
            let place = |id: avocet_protocol::ids::CallId| (id.turn.0, id.step, id.ordinal);
            place(call.id) < place(context.call)
        };
        for earlier in context.seen.calls.iter().filter(before) {
            self.note_earlier_call(&mut known, earlier, context);
        }
        known
    }

    /// Records the destination and the results of an earlier call, and a person's answer to it.
    fn note_earlier_call(
        &self,
        known: &mut KnownHosts<'_>,
        earlier: &SeenCall,
        context: &ToolContext,
    ) {
        let session = Some(&context.session);
        let Some(registered) = self.named_in(&earlier.call.name, session) else { return };
        let Ok(leaving) = registered.leaving_data(&earlier.call) else { return };
        let was_trusted = earlier.trust.suffices_for(context.role);
        let mut is_query_clean = was_trusted;
        for one in &leaving {
            match one {
                Leaving::Url(url) => {
                    let Some(host) = leaks::host_of_link(url) else { continue };
                    if was_trusted || earlier.is_allowed {
                        known.name(&host);
                    } else if earlier.result.is_some() {
                        known.add_reached(&host);
                    }
                    if earlier.id.turn == context.call.turn {
                        known.add_in_turn(&host);
                    }
                }
                Leaving::Query(query) => is_query_clean |= known.is_known(query),
                Leaving::Data(_) | Leaving::Text(_) => {}
            }
        }
        let Some(result) = &earlier.result else { return };
        if is_query_clean {
            registered.tool.found(&result.value).iter().for_each(|url| known.add_found(url));
        }
        if result.trust > Trust::Low
            && let Some(words) = registered.tool.answered(&result.value)
        {
            known.name_hosts(&words);
        }
    }

    /// Finds a tool by its name, in any case, or by an alias.
    pub(super) fn find_named(&self, name: &str) -> Option<Arc<RegisteredTool>> {
        let is_alike = |one: &&Arc<RegisteredTool>| one.name().eq_ignore_ascii_case(name);
        let alike = || self.tools.values().find(is_alike);
        let other = || self.tools.get(aliases::tool_of_alias(name)?);
        let own = self.tools.get(name).or_else(alike).or_else(other);
        own.cloned().or_else(|| {
            let outside = self.outside_tools();
            outside.get(name).or_else(|| outside.values().find(is_alike)).cloned()
        })
    }
}
