//! The limits on the cost of models.

use avocet_protocol::model::{Money, thousands};
use avocet_protocol::store::{Spending, Total};

use crate::{LimitNotice, TurnLimits};

/// Limits on the cost of models; `None` means unlimited. Each turn that runs when a budget is used
/// up may still get one answer, and the budget is overdrawn by at most these answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    /// The limit of one turn, its children included.
    pub turn_cost: Option<Money>,
    /// The limit of all conversations together in one day, which begins at 00:00 UTC.
    pub day_cost: Option<Money>,
    /// The limit of one conversation since its last `/new`.
    pub session_cost: Option<Money>,
    /// Tokens of all conversations in one day, read and written.
    pub day_tokens: Option<u64>,
    /// Tokens of one conversation since its last `/new`, read and written.
    pub session_tokens: Option<u64>,
    /// Tokens of all models without a known price in one day, read and written. Holds for requests
    /// to such models, which the limits on costs do not count.
    pub unpriced_day_tokens: Option<u64>,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            turn_cost: Some(Money::dollars(5.0)),
            day_cost: Some(Money::dollars(50.0)),
            session_cost: None,
            day_tokens: None,
            session_tokens: None,
            unpriced_day_tokens: Some(20_000_000),
        }
    }
}

impl Budgets {
    /// Returns `true` if a budget is in dollars. Only requests with a known price count towards it.
    #[must_use]
    pub fn are_in_dollars(&self) -> bool {
        self.turn_cost.or(self.day_cost).or(self.session_cost).is_some()
    }

    /// Returns the text for the user if a budget is used up, else `None`. Of several, the budget
    /// that lasts longest is named: once it is free, all are.
    pub(crate) fn find_used_up(
        self,
        limits: TurnLimits,
        spending: &Spending,
    ) -> Option<LimitNotice> {
        let Spending { turn, session, day } = spending;
        let session_over = BudgetPeriod {
            name: "conversation",
            again: "with /new",
            plain: PLAIN_SESSION,
            total: session,
        };
        let turn_over = BudgetPeriod {
            name: "answer",
            again: "with the next message",
            plain: PLAIN_TURN,
            total: turn,
        };
        self.day_reached(day)
            .or_else(|| session_over.cost_reached(self.session_cost, "budgets.session_usd"))
            .or_else(|| session_over.tokens_reached(self.session_tokens, "budgets.session_tokens"))
            .or_else(|| turn_over.cost_reached(self.turn_cost, "budgets.turn_usd"))
            .or_else(|| limits.tokens_reached(turn.usage.total()))
    }

    pub(crate) fn is_unpriced_day_reached(self, day: &Total) -> bool {
        self.unpriced_day_tokens.is_some_and(|most| day.unpriced >= most)
    }

    /// Returns the text for the user if the models without a price have used up their tokens.
    pub(crate) fn unpriced_notice(self, day: &Total) -> Option<LimitNotice> {
        let most = self.unpriced_day_tokens.filter(|_| self.is_unpriced_day_reached(day))?;
        let [spent, most] = [day.unpriced, most].map(thousands);
        let text = format!(
            "The budget of this day for models without a known price is spent: {spent} of {most} \
             tokens. It starts again at 00:00 UTC; a price in [models] (0 for a free model) or \
             budgets.unpriced_day_tokens raises it."
        );
        Some(LimitNotice { text, plain: PLAIN_DAY.to_owned(), needs_owner: true })
    }

    pub(crate) fn day_reached(self, day: &Total) -> Option<LimitNotice> {
        let day = BudgetPeriod { name: "day", again: "at 00:00 UTC", plain: PLAIN_DAY, total: day };
        day.cost_reached(self.day_cost, "budgets.day_usd")
            .or_else(|| day.tokens_reached(self.day_tokens, "budgets.day_tokens"))
    }
}

const PLAIN_DAY: &str =
    "I have used up what I may spend on answers today. I can answer again after 00:00 UTC.";
const PLAIN_SESSION: &str =
    "I have used up what I may spend on this conversation. /new begins another one.";
const PLAIN_TURN: &str =
    "I have used up what I may spend on one answer. Write to me again, and I go on.";

/// A period that has budgets.
struct BudgetPeriod<'t> {
    name: &'static str,
    again: &'static str,
    plain: &'static str,
    total: &'t Total,
}

impl BudgetPeriod<'_> {
    fn cost_reached(&self, budget: Option<Money>, key: &str) -> Option<LimitNotice> {
        let (spent, budget) = (self.total.cost, budget?);
        (spent >= budget).then(|| self.notice(&format!("{spent} of {budget}"), key))
    }

    fn tokens_reached(&self, budget: Option<u64>, key: &str) -> Option<LimitNotice> {
        let (spent, budget) = (self.total.usage.total(), budget?);
        (spent >= budget).then(|| {
            let [spent, budget] = [spent, budget].map(thousands);
            self.notice(&format!("{spent} of {budget} tokens"), key)
        })
    }

    fn notice(&self, sum: &str, key: &str) -> LimitNotice {
        let Self { name, again, plain, .. } = self;
        let text = format!(
            "The budget of this {name} is spent: {sum}. It starts again {again}; {key} raises it."
        );
        let needs_owner = *name == "day";
        LimitNotice { text, plain: (*plain).to_owned(), needs_owner }
    }
}

#[cfg(test)]
#[path = "budget_limits_tests.rs"]
mod tests;
