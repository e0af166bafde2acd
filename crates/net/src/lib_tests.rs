use std::time::Duration;

use avocet_testkit::ClosedPort;
use avocet_testkit::http::{HttpFake, Piece, whole};

use super::*;

async fn post(fake: &HttpFake, path: &str) -> Result<HttpResponse, NetError> {
    let url = format!("http://{}/{path}", fake.address());
    let headers = [("authorization", "Bearer sk-1"), ("x-version", "1")];
    HttpClient::new().post_json(&url, &headers, b"{}".to_vec()).await
}

#[tokio::test]
async fn post_json_reads_an_answer_in_pieces() {
    let fake = HttpFake::start(|request| {
        assert_eq!(request.header("authorization"), Some("Bearer sk-1"));
        assert_eq!(request.header("x-version"), Some("1"));
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert!(request.header("user-agent").unwrap().starts_with("avocet/"));
        let headers =
            [("content-type", "text/event-stream; charset=utf-8"), ("retry-after", "1.5")];
        let head = Piece::head(200, &headers);
        vec![head, Piece::chunk(b"one "), Piece::chunk(b"two"), Piece::end()]
    })
    .await;
    let mut response = post(&fake, "").await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.retry_after(), Some(Duration::from_millis(1500)));
    assert!(
        response.has_media_type("text/event-stream")
            && !response.has_media_type("application/json")
    );
    let mut body = Vec::new();
    while let Some(chunk) = response.next_chunk().await.unwrap() {
        body.extend_from_slice(&chunk);
    }
    assert_eq!(body, b"one two");
    assert_eq!(post(&fake, "").await.unwrap().read_text(5).await.unwrap(), "one t");
}

#[tokio::test]
async fn is_compares_the_whole_media_type_without_its_parameters() {
    for (sent, expected) in [
        ("application/json", true),
        ("Application/JSON; charset=utf-8", true),
        ("application/jsonl", false),
        ("application/json-seq", false),
        ("text/plain; application/json", false),
    ] {
        let fake = HttpFake::start(move |_| whole(200, &[("content-type", sent)], "")).await;
        let response = post(&fake, "").await.unwrap();
        assert_eq!(response.has_media_type("application/json"), expected, "{sent}");
    }
}

#[tokio::test]
async fn retry_after_without_a_number_of_seconds_is_none() {
    for value in ["Wed, 21 Oct 2026 07:28:00 GMT", "-1", "soon", "1e300"] {
        let fake = HttpFake::start(move |_| whole(429, &[("retry-after", value)], "")).await;
        assert_eq!(post(&fake, "").await.unwrap().retry_after(), None, "{value}");
    }
}

#[tokio::test]
async fn retry_after_reads_milliseconds_and_a_date_beside_the_servers_date() {
    let date = ("date", "Wed, 21 Oct 2026 07:27:00 GMT");
    let table = [
        (vec![("retry-after-ms", "1500"), ("retry-after", "9")], Some(1500)),
        (vec![date, ("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")], Some(60_000)),
        (vec![date, ("retry-after", "Wed, 21 Oct 2026 07:00:00 GMT")], Some(0)),
    ];
    for (headers, expected) in table {
        let sent = headers.clone();
        let fake = HttpFake::start(move |_| whole(429, &sent, "")).await;
        let found = post(&fake, "").await.unwrap().retry_after();
        assert_eq!(found, expected.map(Duration::from_millis), "{headers:?}");
    }
}

#[tokio::test]
async fn post_json_follows_no_redirect() {
    let fake = HttpFake::start(|request| {
        assert_eq!(request.path, "/first");
        whole(307, &[("location", "/second")], "")
    })
    .await;
    assert_eq!(post(&fake, "first").await.unwrap().status(), 307);
}

#[tokio::test]
async fn f15_net_errors_do_not_name_the_url() {
    let closing = HttpFake::start(|_| vec![Piece::Close]).await;
    let half = || vec![Piece::head(200, &[]), Piece::chunk(b"x"), Piece::Close];
    let cut = HttpFake::start(move |_| half()).await;
    let unused = ClosedPort::bind();
    let client = HttpClient::new();
    let refused = client.post_json(&format!("http://{unused}/bot123:secret"), &[], vec![]).await;
    let invalid = client.post_json("http://[bad/bot123:secret", &[], vec![]).await;
    let url = format!("http://{unused}/");
    let unsendable = client.post_json(&url, &[("x-api-key", "secret\n")], vec![]).await;
    let errors = [
        post(&closing, "bot123:secret").await.unwrap_err(),
        post(&cut, "bot123:secret").await.unwrap().read_text(99).await.unwrap_err(),
        refused.unwrap_err(),
        invalid.unwrap_err(),
        unsendable.unwrap_err(),
    ];
    for error in &errors {
        assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
    }
    assert!(matches!(errors[0], NetError::Broken(_)), "{:?}", errors[0]);
    assert!(matches!(errors[1], NetError::Broken(_)), "{:?}", errors[1]);
    assert!(matches!(errors[2], NetError::Connect(_)), "{:?}", errors[2]);
    assert!(matches!(errors[3], NetError::Invalid(_)), "{:?}", errors[3]);
    assert_eq!(errors[4], NetError::Invalid("the header x-api-key cannot be sent".to_owned()));
}

#[tokio::test]
async fn with_headers_sends_them_in_every_request_and_shows_them_in_no_error() {
    let fake = HttpFake::start(|request| {
        assert_eq!(request.header("x-title"), Some("Avo"));
        assert_eq!(request.header("x-key"), Some("Basic sk-1234567"));
        assert_eq!(request.header("authorization"), Some("Bearer sk-1"));
        whole(200, &[], "")
    })
    .await;
    let headers = |value: &str| {
        let key = Secret::new(value.to_owned());
        BTreeMap::from([
            ("X-Key".to_owned(), key),
            ("X-Title".to_owned(), Secret::new("Avo".to_owned())),
        ])
    };
    let client = HttpClient::with_headers(&headers("Basic sk-1234567")).unwrap();
    let url = format!("http://{}/", fake.address());
    let bearer = [("authorization", "Bearer sk-1")];
    assert_eq!(client.post_json(&url, &bearer, vec![]).await.unwrap().status(), 200);
    let redacted = client.redact_headers("Avo: Basic key sk-1234567 is wrong");
    assert_eq!(redacted, "Avo: Basic key [secret] is wrong");
    assert!(!format!("{client:?}").contains("sk-1234567"));

    let error = HttpClient::with_headers(&headers("sk-1234567\n")).unwrap_err();
    assert_eq!(error, NetError::Invalid("the header X-Key cannot be sent".to_owned()));
    let value = Secret::new("x".to_owned());
    assert!(check_header("X-Title", &value).is_ok());
    let error = check_header("no name", &value).unwrap_err().to_string();
    assert_eq!(error, "the header no name cannot be sent");
}

#[tokio::test]
async fn get_sends_its_headers() {
    let fake = HttpFake::start(|request| {
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/models"));
        assert_eq!(request.header("authorization"), Some("Bearer sk-1"));
        whole(200, &[], "{}")
    })
    .await;
    let url = format!("http://{}/models", fake.address());
    let client = HttpClient::new();
    let response = client.get(&url, &[("authorization", "Bearer sk-1")]).await.unwrap();
    assert_eq!(response.read_text(99).await.unwrap(), "{}");
    let error = client.get(&url, &[("authorization", "secret\n")]).await.unwrap_err();
    assert!(!error.to_string().contains("secret"), "{error}");
}
