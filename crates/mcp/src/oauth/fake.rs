//! A strict MCP server with its own authorization server, on one port.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use avocet_net::Url;
use avocet_testkit::ManualClock;
use avocet_testkit::http::{HttpFake, HttpRequest, Piece, whole};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{McpClient, McpOAuthConfig, McpServerConfig};

pub(super) const REDIRECT: &str = "http://127.0.0.1:4711/callback";
/// Seconds of an access token.
pub(super) const LIFETIME: u64 = 3600;

/// The client that the operator has registered.
pub(super) const CLIENT: (&str, &str) = ("registered client", "secret:of the client");

/// A request for a code that a person has approved.
#[derive(Debug, Clone)]
struct ApprovedCode {
    client: String,
    challenge: String,
    scope: String,
}

#[derive(Debug, Default)]
pub(super) struct FakeState {
    /// Documents by path. A path without a document is a 404.
    pub(super) documents: BTreeMap<String, Value>,
    /// The clients and their secrets; an empty one is of a public client.
    clients: BTreeMap<String, String>,
    codes: BTreeMap<String, ApprovedCode>,
    /// The scopes of each access token.
    pub(super) access: BTreeMap<String, String>,
    /// The client and the scopes of each refresh token.
    pub(super) refresh: BTreeMap<String, (String, String)>,
    /// The scope that a call of a tool needs.
    pub(super) needed: Option<String>,
    /// The forms that the token endpoint has received.
    pub(super) forms: Vec<BTreeMap<String, String>>,
    /// The headers `authorization` that the server has received.
    pub(super) authorizations: Vec<Option<String>>,
    /// The directory that the next renewal moves, and its new place.
    pub(super) moved_at_refresh: Option<(PathBuf, PathBuf)>,
    /// `true` if the results of calls repeat the header `authorization`.
    pub(super) repeats_token: bool,
    /// `true` if the token endpoint is down.
    pub(super) is_down: bool,
    made: usize,
}

/// The server.
#[derive(Debug, Clone)]
pub(super) struct FakeOAuth {
    pub(super) base: String,
    state: Arc<Mutex<FakeState>>,
}

type Refusal = (u16, &'static str);

impl FakeOAuth {
    pub(super) async fn start() -> Self {
        let state = Arc::new(Mutex::new(FakeState::default()));
        let base = Arc::new(Mutex::new(String::new()));
        let (answering, at) = (state.clone(), base.clone());
        let server =
            HttpFake::start(move |request| answering.lock().answer_request(&at.lock(), &request));
        let address = format!("http://{}", server.await.address());
        base.lock().clone_from(&address);
        let fake = Self { base: address, state };
        fake.lock_state().clients.insert(CLIENT.0.to_owned(), CLIENT.1.to_owned());
        fake.publish_documents();
        fake
    }

    pub(super) fn lock_state(&self) -> MutexGuard<'_, FakeState> {
        self.state.lock()
    }

    pub(super) fn resource_url(&self) -> String {
        format!("{}/mcp", self.base)
    }

    fn publish_documents(&self) {
        let base = &self.base;
        let resource = json!({
            "resource": self.resource_url(),
            "authorization_servers": [base],
            "scopes_supported": ["read"],
        });
        let server = json!({
            "issuer": base,
            "authorization_endpoint": format!("{base}/authorize?theme=dark"),
            "token_endpoint": format!("{base}/token"),
            "registration_endpoint": format!("{base}/register"),
            "revocation_endpoint": format!("{base}/revoke"),
            "code_challenge_methods_supported": ["plain", "S256"],
            "token_endpoint_auth_methods_supported":
                ["none", "client_secret_basic", "client_secret_post"],
            "authorization_response_iss_parameter_supported": true,
        });
        let documents = &mut self.lock_state().documents;
        documents.insert("/.well-known/oauth-protected-resource/mcp".to_owned(), resource);
        documents.insert("/.well-known/oauth-authorization-server".to_owned(), server);
    }

    pub(super) fn change_document(&self, path: &str, key: &str, value: Value) {
        self.lock_state().documents.get_mut(path).unwrap()[key] = value;
    }

    /// Does the work of the browser and of a person who agrees. Returns the address that the browser
    /// is sent to.
    pub(super) fn approve_login(&self, address: &str) -> Result<String, Refusal> {
        let url = Url::parse(address).unwrap();
        let fields: BTreeMap<String, String> = url.query_pairs().into_owned().collect();
        let field = |name: &str| fields.get(name).map(String::as_str).unwrap_or_default();
        let mut state = self.lock_state();
        if !state.clients.contains_key(field("client_id")) {
            return Err((400, "invalid_client"));
        }
        let is_good = url.path() == "/authorize"
            && field("theme") == "dark"
            && field("response_type") == "code"
            && field("redirect_uri") == REDIRECT
            && field("code_challenge_method") == "S256"
            && field("resource") == self.resource_url();
        if !is_good {
            return Err((400, "invalid_request"));
        }
        let approved = ApprovedCode {
            client: field("client_id").to_owned(),
            challenge: field("code_challenge").to_owned(),
            scope: field("scope").to_owned(),
        };
        let code = state.name("code");
        state.codes.insert(code.clone(), approved);
        let mut back = Url::parse(REDIRECT).unwrap();
        let pairs = [("code", &*code), ("state", field("state")), ("iss", &*self.base)];
        back.query_pairs_mut().extend_pairs(pairs);
        Ok(back.into())
    }

    /// Returns a client whose server `web` is this one.
    pub(super) fn create_client(
        &self,
        home: &Path,
        clock: &Arc<ManualClock>,
        oauth: McpOAuthConfig,
    ) -> McpClient {
        let (url, oauth) = (Some(self.resource_url()), Some(oauth));
        let config = McpServerConfig { url, oauth, ..McpServerConfig::default() };
        crate::testing::make_client(home, clock, vec![("web", config, None)])
    }
}

