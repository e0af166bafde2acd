//! `/rule` and `/rules`: an owner adds and removes rules, and everyone sees those that hold in the
//! chat. The caller has checked that only an owner changes them.

use avocet_agent::AgentRules;
use avocet_protocol::access::{
    NewRule, OwnerRule, PersonId, Roles, RuleCase, RuleName, RuleRefused, RuleScope,
};
use avocet_protocol::chat::{ChatKind, LoggedInbound};
use avocet_protocol::store::{Actor, CommandAction, StoreError};

use crate::agents::Agent;
use crate::command_plan::CommandPlan;
use crate::{SessionParts, people};

/// The ways to write `/rule`.
const USE: &str = "Write /rule add TEXT, for example: /rule add never delete mail without asking me. \
    Without an option, it holds everywhere; with --chat only in this conversation, with --person only \
    where I work for you, and with --agent NAME only for that agent. /rule remove r3 removes a rule, and \
    /rules shows them. A rule that I propose holds once you send it.";

/// The end of the answer about a rule that the policy cannot enforce.
const TEXT_ONLY: &str = "It is given to the model. I do not understand it as a rule for a tool, a path \
    or a host, so nothing else enforces it.";

/// Plans `/rule add TEXT` or `/rule remove r3`.
pub(crate) fn plan_rule(
    parts: &SessionParts,
    command: &LoggedInbound,
    argument: &str,
) -> CommandPlan {
    let rules = current_rules(parts);
    let (verb, rest) = argument.split_once(char::is_whitespace).unwrap_or((argument, ""));
    match verb.to_ascii_lowercase().as_str() {
        "add" => plan_addition(parts, command, &rules, rest.trim()),
        "remove" => plan_removal(parts, command, &rules, rest.trim()),
        _ => CommandPlan::with_text(USE),
    }
}

/// Plans `/rules`. An owner sees all rules in a private chat; elsewhere, those that hold in the chat are
/// shown, because others may read along.
pub(crate) async fn plan_list(
    parts: &SessionParts,
    command: &LoggedInbound,
    is_owner: bool,
) -> Result<CommandPlan, StoreError> {
    let mut rules = current_rules(parts).list_rules();
    let message = &command.message;
    let all = rules.len();
    if !is_owner || message.inbound.chat == ChatKind::Group {
        let status = parts.query.session_status(&message.session).await?;
        let agents = parts.agents.now();
        let agents = [agents.of_session(&message.session, &status).shown_name().to_owned()];
        let askers: Vec<_> = parts.bus.asker(&message.inbound).into_iter().collect();
        let case = RuleCase { agents: &agents, session: &message.session, askers: &askers };
        rules.retain(|rule| rule.scope.includes_turn(case));
    }
    let lines: Vec<String> = rules.iter().map(rule_line).collect();
    Ok(CommandPlan::with_text(match (is_owner, all) {
        (true, 0) => format!("There are no rules yet. {USE}"),
        (true, all) if lines.is_empty() => {
            format!("None of the {all} rules holds here. /rules in a private chat shows them.")
        }
        (false, _) if lines.is_empty() => "My owners have set no rules for this chat.".to_owned(),
        _ => lines.join("\n\n"),
    }))
}

/// The rules of the configuration and of the log. They are the same for all agents.
fn current_rules(parts: &SessionParts) -> AgentRules {
    parts.agents.now().agents.default().run.rules.clone()
}

fn rule_line(rule: &OwnerRule) -> String {
    let source = match rule.name {
        RuleName::Configuration(_) => ", from the configuration",
        RuleName::Row(_) => "",
    };
    format!("{} ({}{source}): {}", rule.name, rule.scope, rule.text)
}

fn plan_addition(
    parts: &SessionParts,
    command: &LoggedInbound,
    rules: &AgentRules,
    rest: &str,
) -> CommandPlan {
    let (scope, text) = match read_scope(parts, command, rest) {
        Ok(read) => read,
        Err(refused) => return CommandPlan::with_text(refused),
    };
    if text.is_empty() {
        return CommandPlan::with_text(USE);
    }
    if let Some(refused) = refuse_elsewhere(parts, command, &scope) {
        return refused;
    }
    if let Err(refused) = RuleRefused::check_addition(text, &scope, &rules.list_rules()) {
        return CommandPlan::with_text(format!("I did not add the rule: {refused}."));
    }
    let id = rules.stored.current_rules().next;
    let enforced = match parts.agents.now().agents.default().run.toolbox.describe_rule(text) {
        Some(enforced) => format!("Besides the model, I enforce it: the program {enforced}."),
        None => TEXT_ONLY.to_owned(),
    };
    let done = format!("Rule {id} holds from now on ({scope}): {text}\n\n{enforced}");
    let by = Actor::Person(PersonId::from_inbound(&command.message.inbound));
    let new = NewRule { id, text: text.to_owned(), scope, by };
    let nothing =
        "I did not add the rule, because another one came at the same moment. Send it again.";
    CommandPlan::with_action(CommandAction::AddRule(new), done, nothing)
}

