//! `web_search`: the test suite for every search engine, against a strict fake: at the provider's
//! own URL through the guard, and at a URL of the operator.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use avocet_net::{
    DialAddress, DialResponse, FetchLimits, GuardedClient, HttpClient, NetError, Url,
};
use avocet_testkit::http::{Piece, whole};
use avocet_testkit::search::{Engine, Hit, KEY, SearchFake};
use avocet_testkit::{ClosedPort, ManualClock};
use avocet_text::Secret;
use avocet_tools::{SearchConfig, SearchEngine, WebAccess};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::web_fetch::Everywhere;
use crate::world::World;

/// A public address; every name resolves to it.
const PUBLIC: [u8; 4] = [93, 184, 216, 34];

/// A dialler that connects every checked address to the fake.
#[derive(Debug)]
struct ToFake {
    fake: SocketAddr,
    dialled: Arc<Mutex<Vec<(Url, SocketAddr)>>>,
}

#[async_trait]
impl DialAddress for ToFake {
    async fn send_request(
        &self,
        url: &Url,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
        to: &[SocketAddr],
    ) -> Result<Box<dyn DialResponse>, NetError> {
        self.dialled.lock().extend(to.iter().map(|to| (url.clone(), *to)));
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let url = format!("http://{}{}{query}", self.fake, url.path());
        let client = HttpClient::new();
        Ok(Box::new(match body {
            Some(body) => client.post_json(&url, headers, body.to_vec()).await?,
            None => client.get(&url, headers).await?,
        }))
    }
}

/// A world whose search engine is a fake.
struct Searching {
    world: World,
    clock: Arc<ManualClock>,
    fake: SearchFake,
    dialled: Arc<Mutex<Vec<(Url, SocketAddr)>>>,
}

impl Searching {
    /// `is_written`: at a URL from the operator's configuration, otherwise at the provider's own.
    async fn new(engine: Engine, fake: SearchFake, is_written: bool, key: &str) -> Self {
        let (clock, dialled) = (Arc::new(ManualClock::default()), Arc::default());
        let dialler = ToFake { fake: fake.address(), dialled: Arc::clone(&dialled) };
        let client =
            GuardedClient::new(Arc::new(Vec::new()), clock.clone(), FetchLimits::default())
                .with_resolver(Arc::new(Everywhere(IpAddr::from(PUBLIC))))
                .with_dialler(Arc::new(dialler));
        let wants_key = matches!(engine, Engine::Brave | Engine::Tavily);
        let config = SearchConfig {
            provider: engine.name().to_owned(),
            base_url: is_written.then(|| format!("{}/", fake.base_url())),
            api_key: wants_key.then(|| Secret::new(key.to_owned())),
        };
        let search = SearchEngine::new(&config, &client, clock.clone()).unwrap();
        let web = WebAccess::new(client, Some(search), clock.clone());
        let world = World::on_the_web(web, clock.clone()).await;
        Self { world, clock, fake, dialled }
    }

    async fn find(&self, arguments: Value) -> Result<Value, String> {
        let found = self.world.run("web_search", arguments).await;
        found.map(|output| output.value).map_err(|error| error.to_string())
    }
}

/// Every engine with every kind of URL that it supports.
fn ways() -> impl Iterator<Item = (Engine, bool)> {
    let all = Engine::ALL.into_iter().flat_map(|engine| [(engine, true), (engine, false)]);
    all.filter(|way| *way != (Engine::SearXng, false))
}

async fn finding(way: (Engine, bool), hits: Vec<Hit>) -> Searching {
    let fake = SearchFake::finding(way.0, hits).await;
    Searching::new(way.0, fake, way.1, KEY).await
}

async fn answering(way: (Engine, bool), pieces: Vec<Piece>) -> Searching {
    let fake = SearchFake::answering(way.0, pieces).await;
    Searching::new(way.0, fake, way.1, KEY).await
}

