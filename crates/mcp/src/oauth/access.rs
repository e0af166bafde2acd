//! The token of each request to a server: its renewal, and the reason why there is none.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use avocet_net::Url;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ignore_result;
use avocet_supervise::Group;
use avocet_text::Secret;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::address::{server_url, shorten_text};
use super::challenge::BearerChallenge;
use super::endpoint::{ClientAuthMethod, EndpointError, GrantedTokens, OAuthClient, OAuthHttp};
use super::metadata::AuthorizationServer;
use super::sent_tokens::SentTokens;
use super::tokens::{ServerTokens, StoredLogin, TokenFile, TokenWriter, join_scopes};
use crate::config::{McpOAuthConfig, OAuthGrant};

/// The most scopes of a refusal that are kept, and bytes of each.
const MOST_SCOPES: usize = 32;
const LONGEST_SCOPE: usize = 200;
/// Errors that end a login (RFC 6749, section 5.2).
const ENDING: [&str; 3] = ["invalid_client", "invalid_grant", "unauthorized_client"];

#[derive(Debug)]
pub(crate) struct ServerAccessParts {
    /// The name of its table.
    pub(crate) server: Arc<str>,
    pub(crate) url: Arc<str>,
    /// Its table `oauth`; `None` without one.
    pub(crate) table: Option<McpOAuthConfig>,
    /// `true` if its table has `headers`, which may have a key.
    pub(crate) has_headers: bool,
    pub(crate) http: OAuthHttp,
    pub(crate) tokens: TokenFile,
    /// The group of renewals.
    pub(crate) group: Group,
}

/// The access to a server with OAuth.
#[derive(Debug)]
pub(crate) struct ServerAccess {
    pub(super) parts: ServerAccessParts,
    pub(super) config: McpOAuthConfig,
    last: Mutex<LastRefusal>,
    /// The last tokens that were sent.
    pub(crate) sent: SentTokens,
    unsaved: Mutex<Option<UnsavedLogin>>,
    has_warned: AtomicBool,
}

/// A renewed login that could not be written. The server may accept no older refresh token.
#[derive(Debug, Clone)]
struct UnsavedLogin {
    /// The access token of the login in the file; `None` without a login.
    replaces: Option<Secret>,
    login: StoredLogin,
}

/// The last refusal of the server, until it accepts a request.
#[derive(Debug, Default)]
struct LastRefusal {
    challenge: Option<BearerChallenge>,
    why: Option<String>,
}

/// The reason for a renewal without a token.
#[derive(Debug)]
enum RenewError {
    /// A person has to act.
    Ended(String),
    /// A retry may help.
    Later(String),
}

impl ServerAccess {
    pub(crate) fn new(parts: ServerAccessParts) -> Self {
        let config = parts.table.clone().unwrap_or_default();
        let (last, sent, unsaved) = (Mutex::default(), SentTokens::default(), Mutex::default());
        Self { parts, config, last, sent, unsaved, has_warned: AtomicBool::new(false) }
    }

    /// Returns the token for the next request; `None` to send it without one.
    ///
    /// # Errors
    /// The reason why the request would fail, as a sentence.
    pub(crate) async fn token_for_request(self: &Arc<Self>) -> Result<Option<Secret>, String> {
        let entry = match self.read_entry() {
            Ok(entry) => entry,
            Err(why) if self.parts.table.is_none() => {
                self.warn_of_file(&why);
                return Ok(None);
            }
            Err(why) => return Err(why),
        };
        let Some(login) = entry.login else { return Ok(None) };
        let now = self.parts.http.clock.now();
        let soon = now.after(login.renew_before_expiry());
        if !login.has_expired(soon) || !self.can_renew(&login) {
            return Ok(Some(login.access_token));
        }
        match self.renew_token(Some(&login.access_token)).await {
            Ok(token) => Ok(Some(token)),
            Err(RenewError::Later(_)) if !login.has_expired(now) => Ok(Some(login.access_token)),
            Err(RenewError::Ended(why) | RenewError::Later(why)) => Err(self.note_refusal(why)),
        }
    }

