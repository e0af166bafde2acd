//! The corpus of pages, each fetched over the wire by the tool.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use avocet_testkit::http::whole_bytes;
use encoding_rs::{Encoding, UTF_16LE};
use pulldown_cmark::{Event, Options, Parser, Tag};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::web_fetch::Site;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    file: Option<String>,
    repeat: Option<(String, usize)>,
    encoding: Option<String>,
    #[serde(rename = "type")]
    content_type: String,
    format: Option<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/pages")
}

impl Case {
    fn body(&self) -> Vec<u8> {
        let bytes = match (&self.file, &self.repeat) {
            (Some(file), None) => std::fs::read(folder().join(file)).unwrap(),
            (None, Some((text, times))) => text.repeat(*times).into_bytes(),
            _ => panic!("a file, or something repeated: {self:?}"),
        };
        let Some(encoding) = &self.encoding else { return bytes };
        let text = String::from_utf8(bytes).unwrap();
        let encoding = Encoding::for_label(encoding.as_bytes()).unwrap();
        if encoding == UTF_16LE {
            return text.encode_utf16().fold(vec![0xff, 0xfe], |mut bytes, unit| {
                bytes.extend(unit.to_le_bytes());
                bytes
            });
        }
        let (bytes, _, has_unmappable) = encoding.encode(&text);
        assert!(!has_unmappable, "{text}");
        bytes.into_owned()
    }
}

#[tokio::test]
async fn web_fetch_renders_every_page_of_the_corpus() {
    let cases = std::fs::read_to_string(folder().join("cases.toml")).unwrap();
    let cases: BTreeMap<String, Case> = toml::from_str(&cases).unwrap();
    assert!(cases.len() >= 40, "{}", cases.len());
    let pages: BTreeMap<String, (String, Vec<u8>)> = cases
        .iter()
        .map(|(name, case)| (format!("/{name}"), (case.content_type.clone(), case.body())))
        .collect();
    let site = Site::new(move |request| {
        let (content_type, body) = &pages[&request.path];
        let headers = [("content-type", content_type.as_str())];
        whole_bytes(200, &headers[usize::from(content_type.is_empty())..], body)
    })
    .await;
    for (name, Case { format, .. }) in &cases {
        let more = format.as_ref().map_or_else(|| json!({}), |format| json!({ "format": format }));
        let got = site.fetch(name, more).await;
        if format.is_none()
            && let Ok(page) = &got
        {
            leads_nowhere_else(name, page);
        }
        insta::assert_snapshot!(name.as_str(), shown(&got));
    }
}

/// The result of a call in a form for people.
fn shown(got: &Result<Value, String>) -> String {
    let page = match got {
        Ok(page) => page,
        Err(error) => return error.clone(),
    };
    let mut text = String::new();
    for (key, value) in page.as_object().unwrap() {
        if key != "content" {
            writeln!(text, "{key}: {value}").unwrap();
        }
    }
    // The large pages repeat one text, so its start suffices.
    let content = page["content"].as_str().unwrap();
    let start: String = content.chars().take(4000).collect();
    write!(text, "\n{}", start.replace('\r', "␍")).unwrap();
    text
}

/// Checks that a page shows no hidden text and links only to the web.
fn leads_nowhere_else(name: &str, page: &Value) {
    let content = page["content"].as_str().unwrap();
    assert!(!page.to_string().contains("SECRET"), "{name}: {page}");
    for event in Parser::new_ext(content, Options::all()) {
        if let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event {
            let schemes = ["http://", "https://", "mailto:"];
            assert!(
                schemes.iter().any(|scheme| dest_url.starts_with(scheme)),
                "{name}: {dest_url}"
            );
        }
    }
}
