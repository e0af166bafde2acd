//! Removes rows that would fail to parse because damage changed their ids, enumeration words or
//! JSON. Such a row would end every turn of its session.

use std::str::FromStr;

use avocet_protocol::access::{Grant, PairingCode, PermissionMode};
use avocet_protocol::bus::QueueMode;
use avocet_protocol::chat::{Content, NewInbound, SessionId};
use avocet_protocol::ids::{
    AccountName, ChannelName, ChatId, DedupeKey, PlatformId, SenderId, TopicId,
};
use avocet_protocol::model::{Arguments, Effort, Reasoning, VoiceMode};
use avocet_protocol::schedule::ScheduleRule;
use avocet_protocol::tool::Evidence;
use avocet_protocol::turn::TurnFailure;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Row, params_from_iter};
use serde::de::DeserializeOwned;

use super::SavedTable;
use crate::tx::{Db, Result};

type Check = fn(&str) -> bool;

/// The required content of columns with this name, in every table.
const COLUMNS: [(&str, Check); 26] = [
    ("account", can_parse::<AccountName>),
    ("arguments", is_json::<Arguments>),
    ("channel", can_parse::<ChannelName>),
    ("chat", can_parse::<ChatId>),
    ("code", can_parse::<PairingCode>),
    ("content", is_json::<Content>),
    ("corrects", can_parse::<DedupeKey>),
    ("effort", can_parse::<Effort>),
    ("evidence", is_json::<Evidence>),
    ("exact", is_json::<Arguments>),
    ("failure", is_json::<TurnFailure>),
    ("key", can_parse::<DedupeKey>),
    ("may_grant", is_json::<Grant>),
    ("message", is_json::<NewInbound>),
    ("mode", |text| QueueMode::ALL.iter().any(|mode| mode.as_str() == text)),
    ("permission_mode", can_parse::<PermissionMode>),
    ("platform_id", can_parse::<PlatformId>),
    ("reasoning", is_json::<Reasoning>),
    ("result", is_json::<serde_json::Value>),
    ("rule", is_json::<ScheduleRule>),
    ("said_from", can_parse::<SessionId>),
    ("sender", can_parse::<SenderId>),
    ("sender_roles", is_json::<Vec<String>>),
    ("session", can_parse::<SessionId>),
    ("topic", can_parse::<TopicId>),
    ("voice", can_parse::<VoiceMode>),
];

fn can_parse<T: FromStr>(text: &str) -> bool {
    text.parse::<T>().is_ok()
}

fn is_json<T: DeserializeOwned>(text: &str) -> bool {
    serde_json::from_str::<T>(text).is_ok()
}

/// Removes unreadable rows from every table except `audit`, which is only displayed.
pub(super) fn leave_out_unreadable(db: Db<'_>, tables: &mut [SavedTable]) -> Result<()> {
    for table in tables.iter_mut().filter(|table| table.name != "audit") {
        let name = &table.name;
        let key = db.query_rows(
            "SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk",
            [name],
            |row| row.get::<_, String>(0),
        )?;
        let unreadable =
            db.query_rows(
                &format!("SELECT * FROM \"{name}\""),
                (),
                |row| match unreadable_column(name, row)? {
                    Some(column) => Ok(Some((column, key_of(row, &key)?))),
                    None => Ok(None),
                },
            )?;
        let terms: Vec<String> = key.iter().map(|column| format!("\"{column}\" = ?")).collect();
        let delete = format!("DELETE FROM \"{name}\" WHERE {}", terms.join(" AND "));
        for (column, key) in unreadable.into_iter().flatten() {
            let deleted = db.connection.execute(&delete, params_from_iter(key));
            deleted.map_err(|error| db.store_error(&error))?;
            let why = || format!("{name}.{column} has an unexpected value");
            table.why = table.why.take().or_else(|| Some(why()));
        }
    }
    Ok(())
}

fn key_of(row: &Row<'_>, key: &[String]) -> rusqlite::Result<Vec<Value>> {
    key.iter().map(|column| row.get(column.as_str())).collect()
}

fn unreadable_column(table: &str, row: &Row<'_>) -> rusqlite::Result<Option<&'static str>> {
    for (name, check) in COLUMNS {
        // Here, the column holds a whole address as text for people.
        if matches!((table, name), ("undelivered" | "reports", "chat")) {
            continue;
        }
        // The table `sessions` has its session id in the column `id`.
        let column = if (table, name) == ("sessions", "session") { "id" } else { name };
        let Ok(index) = row.as_ref().column_index(column) else { continue };
        let holds = match row.get_ref(index)? {
            ValueRef::Text(text) => std::str::from_utf8(text).is_ok_and(check),
            _ => true,
        };
        if !holds {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn unreadable_column_finds_json_of_an_unexpected_shape() {
        let connection = Connection::open_in_memory().unwrap();
        let table = [
            ("pairings", "SELECT '{}' AS message", Some("message")),
            ("pairings", "SELECT NULL AS message", None),
            ("schedules", "SELECT 'r1' AS sender_roles", Some("sender_roles")),
            ("schedules", "SELECT '[\"r1\"]' AS sender_roles", None),
        ];
        for (table, sql, expected) in table {
            let found = connection.query_row(sql, (), |row| unreadable_column(table, row)).unwrap();
            assert_eq!(found, expected, "{sql}");
        }
    }
}
