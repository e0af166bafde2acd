//! Reads a cron expression as people of several programs write it, into the plain form of croner.
//!
//! - Vixie cron (Debian's crontab(5)): five fields, lists, ranges, steps, `7` for Sunday, nicknames.
//!   If both kinds of day are restricted, a day that fits one of them counts. A field that begins
//!   with `*` is not restricted, so `0 9 */2 * 1` is each Monday with an odd date.
//! - Quartz: `?` for `*`, `0/15` for a step from 0 on, `L`, `W` and `#`.
//! - The full names of weekdays and months, and ranges over the end of a field (`fri-mon`).
//! - Lines of a crontab: `TZ=Asia/Tokyo 0 9 * * *`, and `@every 2h` of Go's cron.
//!
//! Each fault names the part of the expression and the correction.

/// The fields of an expression for croner.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CronFields {
    /// Five fields with numbers.
    pub(crate) text: String,
    /// A day must fit both the day of the month and the weekday.
    pub(crate) needs_both_days: bool,
}

struct CronField {
    name: &'static str,
    min: u32,
    max: u32,
    /// The names of the values, beginning with that of `min`.
    names: &'static [&'static str],
}

const FIELDS: [CronField; 5] = [
    CronField { name: "minute", min: 0, max: 59, names: &[] },
    CronField { name: "hour", min: 0, max: 23, names: &[] },
    CronField { name: "day of the month", min: 1, max: 31, names: &[] },
    CronField { name: "month", min: 1, max: 12, names: &MONTHS },
    CronField { name: "weekday", min: 0, max: 7, names: &WEEKDAYS },
];
const DAY: usize = 2;
const WEEKDAY: usize = 4;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] =
    ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/// The nicknames of crontab(5) with their fields.
const NICKNAMES: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// Splits the zone off a line: `TZ=Asia/Tokyo 0 9 * * *`.
pub(crate) fn split_zone(line: &str) -> (Option<&str>, &str) {
    let line = line.trim();
    let Some((setting, rest)) = line.split_once(char::is_whitespace) else { return (None, line) };
    match setting.split_once('=') {
        Some((key, zone)) if ["TZ", "CRON_TZ"].contains(&key.to_uppercase().as_str()) => {
            (Some(zone.trim_matches(['"', '\''])), rest.trim())
        }
        _ => (None, line),
    }
}

/// Returns the interval of `@every 2h`.
pub(crate) fn split_every(line: &str) -> Option<&str> {
    let (word, interval) = line.trim().split_once(char::is_whitespace)?;
    word.eq_ignore_ascii_case("@every").then(|| interval.trim())
}

/// Reads the five fields of an expression.
///
/// # Errors
/// The part that cannot be read, and its correction.
pub(crate) fn read_fields(pattern: &str) -> Result<CronFields, String> {
    let plain = plain_signs(pattern);
    let pattern = plain.as_str();
    let nickname = NICKNAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(pattern));
    let pattern = nickname.map_or(pattern, |(_, fields)| fields);
    let parts: Vec<&str> = pattern.split_whitespace().collect();
    if parts.len() != FIELDS.len() || pattern.starts_with('@') {
        return Err(wrong_shape(&parts));
    }
    let mut texts = Vec::new();
    for (place, (field, part)) in FIELDS.iter().zip(&parts).enumerate() {
        let read = part.split(',').map(|part| read_part(place, field, part));
        texts.push(read.collect::<Result<Vec<_>, _>>()?.join(","));
    }
    let is_star = |place: usize| parts[place].starts_with(['*', '?']);
    Ok(CronFields { needs_both_days: is_star(DAY) || is_star(WEEKDAY), text: texts.join(" ") })
}

/// Refuses a step above the range of its field. Such a step runs at the start of the range only:
/// `*/90` in the minute means every hour. Schedules of the log may have it.
///
/// # Errors
/// The part, and its correction.
pub(crate) fn check_steps(pattern: &str) -> Result<(), String> {
    for (field, part) in FIELDS.iter().zip(pattern.split_whitespace()) {
        let count = field.max - field.min + 1;
        for part in part.split(',') {
            let step = part.split_once('/').and_then(|(_, step)| step.parse::<u32>().ok());
            if step.is_some_and(|step| step > count) {
                return Err(format!(
                    "`{part}`: a step of the {} is at most {count}; for a longer interval use \
                        `every`, such as --every 90m",
                    field.name
                ));
            }
        }
    }
    Ok(())
}

/// Returns `true` for a part in the characters of a field.
fn is_field(part: &str) -> bool {
    part.len() <= 24 && part.chars().all(|c| c.is_ascii_alphanumeric() || "*/-,?#".contains(c))
}

/// Replaces signs that phones and pages write in place of those of cron, and quotation marks around a
/// line.
fn plain_signs(pattern: &str) -> String {
    let pattern = pattern.trim().trim_matches(['"', '\'', '`', '\u{201c}', '\u{201d}']);
    pattern
        .replace(['\u{2013}', '\u{2014}', '\u{2212}'], "-")
        .replace(['\u{2217}', '\u{ff0a}'], "*")
}

