//! Limits the number of connections of the socket, and of HTTP. When all places are taken, the
//! longest idle connection is closed to make room. A connection is idle if it has no request in
//! progress and is not attached to a chat. One that has not sent the head of its first request is
//! idle too, so clients that never send one cannot shut others out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::clock::Clock;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The most connections of the socket at the same time.
pub(crate) const CONNECTIONS: usize = 512;
/// The most connections that are attached to chats. They wait for messages of their chat and are
/// never closed to make room, so the other connections need a share of their own.
pub(crate) const ATTACHED: usize = CONNECTIONS / 2;

/// All places for connections.
#[derive(Debug)]
pub struct ConnectionPlaces {
    clock: Arc<dyn Clock>,
    most: usize,
    taken: Mutex<TakenPlaces>,
    /// Fires when a place becomes free, or a connection idle.
    freed: Notify,
}

#[derive(Debug, Default)]
struct TakenPlaces {
    next: u64,
    connections: BTreeMap<u64, ConnectionActivity>,
}

#[derive(Debug)]
struct ConnectionActivity {
    /// Requests in progress.
    requests: usize,
    is_attached: bool,
    /// The start of the idle time, by [`Clock::elapsed`].
    idle_since: Duration,
    /// Fires when the connection has to make room.
    leave: CancellationToken,
}

/// All places are taken, and every connection is busy or attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "all {} connections to the daemon are in use ({busy} have requests under way, {attached} are attached \
     to chats); try again in a moment", busy + attached
)]
pub struct NoPlace {
    busy: usize,
    attached: usize,
}

impl ConnectionPlaces {
    /// Creates places for at most `most` connections at the same time.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, most: usize) -> Arc<Self> {
        Arc::new(Self { clock, most, taken: Mutex::default(), freed: Notify::new() })
    }

    /// Takes a place. If there is none, the longest idle connection loses its place.
    ///
    /// # Errors
    /// [`NoPlace`] if every connection is busy or attached.
    pub fn take_place(self: &Arc<Self>) -> Result<Arc<ConnectionPlace>, NoPlace> {
        let now = self.clock.elapsed();
        let taken = &mut *self.taken.lock();
        if taken.connections.len() >= self.most {
            let idle = taken.connections.iter().filter(|(_, one)| one.is_idle());
            let longest = idle.min_by_key(|(_, one)| one.idle_since).map(|(number, _)| *number);
            let left = longest.and_then(|number| taken.connections.remove(&number));
            left.ok_or_else(|| taken.full())?.leave.cancel();
        }
        let (number, leave) = (taken.next, CancellationToken::new());
        taken.next += 1;
        let connection = ConnectionActivity {
            requests: 0,
            is_attached: false,
            idle_since: now,
            leave: leave.clone(),
        };
        taken.connections.insert(number, connection);
        Ok(Arc::new(ConnectionPlace { places: self.clone(), number, leave }))
    }

    /// Takes a place as [`Self::take_place`] does. Waits for it while every connection is busy.
    pub async fn wait_for_place(self: &Arc<Self>) -> Arc<ConnectionPlace> {
        loop {
            match self.take_place() {
                Ok(place) => return place,
                Err(NoPlace { .. }) => self.freed.notified().await,
            }
        }
    }
}

impl TakenPlaces {
    fn attached(&self) -> usize {
        self.connections.values().filter(|one| one.is_attached).count()
    }

    fn full(&self) -> NoPlace {
        let attached = self.attached();
        NoPlace { busy: self.connections.len() - attached, attached }
    }
}

impl ConnectionActivity {
    fn is_idle(&self) -> bool {
        self.requests == 0 && !self.is_attached
    }
}

/// The place of one connection. Dropping it frees the place.
#[derive(Debug)]
pub struct ConnectionPlace {
    places: Arc<ConnectionPlaces>,
    number: u64,
    leave: CancellationToken,
}

impl ConnectionPlace {
    /// Waits until the connection has to make room.
    pub async fn wait_for_leave(&self) {
        self.leave.cancelled().await;
    }

    /// Marks a request as in progress until the result is dropped; `None` if the connection has to
    /// make room.
    #[must_use]
    pub fn begin_request(self: &Arc<Self>) -> Option<UnderWay> {
        self.places.taken.lock().connections.get_mut(&self.number)?.requests += 1;
        Some(UnderWay(self.clone()))
    }

    /// Marks the connection as attached to a chat.
    ///
    /// # Errors
    /// The reason why it cannot be attached.
    pub(crate) fn mark_attached(&self) -> Result<(), String> {
        let taken = &mut *self.places.taken.lock();
        let attached = taken.attached();
        let Some(connection) = taken.connections.get_mut(&self.number) else {
            return Err("the connection is being closed; connect again".to_owned());
        };
        if !connection.is_attached && attached >= ATTACHED {
            return Err(format!(
                "{ATTACHED} connections are attached to chats, and no more can be; close one of them"
            ));
        }
        connection.is_attached = true;
        Ok(())
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        self.places.taken.lock().connections.remove(&self.number);
        self.places.freed.notify_one();
    }
}

/// A request in progress.
#[derive(Debug)]
pub struct UnderWay(Arc<ConnectionPlace>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        let now = self.0.places.clock.elapsed();
        if let Some(connection) = self.0.places.taken.lock().connections.get_mut(&self.0.number) {
            connection.requests -= 1;
            connection.idle_since = now;
        }
        self.0.places.freed.notify_one();
    }
}

#[cfg(test)]
#[path = "places_tests.rs"]
mod tests;
