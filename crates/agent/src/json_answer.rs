//! Checks an answer in JSON against the schema that a program or a caller has given.

use jsonschema::Validator;
use serde_json::Value;

/// Most faults of an answer that the model and the caller are told.
const FAULTS: usize = 5;

/// A schema that answers have to match.
#[derive(Debug)]
pub struct AnswerValidator(Validator);

impl AnswerValidator {
    /// Reads a JSON Schema.
    ///
    /// # Errors
    /// The place and the words of the first fault.
    pub fn new(schema: &Value) -> Result<Self, String> {
        let fault = |place: String, error: String| {
            let place = if place.is_empty() { "the whole".to_owned() } else { place };
            format!("{place}: {error}")
        };
        if !schema.is_object() && !schema.is_boolean() {
            return Err(fault(String::new(), "it is not an object".to_owned()));
        }
        let built = jsonschema::options().build(schema);
        built.map(Self).map_err(|error| fault(error.instance_path().to_string(), error.to_string()))
    }

    /// Parses an answer, with or without a code fence around it.
    ///
    /// # Errors
    /// The faults of an answer that does not match: at most five, in words for the model.
    pub fn check_answer(&self, text: &str) -> Result<Value, Vec<String>> {
        let answer: Value = serde_json::from_str(without_fence(text))
            .map_err(|error| vec![format!("it is not JSON ({error})")])?;
        let faults: Vec<String> = self
            .0
            .iter_errors(&answer)
            .take(FAULTS)
            .map(|error| match error.instance_path().to_string() {
                place if place.is_empty() => error.to_string(),
                place => format!("at {place}: {error}"),
            })
            .collect();
        if faults.is_empty() { Ok(answer) } else { Err(faults) }
    }
}

/// Returns the request for a corrected answer.
#[must_use]
pub fn ask_for_correction(faults: &[String]) -> String {
    format!(
        "This is not valid by the schema: {}. Write the whole JSON again, corrected.",
        faults.join("; ")
    )
}

/// Returns the content of a code fence around the whole text; another text unchanged.
fn without_fence(text: &str) -> &str {
    let text = text.trim();
    let inside = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    match inside.and_then(|inside| inside.split_once('\n')) {
        Some((_, inside)) => inside.trim(),
        None => text,
    }
}
