//! Model usage, one row per answer, and its sums.

use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::chat::SessionId;
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::TurnId;
use avocet_protocol::model::{Money, Spent, Usage};
use avocet_protocol::store::{
    Ledger, Purpose, RequestOutcome, Spending, StoreError, Total, UpkeepLedger, UsageAtClaim,
    UsageBy, UsageEntry, UsageRow,
};
use avocet_protocol::turn::FailedRequest;
use rusqlite::{Params, Row, params};

use crate::rows;
use crate::rows::turns::{RunningTurn, running_turn};
use crate::tx::{Db, Result, Tx};
use crate::{Durability, SqliteStore};

#[async_trait]
impl Ledger for SqliteStore {
    async fn record_usage(
        &self,
        turn: Option<TurnId>,
        session: &SessionId,
        entries: &[UsageEntry],
    ) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let (session, entries) = (session.clone(), entries.to_vec());
        self.write("record-usage", Durability::Process, move |tx| {
            let payer = find_payer(tx.db, turn, session)?;
            record_all(tx, turn, &payer, &entries)
        })
        .await
    }

    async fn spent(
        &self,
        turn: Option<TurnId>,
        session: &SessionId,
        day_start: Timestamp,
    ) -> Result<Spending> {
        let session = session.clone();
        self.read(move |db| {
            let UsagePayer { turn, session } = find_payer(db, turn, session)?;
            let turn = turn.map_or(Ok(Total::default()), |turn| of_turn(db, turn))?;
            Ok(Spending { turn, ..before_turn(db, &session, day_start)? })
        })
        .await
    }

    async fn has_usage(&self, turn: TurnId, purpose: Purpose) -> Result<bool> {
        self.read(move |db| {
            db.query_one(
                "SELECT EXISTS (SELECT 1 FROM usage WHERE turn = ?1 AND purpose = ?2)",
                params![turn.0, purpose.as_str()],
                |row| row.get(0),
            )
        })
        .await
    }
}

/// Reads the usage for the first request of a claimed turn.
pub(crate) fn at_claim(tx: &Tx<'_>, turn: TurnId) -> Result<UsageAtClaim> {
    let UsagePayer { turn, session } = payer_of(tx.db, turn)?;
    let turn = turn.map_or(Ok(Total::default()), |turn| of_turn(tx.db, turn))?;
    let new = at_begin(tx, &session)?;
    Ok(UsageAtClaim { spending: Spending { turn, ..new.spending }, ..new })
}

/// Reads the usage for the first request of a turn that begins in this transaction.
pub(crate) fn at_begin(tx: &Tx<'_>, session: &SessionId) -> Result<UsageAtClaim> {
    let day_start = tx.now.day_start();
    Ok(UsageAtClaim { spending: before_turn(tx.db, session, day_start)?, day_start })
}

/// Reads the usage of a session and of a day; that of the turn stays zero.
fn before_turn(db: Db<'_>, session: &SessionId, day_start: Timestamp) -> Result<Spending> {
    let newer = "session = ?1 AND id > (SELECT usage_from FROM sessions WHERE sessions.id = ?1)";
    let of_session = add_sums(db, "usage_sessions WHERE session = ?1", newer, [session.as_str()])?;
    Ok(Spending { turn: Total::default(), session: of_session, day: usage_since(db, day_start)? })
}

#[async_trait]
impl UpkeepLedger for SqliteStore {
    async fn record_upkeep(&self, purpose: Purpose, spent: &[Spent]) -> Result<()> {
        if spent.is_empty() {
            return Ok(());
        }
        let spent = spent.to_vec();
        self.write("record-upkeep", Durability::Process, move |tx| {
            spent.iter().try_for_each(|one| record_usage(tx, None, None, purpose, one))
        })
        .await
    }

    async fn spent_since(&self, day_start: Timestamp) -> Result<Total> {
        self.read(move |db| usage_since(db, day_start)).await
    }
}

/// The farthest that the clock of the machine may be set back without a cost missing in a list.
const CLOCK_SET_BACK: Duration = Duration::from_hours(24);