#[tokio::test]
async fn web_search_finds_as_many_pages_as_requested() {
    for way in ways() {
        let searching = finding(way, (1..=30).map(Hit::numbered).collect()).await;
        for (count, found) in [(Some(3), 3), (Some(20), 20), (None, 8)] {
            let query = "the \"mill\" & c=d #1? 100% +é 水";
            let mut arguments = json!({ "query": query });
            if let Some(count) = count {
                arguments["count"] = json!(count);
            }
            let answer = searching.find(arguments).await.unwrap();
            let results = answer["results"].as_array().unwrap();
            assert_eq!(results.len(), found, "{way:?}");
            let second = json!({
                "title": "Page <2> & \"more\"",
                "url": "https://site.dev/2?a=b&c=d#e",
                "snippet": "What page 2 says, if 1 < 2.",
            });
            assert_eq!(results[1], second, "{way:?}");
            let searched = searching.fake.searched().pop().unwrap();
            assert_eq!(searched.query, query, "{way:?}");
            assert!(searched.count.is_none_or(|count| count == found), "{way:?}");
        }
        assert_eq!(searching.fake.refusals(), [""; 0], "{way:?}");
        let dialled = searching.dialled.lock();
        let public = SocketAddr::from((PUBLIC, 443));
        assert!(dialled.iter().all(|(url, to)| *to == public && url.scheme() == "https"));
        assert_eq!(
            dialled.len(),
            if way.1 { 0 } else { 3 },
            "{way:?}: the guard judges its own place"
        );
    }
}

#[tokio::test]
async fn web_search_without_results_is_no_error() {
    for way in ways() {
        let searching = finding(way, Vec::new()).await;
        let answer = searching.find(json!({"query": "a"})).await.unwrap();
        assert_eq!(answer["results"], json!([]), "{way:?}");
        assert!(answer["note"].as_str().unwrap().contains("no results"), "{way:?}");
    }
}

#[tokio::test]
async fn web_search_cuts_long_results_and_keeps_only_web_urls() {
    let hit = |title: &str, url: &str, snippet: &str| Hit {
        title: title.to_owned(),
        url: url.to_owned(),
        snippet: snippet.to_owned(),
    };
    let long = "so \n".repeat(10_000);
    let hits = vec![
        hit("script", "javascript:alert(1)", "x"),
        hit("file", "file:///etc/passwd", "x"),
        hit("long", &format!("https://a.dev/{}", "x".repeat(2000)), "x"),
        hit(&long, "https://a.dev/", &long),
        hit("a\u{202e}b\u{200b}c\u{e0041}", "https://b.dev/", "d\u{7}e\u{feff}f"),
    ];
    for way in ways() {
        let searching = finding(way, hits.clone()).await;
        let answer = searching.find(json!({"query": "a", "count": 20})).await.unwrap();
        let results = answer["results"].as_array().unwrap();
        assert_eq!(results.len(), 2, "{way:?}: {answer}");
        let length = |key: &str| results[0][key].as_str().unwrap().chars().count();
        assert_eq!((length("title"), length("snippet")), (201, 501), "{way:?}");
        assert_eq!((&results[1]["title"], &results[1]["snippet"]), (&json!("abc"), &json!("def")));
    }
}

#[tokio::test]
async fn web_search_refusal_explains_the_next_step() {
    let json = ("content-type", "application/json");
    let limited = "{\"error\": {\"detail\": \"slow down\"}}";
    let table = [
        (
            429,
            vec![("retry-after", "7"), json],
            limited,
            "it answers 429; ask again in 7 s: slow down",
        ),
        (429, vec![json], "", "it answers 429; ask again later"),
        (503, vec![], "<h1>over</h1><p>loaded</p>", "it answers 503: over loaded"),
        (503, vec![("retry-after", "60")], "", "it answers 503; ask again in 60 s"),
        (403, vec![], "", "it answers 403; "),
        (200, vec![json], "[1, 2", "failed: its "),
        (200, vec![json], "{\"results\": 1, \"web\": {\"results\": 1}}", "failed: its "),
    ];
    for way in ways() {
        for (status, headers, body, says) in &table {
            let searching = answering(way, whole(*status, headers, body)).await;
            let error = searching.find(json!({"query": "a"})).await.unwrap_err();
            let start = format!("execution failed: the search engine {} failed: ", way.0.name());
            assert!(error.starts_with(&start) && error.contains(says), "{way:?}: {error}");
        }
    }
}

