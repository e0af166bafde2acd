//! Reads a form with files (`multipart/form-data`, RFC 7578) while it arrives.
//!
//! `multer` finds the parts. The parameters of its headers are read here, because clients write them
//! in more ways than the RFC has: bare names, `filename*` (RFC 8187), and raw UTF-8.

use axum::http::HeaderMap;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderName};
use bytes::Bytes;
use futures_util::stream;
use multer::{Constraints, Field, Multipart, SizeLimit};

use crate::body_pieces::BodyPieces;
use crate::problem::Problem;

/// The media type of a form.
const FORM: &str = "multipart/form-data";
/// Characters of the longest boundary. The RFC permits 70.
const MAX_BOUNDARY: usize = 200;
/// Bytes of the longest text in a form.
const MAX_TEXT: usize = 64 * 1024;

/// A form that arrives.
pub(crate) struct UploadForm<'b> {
    parts: Multipart<'b>,
}

/// A part of a form.
pub(crate) struct UploadField<'b> {
    pub(crate) name: String,
    /// The name of a file; `None` for a text.
    pub(crate) file_name: Option<String>,
    pub(crate) media_type: Option<String>,
    field: Field<'b>,
}

/// A body that did not arrive.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.detail)]
struct BrokenBody(Problem);

/// Returns `true` if the body of a request is a form.
pub(crate) fn is_form(headers: &HeaderMap) -> bool {
    let value = header_text(headers, CONTENT_TYPE).unwrap_or_default();
    value.split(';').next().is_some_and(|media| media.trim().eq_ignore_ascii_case(FORM))
}

impl<'b> UploadForm<'b> {
    /// Begins to read a form of at most `limit` bytes.
    ///
    /// # Errors
    /// The header Content-Type has no boundary.
    pub(crate) fn from_pieces(
        headers: &HeaderMap,
        pieces: &'b mut BodyPieces,
        limit: u64,
    ) -> Result<Self, Problem> {
        let value = header_text(headers, CONTENT_TYPE).unwrap_or_default();
        let boundary = parameter(&value, "boundary")
            .filter(|found| !found.is_empty() && found.len() <= MAX_BOUNDARY);
        let boundary = boundary.ok_or_else(|| {
            Problem::bad_request(format!(
                "the header Content-Type has no `boundary` of 1 to {MAX_BOUNDARY} characters; most \
                 HTTP libraries add it by themselves if the header is left to them"
            ))
        })?;
        let pieces = stream::unfold(pieces, async |pieces| {
            // `multer` buffers all pieces that are ready, so each one comes alone.
            tokio::task::yield_now().await;
            let piece = pieces.next_piece().await.map_err(BrokenBody).transpose()?;
            Some((piece, pieces))
        });
        let sizes = SizeLimit::new().whole_stream(limit);
        let sizes = Constraints::new().size_limit(sizes);
        Ok(Self { parts: Multipart::with_constraints(pieces, boundary, sizes) })
    }

    /// Returns the next part; `None` at the end of the form. The part before has to be read to its
    /// end.
    ///
    /// # Errors
    /// The form is malformed, too large, or did not arrive.
    pub(crate) async fn next_field(&mut self) -> Result<Option<UploadField<'b>>, Problem> {
        let Some(field) = self.parts.next_field().await.map_err(problem)? else { return Ok(None) };
        let disposition = header_text(field.headers(), CONTENT_DISPOSITION).unwrap_or_default();
        let name = parameter(&disposition, "name").ok_or_else(|| {
            Problem::bad_request(format!(
                "a part of the form has no name in its header Content-Disposition: {disposition:?}"
            ))
        })?;
        let file_name = parameter(&disposition, "filename");
        let media_type = header_text(field.headers(), CONTENT_TYPE);
        Ok(Some(UploadField { name, file_name, media_type, field }))
    }
}

impl UploadField<'_> {
    /// Returns the next bytes; `None` at the end of the part.
    ///
    /// # Errors
    /// The form is malformed, too large, or did not arrive.
    pub(crate) async fn next_piece(&mut self) -> Result<Option<Bytes>, Problem> {
        self.field.chunk().await.map_err(problem)
    }

    /// Reads the whole part as text.
    ///
    /// # Errors
    /// It is too long or not UTF-8, or the errors of [`Self::next_piece`].
    pub(crate) async fn read_text(mut self) -> Result<String, Problem> {
        let mut bytes = Vec::new();
        while let Some(piece) = self.next_piece().await? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > MAX_TEXT {
                let name = &self.name;
                let detail = format!("`{name}` of the form is longer than {MAX_TEXT} bytes");
                return Err(Problem::too_large(detail));
            }
        }
        String::from_utf8(bytes)
            .map_err(|_| Problem::bad_request(format!("`{}` of the form is not UTF-8", self.name)))
    }
}