/// Implements `Query::usage_page`. An index of `at` would cost each turn a page. Ids have the order of
/// the times as long as the clock is not set back, so the search goes from the newest id back to one
/// that is a day too old.
pub(crate) fn usage_page(
    db: Db<'_>,
    by: UsageBy,
    since: Timestamp,
    limit: u32,
    skip: u32,
) -> Result<Vec<UsageRow>> {
    let (of, order) = match by {
        UsageBy::Model => ("model", "cost DESC, sum(input + output) DESC, of"),
        UsageBy::Session => {
            ("coalesce(session, purpose)", "cost DESC, sum(input + output) DESC, of")
        }
        UsageBy::Purpose => ("purpose", "cost DESC, sum(input + output) DESC, of"),
        UsageBy::Day => ("date(at / 1000, 'unixepoch')", "of DESC"),
        UsageBy::Schedule => (&*schedule_sql(), "cost DESC, sum(input + output) DESC, of"),
    };
    db.query_rows(
        &format!(
            "SELECT {of} AS of, count(*) AS answers, {SUMS} FROM usage WHERE at >= ?1 \
                 AND id > coalesce((SELECT id FROM usage WHERE at < ?4 ORDER BY id DESC LIMIT 1), 0) \
             GROUP BY of ORDER BY {order} LIMIT ?2 OFFSET ?3"
        ),
        params![since.0, limit, skip, since.before(CLOCK_SET_BACK).0],
        |row| {
            Ok(UsageRow {
                of: row.get("of")?,
                answers: row.get("answers")?,
                total: read_total_at(row, 2)?,
            })
        },
    )
}

/// Returns SQL for the schedule of a row: its name in the configuration, else its id.
fn schedule_sql() -> String {
    format!(
        "CASE WHEN session GLOB 'schedule:local:*' THEN coalesce( \
             (SELECT name FROM schedules WHERE id = CAST(substr(session, 16) AS INTEGER)), \
             's' || substr(session, 16)) \
         ELSE '{}' END",
        UsageBy::OTHER_WORK
    )
}

/// The root turn, which pays for its children, and its session.
struct UsagePayer {
    turn: Option<TurnId>,
    session: SessionId,
}

fn find_payer(db: Db<'_>, turn: Option<TurnId>, session: SessionId) -> Result<UsagePayer> {
    turn.map_or(Ok(UsagePayer { turn, session }), |turn| payer_of(db, turn))
}

fn payer_of(db: Db<'_>, turn: TurnId) -> Result<UsagePayer> {
    db.query_one(
        "SELECT id, session FROM turns \
         WHERE id = (SELECT coalesce(root, id) FROM turns WHERE id = ?1)",
        [turn.0],
        |row| {
            let turn = Some(TurnId(row.get("id")?));
            Ok(UsagePayer { turn, session: rows::parse_column(row, "session")? })
        },
    )
}

/// Records usage of a turn in one transaction with `work`. The inner error is that of a turn that
/// has ended meanwhile: `work` is left out, but the usage stays.
pub(crate) fn unless_ended<T>(
    tx: &Tx<'_>,
    turn: TurnId,
    entries: &[UsageEntry],
    work: impl FnOnce(&RunningTurn) -> Result<T>,
) -> Result<Result<T>> {
    if !entries.is_empty() {
        record_all(tx, Some(turn), &payer_of(tx.db, turn)?, entries)?;
    }
    match running_turn(tx, turn) {
        Err(ended @ StoreError::Stale(_)) => Ok(Err(ended)),
        turn => work(&turn?).map(Ok),
    }
}

fn record_all(
    tx: &Tx<'_>,
    turn: Option<TurnId>,
    payer: &UsagePayer,
    entries: &[UsageEntry],
) -> Result<()> {
    let child = turn.filter(|turn| Some(*turn) != payer.turn);
    let mut entries = entries.iter();
    entries.try_for_each(|entry| match &entry.request {
        RequestOutcome::Spent(spent) => record_usage(tx, Some(payer), child, entry.purpose, spent),
        RequestOutcome::Failed(failed) => record_failure(tx, turn, entry.purpose, failed),
    })
}

/// Records a failed request for the timeline of its turn. That of a compaction has none.
fn record_failure(
    tx: &Tx<'_>,
    turn: Option<TurnId>,
    purpose: Purpose,
    failed: &FailedRequest,
) -> Result<()> {
    let Some(turn) = turn else { return Ok(()) };
    tx.insert(
        "INSERT INTO failed_requests (turn, began_at, ended_at, purpose, failure) \
         VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            turn.0,
            failed.began.0,
            failed.ended.0,
            purpose.as_str(),
            rows::to_json(&failed.failure)?
        ],
    )?;
    Ok(())
}

