//! Tests the guard with the corpus of escapes, without a network, and the real client on loopback.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use avocet_net::{
    Dial, DialResponse, FetchError, FetchLimits, GuardedClient, NetError, OwnAddresses, Page,
    Resolve,
};
use avocet_testkit::ManualClock;
use avocet_testkit::http::{HttpFake, Piece, whole};
use bytes::Bytes;
use reqwest::Url;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;

fn corpus<T: DeserializeOwned>(file: &str) -> T {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/escapes");
    toml::from_str(&std::fs::read_to_string(folder.join(file)).unwrap()).unwrap()
}

fn own() -> Vec<IpAddr> {
    ["93.184.216.1", "2606:2800:220:1::1"].map(|address| address.parse().unwrap()).into()
}

/// The results of each lookup of a name. The last one repeats.
#[derive(Debug, Default)]
struct FakeResolver {
    names: HashMap<String, Vec<Vec<IpAddr>>>,
    looked_up: Mutex<Vec<String>>,
}

#[async_trait]
impl Resolve for FakeResolver {
    async fn resolve(&self, name: &str) -> Vec<IpAddr> {
        let mut looked_up = self.looked_up.lock().unwrap();
        let before = looked_up.iter().filter(|one| *one == name).count();
        looked_up.push(name.to_owned());
        let Some(lookups) = self.names.get(name) else { return Vec::new() };
        lookups[before.min(lookups.len() - 1)].clone()
    }
}

/// Servers that redirect these URLs. All other URLs have a page.
#[derive(Debug, Default)]
struct Servers {
    redirects: BTreeMap<String, String>,
    dialled: Mutex<Vec<SocketAddr>>,
    headers: Mutex<Vec<usize>>,
}

#[async_trait]
impl Dial for Servers {
    async fn ask(
        &self,
        url: &Url,
        headers: &[(&str, &str)],
        _: Option<&[u8]>,
        to: &[SocketAddr],
    ) -> Result<Box<dyn DialResponse>, NetError> {
        assert!(!to.is_empty(), "{url} goes nowhere");
        self.dialled.lock().unwrap().extend(to);
        self.headers.lock().unwrap().push(headers.len());
        Ok(Box::new(RedirectResponse(self.redirects.get(url.as_str()).cloned())))
    }
}

struct RedirectResponse(Option<String>);

#[async_trait]
impl DialResponse for RedirectResponse {
    fn status(&self) -> u16 {
        if self.0.is_some() { 302 } else { 200 }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.0.as_deref().filter(|_| name == "location")
    }