#[tokio::test]
async fn web_search_error_on_a_wrong_key_hides_the_key() {
    for way in ways().filter(|way| matches!(way.0, Engine::Brave | Engine::Tavily)) {
        let fake = SearchFake::finding(way.0, Vec::new()).await;
        let searching = Searching::new(way.0, fake, way.1, "sk-mistaken").await;
        let error = searching.find(json!({"query": "a"})).await.unwrap_err();
        assert!(
            error.contains("the operator has to check api_key in [tools.web_search]"),
            "{error}"
        );
        assert!(error.contains("invalid") && !error.contains("sk-mistaken"), "{error}");
        assert!(searching.fake.refusals()[0].contains("sk-mistaken"), "it was repeated");
        assert!(!format!("{:?}", searching.world.registry).contains("sk-mistaken"));
    }
}

#[tokio::test]
async fn web_search_times_out_after_30_seconds() {
    for way in ways() {
        let searching = answering(way, vec![Piece::Hang]).await;
        let late = async {
            searching.clock.sleeper(Duration::from_secs(30)).await;
            searching.clock.advance(Duration::from_secs(30));
        };
        let (answer, ()) = tokio::join!(searching.find(json!({"query": "a"})), late);
        let error = answer.unwrap_err();
        assert!(error.ends_with("no answer within 30 s"), "{way:?}: {error}");
    }
}

#[tokio::test]
async fn web_search_sends_no_key_or_query_to_a_redirect() {
    for way in ways() {
        let location = [("location", "http://169.254.169.254/")];
        let searching = answering(way, whole(307, &location, "")).await;
        let error = searching.find(json!({"query": "a"})).await.unwrap_err();
        let says = match way {
            (Engine::Tavily, _) | (_, true) => "redirects are not followed",
            _ => "169.254.169.254 is not public",
        };
        assert!(error.contains(says), "{way:?}: {error}");
        assert_eq!(searching.fake.searched().len(), 1, "{way:?}");
    }
}

#[tokio::test]
async fn web_search_tells_a_robot_check_from_no_results() {
    let page = "<html><body><form id=\"challenge-form\"><div class=\"anomaly-modal__modal\">\
        Select all squares with a duck</div></form></body></html>";
    for is_written in [true, false] {
        let way = (Engine::DuckDuckGo, is_written);
        let searching = answering(way, whole(202, &[("content-type", "text/html")], page)).await;
        let error = searching.find(json!({"query": "a"})).await.unwrap_err();
        assert!(error.contains("a bot check"), "{error}");
    }
}

#[tokio::test]
async fn web_search_without_an_engine_shows_the_configuration_lines() {
    let error = World::new().await.error("web_search", json!({"query": "a"})).await;
    let lines = "\n[tools.web_search]\nprovider = \"brave\"\napi_key = \"${BRAVE_API_KEY}\"\n";
    assert!(error.contains("no search engine is configured") && error.contains(lines), "{error}");
}

#[tokio::test]
async fn f15_web_search_network_error_hides_the_engine_url() {
    let closed_port = ClosedPort::bind();
    let clock = Arc::new(ManualClock::default());
    let client = GuardedClient::new(Arc::new(Vec::new()), clock.clone(), FetchLimits::default());
    let base_url = Some(format!("http://me:sk-secret@{closed_port}/sk-secret"));
    let config = SearchConfig { provider: "searxng".to_owned(), base_url, api_key: None };
    let search = SearchEngine::new(&config, &client, clock.clone()).unwrap();
    let web = WebAccess::new(client, Some(search), clock.clone());
    let world = World::on_the_web(web, clock).await;
    let error = world.error("web_search", json!({"query": "sk-query"})).await;
    assert!(error.contains("no connection") && !error.contains("sk-"), "{error}");
    assert!(!format!("{:?}", world.registry).contains("sk-secret"));
}
