//! Tests the guard with the corpus of escapes, without a network. `real_client` uses loopback.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod real_client;

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use avocet_net::{
    DialAddress, DialResponse, FetchError, FetchLimits, FetchedPage, GuardedClient, NetError,
    OwnAddresses, ResolveNames,
};
use avocet_testkit::ManualClock;
use bytes::Bytes;
use parking_lot::Mutex;
use reqwest::Url;
use serde::Deserialize;
use serde::de::DeserializeOwned;

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
impl ResolveNames for FakeResolver {
    async fn resolve_name(&self, name: &str) -> Vec<IpAddr> {
        let mut looked_up = self.looked_up.lock();
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
impl DialAddress for Servers {
    async fn send_request(
        &self,
        url: &Url,
        headers: &[(&str, &str)],
        _: Option<&[u8]>,
        to: &[SocketAddr],
    ) -> Result<Box<dyn DialResponse>, NetError> {
        assert!(!to.is_empty(), "{url} goes nowhere");
        self.dialled.lock().extend(to);
        self.headers.lock().push(headers.len());
        Ok(Box::new(RedirectResponse(self.redirects.get(url.as_str()).cloned())))
    }
}

struct RedirectResponse(Option<String>);

#[async_trait]
impl DialResponse for RedirectResponse {
    fn status(&self) -> u16 {
        if self.0.is_some() { 302 } else { 200 }
    }

    fn first_header(&self, name: &str) -> Option<&str> {
        self.0.as_deref().filter(|_| name == "location")
    }

    fn all_headers(&self, name: &str) -> Vec<String> {
        let said: &[&str] = match (name, &self.0) {
            ("cache-control", Some(_)) => &["max-age=1", "no-store"],
            ("cache-control", None) => &["public"],
            _ => &[],
        };
        said.iter().map(|&value| value.to_owned()).collect()
    }

    async fn next_chunk(&mut self) -> Result<Option<Bytes>, NetError> {
        Ok(None)
    }
}

/// A client whose requests stay in this process.
fn client(names: &Arc<FakeResolver>, servers: &Arc<Servers>) -> GuardedClient {
    let clock = Arc::new(ManualClock::default());
    let client = GuardedClient::new(Arc::new(own()), clock, FetchLimits::default());
    client.with_resolver(names.clone()).with_dialler(servers.clone())
}

fn verdict(page: &Result<FetchedPage, FetchError>) -> String {
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
    impl ResolveNames for FixedAddress {
        async fn resolve_name(&self, _: &str) -> Vec<IpAddr> {
            vec![self.0]
        }
    }
    let (names, servers) = (Arc::default(), Arc::default());
    let client = client(&names, &servers).with_resolver(Arc::new(FixedAddress(everywhere)));
    let verdict = verdict(&client.get(url, &[]).await);
    let dialled = servers.dialled.lock();
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
        assert_eq!(*names.looked_up.lock(), case.looked_up, "{}", case.about);
        assert_eq!(*servers.dialled.lock(), case.dialled, "{}", case.about);
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
    assert_eq!(*names.looked_up.lock(), ["site.dev", "www.site.dev"]);
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
    assert_eq!(*servers.headers.lock(), [1, 1, 0, 0, 0]);
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
        fn own_addresses(&self) -> Vec<IpAddr> {
            self.0.lock().clone()
        }
    }
    let (host, servers) = (Arc::new(Moving::default()), Arc::<Servers>::default());
    let clock = Arc::new(ManualClock::default());
    let client =
        GuardedClient::new(host.clone(), clock, FetchLimits::default()).with_dialler(servers);
    assert_eq!(verdict(&client.get("http://8.8.8.8/", &[]).await), "page");
    host.0.lock().push("8.8.8.8".parse().unwrap());
    assert_eq!(verdict(&client.get("http://8.8.8.8/", &[]).await), "an address of this host");
}