fn record_usage(
    tx: &Tx<'_>,
    payer: Option<&UsagePayer>,
    child: Option<TurnId>,
    purpose: Purpose,
    spent: &Spent,
) -> Result<()> {
    let Usage { input, output, cached, cache_written } = spent.usage;
    tx.insert(
        "INSERT INTO usage (id, at, session, turn, purpose, model, input, cached, cache_written, \
             output, cost, child) \
         VALUES ((SELECT id FROM next_usage), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        params![
            tx.now.0,
            payer.map(|payer| payer.session.as_str()),
            payer.and_then(|payer| payer.turn).map(|turn| turn.0),
            purpose.as_str(),
            spent.model,
            cap_figure(input),
            cap_figure(cached),
            cap_figure(cache_written),
            cap_figure(output),
            spent.cost.map(|cost| cap_figure(cost.0)),
            child.map(|child| child.0),
        ],
    )?;
    Ok(())
}

/// Caps a figure at 2^40, about 10^12 tokens or a thousand dollars. A provider may report nonsense,
/// and the sum of millions of rows must not overflow.
pub(crate) fn cap_figure(figure: u64) -> u64 {
    figure.min(1 << 40)
}

/// Returns the usage of a root turn and its children.
pub(crate) fn of_turn(db: Db<'_>, turn: TurnId) -> Result<Total> {
    sum_answers(db, "turn = ?1", [turn.0])
}

/// Columns that [`read_total`] reads.
const SUMS: &str = "coalesce(sum(input), 0) AS input, coalesce(sum(output), 0) AS output, \
    coalesce(sum(cached), 0) AS cached, coalesce(sum(cache_written), 0) AS cache_written, \
    coalesce(sum(cost), 0) AS cost, \
    coalesce(sum(iif(cost IS NULL, input + output, 0)), 0) AS unpriced";

/// Adds rows of answers.
pub(crate) fn sum_answers(db: Db<'_>, which: &str, params: impl Params) -> Result<Total> {
    db.query_one(&format!("SELECT {SUMS} FROM usage WHERE {which}"), params, read_total)
}

/// Returns the usage since the beginning of a day.
fn usage_since(db: Db<'_>, day_start: Timestamp) -> Result<Total> {
    const DAY_MS: i64 = 86_400_000;
    let newer = format!("at / {DAY_MS} >= ?1");
    add_sums(db, "usage_days WHERE day >= ?1", &newer, [day_start.0 / DAY_MS])
}

/// Adds rows of a table with sums, and the answers that it does not contain yet. To write a sum for
/// each answer would cost each turn two more pages.
fn add_sums(db: Db<'_>, sums: &str, newer: &str, params: impl Params) -> Result<Total> {
    let sql = format!(
        "SELECT coalesce(sum(input), 0) AS input, coalesce(sum(output), 0) AS output, \
             coalesce(sum(cached), 0) AS cached, coalesce(sum(cache_written), 0) AS cache_written, \
             coalesce(sum(cost), 0) AS cost, coalesce(sum(unpriced), 0) AS unpriced \
         FROM (SELECT input, output, cached, cache_written, cost, unpriced FROM {sums} \
             UNION ALL SELECT input, output, cached, cache_written, coalesce(cost, 0), \
                 iif(cost IS NULL, input + output, 0) \
             FROM usage WHERE id > (SELECT usage FROM usage_mark) AND {newer})"
    );
    db.query_one(&sql, params, read_total)
}

fn read_total(row: &Row<'_>) -> rusqlite::Result<Total> {
    read_total_at(row, 0)
}

/// Reads the columns of [`SUMS`], of which the first is at this place.
fn read_total_at(row: &Row<'_>, first: usize) -> rusqlite::Result<Total> {
    Ok(Total {
        usage: Usage {
            input: row.get(first)?,
            output: row.get(first + 1)?,
            cached: row.get(first + 2)?,
            cache_written: row.get(first + 3)?,
        },
        cost: Money(row.get(first + 4)?),
        unpriced: row.get(first + 5)?,
    })
}
