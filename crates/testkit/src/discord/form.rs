//! Collects the errors of a form field by field, nested like the platform nests them.

use serde_json::{Map, Value, json};

use super::error::ApiError;

/// All errors of a form.
#[derive(Debug, Default)]
pub(super) struct FormErrors(Map<String, Value>);

impl FormErrors {
    /// Adds an error of the field at this path, for example `components.0.custom_id`.
    pub(super) fn add(&mut self, path: &str, code: &str, message: &str) {
        let mut place = &mut self.0;
        for step in path.split('.') {
            let inner = place.entry(step).or_insert_with(|| json!({}));
            place = inner.as_object_mut().unwrap();
        }
        let errors = place.entry("_errors").or_insert_with(|| json!([]));
        errors.as_array_mut().unwrap().push(json!({ "code": code, "message": message }));
    }

    pub(super) fn required(&mut self, path: &str) {
        self.add(path, "BASE_TYPE_REQUIRED", "This field is required");
    }

    /// Checks that there are at most `limit` characters or elements.
    pub(super) fn at_most(&mut self, path: &str, length: usize, limit: usize) {
        if length > limit {
            let why = format!("Must be {limit} or fewer in length.");
            self.add(path, "BASE_TYPE_MAX_LENGTH", &why);
        }
    }

    /// Checks that there are between 1 and `limit` characters or elements.
    pub(super) fn one_to(&mut self, path: &str, length: usize, limit: usize) {
        if length == 0 || length > limit {
            let why = format!("Must be between 1 and {limit} in length.");
            self.add(path, "BASE_TYPE_BAD_LENGTH", &why);
        }
    }

    /// Checks that a number is one of `choices`.
    pub(super) fn one_of(&mut self, path: &str, number: u64, choices: &[u64]) {
        if !choices.contains(&number) {
            let choices: Vec<String> = choices.iter().map(u64::to_string).collect();
            let why = format!("Value must be one of {{{}}}.", choices.join(", "));
            self.add(path, "BASE_TYPE_CHOICES", &why);
        }
    }

    /// Returns the refusal if there are errors.
    pub(super) fn finish(self) -> Result<(), ApiError> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(ApiError::invalid_form(Value::Object(self.0)))
    }
}

/// Returns the number of characters. The platform counts code points.
pub(super) fn length(text: &str) -> usize {
    text.chars().count()
}
