//! A table `[tools.mcp_servers.NAME]`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use avocet_net::{check_header, check_url};
use avocet_text::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

/// The longest name of a server. With it, a tool has 30 characters for its own name.
const LONGEST_NAME: usize = 32;
/// The longest time for a call, in seconds: a day.
const LONGEST_CALL: u64 = 86_400;

/// An MCP server, whose tools the agent uses as `NAME__tool`. NAME has at most 32 lower-case
/// letters, digits, `_` and `-`. A server is either a program, which runs in the sandbox, or the URL
/// of a server elsewhere.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct McpServerConfig {
    /// The program, which speaks MCP on its standard streams. If it is set, `url` is ignored.
    pub command: Option<String>,
    /// The arguments of the program. Default: `[]`.
    pub args: Vec<String>,
    /// Environment variables of the program. It gets only these and a few standard ones such as
    /// `PATH`. A value counts as a secret if it is a reference, or if the name of the variable has a
    /// word such as `KEY`, `TOKEN` or `PASSWORD`. Default: none.
    pub env: BTreeMap<String, Secret>,
    /// Files and directories that the program may read, in addition to the programs and libraries of
    /// the system. Default: `[]`.
    pub read: Vec<PathBuf>,
    /// Directories that the program may change. The first is its working directory. Default: `[]`.
    pub write: Vec<PathBuf>,
    /// Hosts that the program may reach, as in `[sandbox] hosts`. Default: `[]`.
    pub hosts: Vec<String>,
    /// The URL of a server that speaks streamable HTTP.
    pub url: Option<String>,
    /// HTTP headers of every request to the URL, such as an API key. The values may be secrets.
    /// Default: none.
    pub headers: BTreeMap<String, Secret>,
    /// The login at a server with `url`. Without this table, `avocet mcp login NAME` registers a client
    /// by itself.
    pub oauth: Option<McpOAuthConfig>,
    /// `true` to limit requests to public addresses, for a server that is not yours.
    /// Default: `false`.
    pub untrusted: bool,
    /// `true` to start the server with its first use, `false` to start it with the daemon. A server
    /// whose tools are unknown is started once in any case. Default: `true`.
    pub lazy: bool,
    /// `true` to accept the server's own statements about its tools: those that only read run
    /// without approval, and results are trusted if they come from the server alone. Otherwise each call
    /// asks, unless a rule in `[tools.policy]` allows it. Default: `false`.
    pub trusted: bool,
    /// The limits for requests of the server to the model (sampling), for each call of a tool:
    /// `{ max_requests = 3, max_tokens = 20000 }`. Tokens are those read and written. Without this
    /// key, such requests are refused. Default: none.
    pub sampling: Option<SamplingLimits>,
    /// The tools of the server that are used, by the server's names; `*` matches any characters. At
    /// most 200 tools of a server are used. Default: `["*"]`.
    pub tools: Vec<String>,
    /// Seconds that a call may take, from 1 to 86400; also the limit of a start, which has 60 s at most.
    /// Default: 60.
    pub timeout_seconds: u64,
}

/// The limits for a server's requests to the model, for each call of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SamplingLimits {
    /// The most requests.
    pub max_requests: u32,
    /// The most tokens of all requests together, read and written. The last request may exceed it.
    pub max_tokens: u64,
}

/// The login at an MCP server with OAuth.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct McpOAuthConfig {
    /// The name of a client that you have registered at the authorization server. Default: `avocet mcp
    /// login` registers one.
    pub client_id: Option<String>,
    /// The secret of the client. Default: none.
    pub client_secret: Option<Secret>,
    /// The authorization server of the client, as its metadata names itself. Another one is refused, so that
    /// the MCP server cannot have the secret sent elsewhere. Default: the one that the MCP server names.
    pub issuer: Option<String>,
    /// The scopes of the login. Default: `[]`, those that the server asks for.
    pub scopes: Vec<String>,
    /// The port of this machine that the browser returns to, as registered with the client. Default: 0,
    /// any free port.
    pub redirect_port: u16,
    /// The way to log in. Default: `"authorization_code"`.
    pub grant: OAuthGrant,
}

/// The way to log in at an MCP server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OAuthGrant {
    /// A person logs in, with a browser.
    #[default]
    AuthorizationCode,
    /// The client logs in by itself, with its secret.
    ClientCredentials,
}

impl McpOAuthConfig {
    fn check_values(&self) -> Result<(), String> {
        let is_set = |text: Option<&str>| text.is_some_and(|text| !text.is_empty());
        let has_secret = is_set(self.client_secret.as_ref().map(Secret::expose));
        let has_id = is_set(self.client_id.as_deref());
        if (has_secret || self.client_id.is_some()) && !has_id {
            return Err("the client needs a `client_id`".to_owned());
        }
        if self.grant == OAuthGrant::ClientCredentials && !has_secret {
            return Err("`grant = \"client_credentials\"` needs a `client_secret`".to_owned());
        }
        Ok(())
    }
}

