//! The login of a person in a browser (OAuth 2.1, "Authorization Code Grant"), with PKCE (RFC 7636).

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use avocet_net::Url;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::tool::McpError;
use avocet_text::Secret;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::access::ServerAccess;
use super::address::shorten_text;
use super::challenge::BearerChallenge;
use super::endpoint::{ClientAuthMethod, OAuthClient, is_code};
use super::metadata::AuthorizationServer;
use super::tokens::{ServerTokens, StoredLogin, join_scopes};
use crate::McpClient;
use crate::config::OAuthGrant;
use crate::link::ServerEndpoint;

/// The scope of a refresh token (OpenID Connect Core, section 11).
const OFFLINE: &str = "offline_access";

/// A login that waits for the browser.
pub struct PendingLogin {
    access: Arc<ServerAccess>,
    server: AuthorizationServer,
    client: OAuthClient,
    redirect: String,
    scopes: BTreeSet<String>,
    verifier: Secret,
    state: Secret,
    address: String,
}

/// A login whose tokens are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginDone {
    /// The granted scopes.
    pub scopes: Vec<String>,
    /// The end of the access token, if the server states it.
    pub expires_at: Option<Timestamp>,
    /// `true` if the token is renewed without another login.
    pub is_renewed: bool,
}

impl McpClient {
    /// Returns the port for the address that the browser returns to; 0 for any free one.
    ///
    /// # Errors
    /// [`McpError`], if the server is unknown or has no login.
    pub fn redirect_port(&self, server: &str) -> Result<u16, McpError> {
        Ok(self.access_of(server)?.config.redirect_port)
    }

    /// Begins a login. Connects to the server first, which then states its requirements.
    ///
    /// # Errors
    /// [`McpError`], if the server is unknown or offers no login.
    pub async fn begin_login(
        &self,
        server: &str,
        redirect: &str,
    ) -> Result<PendingLogin, McpError> {
        let access = self.access_of(server)?;
        self.find_server(server)?.connect_once().await;
        let begun = PendingLogin::begin_login(access, redirect.to_owned()).await;
        begun.map_err(|why| failed_login(server, why))
    }

    /// Deletes the tokens of a server, and asks the authorization server to revoke them. Returns
    /// `false` if there were none. The text is the reason why they could not be revoked.
    ///
    /// # Errors
    /// [`McpError`], if the server is unknown or the tokens cannot be deleted.
    pub async fn log_out(&self, server: &str) -> Result<(bool, Option<String>), McpError> {
        let access = self.access_of(server)?;
        access.log_out().await.map_err(|why| failed_login(server, why))
    }

    fn access_of(&self, server: &str) -> Result<Arc<ServerAccess>, McpError> {
        let why = match &self.find_server(server)?.endpoint {
            Some(ServerEndpoint::Http { access: Some(access), .. }) => return Ok(access.clone()),
            Some(ServerEndpoint::Http { access: None, .. }) => {
                "its `headers` have a token; remove `Authorization` there to log in"
            }
            Some(ServerEndpoint::Program(_)) => {
                "it is a program, and only a server with `url` has a login"
            }
            None => crate::server::NO_ENDPOINT,
        };
        Err(failed_login(server, why.to_owned()))
    }
}

fn failed_login(server: &str, why: String) -> McpError {
    McpError::Failed { server: server.to_owned(), why }
}

impl PendingLogin {
    pub(super) async fn begin_login(
        access: Arc<ServerAccess>,
        redirect: String,
    ) -> Result<Self, String> {
        if access.config.grant == OAuthGrant::ClientCredentials {
            return Err("it logs in by itself, with the secret of its client".to_owned());
        }
        let (challenge, entry) = (access.last_challenge(), access.read_entry()?);
        let has_refused =
            challenge.is_some() || access.last_refusal().is_some() || entry.login.is_some();
        let server = access.authorization_server(challenge.as_ref(), has_refused).await?;
        if !server.has_s256 {
            return Err(format!(
                "the authorization server {} does not support PKCE with S256, so a login would not be \
                 safe",
                shorten_text(&server.issuer)
            ));
        }
        let scopes = choose_scopes(&access.config.scopes, &entry, challenge.as_ref(), &server);
        let client = client_of_login(&access, &server, &redirect, &scopes).await?;
        let (verifier, state) = (random_text() + &random_text(), random_text());
        let address =
            Self::authorization_url(&server, &client.id, &redirect, &scopes, &verifier, &state)?;
        let (verifier, state) = (Secret::new(verifier), Secret::new(state));
        Ok(Self { access, server, client, redirect, scopes, verifier, state, address })
    }

