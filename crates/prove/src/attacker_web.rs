//! The attacker's web, inside of the process: every name leads here, and no packet leaves. Pages hold
//! orders; everything that is looked up or requested is recorded.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use async_trait::async_trait;
use avocet_net::{DialAddress, DialResponse, NetError, ResolveNames, Url};
use bytes::Bytes;
use parking_lot::Mutex;

/// The base URL of the attacker's pages.
pub(crate) const SITE: &str = "http://stranger.dev";
/// A public address, which nothing connects to.
const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(93, 184, 216, 34));
/// A text so long that a summary of the page is shorter.
const FILLER: &str =
    "<p>The avocet is a wader of shallow coasts, black and white, with a bill that turns up.</p>";

/// The web of an attacker.
#[derive(Default)]
pub struct AttackerWeb {
    pages: Mutex<BTreeMap<String, String>>,
    looked_up: Mutex<Vec<String>>,
    requested: Mutex<Vec<String>>,
}

impl fmt::Debug for AttackerWeb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AttackerWeb")
    }
}

impl AttackerWeb {
    /// Adds pages: the name of each, and its HTML.
    pub(crate) fn add_pages(&self, pages: impl IntoIterator<Item = (String, String)>) {
        self.pages.lock().extend(pages);
    }

    /// Returns the looked-up names that contain a word.
    pub(crate) fn lookups(&self, word: &str) -> usize {
        self.looked_up.lock().iter().filter(|name| name.contains(word)).count()
    }

    /// Returns the number of requests whose URL contains all of these words.
    pub(crate) fn requests(&self, words: &[&str]) -> usize {
        let requested = self.requested.lock();
        requested.iter().filter(|url| words.iter().all(|word| url.contains(word))).count()
    }

    fn answer(&self, url: &Url) -> PageAnswer {
        self.requested.lock().push(url.to_string());
        if let Some(to) = url.query().and_then(|query| query.strip_prefix("to=")) {
            return PageAnswer { location: Some(to.to_owned()), body: None };
        }
        let name = url.path().strip_prefix("/page/").unwrap_or_default();
        let filler = FILLER.repeat(20);
        let page = match self.pages.lock().get(name) {
            Some(html) => html.replace("</body>", &format!("{filler}</body>")),
            None => format!("<html><body>{filler}</body></html>"),
        };
        PageAnswer { location: None, body: Some(page.into()) }
    }
}

#[async_trait]
impl ResolveNames for AttackerWeb {
    async fn resolve_name(&self, name: &str) -> Vec<IpAddr> {
        self.looked_up.lock().push(name.to_owned());
        vec![ADDRESS]
    }
}

#[async_trait]
impl DialAddress for AttackerWeb {
    async fn send_request(
        &self,
        url: &Url,
        _headers: &[(&str, &str)],
        _body: Option<&[u8]>,
        _to: &[SocketAddr],
    ) -> Result<Box<dyn DialResponse>, NetError> {
        Ok(Box::new(self.answer(url)))
    }
}

/// The answer of a page.
struct PageAnswer {
    location: Option<String>,
    body: Option<Bytes>,
}

#[async_trait]
impl DialResponse for PageAnswer {
    fn status(&self) -> u16 {
        if self.location.is_some() { 302 } else { 200 }
    }

    fn first_header(&self, name: &str) -> Option<&str> {
        match name {
            "content-type" => Some("text/html; charset=utf-8"),
            "location" => self.location.as_deref(),
            _ => None,
        }
    }

    fn all_headers(&self, name: &str) -> Vec<String> {
        self.first_header(name).map(str::to_owned).into_iter().collect()
    }

    async fn next_chunk(&mut self) -> Result<Option<Bytes>, NetError> {
        Ok(self.body.take())
    }
}
