//! Copies bytes from one connection to another, and ends idle connections.

use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use avocet_protocol::clock::Clock;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// A connection ends after it has been idle for this time at least, and twice this time at most.
const IDLE: Duration = Duration::from_mins(5);
/// Size of the buffer for each direction, in bytes.
const PIECE: usize = 16 * 1024;

/// Counts the bytes that have moved.
#[derive(Debug, Default)]
pub(super) struct ByteCount(AtomicU64);

impl ByteCount {
    /// Copies bytes until the end of `from`, and returns their number.
    pub(super) async fn copy_counted(
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

    /// Copies bytes like [`Self::copy_counted`], then closes the writing side of `to`.
    pub(super) async fn pass_all(
        &self,
        from: impl AsyncRead + Unpin,
        to: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        self.copy_counted(from, to).await?;
        to.shutdown().await
    }

    /// Runs `work`, which moves bytes, until it ends or is idle.
    pub(super) async fn or_idle(
        &self,
        clock: &dyn Clock,
        work: impl Future<Output = io::Result<()>>,
    ) {
        tokio::select! {
            // An error is ignored: the side that broke the connection knows it.
            _ = work => {}
            () = self.wait_until_idle(clock) => {}
        }
    }

    async fn wait_until_idle(&self, clock: &dyn Clock) {
        loop {
            let before = self.0.load(Ordering::Relaxed);
            clock.sleep(IDLE).await;
            if self.0.load(Ordering::Relaxed) == before {
                return;
            }
        }
    }
}
