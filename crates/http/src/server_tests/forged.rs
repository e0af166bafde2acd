//! Requests with a forged host, origin or token: none is accepted.

use avocet_testkit::http_client::exchange;

use super::world::{TOKEN, TestRequest, World};

const BODY: &str = r#"{"session": "terminal:local:a", "text": "forged"}"#;

/// Lines of a head, each with `SERVER` for the address and `PORT` for the port of the server. Every
/// group makes a request invalid that is valid otherwise.
const FORGED: &[&[&str]] = &[
    // Another host, or a name that points to this machine.
    &["Host: evil.example", "AUTH"],
    &["Host: evil.example:PORT", "AUTH"],
    &["Host: localhost.evil.example:PORT", "AUTH"],
    &["Host: 127.0.0.1.nip.io:PORT", "AUTH"],
    &["Host: 127.0.0.1", "AUTH"],
    &["Host: localhost", "AUTH"],
    &["Host: 127.0.0.1:1", "AUTH"],
    &["Host: 0.0.0.0:PORT", "AUTH"],
    &["Host: [::]:PORT", "AUTH"],
    &["Host: 127.1:PORT", "AUTH"],
    &["Host: 2130706433:PORT", "AUTH"],
    &["Host: user@127.0.0.1:PORT", "AUTH"],
    &["Host: 127.0.0.1:PORT@evil.example", "AUTH"],
    &["Host: 127.0.0.1:PORT/", "AUTH"],
    &["Host: ", "AUTH"],
    &["AUTH"],
    &["Host: SERVER", "Host: evil.example", "AUTH"],
    &["Host: evil.example", "Host: SERVER", "AUTH"],
    &["Host: SERVER", "Host: SERVER", "AUTH"],
    &["Host: evil.example", "X-Forwarded-Host: SERVER", "AUTH"],
    &["Host: evil.example", "Forwarded: host=SERVER", "AUTH"],
    &["Host: evil.example", "Origin: http://evil.example", "AUTH"],
    // A page of another origin in a browser of this machine.
    &["Host: SERVER", "Origin: null", "AUTH"],
    &["Host: SERVER", "Origin: ", "AUTH"],
    &["Host: SERVER", "Origin: http://evil.example", "AUTH"],
    &["Host: SERVER", "Origin: https://evil.example", "AUTH"],
    &["Host: SERVER", "Origin: https://SERVER", "AUTH"],
    &["Host: SERVER", "Origin: http://127.0.0.1", "AUTH"],
    &["Host: SERVER", "Origin: http://127.0.0.1:1", "AUTH"],
    &["Host: SERVER", "Origin: http://localhost:PORT", "AUTH"],
    &["Host: SERVER", "Origin: http://SERVER.evil.example", "AUTH"],
    &["Host: SERVER", "Origin: http://SERVER/", "AUTH"],
    &["Host: SERVER", "Origin: http://user@SERVER", "AUTH"],
    &["Host: SERVER", "Origin: SERVER", "AUTH"],
    &["Host: SERVER", "Origin: file://", "AUTH"],
    &["Host: SERVER", "Origin: chrome-extension://abc", "AUTH"],
    &["Host: SERVER", "Origin: http://SERVER", "Origin: http://SERVER", "AUTH"],
    &["Host: SERVER", "Origin: http://evil.example", "Origin: http://SERVER", "AUTH"],
    &["Host: SERVER", "Origin: http://SERVER http://evil.example", "AUTH"],
    &["Host: bus.example", "Origin: http://SERVER", "AUTH"],
    &["Host: bus.example", "Origin: https://sub.bus.example", "AUTH"],
    // No token, or another one.
    &["Host: SERVER"],
    &["Host: SERVER", "Authorization: "],
    &["Host: SERVER", "Authorization: Bearer"],
    &["Host: SERVER", "Authorization: Bearer "],
    &["Host: SERVER", "Authorization: Bearer wrong-wrong-wrong-wrong"],
    &["Host: SERVER", "Authorization: Bearer 0123456789abcdef-phon"],
    &["Host: SERVER", "Authorization: Bearer 0123456789abcdef-phone2"],
    &["Host: SERVER", "Authorization: Bearer 0123456789ABCDEF-phone"],
    &["Host: SERVER", "Authorization: Bearer 0123456789abcdef-phone, x"],
    &["Host: SERVER", "Authorization: Bearer \"0123456789abcdef-phone\""],
    &["Host: SERVER", "Authorization: Basic 0123456789abcdef-phone"],
    &["Host: SERVER", "Authorization: 0123456789abcdef-phone"],
    &["Host: SERVER", "Authorization: Token 0123456789abcdef-phone"],
    &["Host: SERVER", "Authorization: Bearer phone"],
    &["Host: SERVER", "Authorization: Bearer http:phone"],
    &["Host: SERVER", "Authorization: Bearer [secret]"],
    &["Host: SERVER", "AUTH", "AUTH"],
    &["Host: SERVER", "AUTH", "Authorization: Bearer wrong"],
    &["Host: SERVER", "Authorization: Bearer wrong", "AUTH"],
    &["Host: SERVER", "Cookie: token=0123456789abcdef-phone"],
    &["Host: SERVER", "X-Api-Key: 0123456789abcdef-phone"],
    &["Host: SERVER", "Proxy-Authorization: Bearer 0123456789abcdef-phone"],
    &["Host: bus.example", "Origin: https://bus.example"],
];

