//! Who may have what done, where, and after having read what: the one place that decides it, for every
//! call, whoever makes it.

use avocet_protocol::{
    Caution, ChatKind, Description, Place, Role, Rule, ToolClass, ToolList, ToolName, ToolPolicy,
    Trust, fits, specificity,
};

/// The rules of one agent.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// What the operator says of tools, by patterns of their names; the most specific counts.
    pub rules: Vec<(String, ToolPolicy)>,
    /// Which tools there are: those that are in all lists that concern a call.
    pub lists: Vec<Listed>,
}

/// A list of tools, and whom it concerns.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The table of the configuration, for whoever wonders.
    pub table: String,
    /// Calls from this channel; none for all.
    pub channel: Option<String>,
    /// Calls for this role; none for all.
    pub role: Option<Role>,
    /// The tools.
    pub tools: ToolList,
}

/// Where a call comes from, as far as the policy goes by it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case<'a> {
    /// For whom.
    pub(crate) role: Role,
    /// Where it was asked for.
    pub(crate) place: &'a Place,
    /// After having read what.
    pub(crate) trust: Trust,
}

/// What is done with a call, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) rule: Rule,
    /// For whoever is asked, or refused.
    pub(crate) why: String,
    /// Whether it can be allowed for this call only.
    pub(crate) once_only: bool,
}

/// Why a person is asked who has to allow a call.
const READ: &str = "I have read words that are not my owner's";
/// The same, where only people who may speak wrote them.
const USERS: &str = "somebody who is no owner has said something here";

impl Policy {
    /// The list that leaves a tool out, if one does.
    pub(crate) fn left_out(&self, tool: &ToolName, case: Case<'_>) -> Option<&str> {
        let here = case.place.channel.as_ref().map(avocet_protocol::ChannelName::as_str);
        let mut concerned = self.lists.iter().filter(|list| {
            list.role.is_none_or(|wanted| wanted == case.role)
                && list.channel.as_deref().is_none_or(|wanted| Some(wanted) == here)
        });
        let in_any = |list: &[String]| list.iter().any(|pattern| fits(pattern, tool.as_str()));
        let leaves_out = |list: &&Listed| !in_any(&list.tools.allow) || in_any(&list.tools.deny);
        concerned.find(leaves_out).map(|list| list.table.as_str())
    }

    /// What is done with a call of a tool that is there. What a person has allowed for the session is not
    /// looked at.
    pub(crate) fn decide(&self, tool: &Description, caution: &Caution, case: Case<'_>) -> Decision {
        let is_believed = case.trust.suffices_for(tool.role);
        let reads_only = tool.class == ToolClass::Pure;
        let (by_itself, why) = match caution {
            Caution::Never => (Rule::Allow, ""),
            Caution::Always => (Rule::Ask, "it always needs to be allowed"),
            Caution::Because(why) | Caution::EachTime(why) => (Rule::Ask, why.as_str()),
            Caution::ByTrust if is_believed || reads_only => (Rule::Allow, ""),
            Caution::ByTrust if case.trust == Trust::Low => (Rule::Ask, READ),
            Caution::ByTrust => (Rule::Ask, USERS),
        };
        let once_only = matches!(caution, Caution::EachTime(_));
        let by_itself = Decision { rule: by_itself, why: why.to_owned(), once_only };
        match self.by_rules(tool, case, &by_itself) {
            decision if once_only && decision.rule != Rule::Deny => by_itself,
            decision => decision,
        }
    }

    /// What the operator's rules say of a call; `by_itself` where they say nothing.
    fn by_rules(&self, tool: &Description, case: Case<'_>, by_itself: &Decision) -> Decision {
        let is_believed = case.trust.suffices_for(tool.role);
        let by_itself = by_itself.clone();
        let Some((pattern, said)) = self.said_of(&tool.name) else { return by_itself };
        let in_group = case.place.chat == ChatKind::Group;
        let cases = [
            ("users", said.users.filter(|_| case.role < Role::Owner)),
            ("groups", said.groups.filter(|_| in_group)),
            ("low_trust", said.low_trust.filter(|_| !is_believed)),
        ];
        let cases = cases.into_iter().filter_map(|(name, rule)| Some((name, rule?)));
        let decided = |rule: Rule, case: &str| {
            let why = format!("[tools.policy] \"{pattern}\"{case} = \"{}\"", rule.word());
            Decision { rule, why, once_only: false }
        };
        match (cases.max_by_key(|(_, rule)| *rule), said.default) {
            (Some((name, rule)), _) => decided(rule, &format!(".{name}")),
            (None, Some(Rule::Allow)) if is_believed => decided(Rule::Allow, ""),
            (None, Some(rule @ (Rule::Ask | Rule::Deny))) => decided(rule, ""),
            (None, Some(Rule::Allow) | None) => by_itself,
        }
    }

    /// Whether the operator lets what such a call would carry away go, whatever was read.
    pub(crate) fn lets_go(&self, tool: &ToolName) -> bool {
        self.said_of(tool).is_some_and(|(_, said)| said.low_trust == Some(Rule::Allow))
    }

    fn said_of(&self, tool: &ToolName) -> Option<(&str, ToolPolicy)> {
        let fitting = self.rules.iter().filter(|(pattern, _)| fits(pattern, tool.as_str()));
        let said = fitting.max_by_key(|(pattern, _)| specificity(pattern))?;
        Some((said.0.as_str(), said.1))
    }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
