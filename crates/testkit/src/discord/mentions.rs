//! The mentions in a text, and their notifications.

use serde_json::Value;

/// A mention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mention {
    /// `@everyone` or `@here`.
    Everyone,
    /// `<@ID>`.
    User(u64),
    /// `<@&ID>`.
    Role(u64),
}

impl Mention {
    pub(super) fn user(&self) -> Option<u64> {
        match self {
            Self::User(id) => Some(*id),
            Self::Everyone | Self::Role(_) => None,
        }
    }
}

/// Returns all mentions in a text, without duplicates.
pub(super) fn mentions(text: &str) -> Vec<Mention> {
    let mut found = Vec::new();
    if text.contains("@everyone") || text.contains("@here") {
        found.push(Mention::Everyone);
    }
    for (start, _) in text.match_indices("<@") {
        let Some((inner, _)) = text[start + 2..].split_once('>') else { continue };
        let mention = match inner.strip_prefix('&') {
            Some(role) => role.parse().map(Mention::Role),
            None => inner.trim_start_matches('!').parse().map(Mention::User),
        };
        if let Ok(mention) = mention
            && !found.contains(&mention)
        {
            found.push(mention);
        }
    }
    found
}

/// Returns the mentions that cause a notification by `allowed_mentions` (Allowed Mentions Object,
/// API reference). Without it, all mentions do.
pub(super) fn told(mentions: Vec<Mention>, allowed: Option<&Value>) -> Vec<Mention> {
    let Some(allowed) = allowed else { return mentions };
    let has = |list: &str, value: &str| {
        let mut listed = allowed[list].as_array().into_iter().flatten();
        listed.any(|listed| listed == value)
    };
    let is_told = |mention: &Mention| match mention {
        Mention::Everyone => has("parse", "everyone"),
        Mention::User(id) => has("parse", "users") || has("users", &id.to_string()),
        Mention::Role(id) => has("parse", "roles") || has("roles", &id.to_string()),
    };
    mentions.into_iter().filter(is_told).collect()
}

#[cfg(test)]
#[path = "mentions_tests.rs"]
mod tests;
