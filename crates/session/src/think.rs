//! `/think`: shows or changes the thinking effort of a conversation.

use avocet_protocol::access::Role;
use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::within;
use avocet_protocol::model::{Effort, ModelFacts};
use avocet_protocol::session::SessionSetting;
use avocet_protocol::store::{CommandAction, StoreError};

use crate::SessionParts;
use crate::agents::SessionChoice;
use crate::command_plan::CommandPlan;
use crate::model::{DEFAULT, LEARNING};

/// Plans `/think`.
pub(crate) async fn plan_think(
    parts: &SessionParts,
    session: &SessionId,
    argument: &str,
    role: Role,
) -> Result<CommandPlan, StoreError> {
    let status = parts.with_retry(|| parts.query.session_status(session)).await?;
    let agents = parts.agents.now();
    let agent = agents.of_session(session, &status);
    let chosen = SessionChoice::from(&status);
    let model = agents.for_session(session, &status).models.main;
    if argument.is_empty() {
        let mut text = format!("{}.", describe_effort(chosen.effort, agent.run.effort));
        if role >= Role::Owner {
            text.push_str(&format!(" /think {} chooses another.", list_choices()));
        }
        return Ok(CommandPlan::with_text(text));
    }
    if role < Role::Owner {
        let refusal = "Only my owner can choose how much I think; /think shows it.";
        return Ok(CommandPlan::with_text(refusal));
    }
    if argument.eq_ignore_ascii_case(DEFAULT) {
        let done = format!("{}.", describe_effort(None, agent.run.effort));
        return Ok(CommandPlan::with_action(
            CommandAction::Choose(SessionSetting::Effort(None)),
            &done,
            &done,
        ));
    }
    let Ok(effort) = argument.parse::<Effort>() else {
        let choices = list_choices();
        let refusal = format!("Unknown effort {argument:?}; choose one of {choices}.");
        return Ok(CommandPlan::with_text(refusal));
    };
    let facts = within(parts.clock.as_ref(), LEARNING, model.facts()).await;
    Ok(plan_choice(effort, model.name(), facts.unwrap_or_default()))
}

/// Describes the effort of a conversation. `configured` is the effort of its agent.
pub(crate) fn describe_effort(chosen: Option<Effort>, configured: Option<Effort>) -> String {
    match (chosen, configured) {
        (Some(effort), _) => format!("Thinking: {}, chosen with /think", effort.as_str()),
        (None, Some(effort)) => format!("Thinking: {}, set by the configuration", effort.as_str()),
        (None, None) => "Thinking: the default of the model".to_owned(),
    }
}

fn list_choices() -> String {
    let words = Effort::ALL.map(Effort::as_str).join(", ");
    format!("{words}, {DEFAULT}")
}

fn plan_choice(effort: Effort, model: &str, facts: ModelFacts) -> CommandPlan {
    let ability = match (facts.thinking, effort) {
        (Some(false), Effort::Off) | (Some(true), _) => "",
        (Some(false), _) => {
            return CommandPlan::with_text(format!(
                "{model} cannot think before it answers; /model chooses another model."
            ));
        }
        (None, _) => " I do not know whether this model can think.",
    };
    let word = effort.as_str();
    let done = format!("Thinking: {word} from now on; /think {DEFAULT} goes back.{ability}");
    CommandPlan::with_action(
        CommandAction::Choose(SessionSetting::Effort(Some(effort))),
        &done,
        &done,
    )
}
