//! Builds budgets from the configuration, and tells the operator the facts of models that are unknown.

use std::sync::Arc;

use avocet_agent::Budgets;
use avocet_config::ConfigDocument;
use avocet_protocol::daemon::Live;
use avocet_protocol::model::{ModelFacts, Models, Money, thousands};
use avocet_supervise::Group;

/// Converts the configured limits on costs.
pub(crate) fn convert_budgets(configured: &avocet_config::BudgetsConfig) -> Budgets {
    let avocet_config::BudgetsConfig {
        turn_usd,
        day_usd,
        session_usd,
        day_tokens,
        session_tokens,
        unpriced_day_tokens,
    } = configured;
    Budgets {
        turn_cost: turn_usd.map(Money::dollars),
        day_cost: day_usd.map(Money::dollars),
        session_cost: session_usd.map(Money::dollars),
        day_tokens: *day_tokens,
        session_tokens: *session_tokens,
        unpriced_day_tokens: *unpriced_day_tokens,
    }
}

/// The sentences about unknown facts, for `avocet status`.
#[derive(Debug, Default)]
pub(crate) struct FactWarnings {
    /// One per model.
    pub(crate) sentences: Vec<String>,
}

/// Tells the models with an unknown window, and those with an unknown price if there is a budget in
/// dollars: in the log, and in `warnings`. Runs in the background, since servers may be asked about
/// their models.
pub(crate) fn tell_unknown_facts(
    document: &ConfigDocument,
    budgets: Budgets,
    models: Arc<dyn Models>,
    warnings: Live<FactWarnings>,
    group: &Group,
) {
    let holds = describe_holds(document, budgets);
    group.spawn("facts", async move {
        let all = configured_facts(models.as_ref()).await;
        let sentences = all.iter().filter_map(|(model, facts)| fact_warning(model, facts, holds));
        warnings.replace(FactWarnings { sentences: sentences.collect() });
        for (model, facts) in all {
            if facts.context.is_none() {
                tell_unknown_window(&model);
            }
            match holds.filter(|_| facts.price.is_none()) {
                None => {}
                Some(Holds::Configured(budget)) => tracing::warn!(
                    budget,
                    model,
                    "the price of this model is unknown, so budgets in dollars do not count it; \
                        set its price in [models], or set a budget in tokens (budgets.day_tokens)"
                ),
                Some(Holds::ByDefault) => tracing::info!(
                    model,
                    "the price of this model is unknown: the budgets in dollars that hold by default \
                     do not count it; budgets.unpriced_day_tokens limits it"
                ),
            }
        }
    });
}

/// The reason why a budget in dollars applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// The operator has set this key.
    Configured(&'static str),
    /// A default applies, and the operator has set no budget in tokens.
    ByDefault,
}

fn describe_holds(document: &ConfigDocument, budgets: Budgets) -> Option<Holds> {
    let in_dollars = |key: &&str| document.get(key).is_some_and(serde_json::Value::is_number);
    let configured = avocet_config::BudgetsConfig::IN_DOLLARS.into_iter().find(in_dollars);
    let in_tokens = budgets.day_tokens.or(budgets.session_tokens).is_some();
    let by_default = budgets.are_in_dollars() && !in_tokens;
    configured.map(Holds::Configured).or(by_default.then_some(Holds::ByDefault))
}

/// Returns a sentence with the unknown facts of a model, and with the lines that the operator can
/// write; `None` if all facts that are needed are known.
fn fact_warning(model: &str, facts: &ModelFacts, holds: Option<Holds>) -> Option<String> {
    const PRICE: &str = "price = { input = DOLLARS, output = DOLLARS }";
    let assumed = thousands(ModelFacts::ASSUMED_CONTEXT);
    let assumes = format!("{assumed} tokens are assumed");
    let uncounted = "budgets in dollars do not count it";
    let lacks_price = holds.is_some() && facts.price.is_none();
    let (unknown, effect, keys) = match (facts.context.is_none(), lacks_price) {
        (false, false) => return None,
        (true, false) => ("window of", assumes, "context = TOKENS".to_owned()),
        (false, true) => ("price of", uncounted.to_owned(), PRICE.to_owned()),
        (true, true) => (
            "window and the price of",
            format!("{assumes}, and {uncounted}"),
            format!("context = TOKENS and {PRICE}"),
        ),
    };
    let is = if unknown.contains("and") { "are" } else { "is" };
    Some(format!(
        "the {unknown} {model} {is} unknown: {effect}; write {keys} below [models.\"{model}\"] in the \
         configuration"
    ))
}

fn tell_unknown_window(model: &str) {
    let assumed = ModelFacts::ASSUMED_CONTEXT;
    tracing::warn!(
        model,
        assumed,
        "the window of this model is unknown, so this many tokens are assumed; set its context in \
            [models]"
    );
}

async fn configured_facts(models: &dyn Models) -> Vec<(String, ModelFacts)> {
    let mut facts = Vec::new();
    for name in models.configured() {
        if let Ok(model) = models.model(&name, &[]) {
            facts.push((name, model.facts().await));
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fact_warning_names_what_is_unknown_and_what_to_write() {
        let known = Some(avocet_protocol::model::Price::default());
        let holds = Some(Holds::ByDefault);
        let table = [
            (Some(8000), known, holds, None),
            (Some(8000), None, None, None),
            (
                None,
                known,
                holds,
                Some(
                    "the window of a/b is unknown: 65,536 tokens are assumed; write context = TOKENS \
                     below [models.\"a/b\"] in the configuration",
                ),
            ),
            (
                Some(8000),
                None,
                holds,
                Some(
                    "the price of a/b is unknown: budgets in dollars do not count it; write price = \
                     { input = DOLLARS, output = DOLLARS } below [models.\"a/b\"] in the configuration",
                ),
            ),
            (
                None,
                None,
                holds,
                Some(
                    "the window and the price of a/b are unknown: 65,536 tokens are assumed, and \
                     budgets in dollars do not count it; write context = TOKENS and price = { input = \
                     DOLLARS, output = DOLLARS } below [models.\"a/b\"] in the configuration",
                ),
            ),
        ];
        for (context, price, holds, expected) in table {
            let facts = ModelFacts { context, price, ..ModelFacts::default() };
            assert_eq!(fact_warning("a/b", &facts, holds).as_deref(), expected);
        }
    }

    #[test]
    fn holds_tells_configured_from_default_dollar_budgets() {
        let table = [
            ("", Some(Holds::ByDefault)),
            ("turn_usd = \"none\"", Some(Holds::ByDefault)),
            ("turn_usd = \"none\"\nday_usd = \"none\"", None),
            ("turn_usd = \"none\"\nday_usd = 1", Some(Holds::Configured("budgets.day_usd"))),
            ("session_tokens = 30", None),
            ("session_usd = 1", Some(Holds::Configured("budgets.session_usd"))),
        ];
        for (lines, expected) in table {
            let text = format!("[budgets]\n{lines}\n");
            let document = ConfigDocument::parse(text, None, &|_| None).unwrap();
            let configured = document.table("budgets").unwrap();
            assert_eq!(
                describe_holds(&document, convert_budgets(&configured)),
                expected,
                "{lines}"
            );
        }
    }
}
