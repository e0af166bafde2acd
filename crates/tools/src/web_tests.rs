use avocet_net::{FetchLimits, Url};
use avocet_testkit::ManualClock;

use super::*;

fn page(html: &str) -> FetchedPage {
    FetchedPage {
        url: Url::parse("https://a.dev/x/").unwrap(),
        status: 200,
        content_type: Some("text/html".to_owned()),
        cache_control: None,
        retry_after: None,
        body: html.as_bytes().to_vec(),
    }
}

#[tokio::test]
async fn page_falls_back_to_plain_text_on_a_markdown_timeout() {
    const HTML: &str = "<title>T</title><p hidden>SECRET</p><p>a <a href=y>b</a></p>";
    let clock = Arc::new(ManualClock::default());
    let client = GuardedClient::new(Arc::new(Vec::new()), clock.clone(), FetchLimits::default());
    let web = WebAccess::new(client, None, clock.clone());
    // Other, hostile pages have taken all permits.
    let places = u32::try_from(READERS).unwrap();
    let taken = web.readers.clone().acquire_many_owned(places).await.unwrap();
    let late = async {
        clock.sleeper(READING).await;
        clock.advance(READING);
    };
    let (read, ()) = tokio::join!(web.read(page(HTML), PageFormat::Markdown), late);
    let read = read.unwrap();
    assert_eq!((read.title.as_str(), read.content.as_str()), ("T", "a b"));
    assert!(read.note.unwrap().contains("plain text, without links"));
    drop(taken);
    let read = web.read(page(HTML), PageFormat::Markdown).await.unwrap();
    assert_eq!((read.content.as_str(), read.note), ("a [b](https://a.dev/x/y)", None));
}

#[test]
fn on_a_line_joins_lines_and_cuts_long_text() {
    let table = [
        (" a\n\n b\t", 9, "a b"),
        ("abcdef", 3, "abc…"),
        ("abc", 3, "abc"),
        ("a\u{202e}b", 9, "ab"),
        ("水水水水", 2, "水水…"),
    ];
    for (text, characters, line) in table {
        assert_eq!(on_a_line(text, characters), line, "{text:?}");
    }
}

#[test]
fn may_be_kept_follows_cache_control() {
    for (said, expected) in [
        (None, true),
        (Some("public, max-age=60"), true),
        (Some("max-age=60, No-Store"), false),
        (Some("public, private"), false),
        (Some("no-cache=\"set-cookie\", max-age=1"), false),
        (Some("x=private"), true),
    ] {
        assert_eq!(may_be_kept(said), expected, "{said:?}");
    }
}
