//! Reproducible random numbers from a seed (xorshift64*).

use std::time::Duration;

pub(crate) struct Random {
    state: u64,
}

/// Returns a fresh seed.
pub(crate) fn seed() -> u64 {
    let random = std::collections::hash_map::RandomState::new();
    std::hash::BuildHasher::hash_one(&random, 0) % 1_000_000
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1 }
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        (self.state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % limit
    }

    /// Returns a duration from zero up to `longest`.
    pub(crate) fn part_of(&mut self, longest: Duration) -> Duration {
        let micros = u64::try_from(longest.as_micros()).unwrap();
        Duration::from_micros(self.below(micros))
    }
}
