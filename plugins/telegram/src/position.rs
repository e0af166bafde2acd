//! The cursors of an account. They make each update one message, also across a crash and after a
//! change between polls and a webhook.

use std::collections::BTreeSet;

use avocet_protocol::chat::Cursor;

use crate::album;
use crate::update::Update;

/// The scope of the cursor that records the way in which updates came.
const MODE: &str = "mode";

/// The committed updates of a poll. The cursor lists those that became a part of an album's
/// message, because their own keys are not in the log.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct PollPosition {
    /// The highest id of an update; 0 before the first.
    last: i64,
    /// The updates of albums, without the first of each.
    joined: BTreeSet<i64>,
}

/// The way in which updates come.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    #[default]
    Polling,
    Webhook,
}

/// The state that the cursors of an earlier run show.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct EarlierRun {
    polled: PollPosition,
    pub(crate) mode: Mode,
}

impl PollPosition {
    /// Adds the updates of the next message.
    pub(crate) fn add(&mut self, together: &[Update]) {
        self.last = together.iter().map(|one| one.id).fold(self.last, i64::max);
        self.joined.extend(together.iter().skip(1).map(|one| one.id));
    }

    pub(crate) fn cursor(&self) -> Cursor {
        let mut position = self.last.to_string();
        for id in &self.joined {
            position.push_str(&format!(" {id}"));
        }
        Cursor { scope: String::new(), position }
    }

    fn parse(position: &str) -> Self {
        let mut ids = position.split(' ').filter_map(|id| id.parse().ok());
        Self { last: ids.next().unwrap_or(0), joined: ids.collect() }
    }
}

impl Mode {
    pub(crate) fn cursor(self) -> Cursor {
        let position = match self {
            Self::Polling => "polling",
            Self::Webhook => "webhook",
        };
        Cursor { scope: MODE.to_owned(), position: position.to_owned() }
    }
}

impl EarlierRun {
    pub(crate) fn read(cursors: &[Cursor]) -> Self {
        let position = |scope: &str| {
            let cursor = cursors.iter().find(|cursor| cursor.scope == scope);
            cursor.map_or("", |cursor| cursor.position.as_str())
        };
        let was_webhook = position(MODE) == Mode::Webhook.cursor().position;
        let mode = if was_webhook { Mode::Webhook } else { Mode::Polling };
        Self { polled: PollPosition::parse(position("")), mode }
    }

    /// Returns `true` if an update is in the log as a part of an album's message.
    pub(crate) fn has_joined(&self, update: &Update) -> bool {
        self.polled.joined.contains(&update.id) && album::is_part(update)
    }

    /// Groups the updates of a poll. After a webhook, updates are not grouped: a part of an album
    /// may already be in the log as a separate message.
    pub(crate) fn gather(&self, updates: Vec<Update>) -> Vec<Vec<Update>> {
        match self.mode {
            Mode::Polling => album::gather(updates, self.polled.last),
            Mode::Webhook => updates.into_iter().map(|update| vec![update]).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn update(id: i64) -> Update {
        Update::read(json!({ "update_id": id })).unwrap()
    }

    #[test]
    fn poll_position_is_read_from_its_cursor() {
        let mut position = PollPosition::default();
        for (together, cursor) in
            [(vec![7], "7"), (vec![8, 10], "10 10"), (vec![9, 11], "11 10 11")]
        {
            let together: Vec<Update> = together.into_iter().map(update).collect();
            position.add(&together);
            assert_eq!(position.cursor().position, cursor);
            assert_eq!(PollPosition::parse(cursor), position);
        }
        for unreadable in ["", "x"] {
            assert_eq!(PollPosition::parse(unreadable), PollPosition::default());
        }
    }

    #[test]
    fn earlier_run_reads_the_mode_and_the_position() {
        let polled = PollPosition::parse("11 10");
        let cursors = [Mode::Webhook.cursor(), polled.cursor()];
        assert_eq!(EarlierRun::read(&cursors), EarlierRun { polled, mode: Mode::Webhook });
        assert_eq!(EarlierRun::read(&[Mode::Polling.cursor()]), EarlierRun::default());
        assert_eq!(EarlierRun::read(&[]), EarlierRun::default());
    }
}
