//! The methods about dead letters. If no daemon runs, the program's own commands call them
//! directly.

use avocet_protocol::{DeadId, DeadLetters, DeadPage, Redactor};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::values::{check_limit, or_empty, presentable, read, unavailable};
use crate::wire::RpcError;

/// `dead.list`: a list of `DeadLetter`, the newest first, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ListDeadLetters {
    /// The most rows, from 1 to [`MOST_ROWS`](crate::MOST_ROWS).
    pub limit: u32,
    /// The last dead letter that the client has. A page with fewer rows than `limit` is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<DeadId>,
}

impl Default for ListDeadLetters {
    fn default() -> Self {
        Self { limit: 50, after: None }
    }
}

/// `dead.show`: one `DeadLetter`. `dead.retry` and `dead.drop`: the result is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedDeadLetter {
    /// The id of the dead letter.
    pub id: DeadId,
}

/// The names of these methods.
pub(crate) const METHODS: [&str; 4] = ["dead.drop", "dead.list", "dead.retry", "dead.show"];

/// Answers one of these methods; `None` if the method is not in the list.
///
/// # Errors
/// [`RpcError`] names the fault and its correction.
pub async fn answer_about_dead_letters(
    letters: &dyn DeadLetters,
    redactor: &Redactor,
    method: &str,
    params: Value,
) -> Option<Result<Value, RpcError>> {
    METHODS.contains(&method).then_some(())?;
    Some(answer(letters, redactor, method, params).await)
}

async fn answer(
    letters: &dyn DeadLetters,
    redactor: &Redactor,
    method: &str,
    params: Value,
) -> Result<Value, RpcError> {
    if method == "dead.list" {
        let ListDeadLetters { limit, after } = read(method, or_empty(params))?;
        check_limit(method, "limit", limit)?;
        let list = letters.dead_letters(DeadPage { limit, after }).await.map_err(unavailable)?;
        return Ok(presentable(json!(list), redactor));
    }
    let NamedDeadLetter { id } = read(method, params)?;
    let done = match method {
        "dead.show" => {
            let letter = letters.dead_letter(id).await.map_err(unavailable)?;
            letter.map(|letter| presentable(json!(letter), redactor))
        }
        "dead.retry" => {
            let retried = letters.retry_dead_letter(id).await.map_err(unavailable)?;
            retried.map(|_| Value::Null)
        }
        _ => letters.drop_dead_letter(id).await.map_err(unavailable)?.then_some(Value::Null),
    };
    done.ok_or_else(|| {
        let message = format!("there is no dead letter {id}; it may have been retried or dropped");
        RpcError::new(RpcError::NOT_FOUND, message)
    })
}
