//! Counts statements in the log of a daemon whose `avocet_store` logs at the level trace.

/// The statements of one turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StatementCounts {
    pub(crate) statements: u64,
    pub(crate) write_transactions: u64,
    pub(crate) read_transactions: u64,
}

/// Splits the log at the statement that commits the message of a turn, and counts the statements up
/// to the next message. So it does not matter when a line is read.
pub(crate) fn by_turn(log: &str) -> Vec<StatementCounts> {
    assert!(!log.contains("log lines: stderr is not read"), "the log has gaps:\n{log}");
    let mut turns: Vec<StatementCounts> = Vec::new();
    for line in log.lines() {
        let Some(sql) = statement(line) else { continue };
        if sql.starts_with("INSERT INTO inbound ") {
            turns.push(StatementCounts::default());
        }
        let Some(turn) = turns.last_mut() else { continue };
        turn.statements += 1;
        turn.write_transactions += u64::from(sql.starts_with("BEGIN IMMEDIATE"));
        turn.read_transactions += u64::from(sql == "BEGIN" || sql == "BEGIN DEFERRED");
    }
    turns
}

fn statement(line: &str) -> Option<&str> {
    let (_, statement) = line.split_once(" avocet_store")?;
    let (_, sql) = statement.split_once("sql=\"")?;
    sql.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_turn_counts_the_statements_from_one_message_to_the_next() {
        let line = |sql: &str| {
            format!("2026-01-01T00:00:00Z TRACE avocet_store::tx: statement sql={sql:?}")
        };
        let message = "INSERT INTO inbound (session) VALUES (?1)";
        let turn = [message, "COMMIT", "BEGIN", "SELECT \"id\" FROM turns", "COMMIT"];
        let log = [&["BEGIN IMMEDIATE"][..], &turn, &["BEGIN IMMEDIATE"], &turn[..2]].concat();
        let mut lines: Vec<String> = log.into_iter().map(line).collect();
        lines.insert(3, "2026-01-01T00:00:00Z  INFO avocet: ready sql=\"BEGIN\"".to_owned());
        let counts = |statements, write_transactions, read_transactions| StatementCounts {
            statements,
            write_transactions,
            read_transactions,
        };
        assert_eq!(by_turn(&lines.join("\n")), [counts(6, 1, 1), counts(2, 0, 0)]);
    }

    #[test]
    #[should_panic(expected = "the log has gaps")]
    fn by_turn_refuses_a_log_with_dropped_lines() {
        by_turn(
            "2026-01-01T00:00:00Z  WARN avocet::logging: dropped 3 log lines: stderr is not read",
        );
    }
}