impl Default for McpServerConfig {
    fn default() -> Self {
        Self {
            command: None,
            args: Vec::new(),
            env: BTreeMap::new(),
            read: Vec::new(),
            write: Vec::new(),
            hosts: Vec::new(),
            url: None,
            headers: BTreeMap::new(),
            oauth: None,
            untrusted: false,
            lazy: true,
            trusted: false,
            sampling: None,
            tools: vec!["*".to_owned()],
            timeout_seconds: 60,
        }
    }
}

impl McpServerConfig {
    /// Checks the name of a server.
    ///
    /// # Errors
    /// The rule for names.
    pub fn check_name(name: &str) -> Result<(), String> {
        let is_allowed =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
        if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(is_allowed) {
            return Err(format!(
                "the name of a server has 1 to {LONGEST_NAME} lower-case letters, digits, `_` and \
                 `-`; rename it"
            ));
        }
        if name.contains("__") || name.starts_with('_') || name.ends_with('_') {
            return Err("`__` separates server and tool, so the name of a server has a `_` only \
                        between other characters; rename it"
                .to_owned());
        }
        Ok(())
    }

    /// Checks the values of single keys.
    ///
    /// # Errors
    /// The key with an unusable value, and the requirement.
    pub fn check_values(&self) -> Result<(), (&'static str, String)> {
        let Self { url, headers, oauth, timeout_seconds, .. } = self;
        if let Some(url) = url {
            check_url(url).map_err(|error| ("url", error.to_string()))?;
        }
        for (name, value) in headers {
            check_header(name, value).map_err(|error| ("headers", error.to_string()))?;
        }
        if let Some(oauth) = oauth {
            oauth.check_values().map_err(|error| ("oauth", error))?;
            if self.has_token() {
                let error = "`headers` has a token in `Authorization` already; remove one of them";
                return Err(("oauth", error.to_owned()));
            }
        }
        if !(1..=LONGEST_CALL).contains(timeout_seconds) {
            let message = format!("{timeout_seconds} is not a number from 1 to {LONGEST_CALL}");
            return Err(("timeout_seconds", message));
        }
        Ok(())
    }

    /// Returns `true` if the headers have a token, so that no login is needed.
    pub(crate) fn has_token(&self) -> bool {
        self.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"))
    }

    pub(crate) fn time_limit(&self) -> Duration {
        Duration::from_secs(self.timeout_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_name_refuses_names_that_could_collide() {
        for name in ["files", "a-b_c9", "x"] {
            assert_eq!(McpServerConfig::check_name(name), Ok(()), "{name}");
        }
        let long = "a".repeat(33);
        for name in ["", "A", "a b", "a__b", "_a", "a_", "ä", &long] {
            assert!(McpServerConfig::check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn check_names_the_key_with_an_unusable_value() {
        let of = |change: &dyn Fn(&mut McpServerConfig)| {
            let mut config = McpServerConfig::default();
            change(&mut config);
            config.check_values().map_err(|(key, _)| key)
        };
        assert_eq!(of(&|_| ()), Ok(()));
        assert_eq!(of(&|config| config.url = Some("ftp://x".to_owned())), Err("url"));
        assert_eq!(of(&|config| config.timeout_seconds = 0), Err("timeout_seconds"));
        let header = ("a\n".to_owned(), Secret::new("x".to_owned()));
        assert_eq!(of(&|config| config.headers = [header.clone()].into()), Err("headers"));
        let oauth = |id: &str, secret: &str, grant: OAuthGrant, header: &str| {
            let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            let oauth = McpOAuthConfig {
                client_id: some(id),
                client_secret: some(secret).map(Secret::new),
                grant,
                ..McpOAuthConfig::default()
            };
            of(&|config| {
                config.oauth = Some(oauth.clone());
                config.headers = [(header.to_owned(), Secret::new("x".to_owned()))].into();
            })
        };
        let (code, client) = (OAuthGrant::AuthorizationCode, OAuthGrant::ClientCredentials);
        for (id, secret, grant, header, expected) in [
            ("", "", code, "x-key", Ok(())),
            ("me", "", code, "x-key", Ok(())),
            ("me", "word", client, "x-key", Ok(())),
            ("", "word", code, "x-key", Err("oauth")),
            ("me", "", client, "x-key", Err("oauth")),
            ("me", "", code, "authorization", Err("oauth")),
        ] {
            assert_eq!(
                oauth(id, secret, grant, header),
                expected,
                "{id} {secret} {grant:?} {header}"
            );
        }
    }
}
