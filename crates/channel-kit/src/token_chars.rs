//! The characters of bot tokens.

/// Returns `true` for a text of characters of Base64 in URLs, which tokens consist of.
#[must_use]
pub fn is_base64_url(text: &str) -> bool {
    let is_one = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    !text.is_empty() && text.bytes().all(is_one)
}
