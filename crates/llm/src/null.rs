//! What is null is not there: some servers write out every field.

use serde::{Deserialize, Deserializer};

/// For `#[serde(deserialize_with)]`: null is the default.
///
/// # Errors
/// What is neither null nor the type.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
