//! Finds the `base_url` that was meant, if the server has its API at a similar one.

use avocet_protocol::model::ModelError;

use super::OpenAi;
use super::answer::OpenAiChatAnswer;

/// The version that the path of most APIs ends with.
const VERSION: &str = "/v1";

impl OpenAi {
    /// Returns the configured `base_url` with or without its version, if the server has a list of
    /// models there, or demands another key for it.
    pub(super) async fn find_base_url(&self) -> Option<String> {
        let base_url = self.context.list_url().strip_suffix("/models")?;
        let meant = match base_url.strip_suffix(VERSION) {
            Some(shorter) => shorter.to_owned(),
            None => format!("{base_url}{VERSION}"),
        };
        match self.endpoint.get_json::<OpenAiChatAnswer>(&format!("{meant}/models")).await {
            Ok(Some(list)) if list["data"].is_array() => Some(meant),
            Err(ModelError::Unauthorized { .. }) => Some(meant),
            _ => None,
        }
    }
}
