//! Reads null as an absent value, because some servers write out every field.

use serde::{Deserialize, Deserializer};

/// For `#[serde(deserialize_with)]`: reads null as the default.
///
/// # Errors
/// The error of `T` for all other invalid values.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
