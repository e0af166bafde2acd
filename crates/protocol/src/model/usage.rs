//! The tokens that a request to a model has used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tokens, as the provider counts them. Without that count, an estimate of four bytes per token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Input tokens.
    pub input: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
    /// Part of `input` that the provider read from its cache.
    #[serde(default)]
    pub cached: u64,
    /// Part of `input` that the provider wrote into its cache.
    #[serde(default)]
    pub cache_written: u64,
}

impl Usage {
    /// Makes a usage without cached tokens.
    #[must_use]
    pub fn new(input: u64, output: u64) -> Self {
        Self { input, output, ..Self::default() }
    }

    /// Input and output tokens together.
    #[must_use]
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Percentage of the input tokens that came from the cache, from 0 to 100.
    #[must_use]
    pub fn cached_percent(self) -> u64 {
        let percent = u128::from(self.cached) * 100 / u128::from(self.input.max(1));
        u64::try_from(percent.min(100)).unwrap_or(100)
    }
}

impl std::ops::Add for Usage {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cached: self.cached.saturating_add(other.cached),
            cache_written: self.cache_written.saturating_add(other.cache_written),
        }
    }
}
