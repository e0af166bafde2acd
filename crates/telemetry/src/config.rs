//! The table `[telemetry]`.

use std::collections::BTreeMap;

use avocet_net::{check_header, check_url};
use avocet_text::Secret;
use schemars::JsonSchema;
use serde::Deserialize;

/// The paths that OTLP over HTTP adds to an endpoint (OTLP specification, "OTLP/HTTP Request").
const PATHS: [&str; 2] = ["/v1/traces", "/v1/metrics"];
/// Headers that the HTTP client sets itself.
const OWN_HEADERS: [&str; 4] = ["host", "content-type", "content-length", "transfer-encoding"];

/// The export of turns to a collector of OpenTelemetry. Without this table, nothing is exported.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TelemetryConfig {
    /// The base URL of a collector that receives OTLP over HTTP: `http://127.0.0.1:4318`. The
    /// daemon adds the paths `/v1/traces` and `/v1/metrics`. Required.
    pub endpoint: Option<String>,
    /// HTTP headers of every request, such as an API key. The values may be secrets. Default: none.
    pub headers: BTreeMap<String, Secret>,
    /// `true` to export the texts of messages and answers, the arguments of tools, and the errors
    /// of platforms. Known secrets are removed from them. Default: `false`.
    pub content: bool,
}

impl TelemetryConfig {
    /// Checks the values of single keys.
    ///
    /// # Errors
    /// The key with an unusable value, and the requirement.
    pub fn check_values(&self) -> Result<(), (&'static str, String)> {
        let Self { endpoint, headers, content: _ } = self;
        let Some(endpoint) = endpoint else {
            let message = "there is no endpoint; name the collector: \
                endpoint = \"http://127.0.0.1:4318\"";
            return Err(("endpoint", message.to_owned()));
        };
        check_url(endpoint).map_err(|error| ("endpoint", error.to_string()))?;
        let base = endpoint.trim_end_matches('/');
        if let Some(path) = PATHS.into_iter().find(|path| base.ends_with(path)) {
            let message = format!("leave out the path {path}; the daemon adds it");
            return Err(("endpoint", message));
        }
        if endpoint.contains(['?', '#']) {
            let message = "the URL has a `?` or a `#`; send keys in `headers`";
            return Err(("endpoint", message.to_owned()));
        }
        for (name, value) in headers {
            check_header(name, value).map_err(|error| ("headers", error.to_string()))?;
            if OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
                return Err(("headers", format!("the daemon sets {name} itself; remove it")));
            }
        }
        Ok(())
    }

    /// Returns the URLs for traces and for metrics; without an endpoint, which
    /// [`Self::check_values`] refuses, they have no host.
    pub(crate) fn collector_urls(&self) -> [String; 2] {
        let endpoint = self.endpoint.as_deref().unwrap_or_default().trim_end_matches('/');
        PATHS.map(|path| format!("{endpoint}{path}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(endpoint: &str, header: Option<(&str, &str)>) -> TelemetryConfig {
        let headers = header.map(|(name, value)| (name.to_owned(), Secret::new(value.to_owned())));
        TelemetryConfig {
            endpoint: Some(endpoint.to_owned()),
            headers: headers.into_iter().collect(),
            content: false,
        }
    }

    #[test]
    fn check_accepts_base_urls_to_which_the_path_is_added() {
        for (endpoint, url) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("https://otlp.example/", "https://otlp.example/v1/traces"),
            ("https://otlp.example/otlp", "https://otlp.example/otlp/v1/traces"),
        ] {
            let config = config(endpoint, Some(("x-api-key", "0123456789")));
            assert_eq!(config.check_values(), Ok(()), "{endpoint}");
            assert_eq!(config.collector_urls()[0], url);
        }
    }

    #[test]
    fn check_error_names_the_key_and_the_fix_without_a_secret() {
        let good = "http://127.0.0.1:4318";
        for (config, key, says) in [
            (TelemetryConfig::default(), "endpoint", "name the collector"),
            (config("127.0.0.1:4318", None), "endpoint", "http://"),
            (config("http://127.0.0.1:4318/v1/traces/", None), "endpoint", "leave out the path"),
            (config("http://127.0.0.1:4318?key=a", None), "endpoint", "`headers`"),
            (config(good, Some(("no name", "hidden"))), "headers", "no name"),
            (config(good, Some(("x-key", "hid\nden"))), "headers", "x-key"),
            (config(good, Some(("Content-Type", "hidden"))), "headers", "sets Content-Type itself"),
        ] {
            let (found, error) = config.check_values().unwrap_err();
            assert_eq!(found, key, "{error}");
            assert!(error.contains(says) && !error.contains("hid"), "{error}");
        }
    }
}
