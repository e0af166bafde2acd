//! The remark below the first answer of a conversation by a model whose window is unknown. It names
//! the values that hold instead.

use avocet_protocol::{ModelFacts, Origin, Past, TurnRecord, thousands};

use crate::{AgentLoop, job};

impl AgentLoop {
    /// Returns the remark for the answer of this turn. The log of the conversation says if the
    /// answer is the first, so that the remark survives a crash and comes once.
    pub(crate) async fn remark(&self, turn: &TurnRecord, past: &Past) -> Option<String> {
        if !is_first_answer(turn, past) {
            return None;
        }
        let model = self.models.main.as_ref();
        let facts = model.facts().await;
        facts.context.is_none().then(|| self.unknown_window(model.name(), facts))
    }

    fn unknown_window(&self, model: &str, facts: ModelFacts) -> String {
        let window = thousands(ModelFacts::ASSUMED_CONTEXT);
        let (budget, keys) = match (facts.price, self.limits.budgets.unpriced_day_tokens) {
            (Some(_), _) => (String::new(), "`context`"),
            (None, None) => (
                " Its price is unknown, and no budget limits it.".to_owned(),
                "`context` and `price`",
            ),
            (None, Some(tokens)) => {
                let tokens = thousands(tokens);
                let text = format!(
                    " Its price is unknown: all models without a price may use {tokens} tokens a day."
                );
                (text, "`context` and `price`")
            }
        };
        format!(
            "[The window of {model} is unknown: {window} tokens are assumed.{budget} Set {keys} in \
             [models]. This note comes once in a conversation.]"
        )
    }
}

/// Returns `true` for a turn of a chat without an answer before it.
fn is_first_answer(turn: &TurnRecord, past: &Past) -> bool {
    matches!(turn.origin, Origin::Messages(_))
        && turn.session.schedule().is_none()
        && !job::is_job(&turn.session)
        && past.compacted.summary_to.is_none()
        && !past.has_gap
        && past.turns.iter().all(|turn| turn.final_text().is_none())
}

#[cfg(test)]
#[path = "remark_tests.rs"]
mod tests;
