use avocet_protocol::tool::{McpServers, OutsideTool, ToolSource};
use avocet_testkit::{ManualClock, tool_context};
use serde_json::{Map, json};
use tempfile::TempDir;

use super::super::fake::{CLIENT, FakeOAuth, LIFETIME, REDIRECT};
use super::*;
use crate::McpOAuthConfig;

const SERVER: &str = "/.well-known/oauth-authorization-server";
const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";

struct World {
    home: TempDir,
    clock: Arc<ManualClock>,
    fake: FakeOAuth,
    client: McpClient,
}

impl World {
    async fn with(oauth: McpOAuthConfig) -> Self {
        let (home, clock) = (TempDir::new().unwrap(), Arc::new(ManualClock::default()));
        let fake = FakeOAuth::start().await;
        let client = fake.create_client(home.path(), &clock, oauth);
        Self { home, clock, fake, client }
    }

    async fn new() -> Self {
        Self::with(McpOAuthConfig::default()).await
    }

    async fn begin(&self) -> Result<PendingLogin, String> {
        self.client.begin_login("web", REDIRECT).await.map_err(|error| error.to_string())
    }

    async fn log_in(&self) -> LoginDone {
        let login = self.begin().await.unwrap();
        let returned = self.fake.approve_login(login.browser_address()).unwrap();
        login.finish_login(&returned).await.unwrap()
    }

    async fn tools(&self) -> Result<usize, String> {
        let tools = McpServers::tools(&self.client, "web", true).await;
        tools.map(|tools| tools.len()).map_err(|error| error.to_string())
    }

    fn file(&self) -> String {
        std::fs::read_to_string(self.home.path().join("mcp-tokens.json")).unwrap_or_default()
    }
}

fn registered(grant: OAuthGrant) -> McpOAuthConfig {
    McpOAuthConfig {
        client_id: Some(CLIENT.0.to_owned()),
        client_secret: Some(Secret::new(CLIENT.1.to_owned())),
        grant,
        ..McpOAuthConfig::default()
    }
}

#[tokio::test]
async fn login_registers_a_client_and_its_token_opens_the_server() {
    let world = World::new().await;
    let needed = world.tools().await.unwrap_err();
    assert_eq!(needed, "the MCP server web failed: it needs a login; run `avocet mcp login web`");
    let done = world.log_in().await;
    assert_eq!(done.scopes, ["read"]);
    assert!(done.is_renewed && done.expires_at.is_some());
    assert_eq!(world.tools().await, Ok(1));
    let sent = world.fake.lock_state().authorizations.last().cloned().flatten().unwrap();
    assert!(sent.starts_with("Bearer access-"), "{sent}");
    let mode = std::fs::metadata(world.home.path().join("mcp-tokens.json")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode.permissions()) & 0o777, 0o600);
}

#[tokio::test]
async fn login_with_a_registered_client_uses_its_secret() {
    for methods in [json!(["client_secret_basic"]), json!(["client_secret_post"]), json!(null)] {
        let world = World::with(registered(OAuthGrant::AuthorizationCode)).await;
        world.fake.change_document(SERVER, "registration_endpoint", json!(null));
        world.fake.change_document(SERVER, "token_endpoint_auth_methods_supported", methods);
        world.log_in().await;
        assert_eq!(world.tools().await, Ok(1));
    }
}

#[tokio::test]
async fn login_is_refused_without_safe_metadata() {
    let elsewhere = "http://192.0.2.1/x";
    for (path, key, value, expected) in [
        (SERVER, "code_challenge_methods_supported", json!(["plain"]), "PKCE"),
        (SERVER, "code_challenge_methods_supported", json!(null), "PKCE"),
        (SERVER, "issuer", json!("https://evil.example"), "another authorization server"),
        (SERVER, "token_endpoint", json!(elsewhere), "does not begin with https://"),
        (SERVER, "token_endpoint", json!(null), "no token endpoint"),
        (SERVER, "authorization_endpoint", json!("javascript:alert(1)"), "https://"),
        (SERVER, "authorization_endpoint", json!(null), "no page for a login"),
        (SERVER, "registration_endpoint", json!(null), "registers no clients by itself"),
        (RESOURCE, "resource", json!("https://other.example/mcp"), "of another resource"),
        (RESOURCE, "authorization_servers", json!([]), "names no authorization server"),
        (RESOURCE, "authorization_servers", json!([elsewhere]), "https://"),
    ] {
        let world = World::new().await;
        world.fake.change_document(path, key, value);
        let error = world.begin().await.unwrap_err();
        assert!(error.contains(expected), "{key}: {error}");
    }
}

