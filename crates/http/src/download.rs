//! Files that leave as downloads, and their names.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::response::{IntoResponse, Response};

/// Characters of the longest name.
pub(crate) const MOST_NAME: usize = 200;
/// The media type of a file of an unknown or unsafe kind.
pub(crate) const BYTES: &str = "application/octet-stream";

/// Returns the name of a file without directories and control characters.
pub(crate) fn plain_file_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain: String = last.chars().filter(|c| !c.is_control()).take(MOST_NAME).collect();
    match plain.trim() {
        "" | "." | ".." => "file".to_owned(),
        plain => plain.to_owned(),
    }
}

/// Returns the bytes as a download, which no browser runs as a page.
pub(crate) fn answer_download(name: &str, media_type: Option<&str>, bytes: Vec<u8>) -> Response {
    let disposition = format!("attachment; filename*=UTF-8''{}", encoded(&plain_file_name(name)));
    let media_type = media_type.filter(|media| is_harmless(media));
    let headers = [
        (CONTENT_TYPE, media_type.unwrap_or(BYTES).to_owned()),
        (CONTENT_DISPOSITION, disposition),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox".to_owned()),
        (CACHE_CONTROL, "no-store".to_owned()),
    ];
    (headers, bytes).into_response()
}

/// Returns `true` for media types that cannot contain a script.
fn is_harmless(media_type: &str) -> bool {
    const SINGLE: [&str; 6] =
        ["application/pdf", "image/gif", "image/jpeg", "image/png", "image/webp", "text/plain"];
    let is_name =
        |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    SINGLE.contains(&media_type)
        || ["audio/", "video/"]
            .iter()
            .any(|kind| media_type.strip_prefix(kind).is_some_and(is_name))
}

/// Encodes a text for a parameter of a header (RFC 8187).
fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        byte if byte.is_ascii_alphanumeric() || b"-._".contains(&byte) => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_file_name_has_no_directories_and_no_control_characters() {
        for (name, expected) in [
            ("report.pdf", "report.pdf"),
            ("", "file"),
            ("..", "file"),
            ("../../etc/passwd", "passwd"),
            ("C:\\a\\b.txt", "b.txt"),
            ("a\r\nSet-Cookie: b", "aSet-Cookie: b"),
            ("日本.txt", "日本.txt"),
        ] {
            assert_eq!(plain_file_name(name), expected);
        }
        assert_eq!(plain_file_name(&"ü".repeat(300)).chars().count(), MOST_NAME);
    }

    #[test]
    fn encoded_text_is_a_value_of_a_header() {
        assert_eq!(encoded("a b\"ü.txt"), "a%20b%22%C3%BC.txt");
    }

    #[test]
    fn is_harmless_refuses_media_types_with_scripts() {
        for (media_type, expected) in [
            ("image/png", true),
            ("audio/ogg", true),
            ("video/mp4", true),
            ("image/svg+xml", false),
            ("text/html", false),
            ("text/plain; charset=x", false),
            ("audio/x\r\nb", false),
        ] {
            assert_eq!(is_harmless(media_type), expected, "{media_type}");
        }
    }
}