/// Returns the fault of a form in words.
fn problem(error: multer::Error) -> Problem {
    match error {
        multer::Error::StreamReadFailed(error) => match error.downcast::<BrokenBody>() {
            Ok(broken) => broken.0,
            Err(error) => Problem::bad_request(error.to_string()),
        },
        multer::Error::StreamSizeExceeded { limit } => {
            Problem::too_large(format!("the form is longer than {limit} bytes"))
        }
        multer::Error::IncompleteStream
        | multer::Error::IncompleteHeaders
        | multer::Error::IncompleteFieldData { .. } => Problem::bad_request(
            "the form is incomplete: its last boundary is missing, or the boundary is another one \
             than in the header Content-Type",
        ),
        error => Problem::bad_request(format!("the form cannot be read: {error}")),
    }
}

/// Returns the value of a header, in which other bytes than UTF-8 are replaced.
fn header_text(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// Returns a parameter of a header's value. The form with a charset (`filename*`) comes first.
fn parameter(value: &str, wanted: &str) -> Option<String> {
    let all = parameters(value);
    let find = |key: &str| all.iter().find(|(name, _)| name.eq_ignore_ascii_case(key));
    let extended = find(&format!("{wanted}*")).and_then(|(_, value)| decode_extended(value));
    extended.or_else(|| find(wanted).map(|(_, value)| value.clone()))
}

/// Returns the parameters behind the first semicolon of a header's value. A value is quoted or bare.
fn parameters(value: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = value.split_once(';').map_or("", |(_, rest)| rest);
    while let Some((key, after)) = rest.split_once('=') {
        // A word without a value is skipped.
        let key = key.rsplit(';').next().unwrap_or_default().trim().to_owned();
        let after = after.trim_start();
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => unquote(quoted),
            None => {
                let (value, next) = after.split_once(';').unwrap_or((after, ""));
                (value.trim().to_owned(), next)
            }
        };
        found.push((key, value));
        rest = next;
    }
    found
}

/// Returns a quoted text up to its closing quote, and the rest. A backslash has a meaning only before
/// a quote or a backslash, because old browsers send paths of Windows. Browsers write a quote as `%22`.
fn unquote(quoted: &str) -> (String, &str) {
    let mut text = String::new();
    let mut letters = quoted.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (text.replace("%22", "\""), &quoted[at + 1..]),
            '\\' => match letters.next_if(|(_, next)| matches!(next, '"' | '\\')) {
                Some((_, escaped)) => text.push(escaped),
                None => text.push('\\'),
            },
            letter => text.push(letter),
        }
    }
    (text, "")
}

/// Decodes `UTF-8''a%20b` (RFC 8187); `None` for another form.
fn decode_extended(value: &str) -> Option<String> {
    let mut parts = value.splitn(3, '\'');
    let (charset, _language, text) = (parts.next()?, parts.next()?, parts.next()?);
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    match charset {
        _ if charset.eq_ignore_ascii_case("UTF-8") => String::from_utf8(bytes).ok(),
        _ if charset.eq_ignore_ascii_case("ISO-8859-1") => {
            Some(bytes.into_iter().map(char::from).collect())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameter_is_read_in_all_forms_that_clients_write() {
        let table = [
            (r#"form-data; name="file"; filename="a b.pdf""#, "filename", Some("a b.pdf")),
            ("form-data; name=file; filename=a.pdf", "filename", Some("a.pdf")),
            ("form-data; filename = a.pdf ;name=file", "name", Some("file")),
            (r#"form-data; FileName="a;b=c.pdf"; name="x""#, "filename", Some("a;b=c.pdf")),
            (r#"form-data; name="x"; filename="a\"b.pdf""#, "filename", Some("a\"b.pdf")),
            (r#"form-data; name="x"; filename="a%22b.pdf""#, "filename", Some("a\"b.pdf")),
            (r#"form-data; filename="C:\dir\a.pdf""#, "filename", Some(r"C:\dir\a.pdf")),
            (r#"form-data; filename="日本.pdf""#, "filename", Some("日本.pdf")),
            (
                r#"form-data; filename="x"; filename*=UTF-8''%C3%BC%20.pdf"#,
                "filename",
                Some("ü .pdf"),
            ),
            ("form-data; filename*=iso-8859-1'en'%FC.pdf", "filename", Some("ü.pdf")),
            (r#"form-data; filename="x"; filename*=KOI8-R''%FC"#, "filename", Some("x")),
            (r#"form-data; filename="x"; filename*=UTF-8''%F"#, "filename", Some("x")),
            (r#"form-data; filename="open"#, "filename", Some("open")),
            ("form-data; loose; name=x", "name", Some("x")),
            ("form-data", "name", None),
            ("", "name", None),
            (r#"multipart/form-data; charset=x; boundary="a b:/?=""#, "boundary", Some("a b:/?=")),
            ("multipart/form-data;Boundary=----x=y", "boundary", Some("----x=y")),
        ];
        for (value, wanted, expected) in table {
            assert_eq!(parameter(value, wanted).as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn is_form_ignores_case_and_parameters() {
        for (value, expected) in [
            ("multipart/form-data; boundary=x", true),
            ("Multipart/Form-Data ;boundary=x", true),
            ("multipart/mixed; boundary=x", false),
            ("application/octet-stream", false),
        ] {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, value.parse().unwrap())]);
            assert_eq!(is_form(&headers), expected, "{value}");
        }
        assert!(!is_form(&HeaderMap::new()));
    }
}
