//! The web console: the codes of links, the tokens that browsers get for them, and the listener
//! that links point to.
//!
//! ```text
//! `avocet web`, on the socket: who runs it is known
//!   -> code     one use, 10 minutes, 16 open at most; memory only        (`codes.rs`)
//!   -> link     to the open listener, else to a port that opens for it (`port_file.rs` keeps it)
//! browser       sends the code
//!   -> token    30 days; signed; contains browser, person and end        (`tokens.rs`)
//!   -> list     of the browsers that are signed in                       (`browsers.rs`)
//! each request  host and origin, then the token -> the rights of that person
//! ```
//!
//! **A code in the link, and no token**, because links stay in histories and logs. A used code is
//! worthless. A restart ends open codes; to ask for another link costs nothing.
//!
//! **A signature and a list.** The signature proves a token, and the list says if its browser is still
//! signed in. Both are files, so browsers stay signed in over a restart. Signing out one browser takes
//! it from the list and ends its open streams. Signing out all removes the key, too, and the codes.
//!
//! **The key** is made by the first link, in a file that only the daemon's user can read. A crash
//! leaves the whole file or none. Without a key, no token is valid.
//!
//! **Nothing listens before somebody asks.** Without a listener in the configuration, the first
//! link opens a port on the loopback address. Later starts open the same port again while a token
//! may be valid, so that open pages survive a restart of the daemon. Signing out ends that.

mod browsers;
mod codes;
mod port_file;
mod private_file;
mod tokens;

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use avocet_gateway::GatewayParts;
use avocet_protocol::channel::{WebAsset, WebBrowser, WebError};
use avocet_protocol::clock::{Clock, Timestamp};
use avocet_protocol::ids::SenderId;
use avocet_supervise::{Group, run_blocking};
use avocet_text::in_hexadecimal;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::guard::AllowedHost;
use browsers::{BrowserList, name_browser};
use codes::{CODE_TIME, OpenCodes, random_bytes};
use port_file::PortFile;
use tokens::{SignedToken, TokenKey};

/// Hexadecimal digits of a browser's id.
const ID_DIGITS: usize = 8;

/// The parts of the console.
#[derive(Debug, Clone)]
pub struct ConsoleParts {
    /// The file with the key of the tokens. The first link makes it.
    pub key_file: PathBuf,
    /// The file with the port that a link has opened.
    pub port_file: PathBuf,
    /// The file with the browsers that are signed in.
    pub browsers_file: PathBuf,
    /// The time for which a token is valid, also that of an earlier start.
    pub token_time: Duration,
    /// The built page.
    pub assets: &'static [WebAsset],
    /// The source of time.
    pub clock: Arc<dyn Clock>,
}

/// The web console of a daemon, which all of its listeners share.
pub struct Console {
    clock: Arc<dyn Clock>,
    assets: &'static [WebAsset],
    codes: Mutex<OpenCodes>,
    key: Arc<TokenKey>,
    port_file: Arc<PortFile>,
    browsers: Arc<BrowserList>,
    token_time: Duration,
    listening: Mutex<Listening>,
}

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Console")
            .field("listening", &*self.listening.lock())
            .finish_non_exhaustive()
    }
}

/// The listener that links point to.
#[derive(Debug)]
enum Listening {
    /// The daemon does not serve yet, or it stops.
    Closed,
    /// A link opens a port; `place` is the port of the last link.
    OnDemand { server: Box<ServerParts>, place: Option<LinkPlace> },
    /// The listener of the configuration.
    Configured(LinkPlace),
}

/// The parts of a server that opens later.
#[derive(Debug, Clone)]
pub(crate) struct ServerParts {
    pub(crate) parts: GatewayParts,
    pub(crate) group: Group,
    pub(crate) stop: CancellationToken,
}

/// The address in links.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LinkPlace {
    port: u16,
    /// The origin of the page; `None` if no host leads to the listener.
    origin: Option<String>,
}

/// A token for a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConsoleToken {
    pub(crate) token: String,
    /// The id of the browser.
    pub(crate) browser: String,
    /// The person who ran `avocet web`.
    pub(crate) sender: SenderId,
    pub(crate) expires_at: Timestamp,
}

/// The person of a valid token.
#[derive(Debug, Clone)]
pub(crate) struct SignedIn {
    pub(crate) sender: SenderId,
    /// Fires when the browser is signed out.
    pub(crate) end: CancellationToken,
}

impl Console {
    /// Makes the console, with the key of an earlier start.
    #[must_use]
    pub fn new(parts: ConsoleParts) -> Arc<Self> {
        let ConsoleParts { key_file, port_file, browsers_file, token_time, assets, clock } = parts;
        Arc::new(Self {
            clock,
            assets,
            token_time,
            browsers: Arc::new(BrowserList::load(browsers_file)),
            codes: Mutex::default(),
            key: Arc::new(TokenKey::load(key_file)),
            port_file: Arc::new(PortFile::new(port_file)),
            listening: Mutex::new(Listening::Closed),
        })
    }

