//! Measurements of the disk, and a tool that makes a log long.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use rusqlite::Connection;

use crate::clock::now;
use crate::latencies::Latencies;

/// Number of measured syncs.
const SYNCS: usize = 200;

/// Measures how long a sync takes after 4 KiB were appended to a file: the minimum cost of each
/// synced commit.
pub(crate) fn sync_latencies(below: &Path) -> Result<Latencies> {
    let mut file = tempfile::tempfile_in(below)?;
    let mut took = Vec::with_capacity(SYNCS);
    for _ in 0..SYNCS {
        let began = now();
        append(&mut file)?;
        took.push(began.elapsed());
    }
    Ok(Latencies::new(took))
}

fn append(file: &mut File) -> Result<()> {
    file.write_all(&[7; 4096])?;
    Ok(file.sync_data()?)
}

/// Returns the type of the file system of a directory.
pub(crate) fn file_system(directory: &Path) -> Result<String> {
    let mounts = fs::read_to_string("/proc/mounts")?;
    Ok(mounted(&mounts, &directory.canonicalize()?).unwrap_or("unknown").to_owned())
}

/// Returns the type of the longest mount point above a path. Of equally long ones, the last wins.
fn mounted<'m>(mounts: &'m str, path: &Path) -> Option<&'m str> {
    let points = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (point, kind) = (fields.next()?, fields.next()?);
        path.starts_with(point).then_some((point.len(), kind))
    });
    points.max_by_key(|(length, _)| *length).map(|(_, kind)| kind)
}

/// Inserts sessions with one finished and delivered turn each, in the form that the daemon would
/// have written.
const FILL: &str = "
    BEGIN;
    CREATE TEMP TABLE n AS WITH RECURSIVE n (i) AS
        (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :sessions) SELECT i FROM n;
    INSERT INTO sessions (id, used_at) SELECT 'terminal:local:old' || i, i FROM n;
    INSERT INTO turns (id, session, state, started_at, ended_at)
        SELECT i, 'terminal:local:old' || i, 'done', i, i FROM n;
    INSERT INTO inbound (session, channel, account, chat, key, sender, kind, content, removed,
            state, outcome, turn, received_at)
        SELECT 'terminal:local:old' || i, 'terminal', 'local', 'old' || i, hex(randomblob(18)),
            'uid:1000', 'text', '{\"text\":\"hello\"}', 0, 'done', 'replied', i, i FROM n;
    INSERT INTO steps (turn, number, text, input_tokens, output_tokens, closed)
        SELECT i, 0, 'ok', 12, 3, 1 FROM n;
    INSERT INTO outbox (channel, account, chat, turn, ordinal, chunk, source, content, state,
            attempts, created_at)
        SELECT 'terminal', 'local', 'old' || i, i, 0, 0, 'reply', '{\"text\":\"ok\"}', 'sent', 1, i
        FROM n;
    DROP TABLE n;
    COMMIT;
    PRAGMA wal_checkpoint(TRUNCATE);
";

/// Writes old sessions into the log of a stopped daemon. Returns the time that this took.
pub(crate) fn fill(database: &Path, sessions: usize) -> Result<Duration> {
    let began = now();
    let connection = Connection::open(database)?;
    connection.execute_batch(&FILL.replace(":sessions", &sessions.to_string()))?;
    Ok(began.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_mount_point_counts() {
        let mounts = "/dev/a / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n/dev/b /tmp/x xfs rw 0 0\n";
        for (path, kind) in [("/home", "ext4"), ("/tmp/y", "tmpfs"), ("/tmp/x/y", "xfs")] {
            assert_eq!(mounted(mounts, Path::new(path)), Some(kind), "{path}");
        }
        assert_eq!(mounted("", Path::new("/")), None);
    }
}
