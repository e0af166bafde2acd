//! The browsers that are signed in. A token is valid only while its browser is in this list, so that one
//! browser can be signed out alone. The list is a file, since browsers stay signed in over a restart.

use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use avocet_protocol::channel::WebBrowser;
use avocet_protocol::clock::Timestamp;
use avocet_text::{in_one_line, plain_io};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::private_file::write_private_file;

/// The most browsers. One more signs out the one that signed in first.
const MOST: usize = 100;
/// Characters of the name of an unknown browser.
const NAME_CHARS: usize = 60;

/// The list and its file.
pub(super) struct BrowserList {
    file: PathBuf,
    /// In the order of the sign-ins.
    entries: Mutex<Vec<ListedBrowser>>,
}

#[derive(Clone)]
struct ListedBrowser {
    browser: WebBrowser,
    /// Fires when the browser is signed out.
    end: CancellationToken,
}

impl fmt::Debug for BrowserList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BrowserList").field("file", &self.file).finish_non_exhaustive()
    }
}

impl ListedBrowser {
    fn new(browser: WebBrowser) -> Self {
        Self { browser, end: CancellationToken::new() }
    }
}

impl BrowserList {
    /// Reads the list of an earlier start. An unreadable one costs new links only.
    pub(super) fn load(file: PathBuf) -> Self {
        let browsers = read(&file).unwrap_or_else(|error| {
            tracing::warn!(error, "all browsers are signed out of the web console");
            Vec::new()
        });
        Self { file, entries: Mutex::new(browsers.into_iter().map(ListedBrowser::new).collect()) }
    }

    /// Adds a browser.
    ///
    /// # Errors
    /// The file cannot be written. The browser is signed in until the next start.
    pub(super) fn add_browser(&self, browser: WebBrowser, now: Timestamp) -> Result<(), String> {
        let mut entries = self.entries.lock();
        entries.retain(|entry| now < entry.browser.expires_at);
        if entries.len() >= MOST {
            entries.remove(0).end.cancel();
        }
        entries.push(ListedBrowser::new(browser));
        self.write(&entries)
    }

    /// Notes that a browser has sent a request. Returns a token that fires when it is signed out;
    /// `None` if it is not signed in, or signed in longer than `longest` ago.
    pub(super) fn see_browser(
        &self,
        id: &str,
        longest: Duration,
        now: Timestamp,
    ) -> Option<CancellationToken> {
        let mut entries = self.entries.lock();
        let entry = entries.iter_mut().find(|entry| entry.browser.id == id)?;
        if now >= entry.browser.signed_in_at.after(longest) {
            return None;
        }
        entry.browser.seen_at = Some(now);
        Some(entry.end.clone())
    }

    /// Returns the browsers whose tokens are valid, the last sign-in first.
    pub(super) fn list_browsers(&self, longest: Duration, now: Timestamp) -> Vec<WebBrowser> {
        let entries = self.entries.lock();
        let browsers = entries.iter().rev().map(|entry| entry.browser.clone());
        let browsers = browsers.map(|browser| {
            let expires_at = browser.expires_at.min(browser.signed_in_at.after(longest));
            WebBrowser { expires_at, ..browser }
        });
        browsers.filter(|browser| now < browser.expires_at).collect()
    }

    /// Signs out a browser; all of them without an id. Returns `false` if there is no such browser.
    ///
    /// # Errors
    /// The file cannot be written; the browser is still signed in.
    pub(super) fn remove_browser(&self, id: Option<&str>) -> Result<bool, String> {
        let mut entries = self.entries.lock();
        let is_meant = |entry: &ListedBrowser| id.is_none_or(|id| entry.browser.id == id);
        let (ended, stay): (Vec<_>, Vec<_>) = entries.iter().cloned().partition(is_meant);
        if !ended.is_empty() {
            self.write(&stay)?;
        }
        *entries = stay;
        drop(entries);
        ended.iter().for_each(|entry| entry.end.cancel());
        Ok(!ended.is_empty())
    }

    fn write(&self, entries: &[ListedBrowser]) -> Result<(), String> {
        let browsers: Vec<&WebBrowser> = entries.iter().map(|entry| &entry.browser).collect();
        let text = serde_json::to_vec(&browsers).map_err(|error| error.to_string())?;
        write_private_file(&self.file, &text)
            .map_err(|error| format!("cannot write {}: {}", self.file.display(), plain_io(&error)))
    }
}

/// Reads the list; empty if the file is missing.
fn read(file: &Path) -> Result<Vec<WebBrowser>, String> {
    let failed = |why: String| format!("cannot read {}: {why}", file.display());
    let text = match fs::read(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(|error| failed(plain_io(&error)))?,
    };
    let browsers: Vec<WebBrowser> =
        serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))?;
    // The time of a last request is known for this start only.
    Ok(browsers.into_iter().map(|browser| WebBrowser { seen_at: None, ..browser }).collect())
}

