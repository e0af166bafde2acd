//! Repairs recovered rows that refer to lost rows: it recreates the lost rows, or removes the
//! references.

use super::SavedTable;
use super::readable::leave_out_unreadable;
use crate::tx::{Db, Result};

/// Makes references between rows valid. Returns a text for each kind of change.
pub(super) fn repair_references(db: Db<'_>, tables: &mut [SavedTable]) -> Result<Vec<String>> {
    leave_out_unreadable(db, tables)?;
    run(db, SHORT_IDS)?;
    let mut repairs = Vec::new();
    let run_all = |statements: &[(&str, &str)], repairs: &mut Vec<String>| -> Result<()> {
        for (sql, what) in statements {
            let changed = run(db, sql)?;
            if changed > 0 {
                repairs.push(format!("{changed} {what}"));
            }
        }
        Ok(())
    };
    run_all(&MADE_AGAIN, &mut repairs)?;
    drop_lost_references(db, tables, &mut repairs)?;
    run_all(&SETTLED, &mut repairs)?;
    FORGOTTEN_SUMS.iter().try_for_each(|sql| run(db, sql).map(drop))?;
    for table in tables {
        let rows =
            db.query_one(&format!("SELECT count(*) FROM \"{}\"", table.name), (), |row| {
                row.get(0)
            })?;
        // Rows were also recreated.
        table.left_out += table.rows.saturating_sub(rows);
        table.rows = rows;
    }
    Ok(repairs)
}

fn run(db: Db<'_>, sql: &str) -> Result<usize> {
    db.connection.execute(sql, ()).map_err(|error| db.store_error(&error))
}

/// Gives each session its own short id again: a row of an old page may have that of another session. No
/// event has been recovered that names one.
const SHORT_IDS: &str = "UPDATE sessions SET short_id = numbered.short_id \
    FROM (SELECT id, row_number() OVER (ORDER BY id) AS short_id FROM sessions) AS numbered \
    WHERE numbered.id = sessions.id";

/// The sums of the usage begin anew: rows were added in any order, and some were removed.
const FORGOTTEN_SUMS: [&str; 3] = [
    "DELETE FROM usage_days",
    "DELETE FROM usage_sessions",
    "UPDATE usage_mark SET usage = 0 WHERE only = 1",
];

/// Lost rows that can be recreated from rows that refer to them.
const MADE_AGAIN: [(&str, &str); 3] = [
    (
        "INSERT INTO turns (id, session, state, notice, started_at, ended_at) \
         SELECT lost.turn, min(lost.session), \
             CASE WHEN max(lost.replied) THEN 'done' ELSE 'failed' END, \
             'this turn was made again when the log was recovered', min(lost.at), min(lost.at) \
         FROM (SELECT turn, session, outcome IS 'replied' AS replied, received_at AS at FROM inbound \
                   WHERE turn IS NOT NULL \
               UNION ALL SELECT turn, session, 0, at FROM usage WHERE turn IS NOT NULL) AS lost \
         WHERE NOT EXISTS (SELECT 1 FROM turns WHERE id = lost.turn) GROUP BY lost.turn",
        "turns were lost and recreated from their messages and their usage",
    ),
    (
        "INSERT INTO sessions (id, used_at) SELECT session, max(at) FROM ( \
             SELECT session, started_at AS at FROM turns UNION ALL \
             SELECT session, received_at FROM inbound UNION ALL SELECT session, at FROM usage) \
         WHERE session NOT IN (SELECT id FROM sessions) GROUP BY session",
        "sessions were lost and recreated from their turns and messages",
    ),
    (
        "INSERT INTO steps (turn, number, text, input_tokens, output_tokens, closed, trust) \
         SELECT DISTINCT turn, step, '', 0, 0, 1, 'low' FROM calls \
         WHERE EXISTS (SELECT 1 FROM turns WHERE id = calls.turn) AND NOT EXISTS \
             (SELECT 1 FROM steps WHERE steps.turn = calls.turn AND number = calls.step)",
        "steps were lost and recreated from their calls, without their text",
    ),
];

