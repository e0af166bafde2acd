//! Decodes a page by its byte order mark, the server's header, the page's declaration, or a guess.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// The first bytes, in which a page must declare its encoding (HTML standard, 13.2.3.2).
const PRESCAN: usize = 1024;

/// Decodes a page; invalid bytes become U+FFFD. A byte order mark overrides the server's header
/// (Encoding standard, 6).
pub(crate) fn decode_page(body: &[u8], content_type: Option<&str>) -> String {
    let declared = || content_type.and_then(of_header).or_else(|| of_page(body));
    let encoding = match Encoding::for_bom(body) {
        Some((encoding, _)) => encoding,
        None => declared().unwrap_or_else(|| guess_encoding(body)),
    };
    encoding.decode(body).0.into_owned()
}

/// The `charset` of a `Content-Type`.
fn of_header(content_type: &str) -> Option<&'static Encoding> {
    let mut parameters = content_type.split(';').skip(1).filter_map(|one| one.split_once('='));
    let (_, label) = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Encoding::for_label(label.trim().trim_matches(['"', '\'']).as_bytes())
}

/// The encoding that `<meta>` or the XML declaration names.
fn of_page(body: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(&body[..body.len().min(PRESCAN)]).to_ascii_lowercase();
    let xml = start.strip_prefix("<?xml").and_then(|rest| rest.split('>').next());
    let tags = start.split("<meta").skip(1).filter_map(|rest| rest.split('>').next());
    let mut labels = xml
        .into_iter()
        .filter_map(|tag| value_after_key(tag, "encoding"))
        .chain(tags.filter_map(|tag| value_after_key(tag, "charset")));
    let encoding = labels.find_map(|label| Encoding::for_label(label.as_bytes()))?;
    // The declaration was readable as ASCII, so UTF-16 must be wrong.
    Some(if [UTF_16LE, UTF_16BE].contains(&encoding) { UTF_8 } else { encoding })
}

/// The value after `key=` in a tag.
fn value_after_key<'t>(tag: &'t str, key: &str) -> Option<&'t str> {
    let (_, rest) = tag.split_once(key)?;
    let value = rest.trim_start().strip_prefix('=')?.trim_start();
    let value = value.trim_start_matches(['"', '\'']);
    value.split(|c: char| c.is_whitespace() || "\"';/?".contains(c)).next()
}

fn guess_encoding(body: &[u8]) -> &'static Encoding {
    if std::str::from_utf8(body).is_ok() {
        return UTF_8;
    }
    // Browsers avoid these two guesses because pages run scripts; here none run.
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(body, true);
    detector.guess(None, Utf8Detection::Allow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decode_finds_a_declared_or_guessed_encoding() {
        let japanese = encoding_rs::SHIFT_JIS.encode("これは日本語の文章です。漢字とかな。").0;
        let table: [(&str, Option<&str>, &[u8], &str); 12] = [
            ("header", Some("text/html; Charset=\"windows-1252\""), b"caf\xe9", "café"),
            ("header, unknown", Some("text/html; charset=klingon"), "é".as_bytes(), "é"),
            ("mark before header", Some("text/html; charset=latin1"), b"\xef\xbb\xbf\xc3\xa9", "é"),
            ("UTF-16", None, b"\xff\xfeh\0i\0", "hi"),
            ("UTF-16, big", Some("text/plain"), b"\xfe\xff\0h\0i", "hi"),
            ("meta", None, b"<meta charset=iso-8859-1>\xe9", "<meta charset=iso-8859-1>é"),
            (
                "meta, as a header",
                None,
                b"<meta content='text/html; charset=koi8-r'>\xc1",
                "<meta content='text/html; charset=koi8-r'>а",
            ),
            ("meta lies", None, b"<meta charset=utf-16>\xc3\xa9", "<meta charset=utf-16>é"),
            (
                "XML",
                Some("text/xml"),
                b"<?xml version=\"1.0\" encoding=\"iso-8859-5\"?>\xb0",
                "<?xml version=\"1.0\" encoding=\"iso-8859-5\"?>А",
            ),
            ("guess, UTF-8", None, "naïve".as_bytes(), "naïve"),
            ("guess", None, &japanese, "これは日本語の文章です。漢字とかな。"),
            ("broken", Some("text/html; charset=utf-8"), b"a\xffb", "a\u{fffd}b"),
        ];
        for (about, content_type, body, text) in table {
            assert_eq!(decode_page(body, content_type), text, "{about}");
        }
    }
}
