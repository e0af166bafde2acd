use super::*;

#[test]
fn read_offset_reads_hours_and_minutes_with_a_sign() {
    for (name, minutes) in [
        ("UTC+2", Some(120)),
        ("utc-03:30", Some(-210)),
        ("GMT +5:45", Some(345)),
        ("+0530", Some(330)),
        ("-5", Some(-300)),
        ("UTC\u{2212}3", Some(-180)),
        ("UTC+02", Some(120)),
        ("UTC", None),
        ("GMT", None),
        ("2", None),
        ("UTC+2x", None),
        ("UTC+2:5", None),
        ("UTC+123:00", None),
        ("Etc/GMT+2", None),
        ("EST5EDT", None),
        ("+\u{e9}1", None),
        ("", None),
    ] {
        assert_eq!(read_offset(name), minutes, "{name}");
    }
}
