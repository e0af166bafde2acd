//! Kills may keep a message from its answer in two ways, and in no other. The sender is told in both.
//! The log proves which one it was, so that no failure is excused by a share of all messages.

use rusqlite::Connection;

/// A reason for a missing answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AllowedFailure {
    /// Three kills hit the same turn. The daemon then drops the turn.
    DroppedTurn,
    /// Two kills hit the two sends of the answer, so that its outcome stays unknown.
    UnconfirmedAnswer,
}

/// Everything that many random kills can cause.
pub(crate) const OF_MANY_KILLS: &[AllowedFailure] =
    &[AllowedFailure::DroppedTurn, AllowedFailure::UnconfirmedAnswer];

/// Characters of an answer that the notice about it quotes at least.
const QUOTED_CHARS: usize = 12;

impl AllowedFailure {
    /// Returns the texts in the log that prove this failure.
    fn read_proofs(self, log: &Connection) -> Vec<String> {
        let query = match self {
            Self::DroppedTurn => {
                "SELECT json_extract(content, '$.text') FROM outbox JOIN turns ON turns.id = turn \
                 WHERE turns.attempts >= 3 AND turns.deaths_alone >= 2"
            }
            Self::UnconfirmedAnswer => {
                "SELECT json_extract(content, '$.text') FROM outbox \
                 WHERE outbox.state = 'unconfirmed' AND outbox.attempts >= 2"
            }
        };
        let mut statement = log.prepare(query).unwrap();
        let texts = statement.query_map((), |row| row.get::<_, Option<String>>(0)).unwrap();
        texts.filter_map(Result::unwrap).collect()
    }

    /// Returns `true` if the notice reports this failure, and one of the texts proves it.
    fn explains(self, notice: &str, proofs: &[String]) -> bool {
        match self {
            Self::DroppedTurn => {
                notice.contains("because I crashed ")
                    && proofs.iter().any(|text| notice.contains(text.as_str()))
            }
            Self::UnconfirmedAnswer => {
                notice.starts_with("I could not confirm that this message arrived: ")
                    && proofs.iter().any(|text| notice.contains(beginning_of(text)))
            }
        }
    }
}

/// Returns the notices that none of the allowed failures explains.
pub(crate) fn unexplained<'n>(
    log: &Connection,
    allowed: &[AllowedFailure],
    notices: impl Iterator<Item = &'n str>,
) -> Vec<String> {
    let proven: Vec<_> = allowed.iter().map(|one| (one, one.read_proofs(log))).collect();
    let is_explained =
        |notice: &str| proven.iter().any(|(failure, proofs)| failure.explains(notice, proofs));
    notices.filter(|notice| !is_explained(notice)).map(str::to_owned).collect()
}

/// Returns the part of an answer that the notice about it surely quotes.
fn beginning_of(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.char_indices().nth(QUOTED_CHARS).map_or(line, |(end, _)| &line[..end])
}