    /// Notes that the server has refused a request with this token (HTTP status 401), and returns
    /// another token.
    ///
    /// # Errors
    /// The reason why there is none, as a sentence.
    pub(crate) async fn renew_refused(
        self: &Arc<Self>,
        challenge: Option<BearerChallenge>,
        token: Option<&Secret>,
    ) -> Result<Secret, String> {
        self.last.lock().challenge = challenge;
        let renewed = match self.config.grant {
            OAuthGrant::AuthorizationCode if token.is_none() => {
                Err(RenewError::Ended(self.needs_login("it needs a login")))
            }
            OAuthGrant::AuthorizationCode | OAuthGrant::ClientCredentials => {
                self.renew_token(token).await
            }
        };
        renewed.map_err(|error| match error {
            RenewError::Ended(why) | RenewError::Later(why) => self.note_refusal(why),
        })
    }

    /// Notes that the server has refused a new token, too, and returns the reason as a sentence.
    pub(crate) fn refused_again(&self) -> String {
        self.note_refusal(self.needs_login("it refuses its token"))
    }

    /// Stores the scopes that a request needs (HTTP status 403) for the next login, and returns the
    /// reason of the refusal as a sentence.
    pub(crate) async fn note_missing_scopes(&self, challenge: &BearerChallenge) -> String {
        let scope = challenge.scope.as_deref().unwrap_or_default();
        if !scope.is_empty() && !self.config.scopes.is_empty() {
            let (scope, server) = (shorten_text(scope), &self.parts.server);
            return format!(
                "its login has too few rights: it needs the scopes {scope}; add them to `scopes` in \
                 its table `oauth`, and run `avocet mcp login {server}`"
            );
        }
        if let Err(why) = self.keep_missing(scope.split_whitespace()).await {
            tracing::warn!(
                server = &*self.parts.server,
                "cannot store the scopes of an MCP server: {why}"
            );
        }
        let why = match scope {
            "" => "its login has too few rights".to_owned(),
            scope => {
                format!("its login has too few rights: it needs the scopes {}", shorten_text(scope))
            }
        };
        self.needs_login(&why)
    }

    async fn keep_missing(&self, scopes: impl Iterator<Item = &str>) -> Result<(), String> {
        let scopes = bound_scopes(scopes);
        let mut file = self.parts.tokens.lock_file().await?;
        file.entry_of(&self.parts.server).missing_scopes = scopes;
        file.write()
    }

    /// Returns `true` if a refusal without a challenge is about the login, and not about a key in
    /// the headers of the configuration.
    pub(crate) fn has_login(&self, token: Option<&Secret>) -> bool {
        token.is_some() || self.parts.table.is_some() || !self.parts.has_headers
    }

    fn warn_of_file(&self, why: &str) {
        if !self.has_warned.swap(true, Ordering::SeqCst) {
            let server = &*self.parts.server;
            tracing::warn!(server, "requests to an MCP server are sent without a token: {why}");
        }
    }

    /// Notes that the server has accepted a request.
    pub(crate) fn note_accepted(&self) {
        *self.last.lock() = LastRefusal::default();
    }

    /// The reason of the last refusal, as a sentence.
    pub(crate) fn last_refusal(&self) -> Option<String> {
        self.last.lock().why.clone()
    }

    pub(super) fn last_challenge(&self) -> Option<BearerChallenge> {
        self.last.lock().challenge.clone()
    }

    fn note_refusal(&self, why: String) -> String {
        self.last.lock().why = Some(why.clone());
        why
    }

    /// Adds the next step to a reason.
    fn needs_login(&self, why: &str) -> String {
        match (self.resource_url(), self.config.grant) {
            (Err(rule), _) => format!("{why}; {rule}"),
            (Ok(_), OAuthGrant::ClientCredentials) => format!("{why}; check its table `oauth`"),
            (Ok(_), OAuthGrant::AuthorizationCode) => {
                let keys = if self.parts.has_headers { ", or correct `headers`" } else { "" };
                format!("{why}; run `avocet mcp login {}`{keys}", self.parts.server)
            }
        }
    }

    pub(super) fn resource_url(&self) -> Result<Url, String> {
        server_url(&self.parts.url)
    }

    /// Returns the entry of the file. A login of another URL does not count.
    pub(super) fn read_entry(&self) -> Result<ServerTokens, String> {
        let mut entry = self.parts.tokens.get(&self.parts.server)?;
        entry.login = self.latest_login(entry.login.take());
        Ok(entry)
    }

