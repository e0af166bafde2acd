//! Finds the authorization server of an MCP server. Reads the metadata of the resource (RFC 9728)
//! and of the authorization server (RFC 8414, OpenID Connect Discovery).

use avocet_net::Url;
use serde::Deserialize;

use super::address::{check_address, covers_server, shorten_text};
use super::challenge::BearerChallenge;
use super::endpoint::OAuthHttp;

const RESOURCE: &str = "/.well-known/oauth-protected-resource";
const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";
/// The only method of a code challenge that is safe (RFC 7636, section 4.2).
const S256: &str = "S256";

#[derive(Debug, Deserialize)]
struct ResourceDocument {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    scopes_supported: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct ServerDocument {
    issuer: String,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
    registration_endpoint: Option<String>,
    revocation_endpoint: Option<String>,
    scopes_supported: Option<Vec<String>>,
    code_challenge_methods_supported: Option<Vec<String>>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// The authorization server of an MCP server. All addresses are checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AuthorizationServer {
    /// The resource that tokens are for (RFC 8707).
    pub(crate) resource: String,
    pub(crate) resource_scopes: Option<Vec<String>>,
    pub(crate) issuer: String,
    /// `None` if people cannot log in.
    pub(crate) authorization: Option<Url>,
    pub(crate) token: Url,
    pub(crate) registration: Option<Url>,
    pub(crate) revocation: Option<Url>,
    pub(crate) scopes: Vec<String>,
    pub(crate) has_s256: bool,
    pub(crate) proofs: Option<Vec<String>>,
    /// `true` if an answer to the browser names the issuer (RFC 9207).
    pub(crate) names_issuer: bool,
}

impl AuthorizationServer {
    /// Finds the authorization server of an MCP server. A server without metadata of its own is
    /// refused unless it `has_refused` a request.
    ///
    /// # Errors
    /// The reason, as a sentence.
    pub(crate) async fn find_server(
        http: &OAuthHttp,
        server: &Url,
        challenge: Option<&BearerChallenge>,
        has_refused: bool,
    ) -> Result<Self, String> {
        let stated = challenge.and_then(|challenge| challenge.resource_metadata.as_deref());
        let document = match resource_document(http, server, stated).await? {
            Some(document) => document,
            None if has_refused => return Self::without_resource(http, server).await,
            None => return Err("it needs no login".to_owned()),
        };
        let ResourceDocument { resource, authorization_servers, scopes_supported } = document;
        if !covers_server(&resource, server) {
            return Err(format!(
                "its metadata is of another resource: {}, not {}",
                shorten_text(&resource),
                shorten_text(server.as_str())
            ));
        }
        let Some(issuer) = authorization_servers.first() else {
            return Err("its metadata names no authorization server".to_owned());
        };
        let found = server_document(http, &check_address(server, issuer)?).await?;
        let Some(document) = found else {
            return Err(format!(
                "the authorization server {} has no metadata",
                shorten_text(issuer)
            ));
        };
        if document.issuer.trim_end_matches('/') != issuer.trim_end_matches('/') {
            return Err(format!(
                "the metadata of {} is of another authorization server: {}",
                shorten_text(issuer),
                shorten_text(&document.issuer)
            ));
        }
        Self::new(server, document, resource, scopes_supported)
    }

    /// Finds the authorization server of an MCP server without metadata of its own, at its origin
    /// (MCP specification of 2025-03-26, "Server Metadata Discovery" and "Fallbacks").
    async fn without_resource(http: &OAuthHttp, server: &Url) -> Result<Self, String> {
        let base = url_at_path(server, "");
        let resource = server.as_str().to_owned();
        if let Some(document) = server_document(http, &base).await? {
            let has_same_origin =
                Url::parse(&document.issuer).is_ok_and(|url| url.origin() == server.origin());
            if !has_same_origin {
                return Err(format!(
                    "its metadata is of another authorization server: {}",
                    shorten_text(&document.issuer)
                ));
            }
            return Self::new(server, document, resource, None);
        }
        Ok(Self {
            resource,
            resource_scopes: None,
            issuer: base.as_str().trim_end_matches('/').to_owned(),
            authorization: Some(url_at_path(server, "/authorize")),
            token: url_at_path(server, "/token"),
            registration: Some(url_at_path(server, "/register")),
            revocation: None,
            scopes: Vec::new(),
            has_s256: true,
            proofs: None,
            names_issuer: false,
        })
    }

