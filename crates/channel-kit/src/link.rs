//! Where links may lead.

/// The longest target of a link, in characters: a longer one is shown as text. A link has to fit
/// into one message of any platform, together with some text.
pub const MAX_URL_CHARS: usize = 1024;

/// What a link's target allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// It can be followed.
    Url(String),
    /// An address, which is shown, because no platform hides one behind a text.
    Mail(String),
    /// It can only be read.
    Text(String),
    /// Of no use outside of its document.
    Nowhere,
}

impl Target {
    /// `tg://user` is text, since such a link mentions somebody.
    pub(crate) fn parse(url: &str, is_mail: bool) -> Self {
        if is_mail {
            return Self::mail(url);
        }
        let scheme = url.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
        let rest = url.split_once(':').map_or("", |(_, rest)| rest);
        match scheme.as_deref() {
            _ if url.is_empty() || url.starts_with('#') => Self::Nowhere,
            Some("http" | "https") if has_host(rest) && is_clean(url) => Self::Url(url.to_owned()),
            Some("tg") if is_clean(url) && has_host(rest) && !mentions(rest) => {
                Self::Url(url.to_owned())
            }
            Some("mailto") => Self::mail(rest),
            _ => Self::Text(url.to_owned()),
        }
    }

    fn mail(address: &str) -> Self {
        let plain = address.contains('@') && !address.contains(['?', '%']) && is_clean(address);
        if plain { Self::Mail(address.to_owned()) } else { Self::Text(address.to_owned()) }
    }
}

fn has_host(rest: &str) -> bool {
    rest.strip_prefix("//").is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', '?']))
}

fn mentions(rest: &str) -> bool {
    rest.to_ascii_lowercase().starts_with("//user")
}

/// No character in it ends a link where one is written.
fn is_clean(url: &str) -> bool {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "<>\\`|".contains(c);
    !url.contains(is_odd) && url.chars().count() <= MAX_URL_CHARS
}
