//! `web_fetch` over the wire: a server on loopback with a name that looks public.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use avocet_net::{FetchLimits, GuardedClient, ResolveNames};
use avocet_protocol::access::Trust;
use avocet_protocol::tool::{Seen, ToolContext, ToolError, ToolOutcome, Toolbox};
use avocet_testkit::ManualClock;
use avocet_testkit::http::{HttpFake, HttpRequest, Piece, whole, whole_bytes};
use avocet_tools::WebAccess;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::world::{World, call, context};

/// A resolver that gives every name the same address.
#[derive(Debug)]
pub(crate) struct Everywhere(pub(crate) IpAddr);

#[async_trait]
impl ResolveNames for Everywhere {
    async fn resolve_name(&self, _: &str) -> Vec<IpAddr> {
        vec![self.0]
    }
}

/// A world whose web is one server.
pub(crate) struct Site {
    pub(crate) world: World,
    pub(crate) clock: Arc<ManualClock>,
    address: SocketAddr,
    asked: Arc<AtomicUsize>,
}

impl Site {
    pub(crate) async fn new(
        answer: impl Fn(&HttpRequest) -> Vec<Piece> + Send + Sync + 'static,
    ) -> Self {
        let asked = Arc::<AtomicUsize>::default();
        let counted = asked.clone();
        let fake = HttpFake::start(move |request| {
            assert_eq!(request.method, "GET");
            assert_eq!(request.header("accept-encoding"), Some("identity"));
            assert!(request.header("cookie").is_none() && request.header("referer").is_none());
            counted.fetch_add(1, Ordering::Relaxed);
            answer(&request)
        })
        .await;
        let (clock, address) = (Arc::new(ManualClock::default()), fake.address());
        let client =
            GuardedClient::new(Arc::new(Vec::new()), clock.clone(), FetchLimits::default());
        let client = client.with_allowed(address).with_resolver(Arc::new(Everywhere(address.ip())));
        let world =
            World::on_the_web(WebAccess::new(client, None, clock.clone()), clock.clone()).await;
        Self { world, clock, address, asked }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://site.dev:{}/{path}", self.address.port())
    }

    /// The result or the error of a call, without the port of this server.
    pub(crate) async fn fetch(&self, path: &str, more: Value) -> Result<Value, String> {
        let mut arguments = more;
        arguments["url"] = json!(self.url(path));
        let port = format!(":{}", self.address.port());
        match self.world.run("web_fetch", arguments).await {
            Ok(output) => {
                assert_eq!(output.trust, None, "as the description says");
                let text = output.value.to_string().replace(&port, "");
                Ok(serde_json::from_str(&text).unwrap())
            }
            Err(error) => Err(error.to_string().replace(&port, "")),
        }
    }

    fn asked(&self) -> usize {
        self.asked.swap(0, Ordering::Relaxed)
    }
}

const TEXT: [(&str, &str); 1] = [("content-type", "text/plain")];

#[tokio::test]
async fn web_fetch_follows_redirects_and_reports_the_last_url() {
    let site = Site::new(|request| match request.path.as_str() {
        "/1" => whole(301, &[("location", "/2")], "moved"),
        "/2" => whole(302, &[("location", "3?x=y")], ""),
        "/3?x=y" => whole(200, &TEXT, "here"),
        "/inside" => whole(302, &[("location", "http://169.254.169.254/latest/meta-data")], ""),
        "/nowhere" => whole(302, &[], "no location"),
        path => whole(302, &[("location", path)], ""),
    })
    .await;
    let page = json!({"url": "http://site.dev/3?x=y", "status": 200, "content": "here"});
    assert_eq!(site.fetch("1", json!({})).await, Ok(page));
    let table = [
        (
            "inside",
            "permission denied: http://169.254.169.254 is refused: 169.254.169.254 is not public",
        ),
        ("round", "permission denied: http://site.dev is refused: too many redirects"),
        ("nowhere", "execution failed: the server answers 302"),
    ];
    for (path, says) in table {
        let error = site.fetch(path, json!({})).await.unwrap_err();
        assert!(error.starts_with(says), "{path}: {error}");
    }
}