    fn new(
        server: &Url,
        document: ServerDocument,
        resource: String,
        resource_scopes: Option<Vec<String>>,
    ) -> Result<Self, String> {
        let one = |address: Option<String>| {
            address.map(|address| check_address(server, &address)).transpose()
        };
        let token = one(document.token_endpoint)?;
        let methods = document.code_challenge_methods_supported.unwrap_or_default();
        Ok(Self {
            resource,
            resource_scopes,
            issuer: document.issuer,
            authorization: one(document.authorization_endpoint)?,
            token: token.ok_or("the authorization server has no token endpoint")?,
            registration: one(document.registration_endpoint)?,
            revocation: one(document.revocation_endpoint)?,
            scopes: document.scopes_supported.unwrap_or_default(),
            has_s256: methods.iter().any(|method| method == S256),
            proofs: document.token_endpoint_auth_methods_supported,
            names_issuer: document.authorization_response_iss_parameter_supported,
        })
    }
}

/// Returns this path at the origin of a URL.
fn url_at_path(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url
}

/// Reads the metadata of the resource: at the address of the challenge, or else at the well-known
/// ones.
async fn resource_document(
    http: &OAuthHttp,
    server: &Url,
    stated: Option<&str>,
) -> Result<Option<ResourceDocument>, String> {
    if let Some(stated) = stated {
        let url = check_address(server, stated)?;
        let found = http.get_document(url.as_str()).await?;
        return found
            .map(Some)
            .ok_or_else(|| format!("its metadata is not at {}", shorten_text(stated)));
    }
    first_document(http, &resource_addresses(server)).await
}

/// Returns the addresses of the metadata of a resource (RFC 9728, section 3.1), that of its path
/// first.
fn resource_addresses(server: &Url) -> Vec<Url> {
    let path = server.path().trim_end_matches('/');
    let mut addresses =
        vec![url_at_path(server, &format!("{RESOURCE}{path}")), url_at_path(server, RESOURCE)];
    addresses.dedup();
    addresses
}

async fn server_document(http: &OAuthHttp, issuer: &Url) -> Result<Option<ServerDocument>, String> {
    first_document(http, &issuer_addresses(issuer)).await
}

/// Returns the addresses of the metadata of an authorization server (MCP specification,
/// "Authorization Server Metadata Discovery").
fn issuer_addresses(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let addresses =
        [format!("{OAUTH}{path}"), format!("{OPENID}{path}"), format!("{path}{OPENID}")];
    let mut addresses = addresses.map(|path| url_at_path(issuer, &path)).to_vec();
    addresses.dedup();
    addresses
}

async fn first_document<T: serde::de::DeserializeOwned>(
    http: &OAuthHttp,
    candidates: &[Url],
) -> Result<Option<T>, String> {
    for url in candidates {
        if let Some(found) = http.get_document(url.as_str()).await? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(find: fn(&Url) -> Vec<Url>, url: &str) -> Vec<String> {
        let url = Url::parse(&format!("https://a.example{url}")).unwrap();
        let found = find(&url).into_iter();
        found.map(|url| url.as_str().replace("https://a.example/.well-known/", "")).collect()
    }

    #[test]
    fn resource_addresses_begin_with_the_path_of_the_server() {
        let root = "oauth-protected-resource";
        for (url, expected) in [
            ("/mcp?a=b", &["oauth-protected-resource/mcp", root][..]),
            ("/a/mcp/", &["oauth-protected-resource/a/mcp", root]),
            ("", &[root]),
        ] {
            assert_eq!(texts(resource_addresses, url), expected, "{url}");
        }
    }

    #[test]
    fn issuer_addresses_have_the_path_in_three_places() {
        let (oauth, openid) = ("oauth-authorization-server", "openid-configuration");
        assert_eq!(texts(issuer_addresses, "/"), [oauth, openid]);
        let of_tenant = "https://a.example/tenant/.well-known/openid-configuration";
        let expected = [&format!("{oauth}/tenant"), &format!("{openid}/tenant"), of_tenant];
        assert_eq!(texts(issuer_addresses, "/tenant"), expected);
    }
}
