//! The method that searches the conversations of all people.

use avocet_protocol::{
    HistoryAuthor, HistoryHit, SessionId, Timestamp, TurnId, WideHistoryQuery, match_query, snippet,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::scope::ChatScope;
use crate::values::{check_limit, fitting, read, unavailable};
use crate::wire::RpcError;

/// The most characters of a text in the result.
const SNIPPET: usize = 240;

/// `sessions.search`: a list of [`FoundText`], best first. Finds the messages, answers and notices of
/// turns that have ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchSessions {
    /// The words; texts with any of them are found.
    pub words: String,
    /// The most rows, from 1 to [`MOST_ROWS`](crate::MOST_ROWS).
    #[serde(default = "some_rows")]
    pub limit: u32,
}

fn some_rows() -> u32 {
    20
}

/// A text of a conversation that a search found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundText {
    /// The conversation.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// The time of writing.
    pub at: Timestamp,
    /// The author.
    pub author: TextAuthor,
    /// The part of the text around the words, in one line without secrets, at most 240 characters
    /// long.
    pub text: String,
}

/// The author of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TextAuthor {
    /// A person.
    Person,
    /// The agent.
    Agent,
    /// The daemon, which explains why there is no answer.
    Notice,
}

/// Answers this method.
pub(crate) async fn answer(
    scope: ChatScope<'_>,
    method: &str,
    params: Value,
) -> Result<Value, RpcError> {
    let SearchSessions { words, limit } = read(method, params)?;
    check_limit(method, "limit", limit)?;
    if match_query(&words).is_none() {
        let message = format!("{method}: `words` contains no word to look for: {words:?}");
        return Err(RpcError::new(RpcError::PARAMS, message));
    }
    let limit = usize::try_from(limit).unwrap_or_default();
    let query = WideHistoryQuery { words: words.clone(), limit, sessions: scope.filter() };
    let hits = scope.parts.history.search_all_history(&query).await.map_err(unavailable)?;
    let shown = |hit: HistoryHit| {
        // The redactor needs the whole text: it does not recognise a part of a secret.
        let text = scope.parts.redactor.redact(&hit.text);
        FoundText {
            session: hit.session,
            turn: hit.turn,
            at: hit.at,
            author: match hit.author {
                HistoryAuthor::Person(_) => TextAuthor::Person,
                HistoryAuthor::Agent => TextAuthor::Agent,
                HistoryAuthor::Notice => TextAuthor::Notice,
            },
            text: snippet(&text, &words, SNIPPET),
        }
    };
    Ok(fitting(json!(hits.into_iter().map(shown).collect::<Vec<_>>())))
}
