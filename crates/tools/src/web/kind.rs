//! Decides from type and content if a page is readable.

use serde::de::IgnoredAny;

/// The readable kinds of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageKind {
    Html,
    Json,
    Text,
}

/// The kind of a page by its `Content-Type`, or by its beginning if the type is missing. JSON that
/// is served as HTML counts as JSON.
///
/// # Errors
/// The media type, if it is unreadable.
pub(super) fn kind(content_type: Option<&str>, body: &[u8]) -> Result<PageKind, String> {
    let media_type = content_type.and_then(|it| it.split(';').next()).unwrap_or_default();
    let media_type = media_type.trim().to_ascii_lowercase();
    let (family, name) = media_type.split_once('/').unwrap_or_default();
    match (family, name) {
        ("text", "html") | ("application", "xhtml+xml") if is_json(body) => Ok(PageKind::Json),
        ("text", "html") | ("application", "xhtml+xml") => Ok(PageKind::Html),
        ("text" | "application", "json") => Ok(PageKind::Json),
        (_, name) if name.ends_with("+json") => Ok(PageKind::Json),
        ("text", _) | ("application", "xml") => Ok(PageKind::Text),
        ("image", _) => Err(media_type),
        (_, name) if name.ends_with("+xml") => Ok(PageKind::Text),
        ("", _) => guess_kind(body),
        _ => Err(media_type),
    }
}

fn guess_kind(body: &[u8]) -> Result<PageKind, String> {
    let is_wide = body.starts_with(b"\xff\xfe") || body.starts_with(b"\xfe\xff");
    match body.trim_ascii_start() {
        [] => Ok(PageKind::Text),
        _ if !is_wide && body.contains(&0) => Err("without a type, and not text".to_owned()),
        _ if is_json(body) => Ok(PageKind::Json),
        [b'<', ..] => Ok(PageKind::Html),
        _ => Ok(PageKind::Text),
    }
}

/// Returns `true` if a body is a JSON object or array.
fn is_json(body: &[u8]) -> bool {
    matches!(body.trim_ascii_start(), [b'{' | b'[', ..])
        && serde_json::from_slice::<IgnoredAny>(body).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_follows_the_content_type_or_the_body() {
        type Case<'r> = (Option<&'r str>, &'r [u8], Result<PageKind, &'r str>);
        let table: [Case<'_>; 17] = [
            (Some("text/html; charset=utf-8"), b"<p>", Ok(PageKind::Html)),
            (Some("TEXT/HTML"), b"{ no JSON", Ok(PageKind::Html)),
            (Some("text/html"), b" {\"a\": 1}", Ok(PageKind::Json)),
            (Some("application/xhtml+xml"), b"<p>", Ok(PageKind::Html)),
            (Some("application/json"), b"", Ok(PageKind::Json)),
            (Some("application/ld+json"), b"", Ok(PageKind::Json)),
            (Some("text/markdown"), b"# a", Ok(PageKind::Text)),
            (Some("text/plain"), b"{}", Ok(PageKind::Text)),
            (Some("application/rss+xml"), b"<rss>", Ok(PageKind::Text)),
            (Some("application/pdf"), b"%PDF", Err("application/pdf")),
            (Some("image/svg+xml"), b"<svg>", Err("image/svg+xml")),
            (Some("application/octet-stream"), b"abc", Err("application/octet-stream")),
            (Some("nonsense"), b"abc", Ok(PageKind::Text)),
            (None, b"\n<!doctype html>", Ok(PageKind::Html)),
            (None, b"[1]", Ok(PageKind::Json)),
            (None, b"\xff\xfeh\0i\0", Ok(PageKind::Text)),
            (None, b"\x7fELF\0", Err("without a type, and not text")),
        ];
        for (content_type, body, expected) in table {
            assert_eq!(
                kind(content_type, body),
                expected.map_err(str::to_owned),
                "{content_type:?}"
            );
        }
    }
}
