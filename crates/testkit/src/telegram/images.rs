//! The checks of images that the platform makes before it shows one.

use super::wire::ApiError;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Returns the beginning of a PNG of this size, in pixels. The fake needs no more of an image.
#[must_use]
pub fn png(width: u32, height: u32) -> Vec<u8> {
    let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
    [PNG, b"\0\0\0\x0dIHDR", &size, b"\x08\x02\0\0\0"].concat()
}

/// Checks a photo: JPEG, PNG or WebP; width and height at most 10,000 pixels together; one side at
/// most 20 times the other (Bot API, `sendPhoto`).
pub(super) fn check(bytes: &[u8]) -> Result<(), ApiError> {
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    if is_webp || bytes.starts_with(b"\xff\xd8\xff") {
        return Ok(());
    }
    match png_size(bytes) {
        None => Err(ApiError::bad_request("IMAGE_PROCESS_FAILED")),
        Some((width, height)) if fits(width, height) => Ok(()),
        Some(_) => Err(ApiError::bad_request("PHOTO_INVALID_DIMENSIONS")),
    }
}

fn png_size(bytes: &[u8]) -> Option<(u64, u64)> {
    let header = bytes.strip_prefix(PNG)?;
    let number = |from: usize| {
        let bytes = header.get(from..from + 4)?;
        bytes.try_into().ok().map(|bytes| u64::from(u32::from_be_bytes(bytes)))
    };
    Some((number(8)?, number(12)?))
}

fn fits(width: u64, height: u64) -> bool {
    let (short, long) = (width.min(height), width.max(height));
    short > 0 && width + height <= 10_000 && long <= 20 * short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_refuses_invalid_photos() {
        let cases: [(&[u8], Option<&str>); 10] = [
            (&png(1, 1), None),
            (&png(5000, 5000), None),
            (&png(20, 1), None),
            (b"\xff\xd8\xff\xe0", None),
            (b"RIFF\0\0\0\0WEBPVP8 ", None),
            (&png(5000, 5001), Some("Bad Request: PHOTO_INVALID_DIMENSIONS")),
            (&png(1, 21), Some("Bad Request: PHOTO_INVALID_DIMENSIONS")),
            (&png(0, 1), Some("Bad Request: PHOTO_INVALID_DIMENSIONS")),
            (PNG, Some("Bad Request: IMAGE_PROCESS_FAILED")),
            (b"plain text", Some("Bad Request: IMAGE_PROCESS_FAILED")),
        ];
        for (bytes, refusal) in cases {
            let found = check(bytes).map_err(|error| error.description);
            assert_eq!(found.err().as_deref(), refusal, "{bytes:?}");
        }
    }
}
