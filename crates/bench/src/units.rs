//! Numbers for people, with units and few digits.

use std::time::Duration;

use avocet_protocol::model::thousands;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FigureUnit {
    Seconds,
    Milliseconds,
    Microseconds,
    Minutes,
    PerSecond,
    /// A plain number.
    Number,
    /// A ratio.
    Times,
    Bytes,
    /// 1,000 bytes.
    Kilobytes,
    /// 1,000,000 bytes.
    Megabytes,
    /// 1,000,000,000 bytes.
    Gigabytes,
    /// 1,048,576 bytes.
    Mebibytes,
    Percent,
}

impl FigureUnit {
    fn as_str(self) -> &'static str {
        match self {
            Self::Seconds => " s",
            Self::Milliseconds => " ms",
            Self::Microseconds => " us",
            Self::Minutes => " min",
            Self::PerSecond => "/s",
            Self::Number => "",
            Self::Times => " x",
            Self::Bytes => " B",
            Self::Kilobytes => " kB",
            Self::Megabytes => " MB",
            Self::Gigabytes => " GB",
            Self::Mebibytes => " MiB",
            Self::Percent => " %",
        }
    }

    /// Formats a figure with its unit, for example `1.23 ms`.
    pub(crate) fn show(self, value: f64) -> String {
        format!("{}{}", self.bare(value), self.as_str())
    }

    /// Formats the smallest and the largest of some figures, for example `1.20..1.31`.
    pub(crate) fn spread(self, min: f64, max: f64) -> String {
        format!("{}..{}", self.bare(min), self.bare(max))
    }

    /// Formats a goal, for example `0.8 ms`, with the digits that it needs.
    pub(crate) fn goal(self, value: f64) -> String {
        let number =
            if value < 1000.0 { value.to_string() } else { thousands(value.round() as u64) };
        format!("{number}{}", self.as_str())
    }

    fn bare(self, value: f64) -> String {
        match self {
            Self::Bytes | Self::PerSecond if value >= 10.0 => thousands(value.round() as u64),
            Self::Bytes => format!("{value:.0}"),
            Self::PerSecond => format!("{value:.1}"),
            Self::Number if value.fract() == 0.0 => thousands(value as u64),
            _ => number(value),
        }
    }
}

pub(crate) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Formats a number with three digits.
fn number(value: f64) -> String {
    match value {
        ..9.995 => format!("{value:.2}"),
        ..99.95 => format!("{value:.1}"),
        _ => thousands(value.round() as u64),
    }
}

/// Formats a number, for example `12,345`.
pub(crate) fn count(number: usize) -> String {
    thousands(number as u64)
}

/// Formats a number with its noun: `1 session`, `64 sessions`.
pub(crate) fn plural(number: usize, word: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {word}{s}", count(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_units_and_few_digits() {
        let cases = [
            (FigureUnit::Seconds.show(0.5234), "0.52 s"),
            (FigureUnit::Milliseconds.show(12.345), "12.3 ms"),
            (FigureUnit::Milliseconds.show(1234.5), "1,235 ms"),
            (FigureUnit::Times.show(9.999), "10.0 x"),
            (FigureUnit::PerSecond.show(0.0), "0.0/s"),
            (FigureUnit::PerSecond.show(1233.4), "1,233/s"),
            (FigureUnit::Bytes.show(3945.0), "3,945 B"),
            (FigureUnit::Number.spread(5.0, 6.0), "5..6"),
            (FigureUnit::Number.show(5.25), "5.25"),
            (FigureUnit::PerSecond.goal(2500.0), "2,500/s"),
            (FigureUnit::Mebibytes.goal(2.5), "2.5 MiB"),
            (plural(1, "session"), "1 session"),
            (plural(64, "session"), "64 sessions"),
        ];
        for (text, expected) in cases {
            assert_eq!(text, expected);
        }
    }
}
