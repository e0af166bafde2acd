//! Inbound messages: deduplication, cursors, and the commands that bypass the lane.

use async_trait::async_trait;
use avocet_protocol::chat::{
    ChatAddress, Content, Cursor, LoggedInbound, NewInbound, Outcome, Planned, SessionId,
};
use avocet_protocol::ids::{AccountName, ChannelName, DedupeKey, MessageId};
use avocet_protocol::session::SessionSetting;
use avocet_protocol::store::{
    Accepted, CommandAction, CommandEffect, CommandReply, Correction, Inbox, UnansweredMessage,
    Withdrawn,
};
use rusqlite::params;

use crate::accept::accept_message;
use crate::audit;
use crate::commands::run_action;
use crate::correct::correct_message;
use crate::prompts;
use crate::rows::chunks::{OutboxSource, insert_notice, insert_planned};
use crate::rows::messages::{INBOUND, end_message, inbound_from_row};
use crate::rows::sessions::{choose_setting, use_session};
use crate::tx::{Result, Tx};
use crate::withdraw::{list_unanswered, withdraw_message};
use crate::{Durability, SqliteStore};

#[async_trait]
impl Inbox for SqliteStore {
    async fn accept(&self, message: &NewInbound, cursor: Option<&Cursor>) -> Result<Accepted> {
        let (message, cursor) = (message.clone(), cursor.cloned());
        let default_mode = self.default_mode;
        self.write("accept", Durability::Synced, move |tx| {
            move_cursor_of(tx, &message, cursor.as_ref())?;
            accept_message(tx, &message, default_mode)
        })
        .await
    }

    async fn correct(&self, message: &NewInbound, cursor: Option<&Cursor>) -> Result<Correction> {
        let (message, cursor) = (message.clone(), cursor.cloned());
        let (default_mode, answer_edits) = (self.default_mode, self.answer_edits);
        self.write("correct", Durability::Synced, move |tx| {
            let corrected = correct_message(tx, &message, default_mode, answer_edits)?;
            if !matches!(corrected, Correction::Refused(_)) {
                move_cursor_of(tx, &message, cursor.as_ref())?;
            }
            Ok(corrected)
        })
        .await
    }

    async fn withdraw_message(
        &self,
        chat: &ChatAddress,
        key: &DedupeKey,
    ) -> Result<Option<Withdrawn>> {
        let (chat, key) = (chat.clone(), key.clone());
        self.write("withdraw", Durability::Synced, move |tx| withdraw_message(tx, &chat, &key))
            .await
    }

    async fn list_unanswered(
        &self,
        channel: &ChannelName,
        account: &AccountName,
        limit: u32,
    ) -> Result<Vec<UnansweredMessage>> {
        let (channel, account) = (channel.clone(), account.clone());
        self.read(move |db| list_unanswered(db, &channel, &account, limit)).await
    }

    async fn ignore(
        &self,
        channel: &ChannelName,
        account: &AccountName,
        reason: &str,
        cursor: Option<&Cursor>,
    ) -> Result<()> {
        let (channel, account, reason) = (channel.clone(), account.clone(), reason.to_owned());
        let cursor = cursor.cloned();
        self.write("ignore", Durability::Process, move |tx| {
            move_cursor(tx, &channel, &account, cursor.as_ref())?;
            tx.insert(
                "INSERT INTO ignored (channel, account, reason, count) VALUES (?1, ?2, ?3, 1) \
                 ON CONFLICT DO UPDATE SET count = count + 1",
                params![channel.as_str(), account.as_str(), reason],
            )?;
            Ok(())
        })
        .await
    }

    async fn cursors(&self, channel: &ChannelName, account: &AccountName) -> Result<Vec<Cursor>> {
        let (channel, account) = (channel.clone(), account.clone());
        self.read(move |db| {
            db.query_rows(
                "SELECT scope, position FROM cursors WHERE channel = ?1 AND account = ?2",
                [channel.as_str(), account.as_str()],
                |row| Ok(Cursor { scope: row.get(0)?, position: row.get(1)? }),
            )
        })
        .await
    }

