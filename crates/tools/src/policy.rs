//! The policy: the one place that decides if a call may run, by role, origin and trust, for every
//! call of every agent.
//!
//! ```text
//! lists      a tool that a list which applies leaves out   refused
//!   |
//! caution    the tool's own judgement of the call          allow | ask | ask each time
//!   |
//! rules      the operator's, by the most specific pattern  allow | ask | deny
//!   |          users, groups, low_trust: the strictest of those that apply, else the default
//!   |
//! mode       of the conversation, for calls with effects   keeps | ask | deny
//! ```
//!
//! - **The operator decides before the tool**, with two limits. A plain `allow` does not count
//!   after untrusted content: `low_trust = "allow"` has to say so. A call that needs approval each
//!   time stays that way unless a rule denies it.
//! - **Trust is about text, role is about people.** An owner's turn that has read a web page has
//!   low trust: the page may have written the call.
//! - **A call that a person can undo** runs after untrusted content, too. Copies of the files are kept,
//!   and a person decides about all changes at the end of the turn (`registry/review.rs`).
//! - **A tool that only reads** needs no approval for low trust. The leak check covers the data
//!   that it would send out (`registry/decide.rs`), after this decision.
//! - **The mode** only makes a decision stricter.

use avocet_protocol::access::{PermissionMode, Role, Rule, ToolList, ToolPolicy, Trust};
use avocet_protocol::chat::ChatKind;
use avocet_protocol::ids::ToolName;
use avocet_protocol::tool::{Caution, Description, Place, ToolClass};
use avocet_text::{fits_pattern, specificity};

/// The rules of one agent.
#[derive(Debug, Clone, Default)]
pub struct AgentPolicy {
    /// The operator's rules by patterns of tool names; the most specific pattern applies.
    pub rules: Vec<(String, ToolPolicy)>,
    /// The lists of available tools. A call's tool must be in every list that applies to it.
    pub lists: Vec<ListedTools>,
}

/// A list of tools, and the calls it applies to.
#[derive(Debug, Clone)]
pub struct ListedTools {
    /// The list's table in the configuration, for error messages.
    pub table: String,
    /// Applies to calls of children below this profile; `None` for all calls.
    pub above: Option<String>,
    /// Applies to calls from this channel; `None` for all.
    pub channel: Option<String>,
    /// Applies to calls for this role; `None` for all.
    pub role: Option<Role>,
    /// The tools.
    pub tools: ToolList,
}

/// The properties of a call that the policy considers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PolicyCase<'a> {
    /// The role of the person behind the call.
    pub(crate) role: Role,
    /// The channel and the kind of chat.
    pub(crate) place: &'a Place,
    /// The lowest trust level of the text read before.
    pub(crate) trust: Trust,
    /// The mode of the conversation.
    pub(crate) mode: PermissionMode,
    /// `true` if a person can undo the call at the end of the turn.
    pub(crate) can_undo: bool,
}

impl<'a> PolicyCase<'a> {
    /// The case in which a tool is offered: before any text is read.
    pub(crate) fn of_offer(role: Role, place: &'a Place) -> Self {
        let (trust, mode, can_undo) = (Trust::Full, PermissionMode::Default, false);
        Self { role, place, trust, mode, can_undo }
    }
}

/// The decision about a call, and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PolicyDecision {
    pub(crate) rule: Rule,
    /// Shown to the person who is asked, and in refusals.
    pub(crate) why: String,
    /// What the turn has fetched already, behind the call in the question. Empty unless that is the
    /// reason.
    pub(crate) fetched: String,
    /// For the audit table, beside the arguments of the call.
    pub(crate) remark: Option<String>,
    /// `true` if an approval is valid for this call only.
    pub(crate) once_only: bool,
    /// `true` if the call runs only because a person can undo it.
    pub(crate) is_to_review: bool,
}

impl PolicyDecision {
    pub(crate) fn new(rule: Rule, why: String, once_only: bool) -> Self {
        let (fetched, remark, is_to_review) = (String::new(), None, false);
        Self { rule, why, fetched, remark, once_only, is_to_review }
    }
}

/// The reason for an approval prompt after untrusted content.
pub(crate) const READ: &str = "I have read untrusted content";
/// The reason if only admitted users wrote that content.
const USERS: &str = "somebody who is not an owner has written here";

/// The reason for an approval prompt in the mode `ask`.
const ASK_MODE: &str = "the mode of this conversation is ask";
/// The reason for a refusal in the mode `read`.
const READ_MODE: &str = "the mode of this conversation is read; describe the change instead, and the \
    person can end the mode with /mode";
/// The tool that gives tasks to sub-agents.
const SPAWN: &str = "spawn";

