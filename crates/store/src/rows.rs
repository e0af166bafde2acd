//! Reads columns of the log's rows. The submodules hold SQL that several modules share, one
//! submodule for each table; they use no other module of the crate than `tx`.

pub(crate) mod chunks;
pub(crate) mod events;
pub(crate) mod messages;
pub(crate) mod numbers;
pub(crate) mod owner_rules;
pub(crate) mod sessions;
pub(crate) mod stops;
pub(crate) mod turns;

use std::str::FromStr;

use avocet_protocol::access::Trust;
use avocet_protocol::chat::ChatAddress;
use avocet_protocol::ids::{CallId, TurnId};
use avocet_protocol::tool::WaitKind;
use rusqlite::types::Type;
use rusqlite::{Row, RowIndex};
use serde::de::DeserializeOwned;

use crate::tx::Result;

pub(crate) type RowResult<T> = rusqlite::Result<T>;

/// Returns the place of a column in a list like `SELECT id, turn FROM calls`. Names are compared at
/// compile time: a search for the name in each row takes longer than the other work for a past turn.
pub(crate) const fn column_place(select: &str, column: &str) -> usize {
    let (text, name) = (select.as_bytes(), column.as_bytes());
    let (mut at, mut place) = (0, 0);
    while at + name.len() < text.len() {
        let mut same = 0;
        while same < name.len() && text[at + same] == name[same] {
            same += 1;
        }
        let begins = at > 0 && text[at - 1] == b' ';
        if begins && same == name.len() && matches!(text[at + same], b',' | b' ') {
            return place;
        }
        if text[at] == b',' {
            place += 1;
        }
        at += 1;
    }
    panic!("the list has no such column")
}

/// The place of a column in the list of a constant: `at!(INBOUND, "turn")`.
macro_rules! at {
    ($select:ident, $column:literal) => {
        const { $crate::rows::column_place($select, $column) }
    };
}
pub(crate) use at;

/// Parses a text column into an id or another checked type.
pub(crate) fn parse_column<T>(row: &Row<'_>, column: impl RowIndex) -> RowResult<T>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    row.get_ref(column)?.as_str()?.parse().map_err(|error| bad_column(row, column, error))
}

/// Parses like `parse_column`, but NULL gives `None`.
pub(crate) fn parsed_if_any<T>(row: &Row<'_>, column: impl RowIndex) -> RowResult<Option<T>>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    match row.get_ref(column)?.data_type() {
        Type::Null => Ok(None),
        _ => parse_column(row, column).map(Some),
    }
}

/// Parses like `parse_column`. If the text is that of the last value, returns a copy of it instead:
/// the rows of a conversation repeat most ids. So each id is checked once, also in a log that was
/// repaired or that another program has changed.
pub(crate) fn repeated_column<T>(
    row: &Row<'_>,
    column: impl RowIndex,
    last: &mut Option<T>,
) -> RowResult<T>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static> + AsRef<str> + Clone,
{
    let text = row.get_ref(column)?.as_str()?;
    if let Some(last) = last.as_ref().filter(|last| last.as_ref() == text) {
        return Ok(last.clone());
    }
    let parsed: T = text.parse().map_err(|error| bad_column(row, column, error))?;
    *last = Some(parsed.clone());
    Ok(parsed)
}

/// Returns the bytes of a text column; NULL has none.
pub(crate) fn text_bytes(row: &Row<'_>, column: impl RowIndex) -> RowResult<usize> {
    Ok(row.get_ref(column)?.as_str_or_null()?.map_or(0, str::len))
}

pub(crate) fn json_column<T: DeserializeOwned>(
    row: &Row<'_>,
    column: impl RowIndex,
) -> RowResult<T> {
    let text = row.get_ref(column)?.as_str()?;
    serde_json::from_str(text).map_err(|error| bad_column(row, column, error))
}

/// Parses like `json_column`, but NULL gives `None`.
pub(crate) fn json_if_any<T: DeserializeOwned>(
    row: &Row<'_>,
    column: impl RowIndex,
) -> RowResult<Option<T>> {
    match row.get_ref(column)?.data_type() {
        Type::Null => Ok(None),
        _ => json_column(row, column).map(Some),
    }
}

/// Parses a column that holds a word of an enumeration.
pub(crate) fn word_column<T: Copy>(
    row: &Row<'_>,
    column: impl RowIndex,
    all: &[T],
    word_of: fn(T) -> &'static str,
) -> RowResult<T> {
    let text = row.get_ref(column)?.as_str()?;
    all.iter()
        .copied()
        .find(|value| word_of(*value) == text)
        .ok_or_else(|| bad_column(row, column, UnknownWord(text.to_owned())))
}

#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not one of the words of this column")]
struct UnknownWord(String);

fn bad_column(
    row: &Row<'_>,
    column: impl RowIndex,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    let index = column.idx(row.as_ref()).unwrap_or(usize::MAX);
    rusqlite::Error::FromSqlConversionFailure(index, Type::Text, Box::new(error))
}

/// Serialises a value as JSON; failure would be a bug.
pub(crate) fn to_json(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|error| avocet_protocol::store::StoreError::Internal(error.to_string()))
}

pub(crate) fn address_from_row(row: &Row<'_>) -> RowResult<ChatAddress> {
    Ok(ChatAddress {
        channel: parse_column(row, "channel")?,
        account: parse_column(row, "account")?,
        chat: parse_column(row, "chat")?,
        topic: parsed_if_any(row, "topic")?,
    })
}

/// Reads an address from the columns `channel`, `account`, `chat` and `topic`, of which the first is at
/// this place.
pub(crate) fn address_at(row: &Row<'_>, first: usize) -> RowResult<ChatAddress> {
    Ok(ChatAddress {
        channel: parse_column(row, first)?,
        account: parse_column(row, first + 1)?,
        chat: parse_column(row, first + 2)?,
        topic: parsed_if_any(row, first + 3)?,
    })
}

/// Returns the columns `channel`, `account` and `chat` of an address.
pub(crate) fn chat_key(chat: &ChatAddress) -> [&str; 3] {
    [chat.channel.as_str(), chat.account.as_str(), chat.chat.as_str()]
}

pub(crate) fn trust_column(row: &Row<'_>, column: impl RowIndex) -> RowResult<Trust> {
    word_column(row, column, &Trust::ALL, Trust::as_str)
}

pub(crate) fn wait_kind(row: &Row<'_>) -> RowResult<WaitKind> {
    word_column(row, "kind", &WaitKind::ALL, WaitKind::as_str)
}

/// Reads the id of a call from the columns `turn`, `step` and `ordinal`.
pub(crate) fn call_id(row: &Row<'_>) -> RowResult<CallId> {
    let turn = TurnId(row.get("turn")?);
    Ok(CallId { turn, step: row.get("step")?, ordinal: row.get("ordinal")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_counts_whole_names_only() {
        let select = "SELECT turn_id, id, turn, state FROM turns";
        let places = ["turn_id", "id", "turn", "state"].map(|column| column_place(select, column));
        assert_eq!(places, [0, 1, 2, 3]);
    }
}
