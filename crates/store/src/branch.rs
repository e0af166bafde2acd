//! Copies the beginning of a session into a new session.
//!
//! ```text
//! turns of the session        t3   t5   t8   t9      before t9
//! turns of the branch         t12  t13  t14          t10 is the newest turn of the log, t11 stays free
//! marks of the session        summary_to = t5   ->   t13
//!                             summary_to = t2   ->   t11: older than all copied turns
//! ```
//!
//! **New rows, and no references** to the old ones, so that each session can be deleted and tidied on
//! its own. The ids are in the same order as the old ones, because a request shows turns by their ids.
//!
//! **Nothing happens again.** A copied turn has ended, and has no deliveries, waits and costs. The
//! triggers write events for its rows; these are removed, because programs and traces follow
//! events.

use async_trait::async_trait;
use avocet_protocol::access::Trust;
use avocet_protocol::ids::{TopicId, TurnId};
use avocet_protocol::store::{BranchSession, BranchedSession, EventSeq, SessionBranches};
use rusqlite::params;

use crate::rows::events::newest_event;
use crate::rows::to_json;
use crate::rows::turns::OPEN_TURN;
use crate::tx::{Db, Result, Tx};
use crate::{Durability, SqliteStore};

/// The copied turns: ?1 has their ids as JSON, and ?2 the id that the first of them gets.
const COPIED: &str = "json_each(?1) AS copied JOIN turns ON turns.id = copied.value";
/// The new id of a turn of [`COPIED`].
const NEW_ID: &str = "?2 + copied.key";

#[async_trait]
impl SessionBranches for SqliteStore {
    async fn branch_session(&self, branch: &BranchSession) -> Result<BranchedSession> {
        let branch = branch.clone();
        self.write("branch-session", Durability::Synced, move |tx| branch_session(tx, &branch))
            .await
    }
}

fn branch_session(tx: &Tx<'_>, branch: &BranchSession) -> Result<BranchedSession> {
    if let Some(refusal) = why_not_branched(tx.db, branch)? {
        return Ok(refusal);
    }
    let events_before = newest_event(tx.db)?;
    let turns = turns_to_copy(tx.db, branch)?;
    let first = "SELECT id + 1 FROM next_turns";
    let first = tx.db.query_one(first, (), |row| row.get(0).map(TurnId))?;
    let copy = CopiedTurns { branch, turns, first };
    copy_session(tx, &copy)?;
    copy_rows(tx, &copy)?;
    copy.set_trusted_step(tx)?;
    remove_events(tx, events_before)?;
    Ok(BranchedSession::Copied { turns: copy.turns.len() as u64 })
}

/// Returns the reason why a session cannot be branched.
fn why_not_branched(db: Db<'_>, branch: &BranchSession) -> Result<Option<BranchedSession>> {
    let exists = "SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ?1)";
    let is_known = |id: &str| db.query_one(exists, [id], |row| row.get::<_, bool>(0));
    if !is_known(branch.session.as_str())? {
        return Ok(Some(BranchedSession::UnknownSession));
    }
    if is_known(branch.into.as_str())? {
        return Ok(Some(BranchedSession::Taken));
    }
    for (turn, must_have_ended) in [(branch.through, true), (branch.before, false)] {
        let Some(turn) = turn else { continue };
        let is_open = db.query_row(
            &format!("SELECT {OPEN_TURN} FROM turns WHERE id = ?1 AND session = ?2"),
            params![turn.0, branch.session.as_str()],
            |row| row.get::<_, bool>(0),
        )?;
        match is_open {
            None => return Ok(Some(BranchedSession::UnknownTurn(turn))),
            Some(true) if must_have_ended => return Ok(Some(BranchedSession::OpenTurn(turn))),
            Some(_) => {}
        }
    }
    Ok(None)
}

/// Returns the ended turns of the branch that the session has not forgotten, oldest first.
fn turns_to_copy(db: Db<'_>, branch: &BranchSession) -> Result<Vec<TurnId>> {
    db.query_rows(
        &format!(
            "SELECT id FROM turns WHERE session = ?1 AND id < ?2 AND parent IS NULL \
                 AND NOT {OPEN_TURN} AND coalesce((SELECT max(id) FROM inbound WHERE turn = turns.id) \
                     > (SELECT fresh_from FROM sessions WHERE id = ?1), 1) \
             ORDER BY id"
        ),
        params![branch.session.as_str(), left_out_from(branch).0],
        |row| row.get(0).map(TurnId),
    )
}

