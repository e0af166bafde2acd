use avocet_protocol::clock::Timestamp;

use super::*;

fn last(pages: PageState) -> LastTransaction {
    let (id, boot) = ("a".to_owned(), String::new());
    LastTransaction { id, epoch: 1, position: 7, synced: 7, at: Timestamp(0), boot, pages }
}

#[test]
fn needed_check_depends_on_the_size_and_on_the_last_stop() {
    use NeededCheck::{Beside, First, Header, Skipped};
    let (checked, unchecked) = (last(PageState::Checked), last(PageState::Unchecked));
    let suspect = last(PageState::Suspect);
    let closed = CheckFacts {
        bytes: SMALL + 1,
        last: Some(&checked),
        beside: WalState::Nothing,
        holder: LogHolder::Daemon,
        is_older: false,
        has_marker: false,
        meta: Some(("a", 7, false)),
    };
    let table = [
        ("closed", closed, Header),
        ("closed and huge", CheckFacts { bytes: LARGE + 1, ..closed }, Header),
        ("closed and small", CheckFacts { bytes: SMALL, ..closed }, First),
        ("another log", CheckFacts { meta: Some(("b", 7, false)), ..closed }, Beside),
        ("an older copy", CheckFacts { meta: Some(("a", 6, false)), ..closed }, Beside),
        ("a crash", CheckFacts { meta: Some(("a", 7, true)), ..closed }, Beside),
        ("a -wal", CheckFacts { beside: WalState::Wal { broken: false }, ..closed }, Beside),
        ("a check that was ended", CheckFacts { last: Some(&unchecked), ..closed }, Beside),
        ("no note of the last stop", CheckFacts { last: None, ..closed }, Beside),
        ("an error while it was used", CheckFacts { last: Some(&suspect), ..closed }, First),
        ("a marker", CheckFacts { has_marker: true, ..closed }, First),
        ("an older schema", CheckFacts { is_older: true, ..closed }, First),
        ("an unreadable meta", CheckFacts { meta: None, ..closed }, First),
        ("huge", CheckFacts { bytes: LARGE + 1, last: None, ..closed }, Skipped),
        ("a command", CheckFacts { holder: LogHolder::Command, last: None, ..closed }, First),
    ];
    for (name, facts, expected) in table {
        assert_eq!(facts.needed_check(), expected, "{name}");
    }
}
