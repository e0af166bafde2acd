//! The header `WWW-Authenticate` of a refusal (RFC 9110, section 11.6.1; RFC 6750, section 3).

/// The parameters of a challenge of the scheme `Bearer`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BearerChallenge {
    /// The address of the metadata of the resource (RFC 9728, section 5.1).
    pub(crate) resource_metadata: Option<String>,
    /// The scopes that the request needs, with spaces between them.
    pub(crate) scope: Option<String>,
    /// The code of the error, such as `insufficient_scope`.
    pub(crate) error: Option<String>,
}

impl BearerChallenge {
    /// Finds the first challenge of the scheme `Bearer` in the values of the header.
    pub(crate) fn find_in_headers<'h>(headers: impl IntoIterator<Item = &'h str>) -> Option<Self> {
        headers.into_iter().find_map(Self::parse_header)
    }

    fn parse_header(header: &str) -> Option<Self> {
        let (mut rest, mut found) = (header, None::<Self>);
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            let (word, after) = split_token(rest);
            if word.is_empty() {
                return found;
            }
            match split_value(after) {
                Some((value, after)) => {
                    if let Some(challenge) = &mut found {
                        challenge.set_parameter(word, value);
                    }
                    rest = after;
                }
                // The name of a scheme begins the next challenge.
                None if found.is_some() => return found,
                None => {
                    found = word.eq_ignore_ascii_case("bearer").then(Self::default);
                    rest = after;
                }
            }
        }
    }

    fn set_parameter(&mut self, name: &str, value: String) {
        match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => self.resource_metadata = Some(value),
            "scope" => self.scope = Some(value),
            "error" => self.error = Some(value),
            _ => {}
        }
    }
}

/// Splits a token off (RFC 9110, section 5.6.2).
fn split_token(text: &str) -> (&str, &str) {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~/".contains(c);
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    text.split_at(end)
}

/// Splits `=value` off; `None` if the text begins otherwise.
fn split_value(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start_matches([' ', '\t']).strip_prefix('=')?;
    let text = text.trim_start_matches([' ', '\t', '=']);
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, rest) = split_token(text);
        return Some((value.to_owned(), rest));
    };
    let (mut value, mut chars) = (String::new(), quoted.char_indices());
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => value.extend(chars.next().map(|(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    Some((value, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bearer_challenge_is_found_among_other_schemes() {
        let challenge = |metadata: &str, scope: &str, error: &str| {
            let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            Some(BearerChallenge {
                resource_metadata: some(metadata),
                scope: some(scope),
                error: some(error),
            })
        };
        for (header, expected) in [
            ("Bearer", challenge("", "", "")),
            ("bearer scope=\"a b\"", challenge("", "a b", "")),
            (
                "Bearer realm=\"x, y\", resource_metadata=\"https://a/b\" , error=invalid_token",
                challenge("https://a/b", "", "invalid_token"),
            ),
            ("Basic realm=\"Bearer\", Bearer scope=one", challenge("", "one", "")),
            ("Negotiate abc==, Bearer scope = \"q\\\"d\"", challenge("", "q\"d", "")),
            ("Bearer scope=a, Basic scope=b", challenge("", "a", "")),
            ("Bearer scope=\"unclosed", challenge("", "unclosed", "")),
            ("Basic realm=\"a\"", None),
            ("", None),
            ("\u{e9}=\"", None),
        ] {
            assert_eq!(BearerChallenge::find_in_headers([header]), expected, "{header}");
        }
        assert_eq!(
            BearerChallenge::find_in_headers(["Basic", "Bearer scope=a"]),
            challenge("", "a", "")
        );
    }
}
