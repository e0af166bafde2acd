//! Access control data: admitted people, pairing codes for strangers, and chats linked to another
//! session.

use async_trait::async_trait;
use avocet_protocol::access::{
    ChatLink, Decision, DecisionEffect, Pairing, PairingCode, People, Person, PersonId, Role,
    SettledPairing, StoredAccess,
};
use avocet_protocol::bus::QueueMode;
use avocet_protocol::chat::{ChatAddress, NewInbound, Planned};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{AccountName, ChannelName, ChatId, DedupeKey, SenderId};
use avocet_protocol::store::{Actor, StoreError};
use rusqlite::{Row, params};

use crate::audit;
use crate::kept_message;
use crate::prompts;
use crate::rows::chunks::{
    ChunkPosition, OutboxSource, insert_chunk, insert_chunks, insert_notice,
};
use crate::rows::{chat_key, parse_column, word_column};
use crate::tx::{Db, Result, Tx};
use crate::{Durability, SqliteStore};

#[async_trait]
impl People for SqliteStore {
    async fn stored_access(&self) -> Result<StoredAccess> {
        self.read(stored_access).await
    }

    async fn add_pairing(
        &self,
        pairing: &Pairing,
        messages: &[Planned],
        forget: Timestamp,
    ) -> Result<()> {
        let (pairing, messages) = (pairing.clone(), messages.to_vec());
        self.write("add-pairing", Durability::Process, move |tx| {
            tx.change_rows("DELETE FROM pairings WHERE created_at < ?1", [forget.0])?;
            kept_message::delete_closed(tx)?;
            insert_pairing(tx, &pairing)?;
            messages.iter().try_for_each(|one| insert_pairing_message(tx, &pairing.code, one))
        })
        .await
    }

    async fn keep_message(&self, code: &PairingCode, message: &NewInbound) -> Result<()> {
        let (code, message) = (code.clone(), message.clone());
        if let Some(corrected) = message.inbound.corrects.clone() {
            let edited = code.clone();
            // A stranger may edit other messages often. These edits write nothing.
            if !self.read(move |db| kept_message::is_kept(db, &edited, &corrected)).await? {
                return Ok(());
            }
        }
        self.write("keep-message", Durability::Process, move |tx| {
            kept_message::delete_closed(tx)?;
            kept_message::keep_message(tx, &code, message)
        })
        .await
    }

    async fn decide(&self, settled: &SettledPairing) -> Result<DecisionEffect> {
        let (settled, default_mode) = (settled.clone(), self.default_mode);
        self.write("decide", Durability::Synced, move |tx| {
            let effect = decide_pairing(tx, &settled, None, default_mode)?;
            if effect != DecisionEffect::Nothing {
                audit::record_decided(tx, &settled, &Actor::Host)?;
            }
            Ok(effect)
        })
        .await
    }

    async fn remove_person(&self, person: &PersonId) -> Result<bool> {
        let person = person.clone();
        self.write("remove-person", Durability::Synced, move |tx| {
            let done = remove_person(tx, &person)?;
            if done {
                audit::person_removed(tx, &person)?;
            }
            Ok(done)
        })
        .await
    }

    async fn add_private_chat(&self, chat: &ChatAddress, sender: &SenderId) -> Result<()> {
        let (chat, sender) = (chat.clone(), sender.clone());
        self.write("add-private-chat", Durability::Process, move |tx| {
            let [channel, account, id] = chat_key(&chat);
            tx.insert(
                "INSERT INTO private_chats (channel, account, chat, sender) \
                 VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
                [channel, account, id, sender.as_str()],
            )?;
            Ok(())
        })
        .await
    }

    async fn link(&self, one: &ChatLink) -> Result<()> {
        let one = one.clone();
        self.write("link", Durability::Synced, move |tx| {
            link_chat(tx, &one)?;
            audit::record_linked(tx, &one, &Actor::Host)
        })
        .await
    }

    async fn unlink(&self, chat: &ChatAddress) -> Result<bool> {
        let chat = chat.clone();
        self.write("unlink", Durability::Synced, move |tx| {
            let done = unlink_chat(tx, &chat)?;
            if done {
                audit::record_unlinked(tx, &chat.to_string(), &Actor::Host)?;
            }
            Ok(done)
        })
        .await
    }
}

/// Adds the hint of a code, or an owner's card. The card's key names the code, for [`end_cards`].
fn insert_pairing_message(tx: &Tx<'_>, code: &PairingCode, message: &Planned) -> Result<()> {
    if message.chunks.iter().all(|chunk| chunk.choices.is_empty()) {
        return insert_notice(tx, message);
    }
    let key = card_key(code)?;
    let source = OutboxSource::Notice;
    let position = ChunkPosition { turn: None, ordinal: 0, chunk: 0, key: Some(&key), source };
    insert_chunks(tx, message, 0, &position)
}

