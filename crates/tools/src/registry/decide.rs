//! Decides about a call: it runs, needs approval, or is refused.

use std::sync::Arc;

use avocet_protocol::{
    Grant, Leaving, Rule, SeenCall, ToolCall, ToolClass, ToolContext, ToolError, Trust, WaitRequest,
};

use super::{Registry, case, is_trusted};
use crate::erased::Review;
use crate::leaks::{self, KnownHosts, Leak};
use crate::policy::PolicyDecision;
use crate::registered::Registered;
use crate::{aliases, approval};

/// The reason for an approval prompt if the call was written as text.
const AS_TEXT: &str = "the model wrote this call as text, perhaps only to explain it";

impl Registry {
    /// Decides by the rules, by the form of the call, and by the data that it would carry away.
    /// Ignores grants for the session.
    pub(super) fn decide(
        &self,
        registered: &Registered,
        review: &Review,
        context: &ToolContext,
    ) -> PolicyDecision {
        let tool = &registered.description;
        let mut decision = self.policy.decide(tool, &review.caution, case(context));
        if decision.rule == Rule::Deny {
            return decision;
        }
        // A call that needs approval each time skips the leak check.
        let may_leave =
            decision.once_only || is_trusted(context) || self.policy.lets_go(&tool.name);
        let leaks = if may_leave { Vec::new() } else { self.leaks(&review.leaving, context) };
        if !leaks.is_empty() {
            // The destination of a call can be allowed for the session; a message's content or a
            // secret cannot.
            let is_place = leaks.iter().all(|leak| leak.kind.is_place());
            let once_only = tool.class != ToolClass::Pure || !is_place;
            decision = PolicyDecision { rule: Rule::Ask, why: leaks::why(&leaks), once_only };
        }
        if context.as_text && tool.class != ToolClass::Pure {
            let why = match decision.rule {
                Rule::Ask => format!("{AS_TEXT}; besides, {}", decision.why),
                Rule::Allow | Rule::Deny => AS_TEXT.to_owned(),
            };
            decision = PolicyDecision { rule: Rule::Ask, why, once_only: true };
        }
        decision
    }

    /// The approval prompt; `None` if a grant for the session covers the call.
    pub(super) async fn approval(
        &self,
        registered: &Registered,
        call: &ToolCall,
        decision: &PolicyDecision,
        context: &ToolContext,
    ) -> Result<Option<WaitRequest>, ToolError> {
        let PolicyDecision { why, once_only, .. } = decision;
        let arguments = registered.arguments(call)?;
        let question = registered.tool.question(&arguments, context).await?;
        let question = question.unwrap_or_else(|| approval::plain(&arguments));
        let grant = Grant { tool: registered.description.name.clone(), scope: question.scope };
        if !once_only && approval::is_covered(&grant, &context.grants) {
            return Ok(None);
        }
        let (tool, grant) = (grant.tool.clone(), (!once_only).then_some(grant));
        let mut request = approval::of_call(&tool, &question.shown, why, grant, self.approvals);
        // The prompt goes to a chat, so secrets are removed.
        if let Some(prompt) = &mut request.prompt {
            prompt.text = self.redactor.redact(&prompt.text).into_owned();
        }
        Ok(Some(request))
    }

    /// The leaks in `leaving` that need approval.
    pub(super) fn leaks(&self, leaving: &[Leaving], context: &ToolContext) -> Vec<Leak> {
        if leaving.is_empty() {
            return Vec::new();
        }
        let known = self.known(context);
        leaving.iter().flat_map(|one| leaks::find(one, &self.redactor, &known)).collect()
    }

    /// The hosts and addresses known at the time of a call.
    fn known<'a>(&'a self, context: &'a ToolContext) -> KnownHosts<'a> {
        let mut known = KnownHosts::new(&context.seen, &self.hosts);
        // The scope of a grant is a host if its tool connects somewhere.
        let is_host =
            |grant: &&Grant| grant.scope.contains('.') && !approval::is_of_file(&grant.tool);
        for Grant { scope, .. } in context.grants.iter().filter(is_host) {
            known.name(scope);
        }
        let before = |call: &&SeenCall| {
            let place = |id: avocet_protocol::CallId| (id.turn.0, id.step, id.ordinal);
            place(call.id) < place(context.call)
        };
        for earlier in context.seen.calls.iter().filter(before) {
            self.note(&mut known, earlier, context);
        }
        known
    }

    /// Records the destination and the results of an earlier call, and a person's answer to it.
    fn note(&self, known: &mut KnownHosts<'_>, earlier: &SeenCall, context: &ToolContext) {
        let session = Some(&context.session);
        let Some(registered) = self.named_in(&earlier.call.name, session) else { return };
        let Ok(leaving) = registered.leaving(&earlier.call) else { return };
        let was_trusted = earlier.trust.suffices_for(context.role);
        let mut is_query_clean = was_trusted;
        for one in &leaving {
            match one {
                Leaving::Url(url) => {
                    let Some(host) = leaks::host(url) else { continue };
                    if was_trusted || earlier.is_allowed {
                        known.name(&host);
                    } else if earlier.result.is_some() {
                        known.reach(&host);
                    }
                    if earlier.id.turn == context.call.turn {
                        known.count(&host);
                    }
                }
                Leaving::Data(query) => is_query_clean |= known.is_known(query),
                Leaving::Text(_) => {}
            }
        }
        let Some(result) = &earlier.result else { return };
        if is_query_clean {
            registered.tool.found(&result.value).iter().for_each(|url| known.find(url));
        }
        if result.trust > Trust::Low
            && let Some(words) = registered.tool.answered(&result.value)
        {
            known.name_hosts(&words);
        }
    }

    /// Finds a tool by its name, in any case, or by an alias.
    pub(super) fn named(&self, name: &str) -> Option<Arc<Registered>> {
        let is_alike = |one: &&Arc<Registered>| one.name().eq_ignore_ascii_case(name);
        let alike = || self.tools.values().find(is_alike);
        let other = || self.tools.get(aliases::tool(name)?);
        let own = self.tools.get(name).or_else(alike).or_else(other);
        own.cloned().or_else(|| {
            let outside = self.outside();
            outside.get(name).or_else(|| outside.values().find(is_alike)).cloned()
        })
    }
}
