//! Finds a time zone by the name that a person or a model writes: a name of the database, or an
//! offset as people mean it. `GMT+2` and `UTC+2` are two hours ahead of UTC. The names `Etc/GMT+2` of
//! the database have the sign of POSIX, two hours behind; they count only if they are written in
//! full, and are shown with their offset.

use avocet_text::nearest;
use jiff::tz::{Offset, TimeZone};

use crate::times_error::TimesError;
use crate::zone_words::{find_plain_name, suggest_name};

/// The largest offset ahead of UTC, in minutes: that of Kiritimati.
const MAX_MINUTES: i32 = 14 * 60;
/// The largest offset behind UTC, in minutes.
const MIN_MINUTES: i32 = -12 * 60;

/// The minutes after a full stop. Others may be meant as a part of a decimal number.
const QUARTERS: [&str; 4] = ["00", "15", "30", "45"];
/// The zones of the database without daylight saving time whose names people use for half of a year.
const FIXED: [&str; 3] = ["EST", "HST", "MST"];

/// A time zone with the name that is stored.
#[derive(Debug, Clone)]
pub(crate) struct NamedZone {
    /// A name of the database, or an offset such as `UTC+05:30`.
    pub(crate) name: String,
    pub(crate) zone: TimeZone,
}

/// Returns the zone with this name, from the system's database or from the one in the program.
///
/// # Errors
/// [`TimesError::Zone`] names a similar zone.
pub(crate) fn find_zone(name: &str) -> Result<NamedZone, TimesError> {
    let name = name.trim().trim_matches(['"', '\'', '`']).trim_start_matches(':').trim();
    let unknown = |nearest| TimesError::Zone { name: name.to_owned(), nearest };
    if let Some(minutes) = read_offset(name) {
        let is_used = (MIN_MINUTES..=MAX_MINUTES).contains(&minutes);
        let offset = Offset::from_seconds(minutes * 60).ok().filter(|_| is_used);
        let offset = offset.ok_or_else(|| unknown(None))?;
        let name = if minutes == 0 { "UTC".to_owned() } else { offset_name(offset) };
        return Ok(NamedZone { name, zone: TimeZone::fixed(offset) });
    }
    let found = TimeZone::get(name);
    let found = found.or_else(|error| match find_plain_name(name) {
        Some(plain) => TimeZone::get(plain),
        // `America/New York`.
        None if name.contains('/') => TimeZone::get(&name.replace(' ', "_")),
        None => Err(error),
    });
    let zone = found.map_err(|_| unknown(nearest_zone(name)))?;
    let name = zone.iana_name().unwrap_or(name).to_owned();
    Ok(NamedZone { name, zone })
}

impl NamedZone {
    /// The name for people: the names with the sign of POSIX, and those of zones whose clocks do not
    /// change although people expect it, have their offset.
    pub(crate) fn zone_label(&self) -> String {
        let Self { name, zone } = self;
        let is_posix =
            name.strip_prefix("Etc/GMT").is_some_and(|sign| sign.starts_with(['+', '-']));
        if !is_posix && !FIXED.contains(&name.as_str()) {
            return name.clone();
        }
        let offset = zone.to_offset(jiff::Timestamp::UNIX_EPOCH);
        format!("{name}, which is {}", offset_name(offset))
    }
}

fn offset_name(offset: Offset) -> String {
    let minutes = offset.seconds() / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    let minutes = minutes.abs();
    format!("UTC{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

/// Reads `UTC+2`, `GMT-5`, `+02:00`, `+0530` and the like, in minutes; `None` for other names.
fn read_offset(name: &str) -> Option<i32> {
    let upper = name.to_uppercase().replace(['\u{2212}', '\u{2013}'], "-").replace('\u{b1}', "+");
    let named = ["UTC", "GMT"].into_iter().find_map(|word| upper.strip_prefix(word));
    let rest = named.unwrap_or(&upper).trim_start();
    let (sign, digits) = match rest.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, rest.strip_prefix('+')?),
    };
    let digits = digits.trim_start();
    let (hours, minutes) = match digits.split_once([':', '.']) {
        // Hours as a decimal number.
        Some((hours, "5")) if digits.contains('.') => (hours, "30"),
        Some((hours, "75")) if digits.contains('.') => (hours, "45"),
        Some((_, minutes)) if digits.contains('.') && !QUARTERS.contains(&minutes) => return None,
        Some((hours, minutes)) => (hours, minutes),
        None if digits.len() > 2 => digits.split_at_checked(digits.len() - 2)?,
        None => (digits, "00"),
    };
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !(1..=2).contains(&hours.len()) || minutes.len() != 2 {
        return None;
    }
    let minutes = minutes.parse::<i32>().ok().filter(|count| is_number(minutes) && *count < 60)?;
    let hours = hours.parse::<i32>().ok().filter(|_| is_number(hours))?;
    Some(sign * (hours * 60 + minutes))
}

/// Returns the zone whose name, or whose city, is most similar. A name with the sign of POSIX is
/// never a hint, because its sign is not the one that people mean.
fn nearest_zone(name: &str) -> Option<String> {
    let zones: Vec<String> = jiff::tz::db()
        .available()
        .map(|zone| zone.as_str().to_owned())
        .filter(|zone| !zone.starts_with("Etc/GMT") && !zone.starts_with("GMT"))
        .collect();
    let wanted = name.replace(' ', "_").to_lowercase();
    let has_offset = ["utc", "gmt"].iter().any(|word| wanted.starts_with(word));
    if has_offset || wanted.starts_with(['+', '-']) {
        return None;
    }
    if let Some(zone) = suggest_name(name) {
        return Some(zone.to_owned());
    }
    let city = |zone: &str| zone.rsplit('/').next().unwrap_or_default().to_lowercase();
    let of_city = |wanted: &str| zones.iter().find(|zone| city(zone) == wanted).cloned();
    let cities: Vec<String> = zones.iter().map(|zone| city(zone)).collect();
    let names: Vec<String> = zones.iter().map(|zone| zone.to_lowercase()).collect();
    let similar_city = || {
        let wanted = wanted.rsplit('/').next().unwrap_or_default();
        of_city(wanted).or_else(|| of_city(nearest(wanted, cities.iter().map(String::as_str))?))
    };
    let similar_name = || {
        let similar = nearest(&wanted, names.iter().map(String::as_str))?;
        zones.iter().find(|zone| zone.eq_ignore_ascii_case(similar)).cloned()
    };
    if wanted.contains('/') { similar_name() } else { similar_city() }
}

#[cfg(test)]
#[path = "zones_tests.rs"]
mod tests;
