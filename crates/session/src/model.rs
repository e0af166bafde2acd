//! `/model`: shows or changes the model of a conversation, and lists the others.

use std::time::Duration;

use avocet_protocol::{CommandAction, ModelFacts, Price, Role, SessionId, StoreError, within};

use crate::agents::Agent;
use crate::commands::CommandPlan;
use crate::lane::Lanes;

/// Argument that resets the model to the configured one.
pub(crate) const DEFAULT: &str = "default";
/// Time limit for all providers to report facts about their models.
pub(crate) const LEARNING: Duration = Duration::from_secs(2);

/// Plans `/model`.
pub(crate) async fn plan(
    lanes: &Lanes,
    session: &SessionId,
    argument: &str,
    role: Role,
) -> Result<CommandPlan, StoreError> {
    let status = lanes.with_retry(|| lanes.parts.query.session_status(session)).await?;
    let agents = lanes.parts.agents.now();
    let agent = agents.of_session(session, &status);
    if argument.is_empty() {
        return Ok(CommandPlan::say(shown(lanes, agent, status.model.as_deref(), role).await));
    }
    if role < Role::Owner {
        return Ok(CommandPlan::say(
            "Only my owner can choose the model; /model shows the current one.",
        ));
    }
    Ok(choose(lanes, agent, argument).await)
}

async fn choose(lanes: &Lanes, agent: &Agent, name: &str) -> CommandPlan {
    if name.eq_ignore_ascii_case(DEFAULT) {
        let name = agent.run.models.main.name();
        let done = format!("{name} answers here again, {}.", whose(agent));
        return CommandPlan::act(CommandAction::SetModel(None), &done, &done);
    }
    match lanes.parts.agents.now().models.model(name, &agent.fallbacks) {
        Ok(model) => {
            let mut done = format!("{name} answers here from now on; /model {DEFAULT} goes back.");
            let facts = within(lanes.parts.clock.as_ref(), LEARNING, model.facts()).await;
            if agent.run.limits.budgets.are_in_dollars()
                && facts.is_ok_and(|facts| facts.price.is_none())
            {
                done.push_str(" Price unknown: budgets in dollars do not count it.");
            }
            CommandPlan::act(CommandAction::SetModel(Some(name.to_owned())), &done, &done)
        }
        Err(error) => CommandPlan::say(format!("I cannot use that model: {error}.")),
    }
}

/// Describes the current model, the reason for it, and the other models.
async fn shown(lanes: &Lanes, agent: &Agent, chosen: Option<&str>, role: Role) -> String {
    let models = lanes.parts.agents.now().models.clone();
    let own = agent.run.models.main.name();
    let (answers, why) = match chosen {
        None => (own, whose(agent)),
        Some(name) => match models.model(name, &[]) {
            Ok(_) => (name, "chosen with /model".to_owned()),
            Err(error) => {
                (own, format!("{}; {name} was chosen, but cannot be asked: {error}", whose(agent)))
            }
        },
    };
    let mut text = format!("{answers} answers here, {why}.");
    let fallbacks: Vec<&str> =
        agent.fallbacks.iter().map(String::as_str).filter(|name| *name != answers).collect();
    if !fallbacks.is_empty() {
        text.push_str(&format!(" If it fails: {}.", fallbacks.join(", ")));
    }
    text.push_str("\n\nThe models of the configuration:\n");
    let list = within(lanes.parts.clock.as_ref(), LEARNING, described(lanes)).await;
    text.push_str(&list.unwrap_or_else(|_| models.configured().join("\n")));
    if role >= Role::Owner {
        text.push_str("\n\n/model provider/model chooses one for this conversation.");
    }
    text
}

/// Returns the reason why the agent's own model answers.
fn whose(agent: &Agent) -> String {
    match &agent.name {
        None => "set by the configuration".to_owned(),
        Some(name) => format!("set by the agent {name}"),
    }
}

/// Returns a line with known facts for each model.
async fn described(lanes: &Lanes) -> String {
    let models = lanes.parts.agents.now().models.clone();
    let mut lines = Vec::new();
    for name in models.configured() {
        // A broken model was logged at the start.
        let Ok(model) = models.model(&name, &[]) else { continue };
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