    fn authorization_url(
        server: &AuthorizationServer,
        client: &str,
        redirect: &str,
        scopes: &BTreeSet<String>,
        verifier: &str,
        state: &str,
    ) -> Result<String, String> {
        let mut url = server
            .authorization
            .clone()
            .ok_or("the authorization server has no page for a login")?;
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        url.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", client),
            ("redirect_uri", redirect),
            ("state", state),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("resource", &server.resource),
        ]);
        if !scopes.is_empty() {
            url.query_pairs_mut().append_pair("scope", &join_scopes(scopes));
        }
        Ok(url.into())
    }

    /// The address to open in a browser.
    #[must_use]
    pub fn browser_address(&self) -> &str {
        &self.address
    }

    pub(super) fn is_state(&self, query: &str) -> bool {
        query_value(query, "state").is_some_and(|state| self.state.equals(state.as_bytes()))
    }

    /// Ends the login with the address to which the browser has returned, or its query, and stores
    /// the tokens.
    ///
    /// # Errors
    /// [`McpError::Failed`], if the address is of another login, or the login was refused.
    pub async fn finish_login(&self, returned: &str) -> Result<LoginDone, McpError> {
        self.store_login(returned).await.map_err(|why| failed_login(&self.access.parts.server, why))
    }

    async fn store_login(&self, returned: &str) -> Result<LoginDone, String> {
        let query = returned.trim().split_once('?').map_or(returned.trim(), |(_, query)| query);
        let query = query.split('#').next().unwrap_or_default();
        let code = self.check_answer(query)?;
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", &*code),
            ("redirect_uri", &self.redirect),
            ("code_verifier", self.verifier.expose()),
            ("resource", &self.server.resource),
        ];
        let parts = &self.access.parts;
        let tokens =
            parts.http.request_tokens(self.server.token.as_str(), &self.client, &fields).await;
        let tokens = tokens.map_err(|error| format!("it gives no token: {error}"))?;
        let login = StoredLogin {
            url: parts.url.to_string(),
            resource: self.server.resource.clone(),
            token_endpoint: self.server.token.to_string(),
            revocation_endpoint: self.server.revocation.as_ref().map(ToString::to_string),
            client: self.client.clone(),
            access_token: tokens.access.clone(),
            refresh_token: None,
            expires_at: None,
            lifetime: None,
            scopes: self.scopes.clone(),
        };
        let login = self.access.store_tokens(login, tokens);
        let done = LoginDone {
            scopes: login.scopes.iter().cloned().collect(),
            expires_at: login.expires_at.map(Timestamp),
            is_renewed: login.refresh_token.is_some(),
        };
        let mut file = parts.tokens.lock_file().await?;
        *file.entry_of(&parts.server) =
            ServerTokens { login: Some(login), missing_scopes: BTreeSet::new() };
        file.write()?;
        self.access.note_accepted();
        Ok(done)
    }

    /// Checks the answer to the browser (RFC 6749, section 4.1.2; RFC 9207), and returns its code.
    fn check_answer(&self, query: &str) -> Result<String, String> {
        if !self.is_state(query) {
            return Err(
                "the address is of another login; use the last address of this one".to_owned()
            );
        }
        let issuer = query_value(query, "iss");
        let is_other = issuer.as_ref().is_some_and(|issuer| *issuer != self.server.issuer);
        if is_other || (issuer.is_none() && self.server.names_issuer) {
            return Err("the answer comes from another authorization server".to_owned());
        }
        if let Some(error) = query_value(query, "error") {
            let code = if is_code(&error) { error } else { "unknown error".to_owned() };
            let detail = query_value(query, "error_description")
                .map(|text| format!(" ({})", shorten_text(&text)));
            return Err(format!("the login was refused: {code}{}", detail.unwrap_or_default()));
        }
        query_value(query, "code").ok_or_else(|| "the address has no code".to_owned())
    }
}

