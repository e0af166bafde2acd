//! What a model thought in a step of which not every call is kept.

use serde_json::Value;

use super::CALLED;

/// The parts of the thoughts without the calls at these places, and without what led to them alone: a
/// thought whose call is not behind it is refused, and the whole request with it.
pub(crate) fn without(parts: Vec<Value>, places: &[usize]) -> Vec<Value> {
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
