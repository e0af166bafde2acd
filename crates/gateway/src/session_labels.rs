//! The method that names, pins and archives a conversation.

use avocet_methods::{ChangeSession, SocketMethod};
use avocet_protocol::store::SessionSummary;
use avocet_text::sanitise;

use crate::run::{Answered, MethodCall, Reply, RunMethod};
use crate::values::unavailable;
use crate::wire::RpcError;

impl RunMethod for ChangeSession {
    type Ports<'a> = MethodCall<'a>;

    async fn run(call: Self::Ports<'_>, change: Self) -> Answered<Self> {
        let title = change.title.as_deref().map(clean_title).transpose()?;
        let change = Self { title, ..change };
        if call.parts.labels.change_labels(&change).await.map_err(unavailable)? {
            return Reply::with_whole(&());
        }
        let message = format!("there is no session {}", change.session);
        Err(RpcError::new(RpcError::NOT_FOUND, message))
    }
}

/// Returns a title as lists show it: in one line, without control characters.
fn clean_title(title: &str) -> Result<String, RpcError> {
    let words = sanitise(title).text.split_whitespace().collect::<Vec<_>>().join(" ");
    let most = SessionSummary::TITLE_CHARS;
    match words.chars().count() {
        long if long > most => {
            let message = format!(
                "{}: the title has {long} characters; it may have {most}",
                ChangeSession::NAME
            );
            Err(RpcError::new(RpcError::PARAMS, message))
        }
        _ => Ok(words),
    }
}
