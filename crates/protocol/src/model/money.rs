//! Amounts of money and prices of models.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::Usage;

/// An amount of US dollars, exact to a billionth of a dollar.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Money(
    /// Billionths of a dollar.
    pub u64,
);

const DOLLAR: f64 = 1e9;

impl Money {
    /// Converts from dollars; a negative amount becomes zero.
    #[must_use]
    pub fn dollars(dollars: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a cast from a float saturates"
        )]
        Self((dollars * DOLLAR).round() as u64)
    }

    /// The amount in dollars, rounded to a float.
    #[must_use]
    pub fn in_dollars(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "it is rounded anyway")]
        let billionths = self.0 as f64;
        billionths / DOLLAR
    }
}

/// Formats a number with commas: `12,345`.
#[must_use]
pub fn thousands(number: u64) -> String {
    match (number / 1000, number % 1000) {
        (0, number) => number.to_string(),
        (thousand, rest) => format!("{},{rest:03}", thousands(thousand)),
    }
}

impl Add for Money {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::default(), Add::add)
    }
}

/// `$12.30`; amounts below ten cents have two significant digits: `$0.0042`.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dollars = self.in_dollars();
        let decimals = match self.0 {
            0 | 100_000_000.. => 2,
            10_000_000.. => 3,
            1_000_000.. => 4,
            100_000.. => 5,
            _ => 6,
        };
        write!(f, "${dollars:.decimals$}")
    }
}

/// The prices of a model's tokens, in US dollars per million.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Input tokens.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
    /// Input tokens that come from the provider's cache; `None` means the price of `input`.
    pub cached: Option<f64>,
    /// Input tokens that are written into the provider's cache; `None` means the price of `input`.
    pub cache_write: Option<f64>,
}

impl Price {
    /// The cost of these tokens.
    #[must_use]
    pub fn compute_cost(&self, usage: Usage) -> Money {
        let Usage { input, output, cached, cache_written } = usage;
        let plain = input.saturating_sub(cached).saturating_sub(cache_written);
        let parts = [
            (plain, self.input),
            (cached, self.cached.unwrap_or(self.input)),
            (cache_written, self.cache_write.unwrap_or(self.input)),
            (output, self.output),
        ];
        #[expect(clippy::cast_precision_loss, reason = "no answer has 2^53 tokens")]
        let millionths: f64 = parts.iter().map(|(tokens, price)| *tokens as f64 * price).sum();
        Money::dollars(millionths / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_display_has_as_many_digits_as_are_significant() {
        let shown = |dollars| Money::dollars(dollars).to_string();
        let amounts = [0.0, 12.3, 0.1, 0.042, 0.0042, 0.000_42, 0.000_042, 1234.567];
        let expected =
            ["$0.00", "$12.30", "$0.10", "$0.042", "$0.0042", "$0.00042", "$0.000042", "$1234.57"];
        assert_eq!(amounts.map(shown), expected);
        assert_eq!(Money::dollars(-1.0), Money::default());
    }

    #[test]
    fn thousands_separates_groups_with_commas() {
        let table =
            [(0, "0"), (999, "999"), (1000, "1,000"), (12_045, "12,045"), (1_000_000, "1,000,000")];
        for (number, text) in table {
            assert_eq!(thousands(number), text);
        }
    }

    #[test]
    fn price_of_usage_applies_the_cache_prices() {
        let usage = Usage { input: 1_000_000, output: 100_000, cached: 600_000, cache_written: 0 };
        let price = Price { input: 3.0, output: 15.0, ..Price::default() };
        assert_eq!(price.compute_cost(usage), Money::dollars(4.5));
        let price = Price { cached: Some(0.3), ..price };
        assert_eq!(price.compute_cost(usage), Money::dollars(1.2 + 0.18 + 1.5));
        let usage = Usage { cache_written: 400_000, ..usage };
        let price = Price { cache_write: Some(3.75), ..price };
        assert_eq!(price.compute_cost(usage), Money::dollars(1.5 + 0.18 + 1.5));
    }
}
