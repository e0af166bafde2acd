//! The usage of models. It is recorded after every answer, and summed up before every request.

use std::fmt;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Result;
use crate::chat::SessionId;
use crate::clock::Timestamp;
use crate::ids::TurnId;
use crate::model::{Money, Price, Spent, Usage};
use crate::turn::FailedRequest;

/// The ledger of model usage and cost.
#[async_trait]
pub trait Ledger: fmt::Debug + Send + Sync {
    /// Records usage, all of it or nothing, even if the turn has ended meanwhile. Usage of a child
    /// is charged to its root turn, the one without a parent.
    async fn record_usage(
        &self,
        turn: Option<TurnId>,
        session: &SessionId,
        entries: &[UsageEntry],
    ) -> Result<()>;

    /// Returns the usage so far. `day_start` is the beginning of the day.
    async fn spent(
        &self,
        turn: Option<TurnId>,
        session: &SessionId,
        day_start: Timestamp,
    ) -> Result<Spending>;

    /// Returns `true` if usage of a root turn was recorded for this purpose.
    async fn has_usage(&self, turn: TurnId, purpose: Purpose) -> Result<bool>;
}

/// A request for a conversation, as the ledger records it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageEntry {
    /// The purpose of the request.
    pub purpose: Purpose,
    /// What came of it.
    pub request: RequestOutcome,
}

impl UsageEntry {
    /// Makes the entry of a request that used tokens.
    #[must_use]
    pub fn of_spent(purpose: Purpose, spent: Spent) -> Self {
        Self { purpose, request: RequestOutcome::Spent(spent) }
    }

    /// Returns the tokens and the cost; `None` of a failed request.
    #[must_use]
    pub fn as_spent(&self) -> Option<&Spent> {
        match &self.request {
            RequestOutcome::Spent(spent) => Some(spent),
            RequestOutcome::Failed(_) => None,
        }
    }
}

/// What came of a request to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestOutcome {
    /// It used tokens.
    Spent(Spent),
    /// It failed and was made again. Its tokens, if there are any, are an entry of their own.
    Failed(FailedRequest),
}

/// The ledger of requests that belong to no conversation.
#[async_trait]
pub trait UpkeepLedger: fmt::Debug + Send + Sync {
    /// Records usage, all of it or nothing.
    async fn record_upkeep(&self, purpose: Purpose, spent: &[Spent]) -> Result<()>;

    /// Returns the usage by everybody since `day_start`.
    async fn spent_since(&self, day_start: Timestamp) -> Result<Total>;
}

/// The budgets of the day for requests that belong to no conversation.
#[async_trait]
pub trait UpkeepBudget: fmt::Debug + Send + Sync {
    /// Returns the notice of the budget that is used up; `None` if a request to a model of this
    /// price may be made. The price is `None` if it is unknown.
    async fn used_up(&self, price: Option<Price>) -> Result<Option<String>>;

    /// Records the usage of a request.
    async fn record(&self, purpose: Purpose, spent: &[Spent]) -> Result<()>;
}

/// The purpose of a request to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// The answer of a turn, or a step on the way to it.
    Answer,
    /// A summary of a conversation.
    Summary,
    /// A consolidation of memories.
    Consolidation,
    /// Vectors for the search in memories.
    Embedding,
    /// A spoken answer. Its characters count as tokens at four each.
    Speech,
}

impl Purpose {
    /// In the order of declaration.
    pub const ALL: [Self; 5] =
        [Self::Answer, Self::Summary, Self::Consolidation, Self::Embedding, Self::Speech];

    /// The word in the log.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Summary => "summary",
            Self::Consolidation => "consolidation",
            Self::Embedding => "embedding",
            Self::Speech => "speech",
        }
    }
}

/// The usage in the periods that have budgets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spending {
    /// By the root turn of the given turn, and by its children; zero without a turn.
    pub turn: Total,
    /// By the conversation since its last `/new`.
    pub session: Total,
    /// By everybody since the beginning of the day.
    pub day: Total,
}

/// The sum of the usage of several answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Total {
    /// Tokens.
    #[serde(flatten)]
    pub usage: Usage,
    /// Cost of the tokens with a known price.
    pub cost: Money,
    /// Tokens, read and written, with an unknown price.
    pub unpriced: u64,
}

impl Total {
    /// Returns `true` if there are tokens and the price of all of them is unknown.
    #[must_use]
    pub fn has_no_price(&self) -> bool {
        self.unpriced > 0 && self.unpriced == self.usage.total()
    }

    /// Returns the cost as text, with a remark if a price is unknown.
    #[must_use]
    pub fn price(&self) -> String {
        match self.unpriced {
            0 => self.cost.to_string(),
            _ if self.has_no_price() => "price unknown".to_owned(),
            _ => format!("{} + price unknown", self.cost),
        }
    }
}

impl From<&Spent> for Total {
    fn from(spent: &Spent) -> Self {
        let unpriced = if spent.cost.is_some() { 0 } else { spent.usage.total() };
        Self { usage: spent.usage, cost: spent.cost.unwrap_or_default(), unpriced }
    }
}

impl std::ops::Add for Total {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            usage: self.usage + other.usage,
            cost: self.cost + other.cost,
            unpriced: self.unpriced.saturating_add(other.unpriced),
        }
    }
}
