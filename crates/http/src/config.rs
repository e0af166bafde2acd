//! The tables `[http]` and `[http.tokens.NAME]`, and their checked form.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use avocet_gateway::{Caller, ChatPatterns, METHODS};
use avocet_protocol::access::ClientRole;
use avocet_protocol::channel::ChannelWebhook;
use avocet_protocol::ids::SenderId;
use avocet_text::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::bad_key::BadHttpKey;
use crate::caller::{HttpCaller, TokenDigest};
use crate::guard::{AllowedHost, HostGuard};
use crate::hooks::HookPlan;

/// The fewest characters of a token: 16 hexadecimal digits are 64 bits.
const SHORTEST_TOKEN: usize = 16;

/// The HTTP interface for other programs. Without this table, the daemon listens on no TCP port.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HttpConfig {
    /// The address and port to listen on, such as `127.0.0.1:8470`. Port 0 is any free port; the
    /// log names it. Without this key, the interface is off.
    pub listen: Option<String>,
    /// `true` to allow an address that other machines can reach. The connection is not encrypted:
    /// put a server with TLS in front. Default: `false`.
    pub allow_remote: bool,
    /// Host names beside those of this machine (`localhost`, `127.0.0.1`) under which clients reach
    /// the interface, such as the name of a server with TLS in front. `:PORT` may follow. Requests
    /// for other hosts are refused. Default: `[]`.
    pub hosts: Vec<String>,
    /// The clients, by names of your choice. At least one is necessary.
    pub tokens: BTreeMap<String, HttpToken>,
}

/// A client of the HTTP interface. Its name is the sender of its messages: `http:NAME`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HttpToken {
    /// The secret that the client sends as `Authorization: Bearer TOKEN`, with at least 16
    /// characters. `openssl rand -hex 32` makes one.
    pub token: Option<Secret>,
    /// The rights of the client. Each role includes the ones before it. Default: `observer`.
    pub role: ClientRole,
    /// The highest role of the client at `/mcp`, where another model writes the texts. With
    /// `operator` they count as those of an owner if `role` is `operator`, too. Default: `sender`.
    pub mcp_role: Option<ClientRole>,
    /// The chats that the client reaches: `telegram:bot:*`, `terminal:local:api-phone`. `*` matches
    /// any characters, and `["*"]` are all chats. Default: `[]`, no chat.
    pub chats: Vec<String>,
    /// The only methods of the socket whose paths the client may use. Default: all methods of its
    /// role.
    pub methods: Option<Vec<String>>,
}

/// A checked configuration.
#[derive(Debug, Clone)]
pub struct HttpPlan {
    pub(crate) listen: SocketAddr,
    pub(crate) hosts: Vec<AllowedHost>,
    pub(crate) tokens: Vec<TokenDigest>,
    pub(crate) hooks: Vec<HookPlan>,
    pub(crate) webhooks: Vec<ChannelWebhook>,
}

impl HttpPlan {
    /// A listener of this machine alone, without tokens of the configuration.
    pub(crate) fn listening_on(listen: SocketAddr) -> Self {
        Self {
            listen,
            hosts: Vec::new(),
            tokens: Vec::new(),
            hooks: Vec::new(),
            webhooks: Vec::new(),
        }
    }

    /// Adds the incoming webhooks.
    #[must_use]
    pub fn with_hooks(self, hooks: Vec<HookPlan>) -> Self {
        Self { hooks, ..self }
    }

    /// Adds the endpoints of channels.
    #[must_use]
    pub fn with_webhooks(self, webhooks: Vec<ChannelWebhook>) -> Self {
        Self { webhooks, ..self }
    }

    /// Returns `true` if requests for this host are answered. `:PORT` may follow the host.
    #[must_use]
    pub fn serves_host(&self, host: &str) -> bool {
        let guard = HostGuard { port: self.listen.port(), hosts: self.hosts.clone() };
        guard.serves(host)
    }
}

