//! Recognises pictures by their first bytes. A name or a declared type may be wrong: messengers and
//! mail programs send pictures as `application/octet-stream`, and people rename files.

use std::fmt;

use async_trait::async_trait;

/// Converts pictures into a format that models accept.
#[async_trait]
pub trait ConvertPicture: fmt::Debug + Send + Sync {
    /// Converts a picture, whose first bytes are of this format.
    ///
    /// # Errors
    /// The reason in words for the log.
    async fn convert_picture(
        &self,
        format: &PictureFormat,
        bytes: &[u8],
    ) -> Result<Vec<u8>, String>;
}

/// A format that the first bytes of a file tell.
#[derive(Debug, PartialEq, Eq)]
pub struct PictureFormat {
    /// The name for people: `HEIC`.
    pub name: &'static str,
    /// The media type (RFC 6838).
    pub media_type: &'static str,
    /// Usual endings of file names, the best one first.
    pub endings: &'static [&'static str],
    /// `true` if models accept the format.
    pub is_shown: bool,
}

const JPEG: PictureFormat = PictureFormat::shown("JPEG", "image/jpeg", &["jpg", "jpeg"]);
const PNG: PictureFormat = PictureFormat::shown("PNG", "image/png", &["png"]);
const GIF: PictureFormat = PictureFormat::shown("GIF", "image/gif", &["gif"]);
const WEBP: PictureFormat = PictureFormat::shown("WebP", "image/webp", &["webp"]);
const HEIC: PictureFormat = PictureFormat::unsupported("HEIC", "image/heic", &["heic", "heif"]);
const AVIF: PictureFormat = PictureFormat::unsupported("AVIF", "image/avif", &["avif"]);
const TIFF: PictureFormat =
    PictureFormat::unsupported("TIFF", "image/tiff", &["tif", "tiff", "dng"]);
const BMP: PictureFormat = PictureFormat::unsupported("BMP", "image/bmp", &["bmp", "dib"]);
const JPEG_XL: PictureFormat = PictureFormat::unsupported("JPEG XL", "image/jxl", &["jxl"]);

/// The formats that models do not accept.
static UNSUPPORTED: [PictureFormat; 5] = [HEIC, AVIF, TIFF, BMP, JPEG_XL];
static SHOWN: [PictureFormat; 4] = [JPEG, PNG, GIF, WEBP];

/// Bytes of a container's first box that are searched for brands.
const BRANDS: usize = 64;
/// Lengths of the header after the file header of a BMP.
const BMP_HEADERS: [u8; 7] = [12, 40, 52, 56, 64, 108, 124];

impl PictureFormat {
    const fn shown(
        name: &'static str,
        media_type: &'static str,
        endings: &'static [&'static str],
    ) -> Self {
        Self { name, media_type, endings, is_shown: true }
    }

    const fn unsupported(
        name: &'static str,
        media_type: &'static str,
        endings: &'static [&'static str],
    ) -> Self {
        Self { name, media_type, endings, is_shown: false }
    }

    /// Returns the format of a picture; `None` for other data.
    #[must_use]
    pub fn recognise(bytes: &[u8]) -> Option<&'static Self> {
        let wanted = match bytes {
            [0xFF, 0xD8, 0xFF, ..] => JPEG,
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => PNG,
            [b'G', b'I', b'F', b'8', ..] => GIF,
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => WEBP,
            [_, _, _, _, b'f', b't', b'y', b'p', brands @ ..] => of_brands(bytes[3], brands)?,
            [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..] => TIFF,
            [b'B', b'M', _, _, _, _, 0, 0, 0, 0, _, _, _, _, header, 0, 0, 0, ..]
                if BMP_HEADERS.contains(header) =>
            {
                BMP
            }
            [0xFF, 0x0A, ..] | [0, 0, 0, 12, b'J', b'X', b'L', b' ', ..] => JPEG_XL,
            _ => return None,
        };
        SHOWN.iter().chain(&UNSUPPORTED).find(|format| **format == wanted)
    }

    /// Returns the format with this media type, if models do not accept it.
    #[must_use]
    pub fn find_unsupported(media_type: &str) -> Option<&'static Self> {
        UNSUPPORTED.iter().find(|format| format.media_type.eq_ignore_ascii_case(media_type))
    }
}

/// Returns the format that the brands of a container name (ISO/IEC 14496-12, `ftyp`). `length` is
/// that of the first box. Videos have the same container.
fn of_brands(length: u8, brands: &[u8]) -> Option<PictureFormat> {
    let end = usize::from(length).saturating_sub(8).clamp(4, BRANDS).min(brands.len());
    let has = |names: &[&[u8; 4]]| {
        let mut brands = brands[..end].chunks_exact(4);
        brands.any(|brand| names.iter().any(|name| brand == *name))
    };
    let first = brands.get(..4)?;
    let is_picture = [b"mif1", b"msf1", b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx"]
        .iter()
        .any(|name| first == *name);
    match () {
        () if has(&[b"avif", b"avis"]) => Some(AVIF),
        () if is_picture => Some(HEIC),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognise_decides_by_the_first_bytes() {
        let bmp = [&b"BM\x1a\0\0\0\0\0\0\0\x1a\0\0\0\x28\0\0\0"[..], &[0; 8]].concat();
        let table: [(&[u8], Option<&str>); 21] = [
            (b"\xff\xd8\xff\xe0", Some("JPEG")),
            (b"\x89PNG\r\n\x1a\n", Some("PNG")),
            (b"GIF89a", Some("GIF")),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some("WebP")),
            (include_bytes!("../testdata/heic.bin"), Some("HEIC")),
            (include_bytes!("../testdata/avif.bin"), Some("AVIF")),
            (b"\0\0\0\x18ftypmif1\0\0\0\0mif1heic", Some("HEIC")),
            (b"\0\0\0\x1cftypmif1\0\0\0\0mif1avifmiaf", Some("AVIF")),
            (b"\0\0\0\x18ftypisom\0\0\x02\0isomiso2", None),
            (b"\0\0\0\x18ftypM4A \0\0\0\0", None),
            (b"\0\0\0\0ftyp", None),
            (b"II*\0\x08\0\0\0", Some("TIFF")),
            (b"MM\0*\0\0\0\x08", Some("TIFF")),
            (&bmp, Some("BMP")),
            (b"BMW is a maker of cars and bikes", None),
            (b"\xff\x0a", Some("JPEG XL")),
            (b"\0\0\0\x0cJXL \r\n\x87\n", Some("JPEG XL")),
            (b"RIFF\0\0\0\0WAVE", None),
            (b"%PDF-1.7", None),
            (b"just text", None),
            (b"", None),
        ];
        for (bytes, name) in table {
            let found = PictureFormat::recognise(bytes).map(|format| format.name);
            assert_eq!(found, name, "{}", String::from_utf8_lossy(bytes));
        }
        assert_eq!(PictureFormat::find_unsupported("image/HEIC"), Some(&HEIC));
        assert_eq!(PictureFormat::find_unsupported("image/png"), None);
    }
}