    fn headers(&self, name: &str) -> Vec<String> {
        let said: &[&str] = match (name, &self.0) {
            ("cache-control", Some(_)) => &["max-age=1", "no-store"],
            ("cache-control", None) => &["public"],
            _ => &[],
        };
        said.iter().map(|&value| value.to_owned()).collect()
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>, NetError> {
        Ok(None)
    }
}

/// A client whose requests stay in this process.
fn client(names: &Arc<FakeResolver>, servers: &Arc<Servers>) -> GuardedClient {
    let clock = Arc::new(ManualClock::default());
    let client = GuardedClient::new(Arc::new(own()), clock, FetchLimits::default());
    client.resolving(names.clone()).dialling(servers.clone())
}

fn verdict(page: &Result<Page, FetchError>) -> String {
    match page {
        Ok(page) => {
            assert_eq!(page.status, 200);
            "page".to_owned()
        }
        Err(FetchError::Refused(refusal)) => refusal.rule.to_string(),
        Err(error) => panic!("{error}"),
    }
}

#[derive(Deserialize)]
struct Addresses {
    public: RuleCases,
    refused: Vec<RuleCases>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleCases {
    #[serde(default = "page")]
    rule: String,
    #[serde(default)]
    addresses: Vec<IpAddr>,
    #[serde(default)]
    urls: Vec<String>,
}

fn page() -> String {
    "page".to_owned()
}

/// Requests a URL while every name resolves to this address, and returns the verdict.
async fn asked(url: &str, everywhere: IpAddr) -> String {
    #[derive(Debug)]
    struct FixedAddress(IpAddr);
    #[async_trait]
    impl Resolve for FixedAddress {
        async fn resolve(&self, _: &str) -> Vec<IpAddr> {
            vec![self.0]
        }
    }
    let (names, servers) = (Arc::default(), Arc::default());
    let client = client(&names, &servers).resolving(Arc::new(FixedAddress(everywhere)));
    let verdict = verdict(&client.get(url, &[]).await);
    let dialled = servers.dialled.lock().unwrap();
    assert_eq!(dialled.is_empty(), verdict != "page", "{url} ({everywhere}) at {dialled:?}");
    verdict
}

#[tokio::test]
async fn f21_guard_gives_every_address_and_url_of_the_corpus_its_verdict() {
    let Addresses { public, refused } = corpus("addresses.toml");
    let web = "93.184.216.34".parse().unwrap();
    let (mut wrong, mut passed, mut stopped) = (Vec::new(), 0, 0);
    for RuleCases { rule, addresses, urls } in refused.into_iter().chain([public]) {
        let literals = addresses.iter().map(|address| match address {
            IpAddr::V4(address) => format!("http://{address}/"),
            IpAddr::V6(address) => format!("http://[{address}]/"),
        });
        let written = urls.iter().cloned().chain(literals).map(|url| (url, web));
        let resolved = addresses.iter().map(|address| ("http://site.dev/".to_owned(), *address));
        for (url, everywhere) in written.chain(resolved) {
            let verdict = asked(&url, everywhere).await;
            if verdict != rule {
                wrong.push(format!("{url:?} ({everywhere}): {verdict}, and not {rule}"));
            }
        }
        let count = if rule == "page" { &mut passed } else { &mut stopped };
        *count += addresses.len() + urls.len();
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(passed >= 20 && stopped >= 150, "{passed} pass, {stopped} do not");
}

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    about: String,
    url: String,
    #[serde(default = "once")]
    times: usize,
    #[serde(default)]
    names: HashMap<String, Vec<Vec<IpAddr>>>,
    #[serde(default)]
    answers: BTreeMap<String, String>,
    verdict: String,
    #[serde(default)]
    looked_up: Vec<String>,
    #[serde(default)]
    dialled: Vec<SocketAddr>,
}

fn once() -> usize {
    1
}

#[tokio::test]
async fn f21_guard_ends_every_case_of_the_corpus_as_expected() {
    let Cases { case: cases } = corpus("names.toml");
    assert!(cases.len() >= 30, "{}", cases.len());
    for case in cases {
        let names = Arc::new(FakeResolver { names: case.names, ..FakeResolver::default() });
        let servers = Arc::new(Servers { redirects: case.answers, ..Servers::default() });
        let client = client(&names, &servers);
        let mut last = String::new();
        for _ in 0..case.times {
            last = verdict(&client.get(&case.url, &[]).await);
        }
        assert_eq!(last, case.verdict, "{}", case.about);
        assert_eq!(*names.looked_up.lock().unwrap(), case.looked_up, "{}", case.about);
        assert_eq!(*servers.dialled.lock().unwrap(), case.dialled, "{}", case.about);
    }
}

#[tokio::test]
async fn get_following_resolves_no_name_that_it_does_not_follow() {
    let public: Vec<Vec<IpAddr>> = vec![vec!["8.8.8.8".parse().unwrap()]];
    let names =
        ["site.dev", "www.site.dev", "evil.dev"].map(|name| (name.to_owned(), public.clone()));
    let names = Arc::new(FakeResolver { names: names.into(), ..FakeResolver::default() });
    let redirects = [
        ("http://site.dev/", "http://www.site.dev/"),
        ("http://www.site.dev/", "http://evil.dev/d"),
    ];
    let redirects = redirects.map(|(from, to)| (from.to_owned(), to.to_owned())).into();
    let servers = Arc::new(Servers { redirects, ..Servers::default() });
    let follows = |url: &Url| url.host_str().is_some_and(|host| host.ends_with("site.dev"));
    let page = client(&names, &servers).get_following("http://site.dev/", &[], &follows).await;
    assert_eq!(page, Err(FetchError::Elsewhere(Url::parse("http://evil.dev/d").unwrap())));
    assert_eq!(*names.looked_up.lock().unwrap(), ["site.dev", "www.site.dev"]);
}

#[tokio::test]
async fn get_sends_headers_only_to_the_first_origin() {
    let redirects = [
        ("http://8.8.8.8/", "/a"),
        ("http://8.8.8.8/a", "http://8.8.8.8:8080/"),
        ("http://8.8.8.8:8080/", "http://8.8.8.8/back"),
        ("http://8.8.8.8/back", "https://8.8.8.8/"),
    ];
    let redirects = redirects.map(|(from, to)| (from.to_owned(), to.to_owned())).into();
    let servers = Arc::new(Servers { redirects, ..Servers::default() });
    let client = client(&Arc::default(), &servers);
    let page = client.get("http://8.8.8.8/", &[("authorization", "Bearer sk-1")]).await.unwrap();
    let said = format!("{}public", "max-age=1, no-store, ".repeat(4));
    assert_eq!(page.cache_control, Some(said), "of every answer, and of every line");
    assert_eq!(*servers.headers.lock().unwrap(), [1, 1, 0, 0, 0]);
}

#[tokio::test]
async fn refusal_names_only_the_origin_the_address_and_the_rule() {
    let names = [("site.dev".to_owned(), vec![vec!["10.0.0.1".parse().unwrap()]])].into();
    let names = Arc::new(FakeResolver { names, ..FakeResolver::default() });
    let servers = Arc::new(Servers::default());
    let client = client(&names, &servers);
    let table = [
        (
            "https://site.dev:8443/secret?key=secret#secret",
            "https://site.dev:8443 is refused: 10.0.0.1 is not public: private (10.0.0.0/8)",
        ),
        (
            "http://0x7f.1/secret",
            "http://127.0.0.1 is refused: 127.0.0.1 is not public: loopback (127.0.0.0/8)",
        ),
        ("http://secret:secret@site.dev/", "http://site.dev is refused: a user name in the URL"),
        ("http://nowhere.dev/secret", "http://nowhere.dev is refused: no address"),
        ("http://[secret/", "the URL is refused: no URL"),
    ];
    for (url, said) in table {
        let error = client.get(url, &[]).await.unwrap_err();
        assert_eq!(error.to_string(), said);
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    }
}

#[tokio::test]
async fn guard_refuses_addresses_that_the_host_gets_later() {
    #[derive(Debug, Default)]
    struct Moving(Mutex<Vec<IpAddr>>);
    impl OwnAddresses for Moving {
        fn addresses(&self) -> Vec<IpAddr> {
            self.0.lock().unwrap().clone()
        }
    }
    let (host, servers) = (Arc::new(Moving::default()), Arc::<Servers>::default());
    let clock = Arc::new(ManualClock::default());
    let client = GuardedClient::new(host.clone(), clock, FetchLimits::default()).dialling(servers);
    assert_eq!(verdict(&client.get("http://8.8.8.8/", &[]).await), "page");
    host.0.lock().unwrap().push("8.8.8.8".parse().unwrap());
    assert_eq!(verdict(&client.get("http://8.8.8.8/", &[]).await), "an address of this host");
}

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
    GuardedClient::new(nothing, clock.clone(), limits).allowing(fake.address())
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
    let client = reaching(&fake, &Arc::default(), FetchLimits::default()).resolving(names.clone());
    let url = format!("http://site.dev:{}/a?b", fake.address().port());
    let page = client.get(&url, &[]).await.unwrap();
    assert_eq!((page.url.as_str(), page.status, &*page.body), (&*url, 404, &b"/a?b"[..]));
    assert_eq!(page.content_type.as_deref(), Some("text/html"));
    assert_eq!(names.looked_up.lock().unwrap().len(), 1);
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
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (own, clock) = (Arc::new(Vec::new()), Arc::new(ManualClock::default()));
    let client = GuardedClient::new(own, clock, FetchLimits::default()).allowing(nobody);
    let error = client.get(&format!("http://{nobody}/secret"), &[]).await.unwrap_err();
    assert!(matches!(error, FetchError::Net(NetError::Connect(_))), "{error}");
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
}
