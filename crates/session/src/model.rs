//! `/model`: shows or changes the model of a conversation, and lists the others.

use std::time::Duration;

use avocet_protocol::access::Role;
use avocet_protocol::chat::LoggedInbound;
use avocet_protocol::clock::within;
use avocet_protocol::model::{ModelFacts, Price};
use avocet_protocol::session::SessionSetting;
use avocet_protocol::store::{CommandAction, StoreError};
use avocet_text::end_sentence;

use crate::SessionParts;
use crate::agents::Agent;
use crate::command_plan::CommandPlan;
use crate::model_pages::{ModelPages, PAGE_WORD, page_of};

/// Argument that resets the model to the configured one.
pub(crate) const DEFAULT: &str = "default";
/// Time limit for all providers to report facts about their models.
pub(crate) const LEARNING: Duration = Duration::from_secs(2);

/// Plans `/model`.
pub(crate) async fn plan_model(
    parts: &SessionParts,
    command: &LoggedInbound,
    argument: &str,
    role: Role,
) -> Result<CommandPlan, StoreError> {
    let session = &command.message.session;
    let status = parts.with_retry(|| parts.query.session_status(session)).await?;
    let agents = parts.agents.now();
    let agent = agents.of_session(session, &status);
    let can_choose = role >= Role::Owner;
    if let Some(page) = page_of(argument) {
        let channel = parts.channels.channel_of(&command.message.inbound.address);
        let has_buttons =
            can_choose && channel.is_some_and(|channel| channel.capabilities().can_edit);
        let pages = match (has_buttons, argument) {
            (false, "") => ModelPages::on_one_page(parts),
            _ => ModelPages::new(parts, page, has_buttons),
        };
        let (answers, why) = name_current_model(parts, agent, status.model.as_deref());
        let text = describe_choice(parts, agent, (&answers, &why), &pages, role).await;
        let plan = CommandPlan::with_text(text).with_choices(pages.list_choices(&answers));
        // A press of somebody else must not take the buttons away.
        return Ok(if can_choose { plan.in_place() } else { plan });
    }
    if !can_choose {
        return Ok(CommandPlan::with_text(
            "Only my owner can choose the model; /model shows the current one.",
        ));
    }
    Ok(plan_choice(parts, agent, argument).await)
}

async fn plan_choice(parts: &SessionParts, agent: &Agent, name: &str) -> CommandPlan {
    if name.eq_ignore_ascii_case(DEFAULT) {
        let name = agent.run.models.main.name();
        let done = format!("{name} answers here again, {}.", reason_for_default(agent));
        return CommandPlan::with_action(
            CommandAction::Choose(SessionSetting::Model(None)),
            &done,
            &done,
        )
        .in_place();
    }
    match parts.agents.now().models.model(name, &agent.fallbacks) {
        Ok(model) => {
            let mut done = format!("{name} answers here from now on; /model {DEFAULT} goes back.");
            let facts = within(parts.clock.as_ref(), LEARNING, model.facts()).await;
            if agent.run.limits.budgets.are_in_dollars()
                && facts.is_ok_and(|facts| facts.price.is_none())
            {
                done.push_str(" Price unknown: budgets in dollars do not count it.");
            }
            let action = CommandAction::Choose(SessionSetting::Model(Some(name.to_owned())));
            CommandPlan::with_action(action, &done, &done).in_place()
        }
        Err(error) => {
            CommandPlan::with_text(end_sentence(format!("I cannot use that model: {error}")))
        }
    }
}

/// Returns the name of the model that answers, and the reason for it.
fn name_current_model(
    parts: &SessionParts,
    agent: &Agent,
    chosen: Option<&str>,
) -> (String, String) {
    let own = agent.run.models.main.name();
    let (answers, why) = match chosen {
        None => (own, reason_for_default(agent)),
        Some(name) => match parts.agents.now().models.model(name, &[]) {
            Ok(_) => (name, "chosen with /model".to_owned()),
            Err(error) => (
                own,
                format!(
                    "{}; {name} was chosen, but cannot be asked: {error}",
                    reason_for_default(agent)
                ),
            ),
        },
    };
    (answers.to_owned(), why)
}

/// Describes the current model, the reason for it, and the models of a page.
async fn describe_choice(
    parts: &SessionParts,
    agent: &Agent,
    (answers, why): (&str, &str),
    pages: &ModelPages,
    role: Role,
) -> String {
    let mut text = format!("{answers} answers here, {why}.");
    let fallbacks: Vec<&str> =
        agent.fallbacks.iter().map(String::as_str).filter(|name| *name != answers).collect();
    if !fallbacks.is_empty() {
        text.push_str(&format!(" If it fails: {}.", fallbacks.join(", ")));
    }
    text.push_str(&format!("\n\nThe models of the configuration{}:\n", pages.shown_range()));
    let list = within(parts.clock.as_ref(), LEARNING, describe_models(parts, pages.page_names()));
    text.push_str(&list.await.unwrap_or_else(|_| pages.page_names().join("\n")));
    if let Some(next) = pages.next().filter(|_| !pages.has_buttons) {
        text.push_str(&format!("\n\n/model {PAGE_WORD} {next} shows more."));
    }
    if role >= Role::Owner {
        text.push_str("\n\n/model provider/model chooses one for this conversation.");
    }
    text
}

/// Returns the reason why the agent's own model answers.
fn reason_for_default(agent: &Agent) -> String {
    match &agent.name {
        None => "set by the configuration".to_owned(),
        Some(name) => format!("set by the agent {name}"),
    }
}

/// Returns a line with known facts for each model.
async fn describe_models(parts: &SessionParts, names: &[String]) -> String {
    let models = parts.agents.now().models.clone();
    let mut lines = Vec::new();
    for name in names {
        // A broken model was logged at the start.
        let Ok(model) = models.model(name, &[]) else { continue };
        lines.push(format!("{name}: {}", described_facts(&model.facts().await)));
    }
    lines.join("\n")
}

fn described_facts(facts: &ModelFacts) -> String {
    let context = match facts.context {
        None => "context unknown".to_owned(),
        Some(tokens) => format!("{} thousand tokens", tokens.div_ceil(1000)),
    };
    let price = match facts.price {
        None => "price unknown".to_owned(),
        Some(price) if price == Price::default() => "free".to_owned(),
        Some(price) => format!("${} in and ${} out a million", price.input, price.output),
    };
    format!("{context}, {price}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn described_facts_names_unknown_values_of_a_model() {
        let price = Price { input: 0.15, output: 0.6, ..Price::default() };
        let known =
            ModelFacts { context: Some(128_000), price: Some(price), ..ModelFacts::default() };
        assert_eq!(described_facts(&known), "128 thousand tokens, $0.15 in and $0.6 out a million");
        let free = ModelFacts { price: Some(Price::default()), ..ModelFacts::default() };
        assert_eq!(described_facts(&free), "context unknown, free");
        let unknown = described_facts(&ModelFacts::default());
        assert_eq!(unknown, "context unknown, price unknown");
    }
}