    async fn move_cursor(
        &self,
        channel: &ChannelName,
        account: &AccountName,
        cursor: &Cursor,
    ) -> Result<()> {
        let (channel, account, cursor) = (channel.clone(), account.clone(), cursor.clone());
        self.write("move-cursor", Durability::Synced, move |tx| {
            move_cursor(tx, &channel, &account, Some(&cursor))
        })
        .await
    }

    async fn open_commands(&self) -> Result<Vec<LoggedInbound>> {
        self.read(|db| {
            db.query_rows(
                &format!("{INBOUND} WHERE state = 'queued' AND kind = 'command' ORDER BY id"),
                (),
                inbound_from_row,
            )
        })
        .await
    }

    async fn settle_command(
        &self,
        command: MessageId,
        action: &CommandAction,
        reply: &CommandReply,
    ) -> Result<CommandEffect> {
        let (action, reply) = (action.clone(), reply.clone());
        let default_mode = self.default_mode;
        self.write("settle-command", Durability::Synced, move |tx| {
            end_message(tx, command, Outcome::Replied)?;
            let newest = match action {
                CommandAction::Resolve { .. } | CommandAction::Retry { .. } => {
                    prompts::newest_message(tx)?
                }
                _ => i64::MAX,
            };
            let effect = {
                let pressed = reply.replaces.as_ref().and(reply.done.as_ref());
                let pressed_in = pressed.map(|done| &done.address);
                run_action(tx, command, &action, pressed_in, default_mode)?
            };
            audit::record_commanded(tx, command, &action, &effect)?;
            let message = match effect {
                CommandEffect::Nothing => reply.nothing,
                CommandEffect::Resolved(_) if prompts::is_shown(tx, command, newest)? => None,
                CommandEffect::Done
                | CommandEffect::Queued(_)
                | CommandEffect::Stopped(_)
                | CommandEffect::StoppedAll
                | CommandEffect::ResumedAll
                | CommandEffect::Resent(_)
                | CommandEffect::Resolved(_)
                | CommandEffect::Cancelled(_) => reply.done,
            };
            if let Some(mut message) = message {
                if let CommandAction::Decide(_) = &action {
                    prompts::fill_in_time(tx, &mut message);
                }
                let text: String = message.chunks.iter().map(Content::as_text).collect();
                tx.change_rows(
                    "UPDATE inbound SET reply = ?2 WHERE id = ?1",
                    params![command.0, text],
                )?;
                insert_planned(tx, &message, None, OutboxSource::Reply)?;
                if let (Some(shown), [_]) = (&reply.replaces, &message.chunks[..]) {
                    tx.change_rows(
                        "UPDATE outbox SET platform_id = ?1 \
                         WHERE id = (SELECT max(id) FROM outbox)",
                        [shown.as_str()],
                    )?;
                }
            }
            Ok(effect)
        })
        .await
    }

    async fn choose_setting(&self, session: &SessionId, setting: &SessionSetting) -> Result<()> {
        let (session, setting) = (session.clone(), setting.clone());
        self.write("choose-setting", Durability::Synced, move |tx| {
            use_session(tx, &session)?;
            choose_setting(tx, &session, &setting)
        })
        .await
    }

    async fn drop_message(&self, message: MessageId, notice: Option<&Planned>) -> Result<()> {
        let notice = notice.cloned();
        self.write("drop-message", Durability::Synced, move |tx| {
            end_message(tx, message, Outcome::Dropped)?;
            notice.map_or(Ok(()), |notice| insert_notice(tx, &notice))
        })
        .await
    }
}

fn move_cursor_of(tx: &Tx<'_>, message: &NewInbound, cursor: Option<&Cursor>) -> Result<()> {
    let address = &message.inbound.address;
    move_cursor(tx, &address.channel, &address.account, cursor)
}

fn move_cursor(
    tx: &Tx<'_>,
    channel: &ChannelName,
    account: &AccountName,
    cursor: Option<&Cursor>,
) -> Result<()> {
    let Some(cursor) = cursor else { return Ok(()) };
    tx.insert(
        "INSERT INTO cursors (channel, account, scope, position) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT DO UPDATE SET position = excluded.position",
        params![channel.as_str(), account.as_str(), cursor.scope, cursor.position],
    )?;
    Ok(())
}
