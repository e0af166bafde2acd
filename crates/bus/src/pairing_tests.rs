use avocet_protocol::access::Decision;

use super::*;

const NOW: Timestamp = Timestamp(1_000_000_000);

fn person(sender: &str) -> PersonId {
    format!("telegram:main:{sender}").parse().unwrap()
}

/// Makes a code that was given out some minutes ago.
fn given(sender: &str, minutes: u64) -> Pairing {
    let ago = Timestamp(0).after(Duration::from_mins(minutes)).0;
    let chat = "telegram:main:1".parse().unwrap();
    new_pairing(person(sender), Some("Bob"), chat, Timestamp(NOW.0 - ago))
}

fn decided(sender: &str, minutes: u64) -> Pairing {
    Pairing { decision: Some(Decision::Denied), ..given(sender, minutes) }
}

#[test]
fn f14_may_give_limits_codes_per_sender_and_in_total() {
    let day = |each: u64, count: u64| -> Vec<Pairing> {
        (1..=count).map(|number| given("8", number * each)).collect()
    };
    let others = |count: usize, minutes| -> Vec<Pairing> {
        (0..count).map(|number| given(&format!("x{number}"), minutes)).collect()
    };
    let table = [
        ("the first", vec![], true),
        ("one in the lifetime of a code", vec![given("8", 9)], false),
        ("also if it was denied", vec![decided("8", 9)], false),
        ("again when it has expired", vec![given("8", 10)], true),
        ("three an hour", vec![given("8", 10), given("8", 30), given("8", 59)], false),
        ("of which one was longer ago", vec![given("8", 10), given("8", 30), given("8", 60)], true),
        ("ten a day", day(60, 10), false),
        ("nine of them", day(60, 9), true),
        ("ten that are open", others(10, 5), false),
        ("nine that are open", others(9, 5), true),
        ("thirty an hour in total", others(30, 59), false),
        ("twenty-nine", others(29, 59), true),
        ("thirty, longer ago", others(30, 60), true),
    ];
    for (case, given, expected) in table {
        assert_eq!(may_give(&given, &person("8"), NOW), expected, "{case}");
    }
    let decided: Vec<Pairing> = (0..10).map(|number| decided(&format!("x{number}"), 5)).collect();
    assert!(may_give(&decided, &person("8"), NOW), "what was decided is not open");
}

#[test]
fn may_give_allows_no_extra_code_after_the_clock_is_set_back() {
    let later = Pairing { created_at: NOW.after(KEPT), ..given("8", 0) };
    assert!(!may_give(&[later], &person("8"), NOW));
}

#[test]
fn shown_name_sanitises_and_shortens_a_strangers_name() {
    let table = [
        (Some("Bob"), "`Bob`"),
        (Some("`x` [a](http://b)\n/stop"), "`x [a](http://b) /stop`"),
        (Some(" \u{202e}"), "Somebody"),
        (None, "Somebody"),
    ];
    for (name, shown) in table {
        let pairing = new_pairing(person("8"), name, "telegram:main:1".parse().unwrap(), NOW);
        assert_eq!(shown_name(&pairing), shown);
    }
    let long =
        new_pairing(person("8"), Some(&"x".repeat(100)), "telegram:main:1".parse().unwrap(), NOW);
    assert_eq!(shown_name(&long).len(), NAME_LENGTH + 2);
}

#[test]
fn notice_has_buttons_that_send_the_pair_commands() {
    let pairing = given("8", 0);
    let notice = owner_notice(&pairing);
    let says: Vec<&str> = notice.choices.iter().map(|choice| choice.says.as_str()).collect();
    let code = &pairing.code;
    assert_eq!(says, [format!("/pair approve {code}"), format!("/pair deny {code}")]);
    assert!(notice.text.starts_with("`Bob` (`telegram:main:8`) wants to speak with me."));
}
