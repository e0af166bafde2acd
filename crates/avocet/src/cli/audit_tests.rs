use avocet_protocol::store::AuditHead;

use super::*;

fn row(sequence: i64, kind: &str, tool: Option<&str>, summary: &str) -> AuditRow {
    AuditRow {
        sequence,
        at: Timestamp(1_795_000_000_000 + sequence * 61_000),
        kind: kind.to_owned(),
        session: tool.map(|_| "telegram:main:7".to_owned()),
        turn: tool.map(|_| 4),
        call: tool.map(|_| "t4s1c0".to_owned()),
        actor: if tool.is_some() { "process" } else { "host" }.to_owned(),
        tool: tool.map(str::to_owned),
        digest: None,
        summary: summary.to_owned(),
        outcome: (kind == "finished").then(|| "error".to_owned()),
        previous: String::new(),
        hash: String::new(),
        erased: false,
    }
}

#[test]
fn table_removes_control_characters_from_rows() {
    let long = format!("{{\"command\":\"echo \u{1b}[2J\n{}\"}}", "x".repeat(200));
    let rows = [
        row(9, "started", Some("exec_shell"), &long),
        row(10, "finished", Some("exec_shell"), "{\"command\":\"ls\"}"),
        row(11, "let-in", None, "telegram:main:8"),
    ];
    insta::assert_snapshot!(audit_table(&rows, &TimeZone::UTC));
}

#[test]
fn verified_without_a_noted_head_names_the_option_that_finds_it() {
    let noted = AuditHead { sequence: 3, hash: "ab".to_owned() };
    let table = [
        (0, None, "no head was noted in /x/head", None),
        (3, Some(noted), "row 3 is the one noted in /x/head", None),
        (3, None, "no head was noted in /x/head", Some("set [audit] head_file")),
    ];
    for (rows, noted, says, help) in table {
        let checked = Checked { rows, erased: 0, head: None, noted, fault: None };
        let text = verified_text(&checked, Path::new("/x/head"));
        assert!(text.starts_with(&format!("{rows} rows, all unchanged; {says}")), "{text}");
        assert_eq!(text.lines().nth(1).is_some(), help.is_some(), "{text}");
        assert!(help.is_none_or(|help| text.contains(help)), "{text}");
    }
}

#[test]
fn moment_of_accepts_a_date_a_time_or_an_age() {
    const NOW: Timestamp = Timestamp(1_795_000_000_000);
    const HOUR: i64 = 3_600_000;
    let of = |text: &str| moment_of(text, NOW, &TimeZone::UTC).ok();
    let table = [
        ("2h", Some(NOW.0 - 2 * HOUR)),
        ("3d", Some(NOW.0 - 72 * HOUR)),
        ("90m", Some(NOW.0 - HOUR - HOUR / 2)),
        ("1970-01-02", Some(24 * HOUR)),
        ("1970-01-02T01:00", Some(25 * HOUR)),
        ("yesterday-ish", None),
        ("", None),
    ];
    for (text, expected) in table {
        assert_eq!(of(text), expected.map(Timestamp), "{text}");
    }
    let error = moment_of("soon", NOW, &TimeZone::UTC).unwrap_err().error.to_string();
    assert!(error.contains("\"soon\"") && error.contains("2h"), "{error}");
}
