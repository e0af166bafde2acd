//! Detects the type of an image by its first bytes.

/// Returns the media type of an image that models accept, `None` for other data.
pub(crate) fn media_type_of(bytes: &[u8]) -> Option<&'static str> {
    let is = |magic: &[u8]| bytes.starts_with(magic);
    match () {
        () if is(b"\xFF\xD8\xFF") => Some("image/jpeg"),
        () if is(b"\x89PNG\r\n\x1A\n") => Some("image/png"),
        () if is(b"GIF8") => Some("image/gif"),
        () if is(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") => Some("image/webp"),
        () => None,
    }
}
