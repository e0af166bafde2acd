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
        ("UTC\u{b1}00:00", Some(0)),
        ("UTC+5.5", Some(330)),
        ("GMT-9.30", Some(-570)),
        ("UTC+5:5", None),
        ("+5.25", None),
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

#[test]
fn find_zone_reads_names_that_are_not_of_the_database() {
    for (name, stored) in [
        ("Z", "UTC"),
        ("utc", "UTC"),
        ("Europe/Kyiv", "Europe/Kyiv"),
        ("Europe/Kiev", "Europe/Kiev"),
        ("europe/berlin", "Europe/Berlin"),
        ("America/New York", "America/New_York"),
        (":Europe/Berlin", "Europe/Berlin"),
        ("\"Asia/Tokyo\"", "Asia/Tokyo"),
        ("US/Pacific", "US/Pacific"),
        ("Asia/Calcutta", "Asia/Calcutta"),
        ("W. Europe Standard Time", "Europe/Berlin"),
        ("eastern standard time", "America/New_York"),
        ("India Standard Time", "Asia/Kolkata"),
        ("Tokyo Standard Time", "Asia/Tokyo"),
        ("JST", "Asia/Tokyo"),
        ("msk", "Europe/Moscow"),
        ("UTC+05:30", "UTC+05:30"),
        ("GMT-3", "UTC-03:00"),
    ] {
        let found = find_zone(name).map(|zone| zone.name);
        assert_eq!(found.as_deref(), Ok(stored), "{name}");
    }
}

/// Of a name that is right in one half of the year, or in one of several countries, people decide.
#[test]
fn find_zone_asks_back_for_doubtful_abbreviations() {
    for (name, hint) in [
        ("CEST", "did you mean Europe/Berlin?"),
        ("EDT", "did you mean America/New_York?"),
        ("PT", "did you mean America/Los_Angeles?"),
        ("IST", "did you mean Asia/Kolkata?"),
        ("BST", "did you mean Europe/London?"),
        ("(UTC+01:00) Amsterdam, Berlin", "write a name like Europe/Berlin"),
        ("CET-1CEST,M3.5.0,M10.5.0/3", ""),
    ] {
        let error = find_zone(name).unwrap_err().to_string();
        assert!(error.contains(hint), "{name}: {error}");
    }
    // These names of the database have no daylight saving time, and say so.
    for (name, label) in [("EST", "EST, which is UTC-05:00"), ("MST", "MST, which is UTC-07:00")] {
        assert_eq!(find_zone(name).map(|zone| zone.zone_label()).as_deref(), Ok(label));
    }
}
