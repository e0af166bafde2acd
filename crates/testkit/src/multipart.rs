//! Parses bodies of the type `multipart/form-data` (RFC 7578): fields and files.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// An uploaded file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// The file name from the client.
    pub name: String,
    /// The content of the file.
    pub bytes: Vec<u8>,
}

/// Returns the boundary of a form. `None` for other media types.
pub(crate) fn boundary(media_type: &str) -> Option<&str> {
    let parameters = media_type.strip_prefix("multipart/form-data")?;
    let (_, boundary) = parameters.split_once("boundary=")?;
    Some(boundary.split(';').next()?.trim().trim_matches('"'))
}

/// Returns fields and files by their names. `None` if the form is malformed.
pub(crate) fn read(
    body: &[u8],
    boundary: &str,
) -> Option<(Map<String, Value>, BTreeMap<String, Upload>)> {
    let (mut fields, mut files) = (Map::new(), BTreeMap::new());
    let between = format!("\r\n--{boundary}");
    let mut rest = body.strip_prefix(&between.as_bytes()[2..])?;
    while let Some(part) = rest.strip_prefix(b"\r\n") {
        let end = find(part, between.as_bytes())?;
        let (content, after) = part.split_at(end);
        rest = &after[between.len()..];
        let headers_end = find(content, b"\r\n\r\n")?;
        let headers = str::from_utf8(&content[..headers_end]).ok()?;
        let bytes = &content[headers_end + 4..];
        let name = parameter(headers, "name")?;
        match parameter(headers, "filename") {
            Some(file) => {
                files.insert(name, Upload { name: file, bytes: bytes.to_vec() });
            }
            None => {
                fields.insert(name, str::from_utf8(bytes).ok()?.into());
            }
        }
    }
    rest.starts_with(b"--").then_some((fields, files))
}

/// Returns a parameter such as `name` in `form-data; name="document"; filename="a.txt"`. Also
/// decodes the form for special characters: `filename*=utf-8''%C3%A4.txt` (RFC 5987).
fn parameter(headers: &str, name: &str) -> Option<String> {
    let is_it = |line: &&str| line.to_ascii_lowercase().starts_with("content-disposition:");
    let line = headers.lines().find(is_it)?;
    if let Some((_, rest)) = line.split_once(&format!("; {name}=\"")) {
        return Some(rest.split('"').next()?.to_owned());
    }
    let (_, rest) = line.split_once(&format!("; {name}*=utf-8''"))?;
    Some(percent_decoded(rest.split(';').next()?))
}

/// Decodes `%2F` and the like (RFC 3986, 2.1). Malformed parts stay unchanged.
pub(crate) fn percent_decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((byte, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(decoded) if *byte == b'%' => {
                bytes.push(decoded);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    let first = |from: usize| bytes[from..].iter().position(|byte| *byte == what[0]);
    let mut from = 0;
    loop {
        from += first(from)?;
        if bytes[from..].starts_with(what) {
            return Some(from);
        }
        from += 1;
    }
}
