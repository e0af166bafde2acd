//! Removes the reasoning for calls that were removed from a step.

use serde_json::Value;

use super::CALLED;

/// Removes the calls at these indexes, and the reasoning items that led only to them. The API
/// refuses a request with reasoning that lacks its call.
pub(crate) fn without_calls(parts: Vec<Value>, places: &[usize]) -> Vec<Value> {
    let (mut kept, mut thoughts) = (Vec::new(), Vec::new());
    let (mut calls, mut is_over) = (0.., false);
    for part in parts {
        if part.is_object() {
            if std::mem::take(&mut is_over) {
                thoughts.clear();
            }
            thoughts.push(part);
            continue;
        }
        is_over = true;
        let call = if part == CALLED { calls.next() } else { None };
        if call.is_none_or(|place| !places.contains(&place)) {
            kept.append(&mut thoughts);
            kept.push(part);
        }
    }
    if !is_over {
        kept.append(&mut thoughts);
    }
    kept
}
