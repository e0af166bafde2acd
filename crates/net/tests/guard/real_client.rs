//! Tests the real client with servers on loopback.

use std::sync::Arc;
use std::time::Duration;

use avocet_net::{FetchError, FetchLimits, GuardedClient, NetError};
use avocet_testkit::http::{HttpFake, Piece, whole};
use avocet_testkit::{ClosedPort, ManualClock};
use tokio::sync::Notify;

use super::{FakeResolver, verdict};

#[tokio::test]
async fn post_json_checks_the_address_and_sends_to_one_server_only() {
    let fake = HttpFake::start(|request| {
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/search"));
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert_eq!(request.header("authorization"), Some("Bearer sk-1"));
        assert_eq!(request.body, b"{}");
        whole(307, &[("location", "/elsewhere"), ("retry-after", "7")], "moved")
    })
    .await;
    let client = reaching(&fake, &Arc::default(), FetchLimits::default());
    let headers = [("authorization", "Bearer sk-1")];
    let url = format!("http://{}/search", fake.address());
    let page = client.post_json(&url, &headers, b"{}").await.unwrap();
    assert_eq!((page.status, &*page.body), (307, &b"moved"[..]));
    assert_eq!(page.retry_after, Some(Duration::from_secs(7)));
    let refused = client.post_json("http://127.0.0.1:9/", &headers, b"{}").await;
    assert_eq!(verdict(&refused), "loopback (127.0.0.0/8)");
}

/// The real client, allowed to reach only this server.
fn reaching(fake: &HttpFake, clock: &Arc<ManualClock>, limits: FetchLimits) -> GuardedClient {
    let nothing = Arc::new(Vec::new());
    GuardedClient::new(nothing, clock.clone(), limits).with_allowed(fake.address())
}

/// `site.dev`: the first lookup finds the fake's address, later ones another loopback address.
fn rebound() -> Arc<FakeResolver> {
    let lookups = ["127.0.0.1", "127.0.0.2"].map(|address| vec![address.parse().unwrap()]);
    let names = [("site.dev".to_owned(), lookups.into())].into();
    Arc::new(FakeResolver { names, ..FakeResolver::default() })
}

#[tokio::test]
async fn get_connects_to_the_checked_address_of_any_name() {
    let fake = HttpFake::start(|request| {
        assert_eq!(request.header("accept-encoding"), Some("identity"));
        assert_eq!(request.header("referer"), None);
        let host = request.header("host").unwrap().to_owned();
        assert!(host.starts_with("site.dev:"), "{host}");
        whole(404, &[("content-type", "text/html")], &request.path)
    })
    .await;
    let names = rebound();
    let client =
        reaching(&fake, &Arc::default(), FetchLimits::default()).with_resolver(names.clone());
    let url = format!("http://site.dev:{}/a?b", fake.address().port());
    let page = client.get(&url, &[]).await.unwrap();
    assert_eq!((page.url.as_str(), page.status, &*page.body), (&*url, 404, &b"/a?b"[..]));
    assert_eq!(page.content_type.as_deref(), Some("text/html"));
    assert_eq!(names.looked_up.lock().len(), 1);
    assert_eq!(verdict(&client.get(&url, &[]).await), "loopback (127.0.0.0/8)");
}

#[tokio::test]
async fn get_checks_a_redirect_before_it_sends_anything() {
    let other = HttpFake::start(|request| panic!("asked for {}", request.path)).await;
    let elsewhere = format!("http://{}/", other.address());
    let fake = HttpFake::start(move |request| match request.path.as_str() {
        "/1" => whole(301, &[("location", "/2")], ""),
        "/2" => whole(308, &[("location", "3")], ""),
        "/3" => whole(200, &[], "three"),
        _ => whole(302, &[("location", &elsewhere)], "nothing"),
    })
    .await;
    let client = reaching(&fake, &Arc::default(), FetchLimits::default());
    let url = |path: &str| format!("http://{}/{path}", fake.address());
    let page = client.get(&url("1"), &[]).await.unwrap();
    assert_eq!((page.url.path(), &*page.body), ("/3", &b"three"[..]));
    assert_eq!(verdict(&client.get(&url("out"), &[]).await), "loopback (127.0.0.0/8)");
}

#[tokio::test]
async fn get_reads_a_body_up_to_its_limit() {
    let fake = HttpFake::start(|request| {
        let chunk = || Piece::chunk(&[b'x'; 40]);
        let mut pieces = vec![Piece::head(200, &[]), chunk(), chunk()];
        match request.path.as_str() {
            "/fits" => pieces.extend([Piece::chunk(&[b'x'; 20]), Piece::end()]),
            // The connection breaks: the client stops reading at the limit.
            _ => pieces.extend([Piece::chunk(&[b'x'; 21]), Piece::Close]),
        }
        pieces
    })
    .await;
    let limits = FetchLimits { body: 100, ..FetchLimits::default() };
    let client = reaching(&fake, &Arc::default(), limits);
    let url = |path: &str| format!("http://{}/{path}", fake.address());
    assert_eq!(client.get(&url("fits"), &[]).await.unwrap().body.len(), 100);
    let error = client.get(&url("long"), &[]).await.unwrap_err();
    assert_eq!(error.to_string(), "the answer is longer than 100 bytes");
}

#[tokio::test]
async fn get_does_not_decompress_an_unrequested_encoding() {
    for (coding, read) in [("gzip", false), ("br", false), ("Identity", true)] {
        let head = [("content-encoding", coding)];
        let fake = HttpFake::start(move |_| whole(200, &head, "bomb")).await;
        let client = reaching(&fake, &Arc::default(), FetchLimits::default());
        let page = client.get(&format!("http://{}/", fake.address()), &[]).await;
        assert_eq!(page.map(|page| page.body == b"bomb").ok(), read.then_some(true), "{coding}");
    }
}

#[tokio::test]
async fn get_has_one_timeout_for_the_body_and_all_redirects() {
    // A timeout before the answer, within it, and after a redirect.
    for path in ["/silent", "/half", "/redirect"] {
        let stuck = Arc::new(Notify::new());
        let there = stuck.clone();
        let fake = HttpFake::start(move |request| {
            if request.path == "/redirect" {
                return whole(302, &[("location", "/silent")], "");
            }
            there.notify_one();
            match request.path.as_str() {
                "/half" => vec![Piece::head(200, &[]), Piece::chunk(b"x"), Piece::Hang],
                _ => vec![Piece::Hang],
            }
        })
        .await;
        let clock = Arc::new(ManualClock::default());
        let client = reaching(&fake, &clock, FetchLimits::default());
        let url = format!("http://{}{path}", fake.address());
        let late = async {
            stuck.notified().await;
            clock.advance(Duration::from_secs(30));
        };
        let (page, ()) = tokio::join!(client.get(&url, &[]), late);
        assert_eq!(page, Err(FetchError::Slow(Duration::from_secs(30))), "{path}");
    }
}

#[tokio::test]
async fn get_of_an_absent_server_is_an_error_but_not_a_refusal() {
    let closed_port = ClosedPort::bind();
    let (own, clock) = (Arc::new(Vec::new()), Arc::new(ManualClock::default()));
    let client =
        GuardedClient::new(own, clock, FetchLimits::default()).with_allowed(closed_port.address());
    let error = client.get(&format!("http://{closed_port}/secret"), &[]).await.unwrap_err();
    assert!(matches!(error, FetchError::Net(NetError::Connect(_))), "{error}");
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
}
