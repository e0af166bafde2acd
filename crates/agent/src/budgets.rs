//! Budgets limit the cost of models. The ledger is read before every request; for the first request
//! of a turn, it is read when the turn is claimed. The cost of every answer is written before the
//! next request. So the ledger covers all costs, including retries, children, empty answers and
//! abandoned requests.

use avocet_text::end_sentence;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::clock::{Clock, within};
use avocet_protocol::model::{
    Delta, Deltas, FailedAttempt, Model, ModelError, ModelReply, ModelRequest, Price, Spent,
};
use avocet_protocol::store::{Purpose, StoreError, UpkeepBudget, UpkeepLedger};
use avocet_protocol::tool::FilesError;
use avocet_protocol::turn::{Origin, TurnRecord};

use crate::{AgentLoop, Budgets, LimitNotice, TurnLimits, UsageMeter};

/// The usage context of a request: the meter of its turn or compaction, its purpose and deadline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UsageContext<'m> {
    /// Receives the usage of the request.
    pub(crate) meter: &'m UsageMeter,
    pub(crate) purpose: Purpose,
    /// The time at which the request is abandoned, by the clock's
    /// [`elapsed`](avocet_protocol::clock::Clock::elapsed).
    pub(crate) until: Duration,
}

/// The reason for a missing answer.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    /// A limit was reached.
    Limit(LimitNotice),
    /// The turn cannot be answered, for this reason.
    Unanswerable(String),
    /// The model failed.
    Model(ModelError),
    /// The file with the agent's instructions cannot be read.
    Instructions(FilesError),
    /// The log failed.
    Log(StoreError),
}

/// Returns the text for the user about a reason for a missing answer.
pub(crate) fn could_not_answer(reason: &str) -> String {
    end_sentence(format!("I could not answer: {reason}"))
}

impl From<StoreError> for NoAnswer {
    fn from(error: StoreError) -> Self {
        Self::Log(error)
    }
}

impl From<ModelError> for NoAnswer {
    fn from(error: ModelError) -> Self {
        Self::Model(error)
    }
}

impl AgentLoop {
    /// Asks a model once if the budgets allow it. The cost of a reply stays in the meter, for the
    /// write that follows.
    pub(crate) async fn ask_within_budgets(
        &self,
        model: &dyn Model,
        usage: UsageContext<'_>,
        request: &ModelRequest,
        deltas: Deltas<'_>,
    ) -> Result<ModelReply, NoAnswer> {
        let UsageContext { meter, purpose, until } = usage;
        self.check_budgets(model, usage).await?;
        meter.add_last_failure();
        let left = until.saturating_sub(self.clock.elapsed());
        let with_losses = |delta: Delta<'_>| match delta {
            Delta::Lost(spent) => meter.add_usage(purpose, spent),
            Delta::Retry(attempt) => {
                meter.add_failed(purpose, attempt.as_failed_request(self.clock.now()));
                deltas(delta);
            }
            Delta::Text(_) | Delta::Thought(_) | Delta::Restart => deltas(delta),
        };
        let began = self.clock.now();
        let asking = model.complete(request, &with_losses);
        let answered = within(self.clock.as_ref(), left, asking).await;
        let spent = answered.as_ref().ok().and_then(|reply| reply.as_ref().ok());
        spent.iter().flat_map(|reply| &reply.spent).for_each(|one| meter.add_usage(purpose, one));
        match answered {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(error)) => {
                let attempt = FailedAttempt { error: &error, began };
                meter.set_last_failure(purpose, attempt.as_failed_request(self.clock.now()));
                Err(error.into())
            }
            Err(_) => Err(NoAnswer::Limit(self.limits.turn.took_too_long())),
        }
    }

    /// Returns the text for the parent if a child has used up its own tokens. The tokens of a root
    /// turn are checked together with those of its children.
    pub(crate) fn child_tokens_reached(&self, turn: &TurnRecord) -> Option<LimitNotice> {
        match turn.origin {
            Origin::Child { .. } => self.limits.turn.tokens_reached(turn.usage().total()),
            Origin::Messages(_) => None,
        }
    }

    /// Records the usage so far, and fails if a budget of requests to this model is used up.
    pub(crate) async fn check_budgets(
        &self,
        model: &dyn Model,
        usage: UsageContext<'_>,
    ) -> Result<(), NoAnswer> {
        let is_unpriced = async { model.facts().await.price.is_none() };
        match self.used_up(usage.meter, is_unpriced).await? {
            None => Ok(()),
            Some(notice) => Err(NoAnswer::Limit(notice)),
        }
    }

    /// Records the usage so far. Returns the notice of the budget that is used up; `None` if a
    /// request may be made. `is_unpriced` says if the price of that request is unknown; it is
    /// asked only if the answer depends on it.
    ///
    /// # Errors
    /// [`StoreError`] if the ledger failed.
    pub async fn used_up(
        &self,
        meter: &UsageMeter,
        is_unpriced: impl Future<Output = bool>,
    ) -> Result<Option<LimitNotice>, StoreError> {
        meter.record(self.logs.ledger.as_ref()).await?;
        let today = self.clock.now().day_start();
        let spending = meter.spending(self.logs.ledger.as_ref(), today).await?;
        let limit = self.limits.root_tokens.unwrap_or(self.limits.turn.max_tokens);
        let limits = TurnLimits { max_tokens: limit, ..self.limits.turn };
        let budgets = self.limits.budgets;
        let mut reached = budgets.find_used_up(limits, &spending);
        if reached.is_none() && budgets.is_unpriced_day_reached(&spending.day) && is_unpriced.await
        {
            reached = budgets.unpriced_notice(&spending.day);
        }
        if let Some(notice) = &reached {
            tracing::info!(notice = notice.text, "a budget is used up; the request is not made");
        }
        Ok(reached)
    }
}

/// The budgets of the day for work that belongs to no conversation, and its ledger.
#[derive(Debug, Clone)]
pub struct UpkeepMeter {
    budgets: Budgets,
    ledger: Arc<dyn UpkeepLedger>,
    clock: Arc<dyn Clock>,
}

impl UpkeepMeter {
    /// Limits work by `day_cost`, `day_tokens` and `unpriced_day_tokens`.
    #[must_use]
    pub fn new(budgets: Budgets, ledger: Arc<dyn UpkeepLedger>, clock: Arc<dyn Clock>) -> Self {
        Self { budgets, ledger, clock }
    }
}

#[async_trait]
impl UpkeepBudget for UpkeepMeter {
    async fn used_up(&self, price: Option<Price>) -> Result<Option<String>, StoreError> {
        let day = self.ledger.spent_since(self.clock.now().day_start()).await?;
        let unpriced = || self.budgets.unpriced_notice(&day).filter(|_| price.is_none());
        Ok(self.budgets.day_reached(&day).or_else(unpriced).map(|notice| notice.text))
    }

    async fn record(&self, purpose: Purpose, spent: &[Spent]) -> Result<(), StoreError> {
        self.ledger.record_upkeep(purpose, spent).await
    }
}