#[tokio::test]
async fn secret_is_sent_to_the_issuer_of_the_configuration_only() {
    for grant in [OAuthGrant::AuthorizationCode, OAuthGrant::ClientCredentials] {
        let issuer = Some("https://login.example/".to_owned());
        let world = World::with(McpOAuthConfig { issuer, ..registered(grant) }).await;
        let error = match grant {
            OAuthGrant::AuthorizationCode => world.begin().await.unwrap_err(),
            OAuthGrant::ClientCredentials => world.tools().await.unwrap_err(),
        };
        assert!(error.contains("its table `oauth` has \"https://login.example/\""), "{error}");
        assert!(world.fake.lock_state().forms.is_empty());
    }
}

#[tokio::test]
async fn login_without_metadata_uses_the_default_endpoints_of_old_servers() {
    let world = World::new().await;
    world.fake.lock_state().documents.clear();
    let login = world.begin().await.unwrap();
    let base = &world.fake.base;
    assert!(login.browser_address().starts_with(&format!("{base}/authorize?response_type=code&")));
}

#[tokio::test]
async fn finish_refuses_answers_that_are_not_of_this_login() {
    let world = World::new().await;
    let login = world.begin().await.unwrap();
    let good = world.fake.approve_login(login.browser_address()).unwrap();
    let (base, state) = (&world.fake.base, query_value(&good, "state"));
    let state = state.unwrap_or_else(|| login.state.expose().to_owned());
    let issuer: String = format!("iss={base}");
    for (returned, expected) in [
        ("code=a".to_owned(), "of another login"),
        (format!("code=a&state=b&{issuer}"), "of another login"),
        (format!("code=a&state={state}"), "another authorization server"),
        (format!("code=a&state={state}&iss=https://evil.example"), "another authorization server"),
        (format!("state={state}&{issuer}"), "has no code"),
        (format!("error=access_denied&state={state}&{issuer}"), "refused: access_denied"),
        (format!("code=unknown&state={state}&{issuer}"), "invalid_grant"),
    ] {
        let error = login.finish_login(&returned).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{returned}: {error}");
    }
    login.finish_login(&good).await.unwrap();
    let again = login.finish_login(&good).await.unwrap_err().to_string();
    assert!(again.contains("invalid_grant") && !again.contains("code-"), "{again}");
}

#[tokio::test]
async fn fake_refuses_a_wrong_part_of_a_request_for_tokens() {
    let world = World::new().await;
    for (field, wrong, expected) in [
        ("code_verifier", "x".repeat(64), "invalid_grant"),
        ("redirect_uri", "http://127.0.0.1:1/callback".to_owned(), "invalid_grant"),
        ("resource", "https://other.example".to_owned(), "invalid_target"),
        ("client", "unknown".to_owned(), "invalid_client"),
    ] {
        let mut login = world.begin().await.unwrap();
        let returned = world.fake.approve_login(login.browser_address()).unwrap();
        match field {
            "code_verifier" => login.verifier = Secret::new(wrong),
            "redirect_uri" => login.redirect = wrong,
            "resource" => login.server.resource = wrong,
            _ => login.client.id = wrong,
        }
        let error = login.finish_login(&returned).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{field}: {error}");
        assert!(!error.contains("code-"), "{error}");
    }
    let mut login = world.begin().await.unwrap();
    for (from, to) in
        [("S256", "plain"), ("%2Fmcp", "%2Fother"), ("4711", "4712"), ("client-", "x")]
    {
        login.address = login.address.replacen(from, to, 1);
        assert!(world.fake.approve_login(&login.address).is_err(), "{from}");
    }
    assert!(!world.file().contains("access-"));
}

#[tokio::test]
async fn call_that_needs_another_scope_names_the_login_that_asks_for_it() {
    let world = World::new().await;
    world.log_in().await;
    world.tools().await.unwrap();
    world.fake.lock_state().needed = Some("write".to_owned());
    let tool = ToolSource::tools(&world.client).remove(0);
    let call = || async {
        OutsideTool::execute(&*tool, &Map::new(), &tool_context()).await.map_err(|e| e.to_string())
    };
    let refused = call().await.unwrap_err();
    assert!(
        refused.contains(
            "its login has too few rights: it needs the scopes \"write\"; run `avocet mcp login web`"
        ),
        "{refused}"
    );
    // The connection goes on: other tools may need no further scope.
    assert_eq!(world.client.servers()[0].state, avocet_protocol::tool::McpState::Ready);
    assert_eq!(world.log_in().await.scopes, ["read", "write"]);
    assert_eq!(call().await, Ok(json!("done").into()));
    assert!(!world.file().contains("missing_scopes"), "{}", world.file());
}

