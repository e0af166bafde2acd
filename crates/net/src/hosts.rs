//! The operator's list of hosts that programs may reach, and the check of a host and a port. No
//! I/O.

use std::fmt;
use std::net::IpAddr;

use reqwest::Url;

use crate::guard::UrlHost;

/// The ports of an entry without a port.
const PORTS: [u16; 2] = [80, 443];
/// Maximum length of a name in characters (RFC 1035, 2.3.4).
const LONGEST_NAME: usize = 253;

/// The hosts that the operator has opened. Default: empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenedHosts {
    entries: Vec<HostEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct HostEntry {
    hosts: EntryHosts,
    /// `None` for 80 and 443.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum EntryHosts {
    /// Exactly this name.
    Name(String),
    /// All names below this one, without the name itself.
    Below(String),
    /// This address, public or private.
    Address(IpAddr),
}

/// An unusable entry of the list. The operator has to correct it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{entry:?} is not valid: {why}")]
pub struct BadHost {
    /// The position in the list, from 0.
    pub number: usize,
    /// The entry as it was written.
    pub entry: String,
    /// The fault, and the correct form.
    pub why: &'static str,
}

impl OpenedHosts {
    /// Parses entries. Each is a name, a name with `*.` before it (all names below it) or an
    /// address, with or without `:PORT`. Without a port, 80 and 443 are open.
    ///
    /// # Errors
    /// [`BadHost`] for the first invalid entry.
    pub fn parse_entries(entries: &[String]) -> Result<Self, BadHost> {
        let read = |(number, entry): (usize, &String)| {
            HostEntry::parse_entry(entry).map_err(|why| BadHost {
                number,
                entry: entry.clone(),
                why,
            })
        };
        Ok(Self { entries: entries.iter().enumerate().map(read).collect::<Result<_, _>>()? })
    }

    /// Returns `true` if no host is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the names of the list, in lower case and ASCII. A leading `*.` stands for all names
    /// below.
    pub fn host_names(&self) -> impl Iterator<Item = String> {
        self.entries.iter().filter_map(|entry| match &entry.hosts {
            EntryHosts::Name(name) => Some(name.clone()),
            EntryHosts::Below(name) => Some(format!("*.{name}")),
            EntryHosts::Address(_) => None,
        })
    }

    /// Returns `true` if an entry is this address, at any port.
    #[must_use]
    pub fn name(&self, address: IpAddr) -> bool {
        self.entries.iter().any(|entry| entry.hosts == EntryHosts::Address(address.to_canonical()))
    }

    /// Returns `true` if a host is open at this port.
    pub(crate) fn open(&self, host: &UrlHost, port: u16) -> bool {
        self.entries.iter().any(|entry| entry.opens_host(host, port))
    }
}

impl fmt::Display for OpenedHosts {
    /// Writes the entries as they were understood, separated by commas.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, HostEntry { hosts, port }) in self.entries.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            let port = port.map(|port| format!(":{port}")).unwrap_or_default();
            match hosts {
                EntryHosts::Name(name) => write!(f, "{comma}{name}{port}")?,
                EntryHosts::Below(name) => write!(f, "{comma}*.{name}{port}")?,
                EntryHosts::Address(IpAddr::V6(address)) => write!(f, "{comma}[{address}]{port}")?,
                EntryHosts::Address(address) => write!(f, "{comma}{address}{port}")?,
            }
        }
        Ok(())
    }
}

impl HostEntry {
    fn parse_entry(entry: &str) -> Result<Self, &'static str> {
        const SHAPE: &str = "write only a host, such as crates.io, *.crates.io, \
            registry.example.org:8443, 127.0.0.1:3000 or [::1]:3000";
        const NEAR: &str = "a name must resolve to public addresses, and this one resolves to the \
            machine itself; write the address and the port, such as 127.0.0.1:3000";
        if let Ok(address) = entry.parse::<IpAddr>() {
            return Ok(Self { hosts: EntryHosts::Address(address.to_canonical()), port: None });
        }
        if entry.contains('/') {
            return Err(SHAPE);
        }
        let (text, port) = match entry.rsplit_once(':') {
            Some((host, digits)) if !entry.ends_with(']') => {
                let port = parse_port(digits).ok_or("its port is not a number from 1 to 65535")?;
                (host, Some(port))
            }
            _ => (entry, None),
        };
        let (text, below) = match text.strip_prefix("*.") {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let hosts = match (parse_host(text).ok_or(SHAPE)?, below) {
            (UrlHost::Name(name), _) if name == "localhost" || name.ends_with(".localhost") => {
                return Err(NEAR);
            }
            (UrlHost::Name(name), false) => EntryHosts::Name(name),
            (UrlHost::Name(name), true) => EntryHosts::Below(name),
            (UrlHost::Address(address), false) => EntryHosts::Address(address),
            (UrlHost::Address(_), true) => return Err("an address has no subdomains"),
        };
        Ok(Self { hosts, port })
    }

    fn opens_host(&self, host: &UrlHost, port: u16) -> bool {
        let is_port = self.port.map_or(PORTS.contains(&port), |own| own == port);
        is_port
            && match (&self.hosts, host) {
                (EntryHosts::Name(own), UrlHost::Name(name)) => own == name,
                (EntryHosts::Below(own), UrlHost::Name(name)) => {
                    name.strip_suffix(own.as_str()).is_some_and(|rest| rest.ends_with('.'))
                }
                (EntryHosts::Address(own), UrlHost::Address(address)) => {
                    *own == address.to_canonical()
                }
                _ => false,
            }
    }
}

/// Parses a host as the URL standard reads it: lower case, an international name in ASCII, an
/// address in any spelling, without a dot at the end. IPv6 addresses need brackets. `None` for any
/// other text.
pub(crate) fn parse_host(text: &str) -> Option<UrlHost> {
    let is_bracketed = text.starts_with('[') && text.ends_with(']');
    let is_more = |c: char| {
        c.is_control() || c.is_whitespace() || "/?#@\\%*".contains(c) || (c == ':' && !is_bracketed)
    };
    if text.is_empty() || text.contains(is_more) {
        return None;
    }
    let url = Url::parse(&format!("http://{text}/")).ok()?;
    let host = url.host_str()?;
    if let Ok(address) = host.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Some(UrlHost::Address(address.to_canonical()));
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    let is_name = name.len() <= LONGEST_NAME && !name.split('.').any(str::is_empty);
    is_name.then(|| UrlHost::Name(name.to_owned()))
}

/// Parses a port from 1 to 65535, written in digits only.
pub(crate) fn parse_port(digits: &str) -> Option<u16> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|port| is_number && *port != 0)
}

/// Formats a host and a port for a request.
pub(crate) fn format_host(host: &UrlHost, port: u16) -> String {
    match host {
        UrlHost::Name(name) => format!("{name}:{port}"),
        UrlHost::Address(IpAddr::V6(address)) => format!("[{address}]:{port}"),
        UrlHost::Address(address) => format!("{address}:{port}"),
    }
}

#[cfg(test)]
#[path = "hosts_tests.rs"]
mod tests;
