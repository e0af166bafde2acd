//! The tables `[hooks.NAME]`, and their checked form.

use std::collections::BTreeMap;
use std::fmt;

use avocet_protocol::chat::SessionId;
use avocet_protocol::ids::SenderId;
use avocet_text::Secret;
use axum::http::HeaderName;
use hmac::{Hmac, KeyInit, Mac};
use schemars::JsonSchema;
use serde::Deserialize;
use sha2::Sha256;

use super::template::Template;
use crate::bad_key::BadHttpKey;
use crate::secret_bytes::decode_hexadecimal;

/// The fewest characters of a secret.
const SHORTEST_SECRET: usize = 16;

/// An incoming webhook: another server posts signed JSON to `/hooks/NAME` of the HTTP interface, and
/// a message made from it goes to a conversation. The text counts as untrusted.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HookConfig {
    /// The secret that the other server signs with (HMAC with SHA-256), with at least 16 characters.
    pub secret: Option<Secret>,
    /// The conversation that gets the messages, as `channel:account:chat`.
    pub session: String,
    /// The text of a message. `{{ field.path }}` stands for a value of the body; a number in the
    /// path selects an element of a list.
    pub text: String,
    /// The person in whose name the message is sent. Required for channels with a list of people.
    /// Default: `hook:NAME`, a user without the rights of an owner.
    pub person: Option<String>,
    /// The kinds of events that become messages, by the header `X-GitHub-Event`. Default: `[]`,
    /// which means all.
    pub events: Vec<String>,
    /// The header with the signature in hexadecimal digits; `sha256=` may stand before them.
    /// Default: `X-Hub-Signature-256`.
    pub signature: String,
    /// The header with the id of the delivery, by which repetitions are recognised. Without this
    /// header, every request is a new message. Default: `X-GitHub-Delivery`.
    pub delivery: String,
}

impl Default for HookConfig {
    fn default() -> Self {
        Self {
            secret: None,
            session: String::new(),
            text: String::new(),
            person: None,
            events: Vec::new(),
            signature: "X-Hub-Signature-256".to_owned(),
            delivery: "X-GitHub-Delivery".to_owned(),
        }
    }
}

/// A checked webhook.
#[derive(Clone)]
pub struct HookPlan {
    pub(super) name: String,
    mac: Hmac<Sha256>,
    pub(super) session: SessionId,
    pub(super) sender: SenderId,
    pub(super) text: Template,
    pub(super) events: Vec<String>,
    pub(super) signature: HeaderName,
    pub(super) delivery: HeaderName,
}

impl fmt::Debug for HookPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookPlan").field("name", &self.name).finish_non_exhaustive()
    }
}

impl HookPlan {
    /// Returns `true` if the signature is that of the body. The comparison takes the same time for
    /// every wrong signature.
    pub(super) fn is_signed(&self, body: &[u8], signature: &str) -> bool {
        let digits = signature.strip_prefix("sha256=").unwrap_or(signature);
        let Some(signature) = decode_hexadecimal(digits) else { return false };
        self.mac.clone().chain_update(body).verify_slice(&signature).is_ok()
    }

    fn from_config(name: &str, config: &HookConfig) -> Result<Self, BadHttpKey> {
        let wrong = |key: &str, message: String| BadHttpKey::new(format!("{name}.{key}"), message);
        let secret = config.secret.as_ref().map_or("", Secret::expose);
        if secret.len() < SHORTEST_SECRET {
            let message = format!(
                "a secret has at least {SHORTEST_SECRET} characters; `openssl rand -hex 32` makes \
                 one"
            );
            return Err(wrong("secret", message));
        }
        let mac = Hmac::new_from_slice(secret.as_bytes())
            .map_err(|error| wrong("secret", error.to_string()))?;
        let session = SessionId::parse(&config.session)
            .map_err(|error| wrong("session", error.to_string()))?;
        let default = || format!("hook:{name}");
        let sender = SenderId::parse(&config.person.clone().unwrap_or_else(default))
            .map_err(|error| wrong("person", error.to_string()))?;
        let text = Template::parse(&config.text).map_err(|error| wrong("text", error))?;
        let header = |key: &str, value: &str| {
            let parsed = HeaderName::try_from(value);
            parsed.map_err(|_| wrong(key, format!("{value:?} is not the name of a header")))
        };
        Ok(Self {
            name: name.to_owned(),
            mac,
            session,
            sender,
            text,
            events: config.events.clone(),
            signature: header("signature", &config.signature)?,
            delivery: header("delivery", &config.delivery)?,
        })
    }
}

/// Checks the tables of all webhooks.
///
/// # Errors
/// [`BadHttpKey`] names the first unusable key, with its table.
pub fn hook_plans(configs: &BTreeMap<String, HookConfig>) -> Result<Vec<HookPlan>, BadHttpKey> {
    configs.iter().map(|(name, config)| HookPlan::from_config(name, config)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> HookConfig {
        HookConfig {
            secret: Some(Secret::new("It's a Secret to Everybody".to_owned())),
            session: "terminal:local:me".to_owned(),
            text: "{{ action }}".to_owned(),
            ..HookConfig::default()
        }
    }

    #[test]
    fn is_signed_accepts_the_example_of_github() {
        let hook = HookPlan::from_config("github", &config()).unwrap();
        // GitHub's documentation, "Validating webhook deliveries", names this secret, body and value.
        let signature = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let body = b"Hello, World!";
        for signature in
            [signature.to_owned(), format!("sha256={signature}"), signature.to_uppercase()]
        {
            assert!(hook.is_signed(body, &signature), "{signature}");
        }
        let wrong = [
            "",
            "sha256=",
            "sha1=757107",
            "zz",
            "7",
            &signature[2..],
            &signature.replace('7', "8"),
            &format!("{signature}00"),
            &format!("sha256=sha256={signature}"),
        ];
        for signature in wrong {
            assert!(!hook.is_signed(body, signature), "{signature}");
        }
        assert!(!hook.is_signed(b"Hello, World?", signature));
    }

    #[test]
    fn hook_plans_error_names_the_key() {
        type Change = fn(&mut HookConfig);
        let table: [(Change, &str, &str); 7] = [
            (|hook| hook.secret = None, "github.secret", "at least 16"),
            (
                |hook| hook.secret = Some(Secret::new("short".to_owned())),
                "github.secret",
                "at least 16",
            ),
            (|hook| hook.session = "me".to_owned(), "github.session", "session id"),
            (|hook| hook.person = Some("a/b".to_owned()), "github.person", "not allowed in an id"),
            (|hook| hook.text = String::new(), "github.text", "is empty"),
            (|hook| hook.text = "{{ a".to_owned(), "github.text", "no closing }}"),
            (|hook| hook.signature = "a b".to_owned(), "github.signature", "name of a header"),
        ];
        for (change, key, says) in table {
            let mut hook = config();
            change(&mut hook);
            let error = hook_plans(&[("github".to_owned(), hook)].into()).unwrap_err();
            assert_eq!(error.key, key);
            assert!(error.message.contains(says), "{error}");
        }
    }
}
