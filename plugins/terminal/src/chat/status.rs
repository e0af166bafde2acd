//! The status line at the bottom: the model, its tokens and their cost.

use avocet_protocol::store::Total;

/// Returns the line. Unknown parts are left out.
pub(super) fn status_line(model: &str, used: Option<&Total>) -> String {
    let mut parts = vec![model.to_owned()];
    if let Some(used) = used.filter(|used| used.usage.total() > 0) {
        parts.push(format!("{} tokens", short_number(used.usage.total())));
        if used.cost.0 > 0 {
            parts.push(used.cost.to_string());
        }
    }
    parts.join(" · ")
}

/// Writes a number with at most four characters: `950`, `1.2k`, `34k`, `5.6M`.
fn short_number(number: u64) -> String {
    let (unit, sign) = match number {
        0..1_000 => return number.to_string(),
        1_000..1_000_000 => (1_000, 'k'),
        _ => (1_000_000, 'M'),
    };
    let (whole, tenth) = (number / unit, number % unit * 10 / unit);
    if whole < 10 { format!("{whole}.{tenth}{sign}") } else { format!("{whole}{sign}") }
}

#[cfg(test)]
mod tests {
    use avocet_protocol::model::{Money, Usage};

    use super::*;

    #[test]
    fn line_leaves_unknown_parts_out() {
        let used =
            |tokens, cost| Total { usage: Usage::new(tokens, 0), cost: Money(cost), unpriced: 0 };
        let table = [
            (None, "a/b"),
            (Some(used(0, 0)), "a/b"),
            (Some(used(999, 0)), "a/b · 999 tokens"),
            (Some(used(1_234, 50_000_000)), "a/b · 1.2k tokens · $0.050"),
            (Some(used(34_567, 0)), "a/b · 34k tokens"),
            (Some(used(5_600_000, 2_000_000_000)), "a/b · 5.6M tokens · $2.00"),
        ];
        for (used, expected) in table {
            assert_eq!(status_line("a/b", used.as_ref()), expected);
        }
    }
}