#[tokio::test]
async fn web_fetch_reports_a_cross_site_redirect_after_untrusted_text() {
    let site = Site::new(|request| match request.path.as_str() {
        "/away" => whole(302, &[("location", "http://pin-4711.evil.dev/x?d=1")], ""),
        "/hops" => whole(302, &[("location", "/away")], ""),
        "/near" => {
            let location = format!("http://www.{}/page", request.header("host").unwrap());
            whole(301, &[("location", &location)], "")
        }
        _ => whole(200, &TEXT, "here"),
    })
    .await;
    let seen = Seen { people: vec!["site.dev".to_owned()], ..Seen::default() };
    let low = ToolContext { trust: Trust::Low, seen: Arc::new(seen), ..context() };
    let fetch = async |path: &str| {
        let arguments = json!({ "url": site.url(path) });
        let call = call("web_fetch", &arguments);
        let outcome = site.world.registry.execute(&call, &low).await;
        outcome.map(|outcome| match outcome {
            ToolOutcome::Finished(output) => output.value,
            ToolOutcome::Waiting(request) => panic!("{request:?}"),
        })
    };
    for (path, requests) in [("away", 1), ("hops", 2)] {
        let error = fetch(path).await.unwrap_err().to_string();
        assert!(
            error.starts_with("execution failed: the page redirects to another site"),
            "{error}"
        );
        assert!(error.ends_with("fetch http://pin-4711.evil.dev/x?d=1"), "{error}");
        assert_eq!(site.asked(), requests, "{path}");
    }
    let near = site.url("page").replace("site.dev", "www.site.dev");
    assert_eq!(fetch("near").await.unwrap()["url"], near.as_str());
}

#[tokio::test]
async fn f21_web_fetch_denies_a_guarded_address_and_names_the_rule() {
    let world = World::new().await;
    let table = [
        ("http://127.0.0.1/", "loopback"),
        ("http://[::ffff:10.0.0.1]/", "private"),
        ("http://0xa9fea9fe/latest/meta-data", "169.254.169.254"),
        ("http://localhost/", "a local name"),
        ("http://metadata.google.internal/", "a local name"),
        ("ftp://8.8.8.8/", "neither http nor https"),
        ("file:///etc/passwd", "neither http nor https"),
        ("http://me:word@8.8.8.8/", "a user name in the URL"),
        ("example", "no URL"),
    ];
    for (url, rule) in table {
        let refused = world.run("web_fetch", json!({"url": url})).await;
        let Err(ToolError::PermissionDenied(text)) = refused else { panic!("{url}: {refused:?}") };
        assert!(text.contains(rule), "{url}: {text}");
        assert!(!text.contains("word") && !text.contains("meta-data"), "{text}");
    }
}

#[tokio::test]
async fn web_fetch_error_shows_the_status_and_the_text() {
    let site = Site::new(|request| {
        let html = [("content-type", "text/html")];
        let body = format!("<h1>Not here</h1><p hidden>SECRET</p><p>{}</p>", "so ".repeat(500));
        match request.path.as_str() {
            "/gone" => whole(410, &html, &body),
            "/busy" => whole(503, &[("retry-after", "7"), TEXT[0]], "later\nplease"),
            "/denied" => whole(403, &[("content-type", "image/png")], "PNG"),
            _ => whole(404, &[], ""),
        }
    })
    .await;
    let gone = site.fetch("gone", json!({})).await.unwrap_err();
    assert!(gone.starts_with("execution failed: the server answers 410: Not here so so"), "{gone}");
    assert!(
        gone.chars().count() < 260 && gone.ends_with('…') && !gone.contains("SECRET"),
        "{gone}"
    );
    let table = [
        (
            "busy",
            "execution failed: the server answers 503; it asks for a pause of 7 s: later please",
        ),
        ("denied", "execution failed: the server answers 403"),
        ("else", "execution failed: the server answers 404"),
    ];
    for (path, says) in table {
        assert_eq!(site.fetch(path, json!({})).await, Err(says.to_owned()));
    }
}

