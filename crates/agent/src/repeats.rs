//! Stops a model that repeats the same call: it gets an explanation in place of the result.

use avocet_protocol::model::ToolCall;
use avocet_protocol::turn::{CallResult, ResultKind, Step};

/// The number of times a call is made although its result is the same.
const ALLOWED: usize = 2;

/// Returns the explanation if the call has been made [`ALLOWED`] times in this turn, each time with
/// the same result.
pub(crate) fn refuse_repeat(steps: &[Step], call: &ToolCall) -> Option<CallResult> {
    let results: Vec<&CallResult> = steps
        .iter()
        .flat_map(|step| &step.calls)
        .filter(|made| made.call == *call)
        .filter_map(|made| made.result())
        .collect();
    let latest = results.rchunks(ALLOWED).next().filter(|latest| latest.len() == ALLOWED)?;
    let same =
        latest.iter().all(|result| *result == latest[0] || result.kind == ResultKind::Repeated);
    same.then(|| CallResult::error(REFUSAL).with_kind(ResultKind::Repeated))
}

const REFUSAL: &str = "this call was made twice before in this turn, with the same result, so it \
    is not repeated. Use that result, call with other arguments, or answer the user.";

#[cfg(test)]
mod tests {
    use avocet_protocol::ids::{CallId, TurnId};
    use avocet_protocol::model::{Arguments, Usage};
    use avocet_protocol::turn::{AnswerEnding, CallState, LoggedCall};
    use serde_json::{Map, json};

    use super::*;

    fn call(name: &str) -> ToolCall {
        ToolCall { name: name.to_owned(), arguments: Arguments::Object(Map::new()) }
    }

    fn step(number: u32, name: &str, result: CallResult) -> Step {
        Step {
            number,
            text: String::new(),
            ending: AnswerEnding::Complete,
            trust: avocet_protocol::access::Trust::Full,
            usage: Usage::default(),
            calls: vec![LoggedCall {
                id: CallId { turn: TurnId(1), step: number, ordinal: 0 },
                call: call(name),
                state: CallState::Finished(result),
                allowed: None,
            }],
            written: None,
            reasoning: None,
            closed: true,
            steered: Vec::new(),
        }
    }

    #[test]
    fn refusal_is_given_for_a_third_identical_call_with_an_identical_result() {
        let same = || CallResult::ok(json!("same"));
        let other = || CallResult::ok(json!("other"));
        let refused = |results: Vec<CallResult>| {
            let steps: Vec<Step> = (0..).zip(results).map(|(n, r)| step(n, "look", r)).collect();
            refuse_repeat(&steps, &call("look")).is_some()
        };
        assert!(!refused(vec![]));
        assert!(!refused(vec![same()]));
        assert!(refused(vec![same(), same()]));
        assert!(!refused(vec![same(), other()]));
        assert!(!refused(vec![same(), same(), other()]), "something has changed meanwhile");
        let refusal = CallResult::error(REFUSAL).with_kind(ResultKind::Repeated);
        assert!(refused(vec![same(), same(), refusal]));
        let of_tool = CallResult::error(REFUSAL);
        assert!(!refused(vec![same(), same(), of_tool]), "a tool may give any text");
        let steps = [step(0, "look", same()), step(1, "look", same())];
        assert_eq!(refuse_repeat(&steps, &call("listen")), None);
    }
}