    /// Lets links open a port, unless a listener is open already. Ends with `stop`.
    pub(crate) fn allow_on_demand(
        self: &Arc<Self>,
        parts: GatewayParts,
        group: &Group,
        stop: CancellationToken,
    ) {
        let mut listening = self.listening.lock();
        if let Listening::Closed = *listening {
            let (group, stop) = (group.clone(), stop.clone());
            let server = Box::new(ServerParts { parts, group, stop });
            *listening = Listening::OnDemand { server, place: None };
        }
        drop(listening);
        let console = self.clone();
        // The parts and the console hold each other, so the stop has to separate them.
        group.spawn("console", async move {
            stop.cancelled().await;
            *console.listening.lock() = Listening::Closed;
        });
    }

    /// Points links to a listener.
    pub(crate) fn listens(&self, address: SocketAddr, hosts: &[AllowedHost]) {
        *self.listening.lock() = Listening::Configured(LinkPlace::from_address(address, hosts));
    }

    /// Returns the files of the page.
    pub(crate) fn assets(&self) -> &'static [WebAsset] {
        self.assets
    }

    /// Exchanges a code for a token, and signs the browser in; `None` if the code is unknown, used or
    /// too old. `agent` is the header `User-Agent` of the browser.
    pub(crate) async fn redeem_code(&self, code: &str, agent: &str) -> Option<ConsoleToken> {
        let now = self.clock.now();
        let sender = self.codes.lock().redeem_code(code, now)?;
        let id = in_hexadecimal(&random_bytes())[..ID_DIGITS].to_owned();
        let expires_at = now.after(self.token_time);
        let signed = SignedToken { browser: id.clone(), sender: sender.clone(), expires_at };
        let token = self.key.sign(&signed)?;
        let browser = WebBrowser {
            id: id.clone(),
            sender: sender.clone(),
            name: name_browser(agent),
            signed_in_at: now,
            expires_at,
            seen_at: Some(now),
        };
        let browsers = self.browsers.clone();
        let added = in_file(move || browsers.add_browser(browser, now)).await;
        if let Err(error) = added {
            tracing::warn!(%error, "the browser is signed in until the daemon ends");
        }
        Some(ConsoleToken { token, browser: id, sender, expires_at })
    }

    /// Returns the person of a token; `None` if it is not a valid token of this console.
    pub(crate) fn verify_token(&self, token: &str) -> Option<SignedIn> {
        let now = self.clock.now();
        let SignedToken { browser, sender, .. } = self.key.verify_token(token, now)?;
        let end = self.browsers.see_browser(&browser, self.token_time, now)?;
        Some(SignedIn { sender, end })
    }

    /// Returns the browsers that are signed in, the last sign-in first.
    pub(crate) fn list_browsers(&self) -> Vec<WebBrowser> {
        self.browsers.list_browsers(self.token_time, self.clock.now())
    }

    /// Signs out a browser.
    ///
    /// # Errors
    /// There is no such browser, or the list cannot be written: the browser is still signed in.
    pub(crate) async fn sign_out_browser(&self, id: &str) -> Result<(), WebError> {
        let (browsers, ended) = (self.browsers.clone(), id.to_owned());
        let removed = run_blocking(move || browsers.remove_browser(Some(&ended))).await;
        match removed.unwrap_or_else(|panicked| Err(panicked.to_string())) {
            Ok(true) => Ok(()),
            Ok(false) => Err(WebError::Refused(format!(
                "no browser {id:?} is signed in; `avocet web --browsers` lists them"
            ))),
            Err(error) => Err(WebError::Failed(error)),
        }
    }

    /// Returns the port of an earlier start, if a browser may still have a token for it.
    pub(crate) fn kept_port(&self) -> Option<u16> {
        self.key.is_made().then(|| self.port_file.read_port(self.clock.now()))?
    }

    /// Returns the origin of links. `open` opens a port if there is none, or if `port` is another.
    ///
    /// # Errors
    /// The daemon starts or stops, the configured listener has another port, no port can be opened,
    /// or no host name leads to the listener.
    pub(crate) fn origin(
        &self,
        port: Option<u16>,
        open: impl FnOnce(ServerParts) -> Result<SocketAddr, WebError>,
    ) -> Result<String, WebError> {
        let mut listening = self.listening.lock();
        let place = match &mut *listening {
            Listening::Configured(place) => place.checked(port)?,
            Listening::OnDemand { place: Some(place), .. }
                if port.is_none_or(|port| port == place.port) =>
            {
                place.clone()
            }
            Listening::OnDemand { server, place } => {
                place.insert(LinkPlace::from_address(open((**server).clone())?, &[])).clone()
            }
            Listening::Closed => {
                let message = "the daemon is starting or stopping; try again later";
                return Err(WebError::Failed(message.to_owned()));
            }
        };
        drop(listening);
        place.origin.ok_or_else(no_host)
    }

    /// Makes a code for a person, and the key of tokens if there is none. Returns the code and its
    /// end.
    ///
    /// # Errors
    /// The key cannot be written.
    pub(crate) async fn add_code(
        &self,
        sender: &SenderId,
    ) -> Result<(String, Timestamp), WebError> {
        let expires_at = self.clock.now().after(CODE_TIME);
        let (key, port_file, opened) =
            (self.key.clone(), self.port_file.clone(), self.opened_port());
        let last_end = expires_at.after(self.token_time);
        in_file(move || {
            key.make()?;
            let kept = opened.map_or(Ok(()), |port| port_file.write_port(port, last_end));
            if let Err(error) = kept {
                tracing::warn!(error, "the web console needs a new link after a restart");
            }
            Ok(())
        })
        .await?;
        let code = self.codes.lock().add_code(sender.clone(), self.clock.now());
        Ok((code, expires_at))
    }

    /// Ends all codes, tokens and streams of browsers.
    ///
    /// # Errors
    /// The key cannot be removed.
    pub(crate) async fn sign_out_browsers(&self) -> Result<(), WebError> {
        *self.codes.lock() = OpenCodes::default();
        let (key, port_file) = (self.key.clone(), self.port_file.clone());
        let browsers = self.browsers.clone();
        in_file(move || {
            key.remove()?;
            port_file.remove()?;
            browsers.remove_browser(None).map(drop)
        })
        .await
    }

    /// Returns the port that a link has opened.
    fn opened_port(&self) -> Option<u16> {
        match &*self.listening.lock() {
            Listening::OnDemand { place, .. } => place.as_ref().map(|place| place.port),
            Listening::Closed | Listening::Configured(_) => None,
        }
    }
}

