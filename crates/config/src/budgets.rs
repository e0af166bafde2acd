//! Limits on the cost of models. A limit is a number, or "none".

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Limits on the cost of models, including jobs and sub-agents. They are checked before every
/// request against the cost so far, so the last answer may exceed them. `"none"` means unlimited;
/// with 0, all requests to models are refused. A model without a known price counts towards limits
/// in tokens only; `unpriced_day_tokens` is for such models alone.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BudgetsConfig {
    /// Maximum cost of one turn, in US dollars. Default: 5.0.
    #[serde(deserialize_with = "dollars")]
    pub turn_usd: Option<f64>,
    /// Maximum cost of all conversations in one day, in US dollars. A day begins at 00:00 UTC.
    /// Default: 50.0.
    #[serde(deserialize_with = "dollars")]
    pub day_usd: Option<f64>,
    /// Maximum cost of one conversation until its next `/new`, in US dollars. Default: `"none"`.
    #[serde(deserialize_with = "dollars")]
    pub session_usd: Option<f64>,
    /// Maximum tokens of all conversations in one day, input and output together. Default:
    /// `"none"`.
    #[serde(deserialize_with = "tokens")]
    pub day_tokens: Option<u64>,
    /// Maximum tokens of one conversation until its next `/new`, input and output together.
    /// Default: `"none"`.
    #[serde(deserialize_with = "tokens")]
    pub session_tokens: Option<u64>,
    /// Maximum tokens in one day of all models whose price is unknown, input and output together.
    /// The limits in dollars do not count such models. It holds for requests to them; set the price
    /// of a free model to 0 in `[models]`. Default: 20,000,000.
    #[serde(deserialize_with = "tokens")]
    pub unpriced_day_tokens: Option<u64>,
}

impl BudgetsConfig {
    /// The keys whose limits are in dollars.
    pub const IN_DOLLARS: [&str; 3] =
        ["budgets.turn_usd", "budgets.day_usd", "budgets.session_usd"];
}

impl Default for BudgetsConfig {
    fn default() -> Self {
        Self {
            turn_usd: Some(5.0),
            day_usd: Some(50.0),
            session_usd: None,
            day_tokens: None,
            session_tokens: None,
            unpriced_day_tokens: Some(20_000_000),
        }
    }
}

fn dollars<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let number = |value: &Value| value.as_f64().filter(|dollars| *dollars >= 0.0);
    read_limit(deserializer, "an amount of US dollars", number)
}

fn tokens<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    read_limit(deserializer, "a whole number of tokens", Value::as_u64)
}

fn read_limit<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    what: &str,
    number: impl Fn(&Value) -> Option<T>,
) -> Result<Option<T>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    if value == "none" {
        return Ok(None);
    }
    let refuse = || D::Error::custom(format!("{value} is not {what}, 0 or more, or \"none\""));
    number(&value).map(Some).ok_or_else(refuse)
}

#[cfg(test)]
mod tests {
    use crate::ConfigDocument;

    use super::*;

    fn read(text: &str) -> Result<BudgetsConfig, String> {
        let document =
            ConfigDocument::parse(text.to_owned(), None, &|_| None).map_err(|e| e.to_string());
        document?.table("budgets").map_err(|error| error.to_string())
    }

    #[test]
    fn budgets_read_a_number_or_none() {
        let found =
            read("[budgets]\nturn_usd = 1\nday_usd = \"none\"\nday_tokens = 1_000\n").unwrap();
        assert_eq!((found.turn_usd, found.day_usd), (Some(1.0), None));
        assert_eq!((found.session_usd, found.day_tokens), (None, Some(1000)));
        assert_eq!(read("[budgets]\nday_usd = 0\n").unwrap().day_usd, Some(0.0));
        assert_eq!(read("").unwrap().day_usd, Some(50.0));
    }

    #[test]
    fn budgets_refuse_an_invalid_value_with_its_key() {
        let table = [
            ("day_usd = -1", "-1 is not an amount of US dollars, 0 or more, or \"none\""),
            ("day_usd = nan", "null is not an amount of US dollars, 0 or more, or \"none\""),
            (
                "session_usd = \"$5\"",
                "\"$5\" is not an amount of US dollars, 0 or more, or \"none\"",
            ),
            ("day_tokens = 1.5", "1.5 is not a whole number of tokens, 0 or more, or \"none\""),
            ("session_tokens = -1", "-1 is not a whole number of tokens, 0 or more, or \"none\""),
        ];
        for (line, expected) in table {
            let error = read(&format!("[budgets]\n{line}\n")).unwrap_err();
            let key = line.split(' ').next().unwrap();
            assert!(error.ends_with(&format!("`budgets.{key}`: {expected}")), "{line}: {error}");
        }
    }
}
