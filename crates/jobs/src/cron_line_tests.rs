use avocet_protocol::schedule::{Recurrence, ScheduleRule};
use proptest::prelude::*;

use super::*;
use crate::ScheduleTimes;

#[test]
fn read_fields_writes_the_fields_of_other_programs_with_numbers() {
    for (pattern, expected) in [
        ("0 9 * * Monday", "0 9 * * 1"),
        ("0 9 * * MON-Friday", "0 9 * * 1-5"),
        ("0 9 * * tues,thur,weds", "0 9 * * 2,4,3"),
        ("0 9 * * fri-mon", "0 9 * * 5,6,0,1"),
        ("0 9 * * mon-sun", "0 9 * * 1,2,3,4,5,6,0"),
        ("0 9 * * 5-7", "0 9 * * 5-7"),
        ("0 22-2 * * *", "0 22,23,0,1,2 * * *"),
        ("0 9 1 January,sept *", "0 9 1 1,9 *"),
        ("0 9 1 nov-feb *", "0 9 1 11,12,1,2 *"),
        ("0/15 * * * *", "0-59/15 * * * *"),
        ("5/20 /6 * * *", "5-59/20 */6 * * *"),
        ("0 9 ? * 2/2", "0 9 * * 2-6/2"),
        ("0 9 l * *", "0 9 L * *"),
        ("0 9 LW,15w * ?", "0 9 LW,15W * *"),
        ("0 9 * * friL", "0 9 * * 5L"),
        ("0 9 * * mon#2,5#l", "0 9 * * 1#2,5#L"),
        ("\t0  9 * *\t7 ", "0 9 * * 7"),
        ("0 9 * * mon\u{2013}fri", "0 9 * * 1-5"),
        ("`0 9 * * 1`", "0 9 * * 1"),
        ("\"*/5\u{a0}* * * *\"", "*/5 * * * *"),
        ("\u{2217}/5 * * * *", "*/5 * * * *"),
        ("0 9 1-7 * sat-sun", "0 9 1-7 * 6,0"),
        ("0 9-17/2,22 * jan-mar,DEC *", "0 9-17/2,22 * 1-3,12 *"),
        ("@Weekly", "0 0 * * 0"),
        ("@midnight", "0 0 * * *"),
    ] {
        let read = read_fields(pattern).map(|fields| fields.text);
        assert_eq!(read.as_deref(), Ok(expected), "{pattern}");
        let recurrence = Recurrence::Cron(pattern.to_owned());
        let rule = ScheduleRule { recurrence, zone: "UTC".to_owned() };
        assert!(ScheduleTimes::new(&rule).is_ok(), "{pattern}: {:?}", ScheduleTimes::new(&rule));
    }
}

proptest! {
    #[test]
    fn any_cron_line_is_read_or_refused_in_words(
        parts in prop::collection::vec(
            prop::sample::select(&[
                " ", "*", "/", "-", ",", "#", "L", "W", "?", "0", "5", "31", "59", "99999999999", "mon",
                "January", "@", "TZ=", "é", "@every ",
            ][..]),
            0..20,
        ),
    ) {
        let line = parts.concat();
        let rule = ScheduleRule { recurrence: Recurrence::Cron(line), zone: "UTC".to_owned() };
        if let Err(error) = ScheduleTimes::new(&rule) {
            prop_assert!(error.to_string().contains("five fields"), "{}", error);
        }
    }
}