    /// Returns the login of the file, or the unsaved one that replaces it.
    fn latest_login(&self, stored: Option<StoredLogin>) -> Option<StoredLogin> {
        let token = stored.as_ref().map(|login| login.access_token.expose());
        let mut unsaved = self.unsaved.lock();
        let replaces =
            |unsaved: &UnsavedLogin| unsaved.replaces.as_ref().map(Secret::expose) == token;
        // Another process may have logged in or out since.
        *unsaved = unsaved.take().filter(replaces);
        let latest = unsaved.as_ref().map(|unsaved| unsaved.login.clone()).or(stored);
        latest.filter(|login| login.url == *self.parts.url)
    }

    fn can_renew(&self, login: &StoredLogin) -> bool {
        login.refresh_token.is_some() || self.config.grant == OAuthGrant::ClientCredentials
    }

    /// Returns a token in place of `old`. One process renews it, and the others use its token.
    async fn renew_token(self: &Arc<Self>, old: Option<&Secret>) -> Result<Secret, RenewError> {
        let (this, old, (sender, renewed)) = (self.clone(), old.cloned(), oneshot::channel());
        // A caller that stops waiting does not interrupt the renewal: the server has ended the old
        // refresh token, and the new one would be lost.
        self.parts.group.spawn(&format!("token of MCP server {}", self.parts.server), async move {
            ignore_result(
                sender.send(this.renew_now(old.as_ref()).await),
                "a caller may have stopped waiting; the token is saved all the same",
            );
        });
        let stopping = |_| Err(RenewError::Later("the daemon is stopping".to_owned()));
        renewed.await.unwrap_or_else(stopping)
    }

    async fn renew_now(&self, old: Option<&Secret>) -> Result<Secret, RenewError> {
        let mut file = self.parts.tokens.lock_file().await.map_err(RenewError::Later)?;
        let entry = file.entry_of(&self.parts.server);
        let in_file = entry.login.clone();
        let replaces = in_file.as_ref().map(|login| login.access_token.clone());
        let stored = self.latest_login(in_file);
        let is_old = |login: &StoredLogin| {
            old.is_some_and(|old| login.access_token.equals(old.expose().as_bytes()))
        };
        let login = match (self.config.grant, stored) {
            (_, Some(login)) if !is_old(&login) => return Ok(login.access_token),
            (OAuthGrant::ClientCredentials, before) => {
                self.with_credentials(before.map(|login| login.scopes)).await?
            }
            (OAuthGrant::AuthorizationCode, Some(login)) => {
                self.refresh_login(login, &mut file).await?
            }
            (OAuthGrant::AuthorizationCode, None) => {
                return Err(RenewError::Ended(self.needs_login("it needs a login")));
            }
        };
        let token = login.access_token.clone();
        file.entry_of(&self.parts.server).login = Some(login.clone());
        let written = file.write();
        // The old tokens may be invalid by now, so the new ones are used even if they are not stored.
        *self.unsaved.lock() = written.is_err().then_some(UnsavedLogin { replaces, login });
        if let Err(why) = written {
            let server = &*self.parts.server;
            tracing::warn!(server, "cannot store the renewed login of an MCP server: {why}");
        }
        Ok(token)
    }

