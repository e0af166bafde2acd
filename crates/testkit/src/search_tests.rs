use super::*;

fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> HttpRequest {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    HttpRequest {
        method: method.to_owned(),
        path: path.to_owned(),
        headers: headers.collect(),
        body: body.as_bytes().to_vec(),
    }
}

#[test]
fn search_fake_accepts_only_the_requests_of_the_real_engine() {
    let brave = "/res/v1/web/search?q=a+b&count=3&text_decorations=false";
    let (token, json) = (("x-subscription-token", KEY), ("accept", "application/json"));
    let bearer = format!("Bearer {KEY}");
    let (bearer, json_body) =
        (("authorization", bearer.as_str()), ("content-type", "application/json"));
    let table = [
        (Engine::Brave, request("GET", brave, &[token, json], ""), None),
        (Engine::Brave, request("POST", brave, &[token, json], ""), Some(404)),
        (Engine::Brave, request("GET", "/web/search?q=a", &[token, json], ""), Some(404)),
        (Engine::Brave, request("GET", brave, &[json], ""), Some(422)),
        (
            Engine::Brave,
            request("GET", brave, &[("x-subscription-token", "k"), json], ""),
            Some(422),
        ),
        (Engine::Brave, request("GET", brave, &[token, ("accept", "text/html")], ""), Some(406)),
        (Engine::Brave, request("GET", &brave.replace("=3", "=21"), &[token, json], ""), Some(422)),
        (Engine::Brave, request("GET", &brave.replace("a+b", ""), &[token, json], ""), Some(422)),
        (Engine::DuckDuckGo, request("GET", "/html/?q=a%20b", &[("user-agent", "x")], ""), None),
        (Engine::DuckDuckGo, request("GET", "/html/?q=a", &[], ""), Some(403)),
        (Engine::DuckDuckGo, request("GET", "/?q=a", &[("user-agent", "x")], ""), Some(404)),
        (Engine::DuckDuckGo, request("GET", "/html/?q=", &[("user-agent", "x")], ""), Some(302)),
        (Engine::SearXng, request("GET", "/search?q=a+b&format=json", &[], ""), None),
        (Engine::SearXng, request("GET", "/search?q=a+b", &[], ""), Some(403)),
        (Engine::SearXng, request("GET", "/search?format=json", &[], ""), Some(400)),
        (
            Engine::Tavily,
            request(
                "POST",
                "/search",
                &[bearer, json_body],
                "{\"query\":\"a b\",\"max_results\":3}",
            ),
            None,
        ),
        (Engine::Tavily, request("GET", "/search?query=a", &[bearer, json_body], ""), Some(404)),
        (Engine::Tavily, request("POST", "/search", &[json_body], "{\"query\":\"a\"}"), Some(401)),
        (Engine::Tavily, request("POST", "/search", &[bearer], "{\"query\":\"a\"}"), Some(422)),
        (Engine::Tavily, request("POST", "/search", &[bearer, json_body], "{}"), Some(400)),
        (
            Engine::Tavily,
            request(
                "POST",
                "/search",
                &[bearer, json_body],
                "{\"query\":\"a\",\"max_results\":21}",
            ),
            Some(400),
        ),
    ];
    for (engine, request, refused) in table {
        let checked = engine.check(&request);
        let status = checked.as_ref().err().map(|refusal| refusal.status);
        assert_eq!(status, refused, "{engine:?} {} {}", request.method, request.path);
        assert!(checked.is_err() || checked.unwrap().query == "a b");
    }
}