/// Returns the id from which on turns are left out.
fn left_out_from(branch: &BranchSession) -> TurnId {
    let behind = branch.through.map(|turn| TurnId(turn.0.saturating_add(1)));
    behind.into_iter().chain(branch.before).min().unwrap_or(TurnId(i64::MAX))
}

/// The turns of a branch.
struct CopiedTurns<'a> {
    branch: &'a BranchSession,
    /// Oldest first.
    turns: Vec<TurnId>,
    /// The new id of the first turn. The one before it stays free.
    first: TurnId,
}

impl CopiedTurns<'_> {
    /// Returns the number of copied turns up to a mark of the session.
    fn count_up_to(&self, mark: i64) -> i64 {
        self.turns.partition_point(|turn| turn.0 <= mark).try_into().unwrap_or(i64::MAX)
    }

    /// Returns a mark of the session as a mark of the branch.
    fn new_mark(&self, mark: i64) -> i64 {
        if mark == 0 { 0 } else { self.first.0 + self.count_up_to(mark) - 1 }
    }

    /// Sets the step up to which an owner has declared the branch trusted.
    fn set_trusted_step(&self, tx: &Tx<'_>) -> Result<()> {
        let sql = "SELECT believed_turn, believed_step FROM sessions WHERE id = ?1";
        let (turn, step) = tx.db.query_one(sql, [self.branch.session.as_str()], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, Option<u32>>(1)?))
        })?;
        // All of a turn before the mark is trusted.
        let is_at_mark = self.turns.contains(&TurnId(turn));
        tx.change_rows(
            "UPDATE sessions SET believed_turn = ?2, believed_step = \
                 iif(?3, ?4, (SELECT max(number) FROM steps WHERE turn = ?2)) WHERE id = ?1",
            params![self.branch.into.as_str(), self.trusted_turn(turn), is_at_mark, step],
        )?;
        Ok(())
    }

    /// Returns the last trusted turn of the branch; 0 for none.
    fn trusted_turn(&self, mark: i64) -> i64 {
        if self.count_up_to(mark) == 0 { 0 } else { self.new_mark(mark) }
    }
}

/// Copies the settings, and the summary unless it covers turns that are left out. The branch has the
/// title of the session with the next number, unless its own first message tells it apart.
fn copy_session(tx: &Tx<'_>, copy: &CopiedTurns<'_>) -> Result<()> {
    let CopiedTurns { branch, .. } = copy;
    let (summary_to, shortened_to) = tx.db.query_one(
        "SELECT summary_to, shortened_to FROM sessions WHERE id = ?1",
        [branch.session.as_str()],
        |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)),
    )?;
    let has_summary = summary_to < left_out_from(branch).0;
    tx.change_rows(
        "INSERT INTO sessions (id, used_at, mode, model, agent, effort, voice, permission_mode, title, \
             shortened_to, summary, summary_to, summary_trust, branch_of, branch) \
         SELECT ?2, ?3, mode, model, agent, effort, voice, permission_mode, title, ?4, \
             iif(?5, summary, NULL), iif(?5, ?6, 0), iif(?5, summary_trust, ?7), \
             coalesce(branch_of, id), \
             iif(?8 OR title IS NOT NULL, (SELECT max(branch) + 1 FROM sessions AS others \
                 WHERE others.branch_of = coalesce(sessions.branch_of, sessions.id) \
                     OR others.id = coalesce(sessions.branch_of, sessions.id)), 0) \
         FROM sessions WHERE id = ?1",
        params![
            branch.session.as_str(),
            branch.into.as_str(),
            tx.now.0,
            copy.new_mark(shortened_to),
            has_summary,
            copy.new_mark(summary_to),
            Trust::Full.as_str(),
            !copy.turns.is_empty(),
        ],
    )?;
    Ok(())
}