impl HttpConfig {
    /// Checks the table; `None` if the interface is off.
    ///
    /// # Errors
    /// [`BadHttpKey`] names the first unusable key.
    pub fn plan(&self) -> Result<Option<HttpPlan>, BadHttpKey> {
        let hosts = self.hosts.iter().enumerate().map(|(place, host)| {
            AllowedHost::parse(host).ok_or_else(|| {
                let message = format!(
                    "{host:?} is not a host; write only a name or an address, such as \
                     bus.example or bus.example:8443"
                );
                BadHttpKey::new(format!("hosts[{place}]"), message)
            })
        });
        let hosts = hosts.collect::<Result<Vec<_>, _>>()?;
        let tokens = self.digests()?;
        let Some(listen) = self.address()? else { return Ok(None) };
        if tokens.is_empty() {
            let message = "the interface needs a token: add a table [http.tokens.NAME] with a \
                key `token`";
            return Err(BadHttpKey::new("listen", message));
        }
        let (hooks, webhooks) = (Vec::new(), Vec::new());
        Ok(Some(HttpPlan { listen, hosts, tokens, hooks, webhooks }))
    }

    fn address(&self) -> Result<Option<SocketAddr>, BadHttpKey> {
        let Some(listen) = &self.listen else { return Ok(None) };
        let address: SocketAddr = listen.parse().map_err(|_| {
            let message = format!(
                "{listen:?} is not an address and port; write them as 127.0.0.1:8470 or \
                 [::1]:8470"
            );
            BadHttpKey::new("listen", message)
        })?;
        if !address.ip().is_loopback() && !self.allow_remote {
            let message = format!(
                "other machines can reach {}; write 127.0.0.1, or allow it with \
                 allow_remote = true",
                address.ip()
            );
            return Err(BadHttpKey::new("listen", message));
        }
        Ok(Some(address))
    }

    fn digests(&self) -> Result<Vec<TokenDigest>, BadHttpKey> {
        let mut digests: Vec<TokenDigest> = Vec::new();
        for (name, client) in &self.tokens {
            let HttpToken { token, role, mcp_role, chats, methods } = client;
            let key = format!("tokens.{name}.token");
            let sender = SenderId::parse(&format!("http:{name}"))
                .map_err(|error| BadHttpKey::new(format!("tokens.{name}"), error.to_string()))?;
            let Some(token) = token else {
                let message = "the client has no token; add the key `token`";
                return Err(BadHttpKey::new(format!("tokens.{name}"), message));
            };
            let token = token.expose();
            let is_sendable = token.bytes().all(|byte| byte.is_ascii_graphic());
            if token.len() < SHORTEST_TOKEN || !is_sendable {
                let message = format!(
                    "a token has at least {SHORTEST_TOKEN} visible ASCII characters without \
                     spaces; `openssl rand -hex 32` makes one"
                );
                return Err(BadHttpKey::new(key, message));
            }
            check_rights(name, chats, methods.as_deref())?;
            let (chats, methods) = (ChatPatterns::new(chats.clone()), methods.clone());
            let methods = methods.map(|methods| methods.into_iter().collect());
            let caller = Caller { sender, role: *role, chats, methods };
            let over_mcp = mcp_role.unwrap_or(ClientRole::Sender);
            let digest = TokenDigest::new(HttpCaller(caller, over_mcp), token);
            if let Some(other) = digests.iter().find(|other| other.is_same_token(&digest)) {
                let message = format!(
                    "this is also the token of {}; each client needs its own",
                    other.caller().sender.as_str().trim_start_matches("http:")
                );
                return Err(BadHttpKey::new(key, message));
            }
            digests.push(digest);
        }
        Ok(digests)
    }
}

/// Checks the rights of a client.
fn check_rights(
    name: &str,
    chats: &[String],
    methods: Option<&[String]>,
) -> Result<(), BadHttpKey> {
    if chats.is_empty() {
        let message = "the client reaches no chat; list its chats: \
            chats = [\"terminal:local:*\"], or [\"*\"] for all";
        return Err(BadHttpKey::new(format!("tokens.{name}"), message));
    }
    let known = || METHODS.iter().map(|method| method.name);
    let unknown = methods.into_iter().flatten().find(|method| !known().any(|one| one == **method));
    if let Some(method) = unknown {
        let message = format!(
            "there is no method `{method}`; there are {}",
            known().collect::<Vec<_>>().join(", ")
        );
        return Err(BadHttpKey::new(format!("tokens.{name}.methods"), message));
    }
    Ok(())
}