/// The requests of the web console that need no token.
const WEB: [&str; 5] = [
    "GET /",
    "GET /icon.svg",
    "GET /assets/app-01.js",
    "GET /assets/nowhere.js",
    "POST /v1/web/login",
];

fn forged(world: &World, line: &'static str, head: &[&str]) -> Vec<u8> {
    let (server, port) = (world.server.to_string(), world.server.port().to_string());
    let auth = format!("Authorization: Bearer {TOKEN}");
    let filled = head.iter().map(|line| match *line {
        "AUTH" => auth.clone(),
        line => line.replace("SERVER", &server).replace("PORT", &port),
    });
    let head = filled.chain(["Content-Type: application/json".to_owned()]).collect();
    let body = if line.starts_with("POST") { BODY } else { "" };
    TestRequest { line, head, body }.bytes()
}

#[tokio::test]
async fn f28_forged_requests_are_refused_on_every_path() {
    assert!(FORGED.len() >= 60, "{}", FORGED.len());
    let world = World::new();
    let files = ["POST /v1/files", "GET /v1/sessions/terminal:local:a/files/t1/0"];
    let lines = ["POST /v1/messages", "GET /v1/sessions", "DELETE /v1/sessions/terminal:local:a"];
    for head in FORGED {
        for line in lines
            .into_iter()
            .chain(files)
            .chain(["GET /openapi.json", "GET /nowhere"])
            .chain(["POST /mcp", "GET /mcp", "DELETE /mcp"])
        {
            let answer = exchange(world.server, &forged(&world, line, head)).await;
            assert!([400, 401, 403].contains(&answer.status), "{line} {head:?}: {answer:?}");
        }
    }
    assert!(world.daemon.asked.lock().is_empty());
    assert_eq!(world.daemon.uploads.begun(), 0);
}

#[tokio::test]
async fn f28_forged_hosts_and_origins_are_refused_on_open_paths() {
    let world = World::new();
    let with_auth = FORGED.iter().filter(|head| {
        head.iter().filter(|line| **line == "AUTH").count() == 1
            && !head.iter().any(|line| line.starts_with("Authorization"))
    });
    for head in with_auth {
        let head: Vec<&str> = head.iter().copied().filter(|line| *line != "AUTH").collect();
        for line in ["GET /healthz", "GET /readyz", "GET /metrics"].into_iter().chain(WEB) {
            let answer = exchange(world.server, &forged(&world, line, &head)).await;
            assert!([400, 403].contains(&answer.status), "{line} {head:?}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn f28_forged_target_of_a_proxy_request_is_refused() {
    let world = World::new();
    for line in ["GET http://evil.example/healthz", "CONNECT evil.example:443"] {
        let answer = exchange(world.server, &forged(&world, line, &["Host: SERVER", "AUTH"])).await;
        assert!([400, 403].contains(&answer.status), "{line}: {answer:?}");
    }
}

#[tokio::test]
async fn requests_of_the_own_origin_and_of_listed_hosts_are_accepted() {
    let world = World::new();
    for head in [
        &["Host: SERVER", "AUTH"][..],
        &["Host: SERVER", "Origin: http://SERVER", "AUTH"],
        &["Host: localhost:PORT", "Origin: http://localhost:PORT", "AUTH"],
        &["Host: bus.example", "Origin: https://bus.example", "AUTH"],
        &["Host: SERVER", "Authorization: bearer 0123456789abcdef-phone"],
    ] {
        let answer = exchange(world.server, &forged(&world, "GET /v1/sessions", head)).await;
        assert_eq!(answer.status, 200, "{head:?}: {answer:?}");
    }
}