/// Copies the turns and their rows, in the order of the references between the tables.
fn copy_rows(tx: &Tx<'_>, copy: &CopiedTurns<'_>) -> Result<()> {
    let ids = to_json(&copy.turns.iter().map(|turn| turn.0).collect::<Vec<_>>())?;
    let into = copy.branch.into.as_str();
    tx.change_rows(
        &format!(
            "INSERT INTO turns (id, session, state, notice, started_at, ended_at, prompt_trust, \
                 recalled, failure) \
             SELECT {NEW_ID}, ?3, state, notice, started_at, ended_at, prompt_trust, recalled, failure \
             FROM {COPIED} ORDER BY copied.key"
        ),
        params![ids, copy.first.0, into],
    )?;
    copy_messages(tx, copy, &ids)?;
    tx.change_rows(
        &format!(
            "INSERT INTO steps (turn, number, text, input_tokens, output_tokens, closed, reasoning, \
                 trust, written, ending) \
             SELECT {NEW_ID}, number, text, input_tokens, output_tokens, closed, reasoning, trust, \
                 written, ending \
             FROM {COPIED} JOIN steps ON steps.turn = turns.id"
        ),
        params![ids, copy.first.0],
    )?;
    copy_calls(tx, copy, &ids)?;
    for notes in [
        format!(
            "INSERT INTO undelivered (session, delivery, chat, what, why, unconfirmed, turn, trust) \
             SELECT ?3, delivery, chat, what, why, unconfirmed, {NEW_ID}, trust \
             FROM {COPIED} JOIN undelivered ON undelivered.turn = turns.id ORDER BY undelivered.id"
        ),
        format!(
            "INSERT INTO reports (session, said_from, chat, text, at, turn, trust) \
             SELECT ?3, said_from, chat, text, at, {NEW_ID}, trust \
             FROM {COPIED} JOIN reports ON reports.turn = turns.id ORDER BY reports.id"
        ),
    ] {
        tx.change_rows(&notes, params![ids, copy.first.0, into])?;
    }
    Ok(())
}

/// Copies the messages as messages of the new chat. None of them is a dead letter.
fn copy_messages(tx: &Tx<'_>, copy: &CopiedTurns<'_>, ids: &str) -> Result<()> {
    let chat = copy.branch.into.address();
    tx.change_rows(
        &format!(
            "INSERT INTO inbound (id, session, channel, account, chat, topic, key, sender, sender_name, kind, \
                 content, removed, state, outcome, turn, after_step, received_at, chat_kind, is_bot, \
                 written_at, edited_at, trust) \
             SELECT (SELECT id FROM next_inbound) + row_number() OVER (ORDER BY inbound.id) - 1, \
                 ?3, ?4, ?5, ?6, ?7, 'branched ' || inbound.id, sender, sender_name, kind, content, \
                 removed, 'done', outcome, {NEW_ID}, after_step, received_at, chat_kind, is_bot, \
                 written_at, edited_at, trust \
             FROM {COPIED} JOIN inbound ON inbound.turn = turns.id ORDER BY inbound.id"
        ),
        params![
            ids,
            copy.first.0,
            copy.branch.into.as_str(),
            chat.channel.as_str(),
            chat.account.as_str(),
            chat.chat.as_str(),
            chat.topic.as_ref().map(TopicId::as_str),
        ],
    )?;
    Ok(())
}

/// Copies the calls and their whole results. A result that was cut names the handle of the whole one.
fn copy_calls(tx: &Tx<'_>, copy: &CopiedTurns<'_>, ids: &str) -> Result<()> {
    let place = "'s' || step || 'c' || ordinal";
    let (old, new) =
        (format!("('t' || turns.id || {place})"), format!("('t' || ({NEW_ID}) || {place})"));
    let calls = format!("{COPIED} JOIN calls ON calls.turn = turns.id");
    tx.change_rows(
        &format!(
            r#"INSERT INTO calls (turn, step, ordinal, name, arguments, class, state, allowed, ok, result,
                 trust, is_skill, result_kind)
             SELECT {NEW_ID}, step, ordinal, name, arguments, class, calls.state, allowed, ok,
                 iif(result_kind = 'cut',
                     replace(result, '\"' || {old} || '\"', '\"' || {new} || '\"'), result),
                 calls.trust, is_skill, result_kind
             FROM {calls}"#
        ),
        params![ids, copy.first.0],
    )?;
    tx.change_rows(
        &format!(
            "INSERT INTO kept_results (handle, session, body) \
             SELECT {new}, ?3, body FROM {calls} JOIN kept_results ON handle = {old}"
        ),
        params![ids, copy.first.0, copy.branch.into.as_str()],
    )?;
    Ok(())
}

/// Removes the events that triggers have written since `before`, in this transaction.
fn remove_events(tx: &Tx<'_>, before: EventSeq) -> Result<()> {
    tx.change_rows("DELETE FROM events WHERE seq > ?1", [before.0]).map(drop)
}