impl HttpPlan {
    /// Returns the senders of clients that may do everything.
    pub fn operators(&self) -> impl Iterator<Item = &SenderId> {
        let callers = self.tokens.iter().map(TokenDigest::caller);
        callers.filter(|one| one.role == ClientRole::Operator).map(|one| &one.sender)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(change: impl Fn(&mut HttpConfig)) -> HttpConfig {
        let mut config = HttpConfig {
            listen: Some("127.0.0.1:8470".to_owned()),
            tokens: [("phone".to_owned(), token("0123456789abcdef"))].into(),
            ..HttpConfig::default()
        };
        change(&mut config);
        config
    }

    fn token(text: &str) -> HttpToken {
        let token = Some(Secret::new(text.to_owned()));
        HttpToken { token, chats: vec!["*".to_owned()], ..HttpToken::default() }
    }

    #[test]
    fn plan_accepts_loopback_and_allowed_addresses() {
        let table: [fn(&mut HttpConfig); 5] = [
            |_| {},
            |config| config.listen = Some("[::1]:0".to_owned()),
            |config| config.listen = Some("127.8.4.7:80".to_owned()),
            |config| {
                config.listen = Some("0.0.0.0:8470".to_owned());
                config.allow_remote = true;
            },
            |config| {
                config.hosts =
                    ["bus.example", "10.0.0.1:8443", "[fd00::1]"].map(str::to_owned).into();
            },
        ];
        for (number, change) in table.into_iter().enumerate() {
            assert!(config(change).plan().unwrap().is_some(), "case {number}");
        }
        assert!(HttpConfig::default().plan().unwrap().is_none());
        let unused = config(|config| config.listen = None);
        assert!(unused.plan().unwrap().is_none(), "tokens alone open no port");
    }

    #[test]
    fn serves_host_compares_the_name_and_the_port() {
        let hosts = ["bus.example", "other.example:8443"].map(str::to_owned);
        let plan = config(|config| config.hosts = hosts.clone().into()).plan().unwrap().unwrap();
        let table = [
            ("bus.example", true),
            ("Bus.example:8443", true),
            ("other.example:8443", true),
            ("other.example", false),
            ("evil.example", false),
            ("127.0.0.1:8470", true),
            ("", false),
        ];
        for (host, serves) in table {
            assert_eq!(plan.serves_host(host), serves, "{host}");
        }
    }

    #[test]
    fn plan_error_names_the_key_and_the_fix_without_the_token() {
        type Change = fn(&mut HttpConfig);
        let table: [(Change, &str, &str); 13] = [
            (
                |config| config.tokens.get_mut("phone").unwrap().chats.clear(),
                "tokens.phone",
                "list its chats",
            ),
            (
                |config| {
                    let methods = Some(vec!["dance".to_owned()]);
                    config.tokens.get_mut("phone").unwrap().methods = methods;
                },
                "tokens.phone.methods",
                "there is no method `dance`",
            ),
            (|config| config.tokens.clear(), "listen", "[http.tokens.NAME]"),
            (|config| config.listen = Some("8470".to_owned()), "listen", "127.0.0.1:8470"),
            (
                |config| config.listen = Some("localhost:8470".to_owned()),
                "listen",
                "is not an address",
            ),
            (|config| config.listen = Some("0.0.0.0:8470".to_owned()), "listen", "allow_remote"),
            (|config| config.listen = Some("192.168.1.7:1".to_owned()), "listen", "allow_remote"),
            (|config| config.listen = Some("[::]:1".to_owned()), "listen", "allow_remote"),
            (|config| config.hosts = vec!["http://a".to_owned()], "hosts[0]", "is not a host"),
            (
                |config| drop(config.tokens.insert("a/b".to_owned(), token("0123456789abcdeg"))),
                "tokens.a/b",
                "not allowed in an id",
            ),
            (
                |config| drop(config.tokens.insert("tab".to_owned(), HttpToken::default())),
                "tokens.tab",
                "add the key `token`",
            ),
            (
                |config| drop(config.tokens.insert("tab".to_owned(), token("short-secret"))),
                "tokens.tab.token",
                "at least 16",
            ),
            (
                |config| drop(config.tokens.insert("tab".to_owned(), token("0123456789abcdef"))),
                "tokens.tab.token",
                "also the token of phone",
            ),
        ];
        for (change, key, says) in table {
            let error = config(change).plan().unwrap_err();
            assert_eq!(error.key, key, "{error}");
            assert!(error.message.contains(says), "{error}");
            assert!(!error.message.contains("0123456789") && !error.message.contains("short-"));
        }
    }
}
