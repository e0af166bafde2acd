//! The cost that a provider states with its answer.

use avocet_protocol::model::Money;

use crate::wire_json::WireJson;

/// Reads the cost in a usage, in dollars (OpenRouter documentation, "Usage accounting"; Perplexity
/// API reference). With a key of one's own at the provider behind it, OpenRouter states only its
/// fee, and the price of that provider apart.
pub(crate) fn read_cost(usage: &WireJson<'_>) -> Option<Money> {
    let cost = usage.get("cost");
    let fee = cost.read_amount().or_else(|| cost.get("total_cost").read_amount())?;
    let behind = usage.get("cost_details").get("upstream_inference_cost");
    let behind = behind.read_amount().filter(|_| usage.get("is_byok").is_true());
    Some(Money::dollars(fee + behind.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn read_cost_adds_the_price_of_a_provider_with_a_key_of_its_own() {
        let upstream = json!({ "upstream_inference_cost": 0.5 });
        let table = [
            (json!({ "cost": 0.25 }), Some(0.25)),
            (json!({ "cost": 0 }), Some(0.0)),
            (json!({ "cost": "0.5" }), Some(0.5)),
            (json!({ "cost": { "total_cost": 0.5, "request_cost": 0.1 } }), Some(0.5)),
            (json!({ "cost": 0.25, "is_byok": true, "cost_details": upstream }), Some(0.75)),
            (json!({ "cost": 0.25, "is_byok": false, "cost_details": upstream }), Some(0.25)),
            (json!({ "cost": -1 }), None),
            (json!({ "cost": null }), None),
            (json!({ "cost": "free" }), None),
            (json!({}), None),
        ];
        for (usage, expected) in table {
            let cost = read_cost(&usage.clone().into());
            assert_eq!(cost, expected.map(Money::dollars), "{usage}");
        }
    }
}
