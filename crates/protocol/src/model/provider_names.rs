//! The names of providers for telemetry.

use std::collections::BTreeMap;

/// The names of the conventions for hosts of well-known providers (OpenTelemetry, "Semantic
/// conventions for generative AI", `gen_ai.provider.name`). A name also stands for the hosts below it.
const WELL_KNOWN: [(&str, &str); 14] = [
    ("api.openai.com", "openai"),
    ("openai.azure.com", "azure.ai.openai"),
    ("services.ai.azure.com", "azure.ai.inference"),
    ("api.anthropic.com", "anthropic"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("aiplatform.googleapis.com", "gcp.vertex_ai"),
    ("amazonaws.com", "aws.bedrock"),
    ("api.deepseek.com", "deepseek"),
    ("api.groq.com", "groq"),
    ("api.mistral.ai", "mistral_ai"),
    ("api.x.ai", "x_ai"),
    ("api.perplexity.ai", "perplexity"),
    ("api.cohere.com", "cohere"),
    ("ml.cloud.ibm.com", "ibm.watsonx.ai"),
];

/// The value of `gen_ai.provider.name` of each configured provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderNames(BTreeMap<String, String>);

impl ProviderNames {
    /// Adds a provider of the configuration: `[providers.NAME]` with its kind and its base URL.
    pub fn add_provider(&mut self, name: &str, kind: &str, base_url: Option<&str>) {
        let known = match (kind, base_url.map(host)) {
            // These kinds speak to their vendor, if the table names no other host.
            ("anthropic", None) => Some("anthropic"),
            ("gemini", None) => Some("gcp.gemini"),
            ("openai", None) => Some("openai"),
            ("ollama", _) => Some("ollama"),
            (_, Some(host)) => well_known(host),
            _ => None,
        };
        self.0.insert(name.to_owned(), known.unwrap_or(name).to_owned());
    }

    /// Splits `PROVIDER/MODEL` of the log into the name of the provider and the model. A provider that is
    /// not configured keeps its name.
    #[must_use]
    pub fn split_model<'n>(&'n self, model: &'n str) -> (&'n str, &'n str) {
        let (provider, model) = model.split_once('/').unwrap_or(("", model));
        (self.0.get(provider).map_or(provider, String::as_str), model)
    }
}

/// Returns the host of a URL, without its port.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    host.rsplit_once(':').map_or(host, |(host, _)| host)
}

fn well_known(host: &str) -> Option<&'static str> {
    let host = host.to_ascii_lowercase();
    let is_below = |known: &str| host.strip_suffix(known).is_some_and(|rest| rest.ends_with('.'));
    WELL_KNOWN.iter().find(|(known, _)| host == *known || is_below(known)).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_names_are_those_of_the_conventions() {
        for (kind, base_url, expected) in [
            ("openai", None, "openai"),
            ("openai", Some("https://api.openai.com/v1"), "openai"),
            ("openai", Some("https://my.openai.azure.com/openai/v1"), "azure.ai.openai"),
            ("openai", Some("https://API.DeepSeek.com"), "deepseek"),
            ("openai", Some("https://api.groq.com:443/openai/v1"), "groq"),
            ("openai", Some("https://api.mistral.ai/v1"), "mistral_ai"),
            (
                "openai",
                Some("https://generativelanguage.googleapis.com/v1beta/openai"),
                "gcp.gemini",
            ),
            ("openai", Some("https://openrouter.ai/api/v1"), "mine"),
            ("openai", Some("https://notapi.openai.com.example/v1"), "mine"),
            ("openai", Some("http://127.0.0.1:8000/v1"), "mine"),
            ("anthropic", None, "anthropic"),
            ("anthropic", Some("https://api.anthropic.com"), "anthropic"),
            ("anthropic", Some("https://proxy.example"), "mine"),
            ("gemini", None, "gcp.gemini"),
            ("ollama", Some("http://127.0.0.1:11434"), "ollama"),
            ("offline", None, "mine"),
        ] {
            let mut names = ProviderNames::default();
            names.add_provider("mine", kind, base_url);
            assert_eq!(names.split_model("mine/m/x"), (expected, "m/x"), "{kind} {base_url:?}");
        }
        assert_eq!(ProviderNames::default().split_model("gone/m"), ("gone", "m"));
    }
}