/// Queues an edit of each owner's card. The reply of a press takes the place of the card in its chat.
fn end_cards(
    tx: &Tx<'_>,
    code: &PairingCode,
    outcomes: &[Planned],
    pressed_in: Option<&ChatAddress>,
) -> Result<()> {
    let key = card_key(code)?;
    for outcome in outcomes {
        let chat = &outcome.address;
        if pressed_in.is_some_and(|pressed| pressed.is_same_chat(chat)) {
            continue;
        }
        // The last chunk has the buttons.
        let card: Option<i64> = tx.db.query_one(
            "SELECT max(id) FROM outbox \
             WHERE channel = ?1 AND account = ?2 AND chat = ?3 AND key = ?4",
            [chat.channel.as_str(), chat.account.as_str(), chat.chat.as_str(), key.as_str()],
            |row| row.get(0),
        )?;
        let mut outcome = outcome.clone();
        prompts::fill_in_time(tx, &mut outcome);
        if let (Some(card), [content]) = (card, &outcome.chunks[..]) {
            let source = OutboxSource::Notice;
            let position = ChunkPosition { turn: None, ordinal: 0, chunk: 0, key: None, source };
            let edit = insert_chunk(tx, chat, content, &position)?;
            tx.change_rows("UPDATE outbox SET edits = ?2 WHERE id = ?1", params![edit, card])?;
        }
    }
    Ok(())
}

fn card_key(code: &PairingCode) -> Result<DedupeKey> {
    let key = DedupeKey::parse(&format!("pair {code}"));
    key.map_err(|error| StoreError::Internal(error.to_string()))
}

/// Decides about an open pairing code. Has no effect for any other code. `pressed_in` is the chat
/// whose card was pressed.
pub(crate) fn decide_pairing(
    tx: &Tx<'_>,
    settled: &SettledPairing,
    pressed_in: Option<&ChatAddress>,
    default_mode: QueueMode,
) -> Result<DecisionEffect> {
    let SettledPairing { code, decision, notice, outcomes } = settled;
    let role = match decision {
        Decision::Approved(role) => Some(*role),
        Decision::Denied => None,
    };
    let decided = tx.change_rows(
        "UPDATE pairings SET decision = ?2, role = ?3 \
         WHERE code = ?1 AND decision IS NULL AND expires_at > ?4",
        params![code.as_str(), decision.as_str(), role.map(Role::as_str), tx.now.0],
    )?;
    if decided == 0 {
        return Ok(DecisionEffect::Nothing);
    }
    if let Some(role) = role {
        tx.insert(
            "INSERT INTO people (channel, account, sender, name, role, since) \
             SELECT channel, account, sender, name, ?2, ?3 FROM pairings WHERE code = ?1 \
             ON CONFLICT DO UPDATE SET role = excluded.role",
            params![code.as_str(), role.as_str(), tx.now.0],
        )?;
        tx.insert(
            "INSERT INTO private_chats (channel, account, chat, sender) \
             SELECT channel, account, chat, sender FROM pairings WHERE code = ?1 \
             ON CONFLICT DO NOTHING",
            [code.as_str()],
        )?;
    }
    if let Some(notice) = notice {
        insert_notice(tx, notice)?;
    }
    end_cards(tx, code, outcomes, pressed_in)?;
    let accepted = match role {
        Some(_) => kept_message::accept_kept(tx, code, default_mode)?,
        None => None,
    };
    kept_message::delete_closed(tx)?;
    Ok(accepted.map_or(DecisionEffect::Decided, DecisionEffect::Queued))
}

pub(crate) fn link_chat(tx: &Tx<'_>, link: &ChatLink) -> Result<()> {
    let [channel, account, chat] = chat_key(&link.chat);
    tx.insert(
        "INSERT INTO links (channel, account, chat, session) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT DO UPDATE SET session = excluded.session",
        [channel, account, chat, link.session.as_str()],
    )?;
    Ok(())
}

pub(crate) fn unlink_chat(tx: &Tx<'_>, chat: &ChatAddress) -> Result<bool> {
    let gone = tx.change_rows(
        "DELETE FROM links WHERE channel = ?1 AND account = ?2 AND chat = ?3",
        chat_key(chat),
    )?;
    Ok(gone > 0)
}