    /// Renews a login with its refresh token (RFC 6749, section 6).
    async fn refresh_login(
        &self,
        login: StoredLogin,
        file: &mut TokenWriter,
    ) -> Result<StoredLogin, RenewError> {
        let ended = || RenewError::Ended(self.needs_login("its login has expired"));
        let Some(refresh) = &login.refresh_token else { return Err(ended()) };
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.expose()),
            ("resource", &login.resource),
        ];
        let tokens =
            self.parts.http.request_tokens(&login.token_endpoint, &login.client, &fields).await;
        match tokens {
            Ok(tokens) => Ok(self.store_tokens(login.clone(), tokens)),
            Err(EndpointError::Refused { code, .. }) if ENDING.contains(&&*code) => {
                let entry = file.entry_of(&self.parts.server);
                // The next login asks for the same scopes.
                entry.missing_scopes = bound_scopes(login.scopes.iter().map(String::as_str));
                entry.login = None;
                file.save().map_err(RenewError::Later)?;
                Err(RenewError::Ended(self.needs_login(&format!("its login has expired ({code})"))))
            }
            Err(error) => Err(RenewError::Later(format!("cannot renew its token: {error}"))),
        }
    }

    /// Finds the authorization server, which is that of the configuration if it names one.
    pub(super) async fn authorization_server(
        &self,
        challenge: Option<&BearerChallenge>,
        has_refused: bool,
    ) -> Result<AuthorizationServer, String> {
        let (http, url) = (&self.parts.http, self.resource_url()?);
        let server = AuthorizationServer::find_server(http, &url, challenge, has_refused).await?;
        let same =
            |issuer: &str| issuer.trim_end_matches('/') == server.issuer.trim_end_matches('/');
        match &self.config.issuer {
            Some(issuer) if !same(issuer) => Err(format!(
                "it names the authorization server {}, and its table `oauth` has {}",
                shorten_text(&server.issuer),
                shorten_text(issuer)
            )),
            _ => Ok(server),
        }
    }

    /// Replaces the tokens of a login.
    pub(super) fn store_tokens(&self, login: StoredLogin, tokens: GrantedTokens) -> StoredLogin {
        let GrantedTokens { access, refresh, expires_in, scope } = tokens;
        let end = |seconds| -> Timestamp {
            self.parts.http.clock.now().after(Duration::from_secs(seconds))
        };
        StoredLogin {
            access_token: access,
            refresh_token: refresh.or(login.refresh_token),
            expires_at: expires_in.map(|seconds| end(seconds).0),
            lifetime: expires_in,
            scopes: scope.map_or(login.scopes, |scope| {
                scope.split_whitespace().map(str::to_owned).collect()
            }),
            ..login
        }
    }

    /// Logs in as the client itself (RFC 6749, section 4.4).
    async fn with_credentials(
        &self,
        before: Option<BTreeSet<String>>,
    ) -> Result<StoredLogin, RenewError> {
        let McpOAuthConfig { client_id, client_secret, scopes, .. } = &self.config;
        let (Some(id), Some(secret)) = (client_id, client_secret) else {
            return Err(RenewError::Ended(self.needs_login("it has no client secret")));
        };
        let challenge = self.last_challenge();
        let found = self.authorization_server(challenge.as_ref(), true).await;
        let server = found.map_err(RenewError::Later)?;
        let proof = ClientAuthMethod::choose_method(true, server.proofs.as_deref());
        let client = OAuthClient { id: id.clone(), secret: Some(secret.clone()), proof };
        let asked = challenge.and_then(|challenge| challenge.scope);
        let before = before.map(|scopes| join_scopes(&scopes));
        let of_resource = || server.resource_scopes.as_ref().map(|scopes| scopes.join(" "));
        let scope = match &**scopes {
            [] => asked.or(before).or_else(of_resource).unwrap_or_default(),
            scopes => scopes.join(" "),
        };
        let mut fields =
            vec![("grant_type", "client_credentials"), ("resource", &*server.resource)];
        if !scope.is_empty() {
            fields.push(("scope", &*scope));
        }
        let tokens = self.parts.http.request_tokens(server.token.as_str(), &client, &fields).await;
        let tokens = tokens.map_err(|error| match error {
            EndpointError::Failed(why) => RenewError::Later(why),
            refused @ EndpointError::Refused { .. } => {
                RenewError::Ended(self.needs_login(&format!("it gives no token: {refused}")))
            }
        })?;
        let login = StoredLogin {
            url: self.parts.url.to_string(),
            resource: server.resource.clone(),
            token_endpoint: server.token.to_string(),
            revocation_endpoint: server.revocation.as_ref().map(ToString::to_string),
            client,
            access_token: tokens.access.clone(),
            refresh_token: None,
            expires_at: None,
            lifetime: None,
            scopes: scope.split_whitespace().map(str::to_owned).collect(),
        };
        Ok(self.store_tokens(login, tokens))
    }
}

/// Returns the scopes that are kept: a server may name many.
fn bound_scopes<'s>(scopes: impl Iterator<Item = &'s str>) -> BTreeSet<String> {
    let short = scopes.filter(|scope| scope.len() <= LONGEST_SCOPE);
    short.take(MOST_SCOPES).map(str::to_owned).collect()
}
