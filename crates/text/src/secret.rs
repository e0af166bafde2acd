//! Secrets: values that cannot be printed, serialised or compared.

use std::fmt;

use schemars::JsonSchema;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

/// A token or key. `Debug` and `Display` show `[secret]`; memory is wiped on drop.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(from = "String")]
#[schemars(with = "String", extend("x-secret" = true))]
pub struct Secret(SecretString);

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl Secret {
    /// Wraps a secret text.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text.into())
    }

    /// Returns the text. Only the code that sends the secret may call this.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// Compares the secret with a received value. Takes the same time for every wrong value of one
    /// length.
    #[must_use]
    pub fn equals(&self, value: &[u8]) -> bool {
        let secret = self.expose().as_bytes();
        let pairs = secret.iter().zip(value);
        let differences = pairs.fold(0, |found, (one, other)| found | (one ^ other));
        secret.len() == value.len() && std::hint::black_box(differences) == 0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_display_and_debug_hide_the_value() {
        let secret = Secret::new("sk-12345".to_owned());
        assert_eq!(format!("{secret} {secret:?}"), "[secret] [secret]");
        assert_eq!(secret.expose(), "sk-12345");
    }

    #[test]
    fn secret_is_only_the_same_bytes() {
        let secret = Secret::new("sk-12345".to_owned());
        assert!(secret.equals(b"sk-12345"));
        for other in ["", "s", "sk-12346", "tk-12345", "sk-1234", "sk-123456", "SK-12345"] {
            assert!(!secret.equals(other.as_bytes()), "{other}");
        }
    }
}
