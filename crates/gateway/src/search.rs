//! The method that searches the conversations of all people.

use avocet_methods::{FoundText, SearchSessions, SocketMethod, TextAuthor};
use avocet_protocol::store::{HistoryAuthor, HistoryHit, WideHistoryQuery};
use avocet_text::{match_query, snippet};

use crate::run::{Answered, MethodCall, Reply, RunMethod};
use crate::scope::ChatScope;
use crate::values::{check_limit, unavailable};
use crate::wire::RpcError;

/// The most characters of a text in the result.
const SNIPPET: usize = 240;

impl RunMethod for SearchSessions {
    type Ports<'a> = MethodCall<'a>;

    async fn run(call: Self::Ports<'_>, Self { words, limit }: Self) -> Answered<Self> {
        let MethodCall { parts, caller, .. } = call;
        let scope = ChatScope { parts, caller };
        check_limit(Self::NAME, "limit", limit)?;
        if match_query(&words).is_none() {
            let message =
                format!("{}: `words` contains no word to look for: {words:?}", Self::NAME);
            return Err(RpcError::new(RpcError::PARAMS, message));
        }
        let limit = usize::try_from(limit).unwrap_or_default();
        let query = WideHistoryQuery { words: words.clone(), limit, sessions: scope.filter() };
        let hits = parts.history.search_all_history(&query).await.map_err(unavailable)?;
        let shown = |hit: HistoryHit| {
            // The redactor needs the whole text: it does not recognise a part of a secret.
            let text = parts.redactor.redact(&hit.text);
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
        Reply::fitting(&hits.into_iter().map(shown).collect())
    }
}