fn plan_removal(
    parts: &SessionParts,
    command: &LoggedInbound,
    rules: &AgentRules,
    name: &str,
) -> CommandPlan {
    let Ok(name) = name.to_ascii_lowercase().parse::<RuleName>() else {
        return CommandPlan::with_text(
            "Write /rule remove r3, with the name of a rule; /rules shows them.",
        );
    };
    let nothing = format!("There is no rule {name}; /rules shows them.");
    let found = rules.list_rules().into_iter().find(|rule| rule.name == name);
    match (name, found) {
        (RuleName::Configuration(_), Some(rule)) => CommandPlan::with_text(format!(
            "{name} is in the configuration, as `{}`. It can be removed only there.",
            rule.by
        )),
        (RuleName::Row(id), Some(rule)) => {
            if let Some(refused) = refuse_elsewhere(parts, command, &rule.scope) {
                return refused;
            }
            let by = PersonId::from_inbound(&command.message.inbound);
            let done = format!("Rule {id} no longer holds: {}", rule.text);
            CommandPlan::with_action(CommandAction::RemoveRule { id, by }, done, &nothing)
        }
        (_, None) => CommandPlan::with_text(nothing),
    }
}

/// Refuses a change of a rule that holds in chats of accounts about which the owners of this one do
/// not decide; `None` if they may change it.
fn refuse_elsewhere(
    parts: &SessionParts,
    command: &LoggedInbound,
    scope: &RuleScope,
) -> Option<CommandPlan> {
    let here = &command.message.inbound.address;
    let may_change = match scope {
        RuleScope::Everyone | RuleScope::Agent(_) => parts.bus.may_decide_for(here, None),
        RuleScope::Chat(session) => parts.bus.may_decide_for(here, Some(&session.address())),
        RuleScope::Person(person) => {
            (&person.channel, &person.account) == (&here.channel, &here.account)
                || parts.bus.may_decide_for(here, None)
        }
    };
    let what = "The rule holds in chats of other accounts, too";
    (!may_change).then(|| CommandPlan::with_text(people::refuse_elsewhere(what, here)))
}

/// Reads the option in front of a rule's text. Phones make one dash out of two.
fn read_scope<'r>(
    parts: &SessionParts,
    command: &LoggedInbound,
    rest: &'r str,
) -> Result<(RuleScope, &'r str), String> {
    let is_dash = |c: char| matches!(c, '-' | '\u{2013}' | '\u{2014}');
    let option = rest.strip_prefix("--").or_else(|| rest.strip_prefix(['\u{2013}', '\u{2014}']));
    let Some(option) = option else { return Ok((RuleScope::Everyone, rest)) };
    let (word, text) = split_word(option);
    let inbound = &command.message.inbound;
    match word.trim_start_matches(is_dash) {
        "everyone" => Ok((RuleScope::Everyone, text)),
        "chat" => {
            let asker =
                parts.bus.asker(inbound).ok_or("I do not know the session of this chat.")?;
            Ok((RuleScope::Chat(asker.session), text))
        }
        "person" => Ok((RuleScope::Person(PersonId::from_inbound(inbound)), text)),
        "agent" => {
            let (name, text) = split_word(text);
            let agents = parts.agents.now();
            match agents.named(name) {
                Some(agent) => Ok((RuleScope::Agent(agent.shown_name().to_owned()), text)),
                None => {
                    let names = agents.agents.iter().map(Agent::shown_name);
                    let names: Vec<&str> = names.collect();
                    Err(format!("There is no agent {name:?}; there are: {}.", names.join(", ")))
                }
            }
        }
        other => Err(format!("There is no option --{other}. {USE}")),
    }
}

fn split_word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}