/// Values made invalid by lost rows.
const SETTLED: [(&str, &str); 3] = [
    (
        "UPDATE sessions SET summary = NULL, summary_to = 0, summary_trust = 'full', shortened_to = 0 \
         WHERE summary_to > (SELECT coalesce(max(id), 0) FROM turns)",
        "summaries of lost turns were left out",
    ),
    (
        "UPDATE calls SET state = 'finished', exact = NULL, ok = 0, result_kind = 'outcome_unknown', \
             result = '{\"error\":\"interrupted: the log was damaged, so it is unknown whether this ran\"}' \
         WHERE state <> 'finished' AND turn NOT IN \
             (SELECT id FROM turns WHERE state IN ('queued', 'running', 'waiting'))",
        "calls of ended turns had no result, and count as interrupted",
    ),
    (
        "UPDATE waits SET resolved = 1 WHERE resolved = 0 AND turn NOT IN \
             (SELECT id FROM turns WHERE state IN ('queued', 'running', 'waiting'))",
        "waits of ended turns were resolved",
    ),
];

#[derive(Debug, Default)]
struct ForeignKey {
    parent: String,
    /// Columns of the table with the matching columns of the parent.
    columns: Vec<(String, String)>,
    /// `true` if the columns may be NULL.
    optional: bool,
}

/// Clears references to lost rows, or deletes rows that need the reference, until all references
/// are valid.
fn drop_lost_references(
    db: Db<'_>,
    tables: &[SavedTable],
    repairs: &mut Vec<String>,
) -> Result<()> {
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for SavedTable { name, .. } in tables {
            for reference in foreign_keys(db, name)? {
                let number = run(db, &reference.mending_sql(name))?;
                changed |= number > 0;
                let parent = &reference.parent;
                match (number, reference.optional) {
                    (0, _) => {}
                    (_, true) => {
                        repairs.push(format!("{number} {name} no longer name their lost {parent}"));
                    }
                    (_, false) => repairs
                        .push(format!("{number} {name} were left out: their {parent} are lost")),
                }
            }
        }
    }
    Ok(())
}

fn foreign_keys(db: Db<'_>, table: &str) -> Result<Vec<ForeignKey>> {
    let rows = db.query_rows(
        "SELECT keys.id, keys.\"table\", keys.\"from\", keys.\"to\", info.\"notnull\" \
         FROM pragma_foreign_key_list(?1) AS keys JOIN pragma_table_info(?1) AS info \
             ON info.name = keys.\"from\" ORDER BY keys.id, keys.seq",
        [table],
        |row| {
            Ok((
                row.get::<_, usize>(0)?,
                row.get(1)?,
                row.get(2)?,
                row.get(3)?,
                row.get::<_, bool>(4)?,
            ))
        },
    )?;
    let mut references = Vec::new();
    for (id, parent, from, to, not_null) in rows {
        if references.len() <= id {
            references.push(ForeignKey { parent, columns: Vec::new(), optional: true });
        }
        if let Some(reference) = references.last_mut() {
            reference.columns.push((from, to));
            reference.optional &= !not_null;
        }
    }
    Ok(references)
}

impl ForeignKey {
    fn mending_sql(&self, table: &str) -> String {
        let terms = |term: &dyn Fn(&(String, String)) -> String, between: &str| {
            self.columns.iter().map(term).collect::<Vec<_>>().join(between)
        };
        let parent = &self.parent;
        let lost = format!(
            "{} AND NOT EXISTS (SELECT 1 FROM \"{parent}\" AS parent WHERE {})",
            terms(&|(from, _)| format!("\"{table}\".\"{from}\" IS NOT NULL"), " AND "),
            terms(&|(from, to)| format!("parent.\"{to}\" = \"{table}\".\"{from}\""), " AND "),
        );
        if self.optional {
            let nulls = terms(&|(from, _)| format!("\"{from}\" = NULL"), ", ");
            format!("UPDATE \"{table}\" SET {nulls} WHERE {lost}")
        } else {
            format!("DELETE FROM \"{table}\" WHERE {lost}")
        }
    }
}