impl LinkPlace {
    fn from_address(address: SocketAddr, hosts: &[AllowedHost]) -> Self {
        // A listener on all addresses is reached on the loopback address, too.
        let own = match address {
            address if address.ip().is_loopback() => Some(address),
            address if address.ip().is_unspecified() => {
                Some(SocketAddr::from((Ipv4Addr::LOCALHOST, address.port())))
            }
            _ => None,
        };
        // The interface has no TLS, so other machines reach it through a server with TLS in front.
        let listed = hosts.first().filter(|_| !address.ip().is_loopback());
        let listed = listed.map(|host| format!("https://{host}"));
        let origin = listed.or_else(|| own.map(|own| format!("http://{own}")));
        Self { port: address.port(), origin }
    }

    /// Refuses another port than that of the listener.
    fn checked(&self, port: Option<u16>) -> Result<Self, WebError> {
        let open = self.port;
        match port {
            Some(port) if port != open => Err(WebError::Refused(format!(
                "cannot open port {port}: the daemon serves the console on port {open} until it \
                 stops; leave out the port"
            ))),
            _ => Ok(self.clone()),
        }
    }
}

fn no_host() -> WebError {
    let message = "no host name leads to the listener; add the name under which browsers reach it \
        to [http] hosts";
    WebError::Refused(message.to_owned())
}

/// Runs blocking work on the key's file.
async fn in_file(
    work: impl FnOnce() -> Result<(), String> + Send + 'static,
) -> Result<(), WebError> {
    let done = run_blocking(work).await.unwrap_or_else(|panicked| Err(panicked.to_string()));
    done.map_err(WebError::Failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_place_is_an_origin_that_the_guard_accepts() {
        let table: [(&str, &[&str], Option<&str>); 8] = [
            ("127.0.0.1:8470", &[], Some("http://127.0.0.1:8470")),
            ("127.0.0.1:8470", &["bus.example"], Some("http://127.0.0.1:8470")),
            ("[::1]:80", &[], Some("http://[::1]:80")),
            ("0.0.0.0:8470", &[], Some("http://127.0.0.1:8470")),
            ("0.0.0.0:8470", &["bus.example", "b"], Some("https://bus.example")),
            ("10.0.0.1:8470", &["bus.example:8443"], Some("https://bus.example:8443")),
            ("10.0.0.1:8470", &["[fd00::1]"], Some("https://[fd00::1]")),
            ("10.0.0.1:8470", &[], None),
        ];
        for (address, hosts, expected) in table {
            let hosts: Vec<_> =
                hosts.iter().map(|host| AllowedHost::parse(host).unwrap()).collect();
            let place = LinkPlace::from_address(address.parse().unwrap(), &hosts);
            assert_eq!(place.origin.as_deref(), expected, "{address} {hosts:?}");
        }
    }
}