fn remove_person(tx: &Tx<'_>, person: &PersonId) -> Result<bool> {
    let PersonId { channel, account, sender } = person;
    let who = [channel.as_str(), account.as_str(), sender.as_str()];
    let gone = tx.change_rows(
        "DELETE FROM people WHERE channel = ?1 AND account = ?2 AND sender = ?3",
        who,
    )?;
    tx.change_rows(
        "UPDATE pairings SET decision = 'denied' \
         WHERE channel = ?1 AND account = ?2 AND sender = ?3 AND decision IS NULL",
        who,
    )?;
    kept_message::delete_closed(tx)?;
    // A person admitted again later must not rejoin the old shared session.
    const CHATS: &str = "SELECT channel, account, chat FROM private_chats \
        WHERE channel = ?1 AND account = ?2 AND sender = ?3";
    tx.change_rows(&format!("DELETE FROM links WHERE (channel, account, chat) IN ({CHATS})"), who)?;
    tx.change_rows(
        &format!(
            "DELETE FROM links WHERE session IN \
                 (SELECT channel || ':' || account || ':' || chat FROM ({CHATS}))"
        ),
        who,
    )?;
    tx.change_rows(
        "DELETE FROM private_chats WHERE channel = ?1 AND account = ?2 AND sender = ?3",
        who,
    )?;
    Ok(gone > 0)
}

fn insert_pairing(tx: &Tx<'_>, pairing: &Pairing) -> Result<()> {
    let Pairing { code, person, name, chat, created_at, expires_at, decision: _ } = pairing;
    tx.insert(
        "INSERT INTO pairings (code, channel, account, chat, sender, name, created_at, expires_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            code.as_str(),
            person.channel.as_str(),
            person.account.as_str(),
            chat.chat.as_str(),
            person.sender.as_str(),
            name,
            created_at.0,
            expires_at.0,
        ],
    )?;
    Ok(())
}

fn stored_access(db: Db<'_>) -> Result<StoredAccess> {
    Ok(StoredAccess {
        people: db.query_rows(
            "SELECT channel, account, sender, name, role, since FROM people \
             ORDER BY channel, account, sender",
            (),
            person_from_row,
        )?,
        pairings: db.query_rows(
            "SELECT code, channel, account, chat, sender, name, created_at, expires_at, decision, \
                 role \
             FROM pairings ORDER BY created_at, code",
            (),
            pairing_from_row,
        )?,
        kept: db.query_rows(
            "SELECT code FROM pairings WHERE message IS NOT NULL ORDER BY code",
            (),
            |row| parse_column(row, "code"),
        )?,
        links: db.query_rows(
            "SELECT channel, account, chat, session FROM links ORDER BY channel, account, chat",
            (),
            |row| {
                Ok(ChatLink { chat: chat_from_row(row)?, session: parse_column(row, "session")? })
            },
        )?,
        chats: db.query_rows(
            "SELECT channel, account, chat, sender FROM private_chats",
            (),
            |row| Ok((chat_from_row(row)?, parse_column(row, "sender")?)),
        )?,
    })
}

fn person_from_row(row: &Row<'_>) -> rusqlite::Result<Person> {
    Ok(Person {
        id: person_id(row)?,
        name: row.get("name")?,
        role: word_column(row, "role", &Role::ALL, Role::as_str)?,
        since: Some(Timestamp(row.get("since")?)),
    })
}

fn person_id(row: &Row<'_>) -> rusqlite::Result<PersonId> {
    Ok(PersonId {
        channel: parse_column::<ChannelName>(row, "channel")?,
        account: parse_column::<AccountName>(row, "account")?,
        sender: parse_column(row, "sender")?,
    })
}

fn pairing_from_row(row: &Row<'_>) -> rusqlite::Result<Pairing> {
    let decision: Option<String> = row.get("decision")?;
    Ok(Pairing {
        code: parse_column(row, "code")?,
        person: person_id(row)?,
        name: row.get("name")?,
        chat: chat_from_row(row)?,
        created_at: Timestamp(row.get("created_at")?),
        expires_at: Timestamp(row.get("expires_at")?),
        decision: match decision.as_deref() {
            None => None,
            Some("approved") => {
                Some(Decision::Approved(word_column(row, "role", &Role::ALL, Role::as_str)?))
            }
            Some(_) => Some(Decision::Denied),
        },
    })
}

/// Reads a chat without topic, since private chats are known as a whole.
fn chat_from_row(row: &Row<'_>) -> rusqlite::Result<ChatAddress> {
    Ok(ChatAddress {
        channel: parse_column::<ChannelName>(row, "channel")?,
        account: parse_column::<AccountName>(row, "account")?,
        chat: parse_column::<ChatId>(row, "chat")?,
        topic: None,
    })
}