/// Tells why an expression does not have five fields.
fn wrong_shape(parts: &[&str]) -> String {
    let first = parts.first().map(|first| first.to_lowercase()).unwrap_or_default();
    match (first.as_str(), parts.len()) {
        ("@reboot", _) => "@reboot has no time, and a schedule runs at times only".to_owned(),
        ("@every", _) => "write the interval as `every`, such as --every 2h".to_owned(),
        (first, _) if first.starts_with('@') => format!(
            "{first} is unknown; the nicknames are @hourly, @daily, @weekly, @monthly and @yearly"
        ),
        (first, _) if first.contains("tz=") => {
            "the time zone is no part of it; write it as `zone`, such as --zone Asia/Tokyo"
                .to_owned()
        }
        ("every", _) => "write the interval as `every`, such as --every 5m".to_owned(),
        (first, _) if first.starts_with("rate(") || first.starts_with("cron(") => {
            "this is the form of AWS, whose weekdays count from 1 for Sunday; write the five fields"
                .to_owned()
        }
        (first, 1) if NICKNAMES.iter().any(|(name, _)| name[1..] == *first) => {
            format!("write @{first}")
        }
        (first, 1) if first.contains(':') => {
            format!("{first} is a time of the day; write its minute and hour, such as 30 9 * * *")
        }
        (_, 1) => "it has 1 field".to_owned(),
        (_, fields @ (6 | 7)) if parts.last().is_some_and(|last| !is_field(last)) => {
            format!("it has {fields} fields; a command or a zone is no part of it")
        }
        (_, fields @ (6 | 7)) => format!(
            "it has {fields} fields: leave out seconds at its start, and a year at its end; and where \
             weekdays count from 1 for Sunday, as in Quartz, write them as names"
        ),
        (_, fields) if fields > 7 => format!("it has {fields} fields; a command is no part of it"),
        (_, fields) => format!("it has {fields} fields"),
    }
}

/// Reads one part of a list: `*`, a value or a range, with or without a step.
fn read_part(place: usize, field: &CronField, part: &str) -> Result<String, String> {
    let (range, step) = match part.split_once('/') {
        Some((range, step)) => (range, Some(read_step(part, step)?)),
        None => (part, None),
    };
    let with_step = |range: &str| match step {
        Some(step) => format!("{range}/{step}"),
        None => range.to_owned(),
    };
    match range {
        "*" | "?" => return Ok(with_step("*")),
        "" if step.is_some() => return Ok(with_step("*")),
        "" => return Err(format!("the {} has an empty part; remove the comma", field.name)),
        _ => {}
    }
    if step.is_none()
        && let Some(special) = read_special(place, field, part)
    {
        return special;
    }
    // Sunday is 0 as well as 7. A range from 0 on ends at Saturday.
    let last = if place == WEEKDAY { 6 } else { field.max };
    let (from, to) = match range.split_once('-') {
        Some((from, to)) => (read_value(field, from)?, read_value(field, to)?),
        None if step.is_some() => (read_value(field, range)?, last),
        None => return Ok(read_value(field, range)?.to_string()),
    };
    if from <= to {
        return Ok(with_step(&format!("{from}-{to}")));
    }
    let values = (from..=last).chain(field.min..=to).step_by(step.unwrap_or(1));
    let values: Vec<String> = values.map(|value| value.to_string()).collect();
    Ok(values.join(","))
}

/// Reads a value with `L`, `W` or `#`; `None` if the part has none of these.
fn read_special(place: usize, field: &CronField, part: &str) -> Option<Result<String, String>> {
    let upper = part.to_uppercase();
    let day = |text: &str| read_value(field, text).map(|day| day.to_string());
    match place {
        DAY if upper == "L" || upper == "LW" => Some(Ok(upper)),
        DAY if upper.starts_with("L-") => Some(Err(format!(
            "`{part}`: days before the last one have no form here; write a date, or L for the last day"
        ))),
        DAY => upper.strip_suffix('W').map(|date| Ok(day(date)? + "W")),
        WEEKDAY if upper == "L" => Some(Err(
            "`L` in the weekday needs a day, such as friL for the last Friday of the month"
                .to_owned(),
        )),
        WEEKDAY => match upper.split_once('#') {
            Some((weekday, number)) if ["1", "2", "3", "4", "5", "L"].contains(&number) => {
                Some(day(weekday).map(|weekday| format!("{weekday}#{number}")))
            }
            Some(_) => Some(Err(format!("`{part}`: write 1 to 5 or L after the #"))),
            None => upper.strip_suffix('L').map(|weekday| Ok(day(weekday)? + "L")),
        },
        _ => None,
    }
}

fn read_step(part: &str, step: &str) -> Result<usize, String> {
    let read = step.parse::<usize>().ok().filter(|step| (1..=1000).contains(step));
    read.ok_or_else(|| format!("`{part}`: the step must be a number from 1 on"))
}

/// Reads a number, or a name with at least three letters.
fn read_value(field: &CronField, text: &str) -> Result<u32, String> {
    let CronField { name, min, max, names } = field;
    let number =
        text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    if let Some(number) = number.filter(|number| (*min..=*max).contains(number)) {
        return Ok(number);
    }
    // "weds" is the only usual short name that is no beginning of the name.
    let lower = text.to_lowercase().replace("weds", "wed");
    let found = names.iter().position(|whole| lower.len() >= 3 && whole.starts_with(&lower));
    if let Some(place) = found {
        return Ok(*min + u32::try_from(place).unwrap_or_default());
    }
    let example = names.get(1).map(|name| format!(", or a name such as {}", &name[..3]));
    Err(format!("`{text}` is no {name}: {min} to {max}{}", example.unwrap_or_default()))
}

#[cfg(test)]
#[path = "cron_line_tests.rs"]
mod tests;
