//! The last requests to the servers for audio, for the daemon's checks of itself.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use avocet_protocol::clock::Clock;
use avocet_protocol::daemon::LastExchanges;
use avocet_protocol::model::AudioError;
use parking_lot::Mutex;

/// The last requests to the server of each table, since the start of the daemon.
pub struct AudioHealth {
    clock: Arc<dyn Clock>,
    tables: Mutex<BTreeMap<&'static str, LastExchanges>>,
}

impl fmt::Debug for AudioHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AudioHealth").field("tables", &self.tables).finish_non_exhaustive()
    }
}

impl AudioHealth {
    /// Starts without any requests.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, tables: Mutex::default() }
    }

    /// Returns the last requests of a table.
    #[must_use]
    pub fn last_exchanges(&self, table: &str) -> LastExchanges {
        self.tables.lock().get(table).cloned().unwrap_or_default()
    }

    pub(crate) fn note_outcome(&self, table: &'static str, answered: Result<(), &AudioError>) {
        let now = self.clock.now();
        let mut tables = self.tables.lock();
        let last = tables.entry(table).or_default();
        match answered {
            Ok(()) => last.succeed(now),
            Err(error) => last.fail(now, &error.to_string()),
        }
    }
}
