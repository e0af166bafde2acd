//! The token of each request to a server: its renewal, and the reason why there is none.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use avocet_net::Url;
use avocet_protocol::{Secret, Timestamp};
use avocet_supervise::Group;
use tokio::sync::oneshot;

use super::address::{server_url, shown};
use super::challenge::BearerChallenge;
use super::endpoint::{ClientProof, EndpointError, GrantedTokens, OAuthClient, OAuthHttp};
use super::metadata::AuthorizationServer;
use super::tokens::{ServerTokens, StoredLogin, TokenFile, TokenWriter, joined};
use crate::config::{McpOAuthConfig, OAuthGrant};

/// A token is renewed this long before its end.
const MARGIN: Duration = Duration::from_secs(60);
/// Errors that end a login (RFC 6749, section 5.2).
const ENDING: [&str; 3] = ["invalid_client", "invalid_grant", "unauthorized_client"];

/// The parts of the access to a server.
#[derive(Debug)]
pub(crate) struct ServerAccessParts {
    /// The name of its table.
    pub(crate) server: Arc<str>,
    pub(crate) url: Arc<str>,
    pub(crate) config: McpOAuthConfig,
    pub(crate) http: OAuthHttp,
    pub(crate) tokens: TokenFile,
    /// The group of renewals.
    pub(crate) group: Group,
}