#[tokio::test]
async fn token_is_renewed_before_its_end_and_after_a_refusal() {
    let world = World::new().await;
    world.log_in().await;
    assert_eq!(world.tools().await, Ok(1));
    let forms = || world.fake.lock_state().forms.len();
    assert_eq!(forms(), 1);
    world.clock.advance(std::time::Duration::from_secs(LIFETIME - 30));
    assert_eq!((world.tools().await, forms()), (Ok(1), 2));
    world.fake.lock_state().access.clear();
    assert_eq!((world.tools().await, forms()), (Ok(1), 3));
    // Another process reads the same file.
    let other =
        world.fake.create_client(world.home.path(), &world.clock, McpOAuthConfig::default());
    assert_eq!(McpServers::tools(&other, "web", true).await.unwrap().len(), 1);
    assert_eq!(forms(), 3);
}

#[tokio::test]
async fn renewal_happens_once_and_survives_a_caller_that_stops_waiting() {
    let world = World::new().await;
    world.log_in().await;
    world.clock.advance(std::time::Duration::from_secs(LIFETIME));
    let access = world.client.access_of("web").unwrap();
    tokio::select! {
        biased;
        _ = access.token_for_request() => panic!("the renewal needs an answer"),
        () = std::future::ready(()) => {}
    }
    let (one, other) = tokio::join!(access.token_for_request(), access.token_for_request());
    let (one, other) = (one.unwrap().unwrap(), other.unwrap().unwrap());
    assert_eq!(one.expose(), other.expose());
    assert_eq!(world.fake.lock_state().forms.len(), 2);
    assert_eq!(world.tools().await, Ok(1));
}

#[tokio::test]
async fn renewal_that_fails_for_now_keeps_the_login() {
    let world = World::new().await;
    world.log_in().await;
    world.fake.lock_state().is_down = true;
    world.clock.advance(std::time::Duration::from_secs(LIFETIME - 30));
    assert_eq!(world.tools().await, Ok(1));
    world.clock.advance(std::time::Duration::from_secs(60));
    world.fake.lock_state().access.clear();
    let error = world.tools().await.unwrap_err();
    assert!(error.contains("cannot renew its token: the authorization server answers"), "{error}");
    world.fake.lock_state().is_down = false;
    assert_eq!(world.tools().await, Ok(1));
}

#[tokio::test]
async fn revoked_login_needs_another_with_the_same_scopes() {
    let world = World::with(McpOAuthConfig {
        scopes: vec!["extra".to_owned()],
        ..McpOAuthConfig::default()
    })
    .await;
    assert_eq!(world.log_in().await.scopes, ["extra"]);
    world.fake.lock_state().revoke_all();
    let ended = world.tools().await.unwrap_err();
    assert!(
        ended.ends_with("its login has expired (invalid_grant); run `avocet mcp login web`"),
        "{ended}"
    );
    assert!(!world.file().contains("access-"), "{}", world.file());
    assert_eq!(world.log_in().await.scopes, ["extra"]);
    assert_eq!(world.tools().await, Ok(1));
}

#[tokio::test]
async fn renewed_login_is_used_from_memory_if_it_cannot_be_written() {
    let world = World::new().await;
    world.log_in().await;
    let old = world.file();
    let home = world.home.path();
    let aside = home.with_extension("aside");
    world.fake.lock_state().moved_at_refresh = Some((home.to_owned(), aside.clone()));
    let access = world.client.access_of("web").unwrap();
    let token = access.token_for_request().await.unwrap();
    world.fake.lock_state().access.clear();
    access.renew_refused(None, token.as_ref()).await.unwrap();
    std::fs::rename(&aside, home).unwrap();
    assert_eq!(world.file(), old);
    let forms = || world.fake.lock_state().forms.len();
    assert_eq!((world.tools().await, forms()), (Ok(1), 2));
    // The next renewal has the new refresh token, and is stored.
    world.fake.lock_state().access.clear();
    assert_eq!((world.tools().await, forms()), (Ok(1), 3));
    assert_ne!(world.file(), old);
}

#[tokio::test]
async fn call_whose_result_repeats_the_token_shows_no_secret() {
    let world = World::new().await;
    world.log_in().await;
    world.tools().await.unwrap();
    world.fake.lock_state().repeats_token = true;
    let tool = ToolSource::tools(&world.client).remove(0);
    let result = OutsideTool::execute(&*tool, &Map::new(), &tool_context()).await;
    assert_eq!(result, Ok(json!("got Bearer [secret]").into()));
}

#[tokio::test]
async fn refusal_of_a_server_with_configured_scopes_names_the_key() {
    let scopes = vec!["read".to_owned()];
    let world = World::with(McpOAuthConfig { scopes, ..McpOAuthConfig::default() }).await;
    world.log_in().await;
    world.tools().await.unwrap();
    world.fake.lock_state().needed = Some("write".to_owned());
    let tool = ToolSource::tools(&world.client).remove(0);
    let result = OutsideTool::execute(&*tool, &Map::new(), &tool_context()).await;
    let error = result.unwrap_err().to_string();
    assert!(error.contains("the scopes \"write\"; add them to `scopes`"), "{error}");
    assert!(!world.file().contains("missing_scopes"), "{}", world.file());
}