impl FakeState {
    fn name(&mut self, kind: &str) -> String {
        self.made += 1;
        format!("{kind}-{}-of-the-fake", self.made)
    }

    fn answer_request(&mut self, base: &str, request: &HttpRequest) -> Vec<Piece> {
        let json = [("content-type", "application/json")];
        let result = match (request.method.as_str(), request.path.as_str()) {
            ("GET", path) => self.documents.get(path).cloned().ok_or((404, "not_found")),
            ("POST", "/mcp") => return self.answer_mcp(base, request),
            ("POST", "/register") => self.register_client(&request.body),
            ("POST", "/token") => self.grant_token(base, request),
            ("POST", "/revoke") => self.revoke_token(request),
            _ => Err((405, "method")),
        };
        match result {
            Ok(answer) => whole(200, &json, &answer.to_string()),
            Err((status, code)) => {
                let form = String::from_utf8_lossy(&request.body);
                let error = json!({"error": code, "error_description": format!("of {form}")});
                whole(status, &json, &error.to_string())
            }
        }
    }

    fn answer_mcp(&mut self, base: &str, request: &HttpRequest) -> Vec<Piece> {
        let given = request.header("authorization");
        self.authorizations.push(given.map(str::to_owned));
        let scopes = given
            .and_then(|given| self.access.get(given.strip_prefix("Bearer ").unwrap_or_default()));
        let metadata = format!("{base}/.well-known/oauth-protected-resource/mcp");
        let Some(scopes) = scopes else {
            let challenge = if self.documents.contains_key(&metadata[base.len()..]) {
                format!("Bearer resource_metadata=\"{metadata}\", scope=\"read\"")
            } else {
                "Bearer".to_owned()
            };
            return whole(401, &[("www-authenticate", &challenge)], "no token");
        };
        let message: Value = serde_json::from_slice(&request.body).unwrap();
        let needed = self.needed.as_deref().filter(|_| message["method"] == "tools/call");
        if let Some(needed) = needed
            && !scopes.split(' ').any(|scope| scope == needed)
        {
            let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{needed}\"");
            return whole(403, &[("www-authenticate", &challenge)], "");
        }
        let result = match message["method"].as_str().unwrap() {
            "initialize" => json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "web", "version": "1"},
            }),
            "tools/list" => json!({"tools": [{"name": "a", "inputSchema": {"type": "object"}}]}),
            "tools/call" if self.repeats_token => {
                let text = format!("got {}", given.unwrap_or_default());
                json!({"content": [{"type": "text", "text": text}]})
            }
            "tools/call" => json!({"content": [{"type": "text", "text": "done"}]}),
            _ => return whole(202, &[], ""),
        };
        let line = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        whole(200, &[("content-type", "application/json")], &line.to_string())
    }

    fn register_client(&mut self, body: &[u8]) -> Result<Value, Refusal> {
        let asked: Value = serde_json::from_slice(body).unwrap();
        let grants = json!(["authorization_code", "refresh_token"]);
        if asked["redirect_uris"] != json!([REDIRECT]) || asked["grant_types"] != grants {
            return Err((400, "invalid_client_metadata"));
        }
        let (id, method) = (self.name("client"), asked["token_endpoint_auth_method"].clone());
        let secret = if method == "none" { String::new() } else { self.name("secret") };
        self.clients.insert(id.clone(), secret.clone());
        let mut client = json!({"client_id": id, "token_endpoint_auth_method": method});
        if !secret.is_empty() {
            client["client_secret"] = json!(secret);
        }
        Ok(client)
    }

    fn client_and_form(
        &self,
        request: &HttpRequest,
    ) -> Result<(String, BTreeMap<String, String>), Refusal> {
        let body = String::from_utf8(request.body.clone()).unwrap();
        let decoded = |text: &str| -> BTreeMap<String, String> {
            let url = Url::parse(&format!("http://x/?{text}")).unwrap();
            url.query_pairs().into_owned().collect()
        };
        let form = decoded(&body);
        let field = |name: &str| form.get(name).cloned().unwrap_or_default();
        let (id, secret) = match request.header("authorization") {
            None => (field("client_id"), field("client_secret")),
            Some(basic) => {
                let basic = STANDARD.decode(basic.strip_prefix("Basic ").unwrap()).unwrap();
                let basic = String::from_utf8(basic).unwrap();
                let (id, secret) = basic.split_once(':').unwrap();
                let decoded = decoded(&format!("id={id}&secret={secret}"));
                (decoded["id"].clone(), decoded["secret"].clone())
            }
        };
        if self.clients.get(&id) != Some(&secret) {
            return Err((401, "invalid_client"));
        }
        Ok((id, form))
    }

    fn grant_token(&mut self, base: &str, request: &HttpRequest) -> Result<Value, Refusal> {
        if self.is_down {
            return Err((503, "down"));
        }
        let (client, form) = self.client_and_form(request)?;
        self.forms.push(form.clone());
        let field = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
        if field("resource") != format!("{base}/mcp") {
            return Err((400, "invalid_target"));
        }
        let scope = match field("grant_type") {
            "authorization_code" => {
                // A code is used once, whatever the result is.
                let code = self.codes.remove(field("code")).ok_or((400, "invalid_grant"))?;
                let digest = Sha256::digest(field("code_verifier").as_bytes());
                let is_good = code.client == client
                    && code.challenge == URL_SAFE_NO_PAD.encode(digest)
                    && field("redirect_uri") == REDIRECT;
                if !is_good {
                    return Err((400, "invalid_grant"));
                }
                code.scope
            }
            "refresh_token" => {
                if let Some((from, to)) = self.moved_at_refresh.take() {
                    std::fs::rename(from, to).unwrap();
                }
                let found = self.refresh.remove(field("refresh_token"));
                let (of, scope) = found.ok_or((400, "invalid_grant"))?;
                if of != client {
                    return Err((400, "invalid_grant"));
                }
                scope
            }
            "client_credentials" if !self.clients[&client].is_empty() => {
                let access = self.name("access");
                self.access.insert(access.clone(), field("scope").to_owned());
                let answer = json!({
                    "access_token": access, "token_type": "Bearer", "expires_in": LIFETIME,
                });
                return Ok(answer);
            }
            _ => return Err((400, "unsupported_grant_type")),
        };
        let (access, refresh) = (self.name("access"), self.name("refresh"));
        self.access.insert(access.clone(), scope.clone());
        self.refresh.insert(refresh.clone(), (client, scope.clone()));
        Ok(json!({
            "access_token": access, "token_type": "Bearer", "expires_in": LIFETIME,
            "refresh_token": refresh, "scope": scope,
        }))
    }

    fn revoke_token(&mut self, request: &HttpRequest) -> Result<Value, Refusal> {
        let (_, form) = self.client_and_form(request)?;
        self.refresh.remove(&form["token"]);
        self.access.clear();
        Ok(json!({}))
    }

    /// Ends all tokens, as an administrator does.
    pub(super) fn revoke_all(&mut self) {
        self.access.clear();
        self.refresh.clear();
    }

    pub(super) fn granted_scopes(&self) -> BTreeSet<String> {
        self.access.values().cloned().collect()
    }
}
