//! Decides which targets a link may have.

/// The longest target of a link, in characters; a longer target is shown as text. A link has to fit
/// into one message of any platform, together with some text.
pub const MAX_URL_CHARS: usize = 1024;

/// A link's target, classified by its possible use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LinkTarget {
    /// An address that can be followed.
    Url(String),
    /// A mail address, shown as text, because platforms refuse to hide it behind a link text.
    Mail(String),
    /// A target that can only be read.
    Text(String),
    /// A target without use outside of its document.
    Nowhere,
}

impl LinkTarget {
    /// Parses a target. `tg://user` becomes text, since such a link mentions somebody.
    pub(crate) fn parse(url: &str, is_mail: bool) -> Self {
        if is_mail {
            return Self::mail_target(url);
        }
        let scheme = url.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
        let rest = url.split_once(':').map_or("", |(_, rest)| rest);
        match scheme.as_deref() {
            _ if url.is_empty() || url.starts_with('#') => Self::Nowhere,
            Some("http" | "https") if has_host(rest) && is_clean(url) => Self::Url(url.to_owned()),
            Some("tg") if is_clean(url) && has_host(rest) && !is_mention(rest) => {
                Self::Url(url.to_owned())
            }
            Some("mailto") => Self::mail_target(rest),
            _ => Self::Text(url.to_owned()),
        }
    }

    fn mail_target(address: &str) -> Self {
        let plain = address.contains('@') && !address.contains(['?', '%']) && is_clean(address);
        if plain { Self::Mail(address.to_owned()) } else { Self::Text(address.to_owned()) }
    }
}

fn has_host(rest: &str) -> bool {
    rest.strip_prefix("//").is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', '?']))
}

fn is_mention(rest: &str) -> bool {
    rest.to_ascii_lowercase().starts_with("//user")
}

/// Returns `true` if the address is short enough and free of characters that end a written link.
fn is_clean(url: &str) -> bool {
    let ends_link = |c: char| c.is_whitespace() || c.is_control() || "<>\\`|".contains(c);
    !url.contains(ends_link) && url.chars().count() <= MAX_URL_CHARS
}