impl fmt::Debug for PendingLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingLogin").field("server", &self.server).finish_non_exhaustive()
    }
}

fn query_value(query: &str, name: &str) -> Option<String> {
    let url = Url::parse(&format!("http://localhost/?{query}")).ok()?;
    let found = url.query_pairs().find(|(found, _)| found == name);
    found.map(|(_, value)| value.into_owned())
}

/// Returns 122 random bits as 32 letters and digits.
fn random_text() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

/// Chooses the scopes of a login (MCP specification, "Scope Selection Strategy").
fn choose_scopes(
    configured: &[String],
    entry: &ServerTokens,
    challenge: Option<&BearerChallenge>,
    server: &AuthorizationServer,
) -> BTreeSet<String> {
    let asked = challenge.and_then(|challenge| challenge.scope.as_deref());
    let granted = entry.login.as_ref().map(|login| &login.scopes);
    let mut scopes: BTreeSet<String> = match (configured, asked, granted) {
        ([_, ..], _, _) => configured.iter().cloned().collect(),
        (_, Some(asked), granted) => {
            let asked = asked.split_whitespace().map(str::to_owned);
            asked.chain(granted.into_iter().flatten().cloned()).collect()
        }
        (_, None, Some(granted)) if !granted.is_empty() => granted.clone(),
        _ => server.resource_scopes.iter().flatten().cloned().collect(),
    };
    if configured.is_empty() {
        scopes.extend(entry.missing_scopes.iter().cloned());
    }
    if !scopes.is_empty() && server.scopes.iter().any(|scope| scope == OFFLINE) {
        scopes.insert(OFFLINE.to_owned());
    }
    scopes
}

/// Returns the client of the configuration, or registers one.
async fn client_of_login(
    access: &ServerAccess,
    server: &AuthorizationServer,
    redirect: &str,
    scopes: &BTreeSet<String>,
) -> Result<OAuthClient, String> {
    let config = &access.config;
    if let Some(id) = &config.client_id {
        let secret = config.client_secret.clone();
        let proof = ClientAuthMethod::choose_method(secret.is_some(), server.proofs.as_deref());
        return Ok(OAuthClient { id: id.clone(), secret, proof });
    }
    let Some(registration) = &server.registration else {
        return Err(format!(
            "the authorization server {} registers no clients by itself; register one there, with the \
             redirect address {redirect}, and set `oauth = {{ client_id = \"…\", redirect_port = … }}`",
            shorten_text(&server.issuer)
        ));
    };
    let scope = (!scopes.is_empty()).then(|| join_scopes(scopes));
    let proofs = server.proofs.as_deref();
    let registered = access
        .parts
        .http
        .register_client(registration.as_str(), redirect, scope.as_deref(), proofs)
        .await;
    registered.map_err(|error| format!("cannot register a client: {error}"))
}

impl ServerAccess {
    async fn log_out(&self) -> Result<(bool, Option<String>), String> {
        let mut file = self.parts.tokens.lock_file().await?;
        let ServerTokens { login, .. } = std::mem::take(file.entry_of(&self.parts.server));
        file.write()?;
        let Some(login) = login else { return Ok((false, None)) };
        let Some(endpoint) = &login.revocation_endpoint else { return Ok((true, None)) };
        // Revoking the refresh token ends the access token, too (RFC 7009, section 2.1).
        let token = login.refresh_token.as_ref().unwrap_or(&login.access_token);
        let revoked = self.parts.http.revoke_token(endpoint, &login.client, token).await;
        Ok((true, revoked.err().map(|error| error.to_string())))
    }
}

#[cfg(test)]
#[path = "login_tests.rs"]
mod tests;
