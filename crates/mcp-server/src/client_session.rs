//! The session of a client.

use avocet_protocol::chat::SessionId;
use avocet_protocol::ids::IdError;

/// The most characters of a client's name in its session.
const MOST_CHARS: usize = 40;

/// Returns the session of a client by the name that it gives itself: `terminal:local:mcp-NAME`.
/// Characters other than ASCII letters, digits, `_` and `-` become `-`.
///
/// # Errors
/// [`IdError`] if the name cannot be a part of a session id.
pub fn client_session(name: &str) -> Result<SessionId, IdError> {
    let safe = name.trim().chars().take(MOST_CHARS).map(|c| match c.to_ascii_lowercase() {
        c if c.is_ascii_alphanumeric() || "_-".contains(c) => c,
        _ => '-',
    });
    let safe: String = safe.collect();
    let safe = if safe.is_empty() { "client" } else { safe.as_str() };
    SessionId::parse(&format!("terminal:local:mcp-{safe}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_session_keeps_safe_characters_of_the_name() {
        let table = [
            ("claude-ai", "terminal:local:mcp-claude-ai"),
            ("Visual Studio Code", "terminal:local:mcp-visual-studio-code"),
            ("a/../b:c\0", "terminal:local:mcp-a----b-c-"),
            ("", "terminal:local:mcp-client"),
            ("é", "terminal:local:mcp--"),
        ];
        for (name, session) in table {
            assert_eq!(client_session(name).unwrap().as_str(), session, "{name:?}");
        }
        assert!(client_session(&"x".repeat(1000)).unwrap().as_str().len() < 80);
    }
}
