//! Counts of transactions in the daemon's log, which has a line for each statement if its level is
//! `avocet_store=trace`.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};

/// The numbers of transactions so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TransactionCounts {
    pub(crate) writes: usize,
    pub(crate) reads: usize,
}

impl TransactionCounts {
    pub(crate) fn read(log: &Path) -> Result<Self> {
        let counts = Self::of(&fs::read_to_string(log)?);
        ensure!(counts != Self::default(), "{} shows no statement", log.display());
        Ok(counts)
    }

    fn of(log: &str) -> Self {
        let begins = log.lines().filter_map(|line| line.split_once("sql=\"BEGIN"));
        let (writes, reads): (Vec<_>, Vec<_>) =
            begins.partition(|(_, rest)| rest.starts_with(" IMMEDIATE"));
        Self { writes: writes.len(), reads: reads.len() }
    }

    pub(crate) fn since(self, before: Self) -> Self {
        Self { writes: self.writes - before.writes, reads: self.reads - before.reads }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transaction_counts_tell_reads_from_writes() {
        let log = "TRACE avocet_store::tx: statement sql=\"BEGIN IMMEDIATE\"\n\
                   TRACE avocet_store::tx: statement sql=\"UPDATE meta SET commits = ?1\"\n\
                   TRACE avocet_store::tx: statement sql=\"BEGIN\"\n\
                   TRACE avocet_store::tx: statement sql=\"COMMIT\"\n\
                   TRACE avocet_store::tx: statement sql=\"BEGIN\"\n";
        assert_eq!(TransactionCounts::of(log), TransactionCounts { writes: 1, reads: 2 });
    }
}
