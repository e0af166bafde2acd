//! Bytes from one connection to another, as long as some come.

use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use avocet_protocol::Clock;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// How long nothing may move in either direction: this, to twice as long.
const IDLE: Duration = Duration::from_mins(5);
/// Bytes that are on their way at a time.
const PIECE: usize = 16 * 1024;

/// The bytes that have moved.
#[derive(Debug, Default)]
pub(super) struct Moved(AtomicU64);

impl Moved {
    /// Passes bytes on until there are no more, and says how many it were.
    pub(super) async fn pass(
        &self,
        mut from: impl AsyncRead + Unpin,
        to: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<u64> {
        let (mut piece, mut passed) = (vec![0; PIECE], 0);
        while let read @ 1.. = from.read(&mut piece).await? {
            to.write_all(&piece[..read]).await?;
            passed += read as u64;
            self.0.fetch_add(read as u64, Ordering::Relaxed);
        }
        Ok(passed)
    }

    /// As [`Self::pass`], and says at the end that it is the end.
    pub(super) async fn pass_all(
        &self,
        from: impl AsyncRead + Unpin,
        to: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        self.pass(from, to).await?;
        to.shutdown().await
    }

    /// Waits for work that moves bytes, until it has ended or nothing moves any more.
    pub(super) async fn or_idle(
        &self,
        clock: &dyn Clock,
        work: impl Future<Output = io::Result<()>>,
    ) {
        tokio::select! {
            // Whoever has broken off knows it.
            _ = work => {}
            () = self.idle(clock) => {}
        }
    }

    async fn idle(&self, clock: &dyn Clock) {
        loop {
            let before = self.0.load(Ordering::Relaxed);
            clock.sleep(IDLE).await;
            if self.0.load(Ordering::Relaxed) == before {
                return;
            }
        }
    }
}