#[tokio::test]
async fn client_credentials_need_no_login() {
    let world = World::with(registered(OAuthGrant::ClientCredentials)).await;
    assert_eq!(world.tools().await, Ok(1));
    world.clock.advance(std::time::Duration::from_secs(LIFETIME));
    world.fake.lock_state().access.clear();
    assert_eq!(world.tools().await, Ok(1));
    assert_eq!(world.fake.lock_state().granted_scopes(), ["read".to_owned()].into());
    let error = world.begin().await.unwrap_err();
    assert!(error.contains("logs in by itself"), "{error}");
}

#[tokio::test]
async fn token_is_never_sent_to_another_url() {
    let world = World::new().await;
    world.log_in().await;
    let other = FakeOAuth::start().await;
    let moved = other.create_client(world.home.path(), &world.clock, McpOAuthConfig::default());
    let error = McpServers::tools(&moved, "web", true).await.unwrap_err().to_string();
    assert!(error.contains("it needs a login"), "{error}");
    assert_eq!(other.lock_state().authorizations, [None]);
}

#[tokio::test]
async fn logout_revokes_the_tokens_and_deletes_them() {
    let world = World::new().await;
    world.log_in().await;
    assert_eq!(world.client.log_out("web").await.unwrap(), (true, None));
    assert_eq!(world.file(), "{}");
    assert!(world.fake.lock_state().refresh.is_empty());
    assert_eq!(world.client.log_out("web").await.unwrap(), (false, None));
    assert!(world.tools().await.is_err());
}

#[test]
fn scopes_follow_the_order_of_the_specification() {
    let set = |text: &str| text.split_whitespace().map(str::to_owned).collect::<BTreeSet<_>>();
    let list = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    for (configured, asked, of_resource, of_server, missing, expected) in [
        ("", None, "", "", "", ""),
        ("", None, "", "offline_access", "", ""),
        ("", None, "a b", "a b", "", "a b"),
        ("", Some("c"), "a b", "", "", "c"),
        ("d", Some("c"), "a b", "", "", "d"),
        ("", Some("c"), "", "offline_access", "e", "c e offline_access"),
        ("d", None, "", "", "e", "d"),
    ] {
        let challenge = asked.map(|scope| BearerChallenge {
            scope: Some(scope.to_owned()),
            ..BearerChallenge::default()
        });
        let server = AuthorizationServer {
            resource: String::new(),
            resource_scopes: Some(list(of_resource)),
            issuer: String::new(),
            authorization: None,
            token: Url::parse("https://login.example/token").unwrap(),
            registration: None,
            revocation: None,
            scopes: list(of_server),
            has_s256: true,
            proofs: None,
            names_issuer: false,
        };
        let entry = ServerTokens { missing_scopes: set(missing), ..ServerTokens::default() };
        let found = choose_scopes(&list(configured), &entry, challenge.as_ref(), &server);
        assert_eq!(found, set(expected), "{configured} {asked:?}");
    }
}

#[tokio::test]
async fn callback_listener_takes_the_answer_of_its_login_only() {
    use avocet_testkit::http_client::HttpConnection;
    let world = World::new().await;
    let login = world.begin().await.unwrap();
    let group = avocet_supervise::Group::new("test");
    let listener = crate::CallbackListener::open(0, world.clock.clone(), group).await.unwrap();
    let address = listener.redirect_address();
    let address: std::net::SocketAddr =
        address.strip_prefix("http://").unwrap().split('/').next().unwrap().parse().unwrap();
    let state = login.state.expose().to_owned();
    let browser = async {
        // A connection that is never used blocks no other.
        let _idle = HttpConnection::open(address).await;
        let mut pages = Vec::new();
        for target in
            ["/favicon.ico", "/callback?code=a&state=b", &format!("/callback?code=a&state={state}")]
        {
            let mut connection = HttpConnection::open(address).await;
            let request = format!("GET {target} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
            connection.write(request.as_bytes()).await;
            pages.push(connection.answer().await.status);
        }
        pages
    };
    let (received, pages) = tokio::join!(listener.receive_query(&login), browser);
    assert_eq!(pages, [404, 400, 200]);
    assert_eq!(received.unwrap(), format!("code=a&state={state}"));
}

#[test]
fn value_decodes_a_query() {
    assert_eq!(query_value("a=b%20c+d&e", "a"), Some("b c d".to_owned()));
    assert_eq!(query_value("a=b", "c"), None);
}
