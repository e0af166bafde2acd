//! The expressions of `match_query` in a real FTS5 table.

use avocet_text::{index_text, match_query};
use proptest::prelude::*;
use rusqlite::Connection;

fn index(texts: &[&str]) -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch(
            "CREATE VIRTUAL TABLE texts USING fts5 (words, \
             tokenize = \"unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'\")",
        )
        .unwrap();
    for text in texts {
        connection.execute("INSERT INTO texts (words) VALUES (?1)", [index_text(text)]).unwrap();
    }
    connection
}

fn found(connection: &Connection, query: &str) -> rusqlite::Result<Vec<i64>> {
    let sql = "SELECT rowid FROM texts WHERE texts MATCH ?1 ORDER BY bm25(texts), rowid";
    let mut statement = connection.prepare(sql)?;
    statement.query_map([match_query(query)], |row| row.get(0))?.collect()
}

#[test]
fn match_query_ranks_the_best_text_first_in_fts5() {
    let connection = index(&[
        "Der Termin beim Zahnarzt ist am Montag",
        "My dentist appointment is on Friday",
        "歯医者の予約は金曜日です",
        "牙医预约在星期五",
        "Приём у стоматолога в пятницу",
        "การนัดหมายกับทันตแพทย์วันศุกร์",
        "치과 예약은 금요일입니다",
        "موعد طبيب الأسنان يوم الجمعة",
        "दंत चिकित्सक से मिलना शुक्रवार को है",
        "Le rendez-vous chez le dentiste est vendredi",
    ]);
    let table = [
        ("Zahnarzttermine, Termine", 1),
        ("appointments", 2),
        ("歯医者はいつ?", 3),
        ("牙医", 4),
        ("стоматологу", 5),
        ("ทันตแพทย์", 6),
        ("예약", 7),
        ("الموعد", 8),
        ("चिकित्सक", 9),
        ("RENDEZVOUS chez les dentistes", 10),
    ];
    for (query, best) in table {
        let rows = found(&connection, query).unwrap();
        assert_eq!(rows.first(), Some(&best), "{query}: {rows:?}");
    }
}

proptest! {
    #[test]
    fn match_query_is_an_expression_that_fts5_accepts(query in "\\PC{0,40}|(?s).{0,40}") {
        if match_query(&query).is_some() {
            let connection = index(&[&query]);
            prop_assert!(found(&connection, &query).is_ok(), "{:?}", match_query(&query));
        }
    }
}
