use super::*;

#[test]
fn check_base_url_refuses_the_paths_that_requests_add() {
    let paths = &OPENAI_PATHS[..];
    for (url, wanted) in [
        ("http://127.0.0.1:8080/v1", None),
        ("http://127.0.0.1:8080/v1/", None),
        ("https://api.deepseek.com", None),
        ("http://127.0.0.1/completions-server/v1", None),
        ("http://127.0.0.1:8080/v1/chat/completions", Some("http://127.0.0.1:8080/v1")),
        ("http://127.0.0.1:8080/v1/chat/completions/", Some("http://127.0.0.1:8080/v1")),
        ("http://127.0.0.1:8080/v1/completions", Some("http://127.0.0.1:8080/v1")),
        ("http://127.0.0.1:8080/v1/responses", Some("http://127.0.0.1:8080/v1")),
        ("http://127.0.0.1:8080/v1/embeddings", Some("http://127.0.0.1:8080/v1")),
        ("http://127.0.0.1:8080/v1/models", Some("http://127.0.0.1:8080/v1")),
        ("http://127.0.0.1:8080/v1/audio/speech", Some("http://127.0.0.1:8080/v1")),
    ] {
        let refused = check_base_url(url, AllowedReach::Everywhere, paths).err();
        let names = refused.as_ref().map(|(key, error)| (*key, error.rsplit('"').nth(1).unwrap()));
        assert_eq!(names, wanted.map(|wanted| ("base_url", wanted)), "{url}: {refused:?}");
    }
}
