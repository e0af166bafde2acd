//! Describes request errors for people. The text omits the URL, which may contain a bot's token,
//! and avoids the terms of the HTTP library.

use std::error::Error;
use std::io;

use avocet_text::plain_io;

use crate::guard::UrlRefusal;

/// Returns the cause of an error, as far as it is known.
#[must_use]
pub fn describe_error(error: reqwest::Error) -> String {
    let error = error.without_url();
    tracing::debug!(?error, "a request failed");
    let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
    while let Some(error) = cause {
        if let Some(said) = known_cause(error) {
            return said;
        }
        cause = error.downcast_ref::<io::Error>().and_then(inner_error).or_else(|| error.source());
    }
    describe_kind(&error)
}

/// Returns the text of an error if it is the system's or our own.
fn known_cause(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(refusal) = error.downcast_ref::<UrlRefusal>() {
        return Some(refusal.to_string());
    }
    if let Some(error) = error.downcast_ref::<rustls::Error>() {
        return Some(describe_tls(error));
    }
    let error = error.downcast_ref::<io::Error>()?;
    if error.get_ref().is_some() {
        // The standard library reports failed lookups in its own words.
        let unresolved = "failed to lookup address information: ";
        let said = error.to_string();
        return said
            .split_once(unresolved)
            .map(|(_, why)| format!("cannot resolve the name of the server ({why})"));
    }
    Some(plain_io(error))
}

/// Returns the error inside an I/O error that another library has made.
fn inner_error(error: &io::Error) -> Option<&(dyn Error + 'static)> {
    error.get_ref().map(|error| error as &(dyn Error + 'static))
}

fn describe_tls(error: &rustls::Error) -> String {
    use rustls::CertificateError::{Expired, ExpiredContext, NotValidForName, UnknownIssuer};
    let why = match error {
        rustls::Error::InvalidCertificate(Expired | ExpiredContext { .. }) => "it has expired",
        rustls::Error::InvalidCertificate(UnknownIssuer) => "its issuer is unknown",
        rustls::Error::InvalidCertificate(NotValidForName) => "it belongs to another name",
        rustls::Error::InvalidCertificate(_) => "it is not valid",
        rustls::Error::InvalidMessage(_) => {
            return "the server does not speak https there; should the URL begin with http://?"
                .to_owned();
        }
        _ => return "cannot make a secure connection (TLS)".to_owned(),
    };
    format!("the server's certificate is refused: {why}")
}

/// Describes an error of unknown cause by its kind.
fn describe_kind(error: &reqwest::Error) -> String {
    let said = match error {
        error if error.is_timeout() => "no answer in time",
        error if error.is_builder() => "the URL, or a header, cannot be sent",
        error if error.is_connect() => "the server cannot be reached",
        error if error.is_body() || error.is_decode() => "the answer ended early",
        _ => "the server closed it, or does not speak HTTP",
    };
    said.to_owned()
}

#[cfg(test)]
#[path = "detail_tests.rs"]
mod tests;
