//! The waiting time that an error message asks for, if no header states one.

use std::time::Duration;

/// Words before the waiting time, in lower case.
const BEFORE: [&str; 3] = ["try again in ", "retry in ", "retry after "];

/// Reads a waiting time such as `20s`, `1m30.5s`, `850ms` or `20 seconds`; `None` if there is none.
pub(super) fn parse_waiting_time(says: &str) -> Option<Duration> {
    let says = says.to_lowercase();
    let rest = BEFORE.iter().find_map(|words| Some(says.split_once(words)?.1))?;
    let (mut rest, mut seconds) = (rest, None);
    loop {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let Ok(number) = rest[..end].trim_end_matches('.').parse::<f64>() else { break };
        let after = rest[end..].trim_start_matches(' ');
        let word = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let Some(unit) = seconds_of_unit(&after[..word]) else { break };
        seconds = Some(seconds.unwrap_or(0.0) + number * unit);
        rest = &after[word..];
    }
    Duration::try_from_secs_f64(seconds?).ok()
}

fn seconds_of_unit(word: &str) -> Option<f64> {
    match word {
        "ms" => Some(0.001),
        "s" | "sec" | "second" | "seconds" => Some(1.0),
        "m" | "min" | "minute" | "minutes" => Some(60.0),
        "h" | "hour" | "hours" => Some(3600.0),
        "d" | "day" | "days" => Some(86_400.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asked_reads_the_waiting_time_of_a_message() {
        let table = [
            ("Rate limit reached. Please try again in 20s. Visit", Some(20_000)),
            ("Please try again in 7m12.5s.", Some(432_500)),
            ("Please try again in 850ms.", Some(850)),
            ("Please retry in 20 seconds", Some(20_000)),
            ("please retry after 2 hours", Some(7_200_000)),
            ("try again in a moment", None),
            ("try again in 5", None),
            ("slow down", None),
        ];
        for (says, expected) in table {
            assert_eq!(parse_waiting_time(says), expected.map(Duration::from_millis), "{says}");
        }
    }
}
