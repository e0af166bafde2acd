//! Reads whole numbers that a server may have written as a text or as a fraction.

use serde_json::Value;

/// The largest fraction that stands for exactly one whole number: 2^53.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// Returns a whole number: `5`, `5.0` or `"5"`. `None` for everything else.
pub(crate) fn read_integer(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| {
            let fraction = number.as_f64()?;
            let is_whole = fraction.fract() == 0.0 && fraction.abs() <= LARGEST_EXACT;
            is_whole.then_some(fraction as i64)
        }),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn read_integer_accepts_texts_and_whole_fractions() {
        let table = [
            (json!(5), Some(5)),
            (json!(-5), Some(-5)),
            (json!(5.0), Some(5)),
            (json!(" 5 "), Some(5)),
            (json!(5.5), None),
            (json!(1e300), None),
            (json!(u64::MAX), None),
            (json!("five"), None),
            (json!(true), None),
            (json!(null), None),
        ];
        for (value, expected) in table {
            assert_eq!(read_integer(&value), expected, "{value}");
        }
    }
}
