//! Discord's marks for channels, roles, emojis and times (Discord API, "Message Formatting").

use std::ops::RangeInclusive;

/// The longest id, in digits.
const MAX_ID: usize = 20;
/// The length of an emoji's name, in characters.
const EMOJI_LENGTH: RangeInclusive<usize> = 2..=32;
/// The letters of the formats of a time.
const TIME_FORMATS: &str = "tTdDfFRsS";

/// A mark in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiscordMark<'t> {
    /// `<#2>`: a channel.
    Channel(u64),
    /// `<@&3>`: a role.
    Role(u64),
    /// `<:tea:17>` or `<a:wave:18>`: the name of a server's own emoji.
    Emoji(&'t str),
    /// `<t:1700000000:R>`: a time, which each reader sees in their own zone.
    Time,
}

impl<'t> DiscordMark<'t> {
    /// Reads the mark that `text` begins with. Returns it with its length in bytes.
    #[must_use]
    pub fn read_leading(text: &'t str) -> Option<(Self, usize)> {
        let inside = text.strip_prefix('<')?;
        let inside = &inside[..inside.find('>')?];
        Some((Self::parse(inside)?, inside.len() + "<>".len()))
    }

    fn parse(inside: &'t str) -> Option<Self> {
        if let Some(id) = inside.strip_prefix('#') {
            return parse_id(id).map(Self::Channel);
        }
        if let Some(id) = inside.strip_prefix("@&") {
            return parse_id(id).map(Self::Role);
        }
        if let Some(time) = inside.strip_prefix("t:") {
            let (seconds, format) = time.split_once(':').unwrap_or((time, "f"));
            let mut letters = format.chars();
            let is_format = letters.next().is_some_and(|letter| TIME_FORMATS.contains(letter));
            let is_one = is_format && letters.next().is_none();
            return (is_one && seconds.parse::<i64>().is_ok()).then_some(Self::Time);
        }
        let emoji = inside.strip_prefix(':').or_else(|| inside.strip_prefix("a:"))?;
        let (name, id) = emoji.split_once(':')?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_emoji = EMOJI_LENGTH.contains(&name.len()) && name.chars().all(is_name);
        parse_id(id).filter(|_| is_emoji).map(|_| Self::Emoji(name))
    }
}

fn parse_id(id: &str) -> Option<u64> {
    let is_id = (1..=MAX_ID).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit());
    id.parse().ok().filter(|_| is_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_mark_is_read_only_in_its_exact_form() {
        let table = [
            ("<#2> and", Some((DiscordMark::Channel(2), 4))),
            ("<@&3>", Some((DiscordMark::Role(3), 5))),
            ("<:tea:17>", Some((DiscordMark::Emoji("tea"), 9))),
            ("<a:wave:18>!", Some((DiscordMark::Emoji("wave"), 11))),
            ("<t:1700000000>", Some((DiscordMark::Time, 14))),
            ("<t:1700000000:R>", Some((DiscordMark::Time, 16))),
            ("<@7>", None),
            ("<#x>", None),
            ("<#2", None),
            ("<t:soon>", None),
            ("<t:1:x>", None),
            ("<:a b:1>", None),
            ("<b>", None),
        ];
        for (text, expected) in table {
            assert_eq!(DiscordMark::read_leading(text), expected, "{text}");
        }
    }
}
