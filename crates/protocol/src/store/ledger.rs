//! What models have cost: written down after every answer, summed up before every request.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::Result;
use crate::{Money, SessionId, Spent, Timestamp, TurnId, Usage};

/// The book of what models have cost.
#[async_trait]
pub trait Ledger: fmt::Debug + Send + Sync {
    /// Writes down what was spent, all of it or nothing, also for a turn that has ended meanwhile.
    /// What a child spends is its root's: the turn that a person, or nobody, began.
    async fn record_usage(
        &self,
        turn: Option<TurnId>,
        session: &SessionId,
        purpose: Purpose,
        spent: &[Spent],
    ) -> Result<()>;

    /// What was spent so far. `day_start` is when the day began.
    async fn spent(
        &self,
        turn: Option<TurnId>,
        session: &SessionId,
        day_start: Timestamp,
    ) -> Result<Spending>;
}

/// What a model was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The answer of a turn, or a step on the way to it.
    Answer,
    /// A summary of what was said.
    Summary,
}

impl Purpose {
    /// The word in the log.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Summary => "summary",
        }
    }
}

/// What was spent in the periods that have budgets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spending {
    /// By the turn at the root of the one that was asked about, and by its children; nothing if none
    /// was.
    pub turn: Total,
    /// By the conversation since its last `/new`.
    pub session: Total,
    /// By everybody since the day began.
    pub day: Total,
}

/// A sum over answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Total {
    /// Tokens.
    #[serde(flatten)]
    pub usage: Usage,
    /// What those cost whose price is known.
    pub cost: Money,
    /// Tokens, read and written, whose price is unknown.
    pub unpriced: u64,
}

impl Total {
    /// Whether it consists of tokens whose price nobody knows.
    #[must_use]
    pub fn has_no_price(&self) -> bool {
        self.unpriced > 0 && self.unpriced == self.usage.total()
    }

    /// What it cost, in words: an unknown price is not nothing.
    #[must_use]
    pub fn price(&self) -> String {
        match self.unpriced {
            0 => self.cost.to_string(),
            _ if self.has_no_price() => "price unknown".to_owned(),
            _ => format!("{} + price unknown", self.cost),
        }
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