/// Returns the name of a browser and its system, by the header `User-Agent` (RFC 9110, section
/// 10.1.5): `Firefox on Linux`. Many browsers name others, too, so the order matters.
pub(super) fn name_browser(agent: &str) -> String {
    const BROWSERS: [(&str, &str); 7] = [
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("SamsungBrowser/", "Samsung Internet"),
        ("Firefox/", "Firefox"),
        ("FxiOS/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ];
    const SYSTEMS: [(&str, &str); 7] = [
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("CrOS", "ChromeOS"),
        ("Windows", "Windows"),
        ("Mac OS X", "macOS"),
        ("Linux", "Linux"),
    ];
    let find = |names: &[(&str, &'static str)]| {
        names.iter().find(|(part, _)| agent.contains(part)).map(|(_, name)| *name)
    };
    match (find(&BROWSERS), find(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(name), None) | (None, Some(name)) => name.to_owned(),
        (None, None) if agent.trim().is_empty() => "a browser without a name".to_owned(),
        (None, None) => in_one_line(agent, NAME_CHARS),
    }
}

#[cfg(test)]
mod tests {
    use avocet_protocol::ids::SenderId;
    use tempfile::TempDir;

    use super::*;

    const LONG: Duration = Duration::from_hours(1);

    fn browser(id: &str, second: i64) -> WebBrowser {
        WebBrowser {
            id: id.to_owned(),
            sender: SenderId::parse("uid:1000").unwrap(),
            name: "Firefox on Linux".to_owned(),
            signed_in_at: Timestamp(second * 1000),
            expires_at: Timestamp(second * 1000).after(LONG),
            seen_at: None,
        }
    }

    fn ids(list: &BrowserList, longest: Duration, now: Timestamp) -> Vec<String> {
        list.list_browsers(longest, now).into_iter().map(|browser| browser.id).collect()
    }

    #[test]
    fn list_keeps_browsers_over_a_restart_until_they_are_signed_out() {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("web.browsers");
        let list = BrowserList::load(file.clone());
        for (second, id) in ["a", "b", "c"].into_iter().enumerate() {
            list.add_browser(browser(id, second as i64), Timestamp(0)).unwrap();
        }
        let now = Timestamp(5000);
        let end = list.see_browser("b", LONG, now).unwrap();
        assert_eq!(list.list_browsers(LONG, now)[1].seen_at, Some(now));
        assert_eq!(list.remove_browser(Some("x")), Ok(false));
        assert_eq!(list.remove_browser(Some("b")), Ok(true));
        assert!(end.is_cancelled() && list.see_browser("b", LONG, now).is_none());
        let restarted = BrowserList::load(file.clone());
        assert_eq!(ids(&restarted, LONG, now), ["c", "a"]);
        assert_eq!(restarted.list_browsers(LONG, now)[0].seen_at, None);
        assert_eq!(restarted.remove_browser(None), Ok(true));
        assert_eq!(ids(&BrowserList::load(file.clone()), LONG, now), [""; 0]);
        fs::write(&file, "{").unwrap();
        assert_eq!(ids(&BrowserList::load(file), LONG, now), [""; 0]);
    }

    #[test]
    fn see_browser_refuses_a_sign_in_that_is_older_than_configured() {
        let directory = TempDir::new().unwrap();
        let list = BrowserList::load(directory.path().join("web.browsers"));
        list.add_browser(browser("a", 1), Timestamp(0)).unwrap();
        let short = Duration::from_secs(10);
        assert!(list.see_browser("a", short, Timestamp(10_999)).is_some());
        assert!(list.see_browser("a", short, Timestamp(11_000)).is_none());
        assert_eq!(ids(&list, short, Timestamp(10_999)), ["a"]);
        assert_eq!(list.list_browsers(short, Timestamp(0))[0].expires_at, Timestamp(11_000));
        assert_eq!(ids(&list, short, Timestamp(11_000)), [""; 0]);
    }

    #[test]
    fn add_browser_signs_out_the_first_one_beyond_the_limit() {
        let directory = TempDir::new().unwrap();
        let list = BrowserList::load(directory.path().join("web.browsers"));
        for number in 0..=MOST {
            list.add_browser(browser(&number.to_string(), 1), Timestamp(0)).unwrap();
        }
        let now = Timestamp(2000);
        assert!(list.see_browser("0", LONG, now).is_none());
        assert!(list.see_browser("1", LONG, now).is_some());
    }

    #[test]
    fn name_browser_finds_the_browser_and_its_system() {
        let chrome = "(KHTML, like Gecko) Chrome/131.0.0.0";
        let table = [
            (format!("Mozilla/5.0 (X11; Linux x86_64) {chrome} Safari/537.36"), "Chrome on Linux"),
            (
                format!("Mozilla/5.0 (Windows NT 10.0) {chrome} Safari/537.36 Edg/131.0"),
                "Edge on Windows",
            ),
            (
                format!("Mozilla/5.0 (Linux; Android 14) {chrome} Mobile Safari/537.36"),
                "Chrome on Android",
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_0) Version/17.0 Safari/605.1".to_owned(),
                "Safari on macOS",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) FxiOS/130.0 Safari/605"
                    .to_owned(),
                "Firefox on iPhone",
            ),
            ("curl/8.9\u{202e}\n1".to_owned(), "curl/8.9 1"),
            (String::new(), "a browser without a name"),
        ];
        for (agent, name) in table {
            assert_eq!(name_browser(&agent), name, "{agent}");
        }
    }
}