impl AgentPolicy {
    /// The table of a list that excludes a tool; `None` if every list includes it.
    pub(crate) fn left_out(&self, tool: &ToolName, case: PolicyCase<'_>) -> Option<&str> {
        let here = case.place.channel.as_ref().map(avocet_protocol::ids::ChannelName::as_str);
        let mut concerned = self.lists.iter().filter(|list| {
            list.above.as_ref().is_none_or(|profile| case.place.within.contains(profile))
                && list.role.is_none_or(|wanted| wanted == case.role)
                && list.channel.as_deref().is_none_or(|wanted| Some(wanted) == here)
        });
        let in_any =
            |list: &[String]| list.iter().any(|pattern| fits_pattern(pattern, tool.as_str()));
        let leaves_out =
            |list: &&ListedTools| !in_any(&list.tools.allow) || in_any(&list.tools.deny);
        concerned.find(leaves_out).map(|list| list.table.as_str())
    }

    /// Decides about a call of an existing tool, regardless of grants for the session.
    pub(crate) fn decide_call(
        &self,
        tool: &Description,
        caution: &Caution,
        case: PolicyCase<'_>,
    ) -> PolicyDecision {
        let is_trusted = case.trust.suffices_for(tool.role);
        let reads_only = tool.class == ToolClass::Pure;
        let (by_itself, why) = match caution {
            Caution::Never => (Rule::Allow, ""),
            Caution::Always => (Rule::Ask, "it always needs approval"),
            Caution::Because(why) | Caution::EachTime(why) => (Rule::Ask, why.as_str()),
            Caution::ByTrust if is_trusted || reads_only || case.can_undo => (Rule::Allow, ""),
            Caution::ByTrust if case.trust == Trust::Low => (Rule::Ask, READ),
            Caution::ByTrust => (Rule::Ask, USERS),
        };
        let once_only = matches!(caution, Caution::EachTime(_));
        let is_to_review =
            case.can_undo && *caution == Caution::ByTrust && !is_trusted && !reads_only;
        let by_itself = PolicyDecision::new(by_itself, why.to_owned(), once_only);
        let by_itself = PolicyDecision { is_to_review, ..by_itself };
        let decision = match self.by_rules(tool, case, &by_itself) {
            decision if once_only && decision.rule != Rule::Deny => by_itself,
            decision => decision,
        };
        if has_effect(tool, caution) { narrow_by_mode(decision, case.mode) } else { decision }
    }

    /// The decision by the operator's rules; `by_itself` if no rule applies.
    fn by_rules(
        &self,
        tool: &Description,
        case: PolicyCase<'_>,
        by_itself: &PolicyDecision,
    ) -> PolicyDecision {
        let is_trusted = case.trust.suffices_for(tool.role);
        let by_itself = by_itself.clone();
        let Some((pattern, said)) = self.said_of(&tool.name) else { return by_itself };
        let in_group = case.place.chat == ChatKind::Group;
        let cases = [
            ("users", said.users.filter(|_| case.role < Role::Owner)),
            ("groups", said.groups.filter(|_| in_group)),
            ("low_trust", said.low_trust.filter(|_| !is_trusted)),
        ];
        let cases = cases.into_iter().filter_map(|(name, rule)| Some((name, rule?)));
        let decided = |rule: Rule, case: &str| {
            let why = format!("[tools.policy] \"{pattern}\"{case} = \"{}\"", rule.as_str());
            PolicyDecision::new(rule, why, false)
        };
        match (cases.max_by_key(|(_, rule)| *rule), said.default) {
            (Some((name, rule)), _) => decided(rule, &format!(".{name}")),
            (None, Some(Rule::Allow)) if is_trusted => decided(Rule::Allow, ""),
            (None, Some(rule @ (Rule::Ask | Rule::Deny))) => decided(rule, ""),
            (None, Some(Rule::Allow) | None) => by_itself,
        }
    }

    /// Returns `true` if the operator permits leaks by this tool even after untrusted content.
    pub(crate) fn lets_go(&self, tool: &ToolName) -> bool {
        self.said_of(tool).is_some_and(|(_, said)| said.low_trust == Some(Rule::Allow))
    }

    fn said_of(&self, tool: &ToolName) -> Option<(&str, ToolPolicy)> {
        let fitting = self.rules.iter().filter(|(pattern, _)| fits_pattern(pattern, tool.as_str()));
        let said = fitting.max_by_key(|(pattern, _)| specificity(pattern))?;
        Some((said.0.as_str(), said.1))
    }
}

/// Returns `true` for the calls that a mode narrows. The tasks of sub-agents have the mode of their
/// conversation, so the call that gives them is no effect.
fn has_effect(tool: &Description, caution: &Caution) -> bool {
    tool.class != ToolClass::Pure && *caution != Caution::Never && tool.name.as_str() != SPAWN
}

/// Applies the mode of the conversation to a decision.
fn narrow_by_mode(decision: PolicyDecision, mode: PermissionMode) -> PolicyDecision {
    let rule = match mode {
        PermissionMode::Default => Rule::Allow,
        PermissionMode::Ask => Rule::Ask,
        PermissionMode::Read => Rule::Deny,
    };
    if rule <= decision.rule {
        return decision;
    }
    let why = match mode {
        PermissionMode::Read => READ_MODE,
        PermissionMode::Ask | PermissionMode::Default => ASK_MODE,
    };
    PolicyDecision::new(rule, why.to_owned(), false)
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
