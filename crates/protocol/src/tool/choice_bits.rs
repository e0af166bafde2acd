//! The information in a choice, in bits.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;

/// The bits that a choice tells to those who see it. Kept in thousandths, rounded up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChoiceBits(u32);

impl ChoiceBits {
    /// No bits.
    pub const ZERO: Self = Self(0);

    /// Converts whole bits.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits.saturating_mul(1000))
    }

    /// The bits of one choice among `options`: the binary logarithm. Zero for one option or none.
    #[must_use]
    pub fn of_options(options: usize) -> Self {
        let options = f64::from(u32::try_from(options.max(1)).unwrap_or(u32::MAX));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the logarithm of 1 to 2^32 is 0 to 32"
        )]
        let thousandths = (options.log2() * 1000.0).ceil() as u32;
        Self(thousandths)
    }

    /// The bits that are left after `other` of them; zero if `other` is more.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Half of these bits, rounded down.
    #[must_use]
    pub const fn halved(self) -> Self {
        Self(self.0 / 2)
    }

    /// These bits `count` times.
    #[must_use]
    pub fn saturating_mul(self, count: usize) -> Self {
        Self(self.0.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX)))
    }
}

/// The bits that the choices of a turn have told, and the bits that they may tell without a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsedBits {
    /// The bits told so far, with those that were given to sub-agents.
    pub told: ChoiceBits,
    /// The budget of the turn.
    pub budget: ChoiceBits,
}

impl UsedBits {
    /// The budget of the next sub-agent: half of what is left.
    #[must_use]
    pub const fn share_of_child(self) -> ChoiceBits {
        self.budget.saturating_sub(self.told).halved()
    }
}

impl Add for ChoiceBits {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for ChoiceBits {
    fn sum<I: Iterator<Item = Self>>(bits: I) -> Self {
        bits.fold(Self::ZERO, Self::add)
    }
}

/// Shows one decimal place, rounded up, except of whole bits.
impl fmt::Display for ChoiceBits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = self.0.div_ceil(100);
        match tenths % 10 {
            0 => write!(f, "{}", tenths / 10),
            rest => write!(f, "{}.{rest}", tenths / 10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choice_bits_are_the_logarithm_of_the_options() {
        let table = [(0, "0"), (1, "0"), (2, "1"), (3, "1.6"), (16, "4"), (20, "4.4"), (26, "4.8")];
        for (options, expected) in table {
            assert_eq!(ChoiceBits::of_options(options).to_string(), expected, "{options}");
        }
        assert_eq!(ChoiceBits::of_options(20), ChoiceBits(4322));
        assert_eq!(ChoiceBits::of_options(usize::MAX).to_string(), "32");
    }

    #[test]
    fn choice_bits_add_up_without_overflow() {
        let (one, most) = (ChoiceBits::from_bits(1), ChoiceBits::from_bits(u32::MAX));
        assert_eq!([one, one].into_iter().sum::<ChoiceBits>(), one.saturating_mul(2));
        assert_eq!(most + one, most);
        assert_eq!(one.saturating_sub(most), ChoiceBits::ZERO);
    }

    #[test]
    fn share_of_child_is_half_of_what_is_left() {
        let budget = ChoiceBits::from_bits(24);
        let used = |told| UsedBits { told: ChoiceBits::from_bits(told), budget };
        assert_eq!(used(0).share_of_child(), ChoiceBits::from_bits(12));
        assert_eq!(used(18).share_of_child(), ChoiceBits::from_bits(3));
        assert_eq!(used(30).share_of_child(), ChoiceBits::ZERO);
    }
}
