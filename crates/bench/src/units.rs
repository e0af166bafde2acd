//! Numbers for people, with units and few digits.

use avocet_protocol::thousands;

/// Formats microseconds, for example `1.23 ms`.
pub(crate) fn span(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} us"),
        1_000..10_000 => format!("{:.2} ms", micros as f64 / 1e3),
        10_000..100_000 => format!("{:.1} ms", micros as f64 / 1e3),
        100_000..1_000_000 => format!("{:.0} ms", micros as f64 / 1e3),
        _ => format!("{:.2} s", micros as f64 / 1e6),
    }
}

/// Formats a size, for example `1.5 KiB`.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["B", "KiB", "MiB", "GiB"];
    let (mut size, mut unit) = (bytes as f64, 0);
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    let digits = usize::from(unit > 0);
    format!("{size:.digits$} {}", UNITS[unit])
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

/// Formats a rate, for example `1,234`. Below 10, it has one decimal place.
pub(crate) fn per_second(rate: f64) -> String {
    if rate < 10.0 { format!("{rate:.1}") } else { thousands(rate.round() as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units_and_few_digits() {
        let cases = [
            (span(0), "0 us"),
            (span(999), "999 us"),
            (span(1_234), "1.23 ms"),
            (span(12_345), "12.3 ms"),
            (span(123_456), "123 ms"),
            (span(1_234_567), "1.23 s"),
            (bytes(1023), "1023 B"),
            (bytes(1536), "1.5 KiB"),
            (bytes(3 * 1024 * 1024), "3.0 MiB"),
            (plural(1, "session"), "1 session"),
            (plural(64, "session"), "64 sessions"),
            (per_second(7.25), "7.2"),
            (per_second(1234.5), "1,235"),
        ];
        for (text, expected) in cases {
            assert_eq!(text, expected);
        }
    }
}
