//! Budgets, from the configuration to the agent, and a warning where they cannot hold.

use std::sync::Arc;

use avocet_agent::Budgets;
use avocet_config::Document;
use avocet_protocol::{Models, Money};
use avocet_supervise::Group;

/// What the configuration says that models may cost.
pub(crate) fn budgets(configured: &avocet_config::Budgets) -> Budgets {
    let avocet_config::Budgets { turn_usd, day_usd, session_usd, day_tokens, session_tokens } =
        configured;
    Budgets {
        turn_cost: turn_usd.map(Money::dollars),
        day_cost: day_usd.map(Money::dollars),
        session_cost: session_usd.map(Money::dollars),
        day_tokens: *day_tokens,
        session_tokens: *session_tokens,
    }
}

/// Names the models whose price is unknown, if somebody relies on a budget in dollars. Servers may be
/// asked what they know, so nobody waits for this.
pub(crate) fn warn_of_unknown_prices(document: &Document, models: Arc<dyn Models>, group: &Group) {
    let in_dollars = |key: &&str| document.get(key).is_some_and(serde_json::Value::is_number);
    let Some(budget) = avocet_config::Budgets::IN_DOLLARS.into_iter().find(in_dollars) else {
        return;
    };
    group.spawn("prices", async move {
        let unpriced = unpriced(models.as_ref()).await;
        if !unpriced.is_empty() {
            tracing::warn!(
                budget,
                models = unpriced.join(", "),
                "the price of these models is unknown, so that a budget in dollars does not count \
                 them; say their price, or set a budget in tokens (budgets.day_tokens)"
            );
        }
    });
}

async fn unpriced(models: &dyn Models) -> Vec<String> {
    let mut unpriced = Vec::new();
    for name in models.configured() {
        if let Ok(model) = models.model(&name, &[])
            && model.facts().await.price.is_none()
        {
            unpriced.push(name);
        }
    }
    unpriced
}