/// The access to a server with OAuth.
#[derive(Debug)]
pub(crate) struct ServerAccess {
    pub(super) parts: ServerAccessParts,
    last: Mutex<LastRefusal>,
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
        Self { parts, last: Mutex::default() }
    }

    /// Returns the token for the next request; `None` to send it without one.
    ///
    /// # Errors
    /// The reason why the request would fail, as a sentence.
    pub(crate) async fn token(self: &Arc<Self>) -> Result<Option<Secret>, String> {
        let Some(login) = self.entry()?.login else { return Ok(None) };
        let now = self.parts.http.clock.now();
        if !login.has_ended(now.after(MARGIN)) || !self.can_renew(&login) {
            return Ok(Some(login.access_token));
        }
        match self.renew(Some(&login.access_token)).await {
            Ok(token) => Ok(Some(token)),
            Err(RenewError::Later(_)) if !login.has_ended(now) => Ok(Some(login.access_token)),
            Err(RenewError::Ended(why) | RenewError::Later(why)) => Err(self.note(why)),
        }
    }

    /// Notes that the server has refused a request with this token (HTTP status 401), and returns
    /// another token.
    ///
    /// # Errors
    /// The reason why there is none, as a sentence.
    pub(crate) async fn refused(
        self: &Arc<Self>,
        challenge: Option<BearerChallenge>,
        token: Option<&Secret>,
    ) -> Result<Secret, String> {
        self.last().challenge = challenge;
        let renewed = match self.parts.config.grant {
            OAuthGrant::AuthorizationCode if token.is_none() => {
                Err(RenewError::Ended(self.needs_login("it needs a login")))
            }
            OAuthGrant::AuthorizationCode | OAuthGrant::ClientCredentials => {
                self.renew(token).await
            }
        };
        renewed.map_err(|error| match error {
            RenewError::Ended(why) | RenewError::Later(why) => self.note(why),
        })
    }

    /// Notes that the server has refused a new token, too, and returns the reason as a sentence.
    pub(crate) fn refused_again(&self) -> String {
        self.note(self.needs_login("it refuses its token"))
    }

    /// Notes that a request needs further scopes (HTTP status 403), and returns the reason as a
    /// sentence.
    pub(crate) async fn insufficient(&self, challenge: &BearerChallenge) -> String {
        let scope = challenge.scope.as_deref().unwrap_or_default();
        let scopes: BTreeSet<String> = scope.split_whitespace().map(str::to_owned).collect();
        if let Err(why) = self.want(scopes).await {
            tracing::warn!(
                server = &*self.parts.server,
                "cannot store the scopes of an MCP server: {why}"
            );
        }
        let why = match scope {
            "" => "its login has too few rights".to_owned(),
            scope => format!("its login has too few rights: it needs the scopes {}", shown(scope)),
        };
        self.note(self.needs_login(&why))
    }

    async fn want(&self, scopes: BTreeSet<String>) -> Result<(), String> {
        let mut file = self.parts.tokens.lock().await?;
        file.entry(&self.parts.server).wanted.extend(scopes);
        file.write()
    }

    /// Notes that the server has accepted a request.
    pub(crate) fn accepted(&self) {
        *self.last() = LastRefusal::default();
    }

    /// The reason of the last refusal, as a sentence.
    pub(crate) fn refusal(&self) -> Option<String> {
        self.last().why.clone()
    }

    pub(super) fn challenge(&self) -> Option<BearerChallenge> {
        self.last().challenge.clone()
    }

    fn last(&self) -> MutexGuard<'_, LastRefusal> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, why: String) -> String {
        self.last().why = Some(why.clone());
        why
    }

    /// Adds the next step to a reason.
    fn needs_login(&self, why: &str) -> String {
        match (self.url(), self.parts.config.grant) {
            (Err(rule), _) => format!("{why}; {rule}"),
            (Ok(_), OAuthGrant::ClientCredentials) => format!("{why}; check its table `oauth`"),
            (Ok(_), OAuthGrant::AuthorizationCode) => {
                format!("{why}; run `avocet mcp login {}`", self.parts.server)
            }
        }
    }

    pub(super) fn url(&self) -> Result<Url, String> {
        server_url(&self.parts.url)
    }

    /// Returns the entry of the file. A login of another URL does not count.
    pub(super) fn entry(&self) -> Result<ServerTokens, String> {
        let mut entry = self.parts.tokens.get(&self.parts.server)?;
        entry.login = entry.login.filter(|login| login.url == *self.parts.url);
        Ok(entry)
    }

    fn can_renew(&self, login: &StoredLogin) -> bool {
        login.refresh_token.is_some() || self.parts.config.grant == OAuthGrant::ClientCredentials
    }

    /// Returns a token in place of `old`. One process renews it, and the others use its token.
    async fn renew(self: &Arc<Self>, old: Option<&Secret>) -> Result<Secret, RenewError> {
        let (this, old, (sender, renewed)) = (self.clone(), old.cloned(), oneshot::channel());
        // A caller that stops waiting does not interrupt the renewal: the server has ended the old
        // refresh token, and the new one would be lost.
        self.parts.group.spawn(&format!("token of MCP server {}", self.parts.server), async move {
            drop(sender.send(this.renew_now(old.as_ref()).await));
        });
        let stopping = |_| Err(RenewError::Later("the daemon is stopping".to_owned()));
        renewed.await.unwrap_or_else(stopping)
    }

    async fn renew_now(&self, old: Option<&Secret>) -> Result<Secret, RenewError> {
        let mut file = self.parts.tokens.lock().await.map_err(RenewError::Later)?;
        let entry = file.entry(&self.parts.server);
        let stored = entry.login.clone().filter(|login| login.url == *self.parts.url);
        let is_old = |login: &StoredLogin| {
            old.is_some_and(|old| login.access_token.is(old.expose().as_bytes()))
        };
        let login = match (self.parts.config.grant, stored) {
            (_, Some(login)) if !is_old(&login) => return Ok(login.access_token),
            (OAuthGrant::ClientCredentials, before) => {
                self.with_credentials(before.map(|login| login.scopes)).await?
            }
            (OAuthGrant::AuthorizationCode, Some(login)) => {
                self.refreshed(login, &mut file).await?
            }
            (OAuthGrant::AuthorizationCode, None) => {
                return Err(RenewError::Ended(self.needs_login("it needs a login")));
            }
        };
        let token = login.access_token.clone();
        file.entry(&self.parts.server).login = Some(login);
        file.write().map_err(RenewError::Later)?;
        Ok(token)
    }

    /// Renews a login with its refresh token (RFC 6749, section 6).
    async fn refreshed(
        &self,
        login: StoredLogin,
        file: &mut TokenWriter,
    ) -> Result<StoredLogin, RenewError> {
        let ended = || RenewError::Ended(self.needs_login("its login has ended"));
        let Some(refresh) = &login.refresh_token else { return Err(ended()) };
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.expose()),
            ("resource", &login.resource),
        ];
        let tokens = self.parts.http.tokens(&login.token_endpoint, &login.client, &fields).await;
        match tokens {
            Ok(tokens) => Ok(self.stored(login.clone(), tokens)),
            Err(EndpointError::Refused { code, .. }) if ENDING.contains(&&*code) => {
                let entry = file.entry(&self.parts.server);
                // The next login asks for the same scopes.
                entry.wanted.extend(login.scopes);
                entry.login = None;
                file.save().map_err(RenewError::Later)?;
                Err(RenewError::Ended(self.needs_login(&format!("its login has ended ({code})"))))
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
        let (http, url) = (&self.parts.http, self.url()?);
        let server = AuthorizationServer::find(http, &url, challenge, has_refused).await?;
        let same =
            |issuer: &str| issuer.trim_end_matches('/') == server.issuer.trim_end_matches('/');
        match &self.parts.config.issuer {
            Some(issuer) if !same(issuer) => Err(format!(
                "it names the authorization server {}, and its table `oauth` has {}",
                shown(&server.issuer),
                shown(issuer)
            )),
            _ => Ok(server),
        }
    }

    /// Replaces the tokens of a login.
    pub(super) fn stored(&self, login: StoredLogin, tokens: GrantedTokens) -> StoredLogin {
        let GrantedTokens { access, refresh, expires_in, scope } = tokens;
        let end = |seconds| -> Timestamp {
            self.parts.http.clock.now().after(Duration::from_secs(seconds))
        };
        StoredLogin {
            access_token: access,
            refresh_token: refresh.or(login.refresh_token),
            expires_at: expires_in.map(|seconds| end(seconds).0),
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
        let McpOAuthConfig { client_id, client_secret, scopes, .. } = &self.parts.config;
        let (Some(id), Some(secret)) = (client_id, client_secret) else {
            return Err(RenewError::Ended(self.needs_login("it has no client secret")));
        };
        let challenge = self.challenge();
        let found = self.authorization_server(challenge.as_ref(), true).await;
        let server = found.map_err(RenewError::Later)?;
        let proof = ClientProof::choose(true, server.proofs.as_deref());
        let client = OAuthClient { id: id.clone(), secret: Some(secret.clone()), proof };
        let asked = challenge.and_then(|challenge| challenge.scope);
        let before = before.map(|scopes| joined(&scopes));
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
        let tokens = self.parts.http.tokens(server.token.as_str(), &client, &fields).await;
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
            scopes: scope.split_whitespace().map(str::to_owned).collect(),
        };
        Ok(self.stored(login, tokens))
    }
}
