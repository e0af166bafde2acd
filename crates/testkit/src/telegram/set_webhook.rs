//! A webhook that a bot has set.

use super::wire::{ApiError, MethodCall};

/// A webhook that is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SetWebhook {
    /// The part of the URL after `https://`, up to the path.
    pub(super) host: String,
    pub(super) path: String,
    pub(super) secret: String,
    pub(super) connections: i64,
    pub(super) last_error: Option<(i64, String)>,
}

impl SetWebhook {
    /// A webhook of another program.
    pub(super) fn foreign() -> Self {
        Self {
            host: FOREIGN.to_owned(),
            path: "/bot".to_owned(),
            secret: String::new(),
            connections: 40,
            last_error: None,
        }
    }

    /// Checks the parameters, as the platform does.
    pub(super) fn read(call: &MethodCall) -> Result<Self, ApiError> {
        let bad = |why: &str| Err(ApiError::bad_request(why));
        let Some(rest) = call.text("url").strip_prefix("https://") else {
            return bad("bad webhook: An HTTPS URL must be provided for webhook");
        };
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (name, port) = host.split_once(':').unwrap_or((host, "443"));
        if name.is_empty() || host.contains(['@', '?', '#', ' ']) || path.contains(['#', ' ']) {
            return bad("bad webhook: invalid webhook URL specified");
        }
        if !PORTS.contains(&port) {
            return bad("bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443");
        }
        if !name.contains('.') || name.starts_with("127.") {
            return bad("bad webhook: Failed to resolve host: Name or service not known");
        }
        let secret = call.text("secret_token");
        if secret.len() > 256 {
            return bad("secret token is too long");
        }
        if !secret.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)) {
            return bad("secret token contains unallowed characters");
        }
        Ok(Self {
            host: host.to_owned(),
            path: if path.is_empty() { "/".to_owned() } else { path.to_owned() },
            secret: secret.to_owned(),
            connections: call.int("max_connections").unwrap_or(40).clamp(1, 100),
            last_error: None,
        })
    }

    pub(super) fn url(&self) -> String {
        format!("https://{}{}", self.host, self.path)
    }

    /// The request that delivers an update.
    pub(super) fn request(&self, body: &[u8]) -> Vec<u8> {
        let Self { host, path, secret, .. } = self;
        let mut head = String::new();
        if !secret.is_empty() {
            head = format!("X-Telegram-Bot-Api-Secret-Token: {secret}\r\n");
        }
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\n{head}Content-Type: application/json\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        [head.as_bytes(), body].concat()
    }
}

/// The ports that a webhook may have (Bot API, `setWebhook`).
const PORTS: [&str; 4] = ["80", "88", "443", "8443"];

/// The host of another program's webhook.
pub(super) const FOREIGN: &str = "hooks.example.org";
