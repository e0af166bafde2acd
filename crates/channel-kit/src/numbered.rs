//! Numbers the messages of a long text: `(1/3)`.

use crate::split::{Limit, split};
use crate::styled::Styled;

/// The most characters that a number takes: a line break and `(1234/5678)`.
const ROOM: usize = 12;

/// Cuts a text as [`split`] does. If `numbered` is `true`, each of several messages ends with its
/// number: `(1/3)`.
#[must_use]
pub fn messages(styled: &Styled, limit: Limit, numbered: bool) -> Vec<Styled> {
    let whole = split(styled, limit);
    if !numbered || whole.len() == 1 {
        return whole;
    }
    let chunks = split(styled, limit.reserving(ROOM));
    let all = chunks.len();
    let number = |(number, Styled { text, styles })| Styled {
        text: format!("{text}\n({number}/{all})"),
        styles,
    };
    (1..).zip(chunks).map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_numbered_within_the_limit_if_requested() {
        let text = Styled::plain("one two three four five six");
        let texts = |limit, numbered| -> Vec<String> {
            let messages = messages(&text, Limit::chars(limit), numbered);
            messages.into_iter().map(|message| message.text).collect()
        };
        assert_eq!(texts(27, true), ["one two three four five six"]);
        assert_eq!(texts(26, false), ["one two three four five", "six"]);
        let numbered = texts(26, true);
        assert_eq!(numbered, ["one two three\n(1/2)", "four five six\n(2/2)"]);
    }
}