#[tokio::test]
async fn web_fetch_refuses_compressed_or_large_bodies() {
    let site = Site::new(|request| match request.path.as_str() {
        "/gzip" => whole(200, &[("content-encoding", "gzip"), TEXT[0]], "bomb"),
        "/5" => whole_bytes(200, &TEXT, &vec![b'x'; 5 * 1024 * 1024]),
        _ => whole_bytes(200, &TEXT, &vec![b'x'; 6 * 1024 * 1024]),
    })
    .await;
    let error = site.fetch("gzip", json!({})).await.unwrap_err();
    assert!(error.starts_with("execution failed: the answer is compressed"), "{error}");
    let error = site.fetch("6", json!({})).await.unwrap_err();
    assert_eq!(error, "execution failed: the answer is longer than 5242880 bytes");
    let page = site.fetch("5", json!({})).await.unwrap();
    assert_eq!(page["next"], 16384);
    assert!(page["total"].as_u64().unwrap() < 2_200_000, "{}", page["total"]);
}

#[tokio::test]
async fn web_fetch_of_a_slow_page_times_out_after_30_seconds() {
    let dripping = Arc::new(Notify::new());
    let there = dripping.clone();
    let site = Site::new(move |_| {
        there.notify_one();
        vec![Piece::head(200, &TEXT), Piece::chunk(b"x"), Piece::Hang]
    })
    .await;
    let late = async {
        dripping.notified().await;
        site.clock.sleeper(Duration::from_secs(30)).await;
        site.clock.advance(Duration::from_secs(30));
    };
    let (page, ()) = tokio::join!(site.fetch("drip", json!({})), late);
    assert_eq!(page, Err("execution failed: no answer within 30 s".to_owned()));
}

#[tokio::test]
async fn web_fetch_reads_a_long_page_in_uncut_parts() {
    let text = "\"é\"\n".repeat(20_000);
    let served = text.clone();
    let site = Site::new(move |_| whole(200, &TEXT, &served)).await;
    for length in [None, Some(1), Some(28_672)] {
        let (mut read, mut offset) = (String::new(), 0);
        while offset < text.len() && read.len() < 200_000 {
            let mut arguments = json!({ "offset": offset });
            if let Some(length) = length {
                arguments["length"] = json!(length);
            }
            let page = site.fetch("long", arguments).await.unwrap();
            assert!(page.to_string().len() < 65_536, "it would be cut");
            assert_eq!(page["total"], text.len());
            read.push_str(page["content"].as_str().unwrap());
            offset =
                page["next"].as_u64().map_or(text.len(), |next| usize::try_from(next).unwrap());
            if length == Some(1) && read.len() > 100 {
                break;
            }
        }
        assert!(text.starts_with(&read) && read.len() > 100, "{length:?}");
    }
    assert_eq!(site.asked(), 1, "the parts were kept");
    let beyond = site.fetch("long", json!({"offset": 1_000_000})).await;
    let says = "invalid arguments: offset 1000000 is at the end: the page is 100000 bytes long";
    assert_eq!(beyond, Err(says.to_owned()));
}

#[tokio::test]
async fn web_fetch_caches_a_page_for_15_minutes_unless_forbidden() {
    let site = Site::new(|request| match request.path.as_str() {
        "/never" => whole(200, &[("cache-control", "private, No-Store"), TEXT[0]], "x"),
        "/fails" => whole(500, &[], ""),
        _ => whole(200, &TEXT, "x"),
    })
    .await;
    let table = [
        ("kept", 0, 1),
        ("kept", 14, 0),
        ("kept", 1, 1),
        ("never", 0, 1),
        ("never", 0, 1),
        ("fails", 0, 1),
        ("fails", 0, 1),
    ];
    for (path, minutes, asked) in table {
        site.clock.advance(Duration::from_mins(minutes));
        drop(site.fetch(path, json!({})).await);
        assert_eq!(site.asked(), asked, "{path} after {minutes} min");
    }
    drop(site.fetch("kept", json!({"format": "text"})).await);
    assert_eq!(site.asked(), 1, "each format is kept for itself");
}

#[tokio::test]
async fn web_fetch_sends_an_accept_header() {
    let seen = Arc::<Mutex<Option<String>>>::default();
    let sees = seen.clone();
    let site = Site::new(move |request| {
        *sees.lock() = request.header("accept").map(str::to_owned);
        whole(200, &TEXT, "x")
    })
    .await;
    site.fetch("x", json!({})).await.unwrap();
    assert!(seen.lock().as_ref().unwrap().starts_with("text/html,"));
}
