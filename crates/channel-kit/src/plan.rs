//! Cuts a reply into messages, and numbers them on request: `(1/3)`.

use avocet_protocol::chat::Content;

use crate::split::{Limit, split};
use crate::styled::Styled;

/// The most characters that a number takes: a line break and `(1234/5678)`.
const ROOM: usize = 12;

/// Cuts a reply into messages, numbered if `numbered` is `true`. Files and buttons go with the last
/// message.
#[must_use]
pub fn plan(reply: &Content, limit: Limit, numbered: bool) -> Vec<Content> {
    plan_styled(reply, &Styled::from_content(reply), limit, numbered)
}

/// Cuts the beginning of a reply that grows. The messages are not numbered, since their number is
/// open; with `numbered`, each has room for its later number.
#[must_use]
pub fn plan_preview(reply: &Content, limit: Limit, numbered: bool) -> Vec<Content> {
    plan_preview_styled(reply, &Styled::from_content(reply), limit, numbered)
}

/// Like [`plan_preview`], with the text of the reply that the channel has rendered itself.
#[must_use]
pub fn plan_preview_styled(
    reply: &Content,
    text: &Styled,
    limit: Limit,
    numbered: bool,
) -> Vec<Content> {
    let limit = if numbered { limit.reserving(ROOM) } else { limit };
    plan_styled(reply, text, limit, false)
}

/// Like [`plan`], with the text of the reply that the channel has rendered itself.
#[must_use]
pub fn plan_styled(reply: &Content, text: &Styled, limit: Limit, numbered: bool) -> Vec<Content> {
    if reply.poll.is_some() {
        // Platforms show questions and answers of polls as plain text.
        return vec![Content { styles: Some(Vec::new()), ..reply.clone() }];
    }
    let texts = split_messages(text, limit, numbered).into_iter();
    let content = |Styled { text, styles }| Content { styles: Some(styles), ..Content::text(text) };
    let mut chunks: Vec<Content> = texts.map(content).collect();
    if let Some(last) = chunks.last_mut() {
        last.attachments.clone_from(&reply.attachments);
        last.choices.clone_from(&reply.choices);
    }
    chunks
}

/// Cuts a text as [`split`] does. If `numbered` is `true`, each of several messages ends with its
/// number: `(1/3)`.
fn split_messages(styled: &Styled, limit: Limit, numbered: bool) -> Vec<Styled> {
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
    use avocet_protocol::chat::Choice;

    use super::*;

    #[test]
    fn plan_puts_the_buttons_below_the_last_message() {
        let choices = vec![Choice::new("Yes", "yes")];
        let reply = Content { choices: choices.clone(), ..Content::text("*one* two three") };
        let chunks = plan(&reply, Limit::chars(10), false);
        let shown: Vec<_> = chunks.iter().map(|chunk| (&chunk.text[..], &chunk.choices)).collect();
        assert_eq!(shown, [("one two", &Vec::new()), ("three", &choices)]);
        assert_eq!(plan(&chunks[0], Limit::chars(10), false), chunks[..1], "planned already");
    }

    #[test]
    fn messages_are_numbered_within_the_limit_if_requested() {
        let text = Styled::plain("one two three four five six");
        let texts = |limit, numbered| -> Vec<String> {
            let messages = split_messages(&text, Limit::chars(limit), numbered);
            messages.into_iter().map(|message| message.text).collect()
        };
        assert_eq!(texts(27, true), ["one two three four five six"]);
        assert_eq!(texts(26, false), ["one two three four five", "six"]);
        let numbered = texts(26, true);
        assert_eq!(numbered, ["one two three\n(1/2)", "four five six\n(2/2)"]);
    }
}
