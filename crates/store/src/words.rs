//! Plain words as answers to a question that a chat was shown: `yes`, `no`, or the number of a choice. Such a message
//! becomes the command that the button of the choice says, so that all the rest is as if the button had been pressed.

use avocet_protocol::{
    ChatKind, Choice, Content, MessageId, NewInbound, OpenQuestion, Timestamp, TurnId, WaitId,
    WaitKind,
};

use crate::cancel::open_turn;
use crate::inbox::has_asked;
use crate::rows;
use crate::tx::{Result, Tx};
use crate::waits::open_person_waits;

/// What may stand behind a word.
const PUNCTUATION: [char; 5] = ['.', '!', ',', ';', ')'];
/// Platforms give the time at which a message was written in whole seconds.
const SECOND: i64 = 1000;

/// What a text says to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    /// The first choice.
    Yes,
    /// The last choice.
    No,
    /// The choice of this number, from 1.
    Number(usize),
}

/// The word that a text consists of.
fn word(text: &str) -> Option<Word> {
    let text = text.trim().trim_end_matches(PUNCTUATION).trim_end().to_ascii_lowercase();
    match text.as_str() {
        "y" | "yes" => Some(Word::Yes),
        "n" | "no" => Some(Word::No),
        digits if digits.len() <= 2 && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().ok().map(Word::Number)
        }
        _ => None,
    }
}

fn chosen(word: Word, choices: &[Choice]) -> Option<&Choice> {
    match word {
        Word::Yes => choices.first(),
        Word::No => choices.last().filter(|_| choices.len() > 1),
        Word::Number(number) => choices.get(number.checked_sub(1)?),
    }
}

/// What an answer to the agent's own question stands for: the choice of a number, unless a choice says that number.
pub(crate) fn meant_answer(tx: &Tx<'_>, turn: TurnId, content: &Content) -> Result<Option<String>> {
    let Some(word @ Word::Number(_)) = word(&content.text) else { return Ok(None) };
    let is_plain = content.attachments.is_empty() && !content.has_foreign_words();
    let Some(prompt) = prompts(tx, turn)?.pop().filter(|_| is_plain) else { return Ok(None) };
    let text = content.text.trim();
    let says = |choice: &&Choice| choice.says == text;
    let choice = prompt.choices.iter().find(says).or_else(|| chosen(word, &prompt.choices));
    Ok(choice.map(|choice| choice.says.clone()))
}

/// What a new text has to do with the question that its session waits for a person to decide.
pub(crate) enum Reply {
    /// It decides it: what the button of its choice says.
    Decides(String),
    /// Nothing: it waits behind the question.
    Behind(OpenQuestion),
}

/// Looks at a text that is in the log already. `None` if its session waits for no decision.
pub(crate) fn reply(tx: &Tx<'_>, id: MessageId, message: &NewInbound) -> Result<Option<Reply>> {
    let waits = open_person_waits(tx, &message.session)?;
    let [(wait, turn, kind)] = waits[..] else { return Ok(None) };
    let prompts = prompts(tx, turn)?.into_iter();
    // The first that asks about this wait; later ones say it again.
    let Some(prompt) = prompts.into_iter().find(|prompt| prompt.asks_about(wait)) else {
        return Ok(None);
    };
    let was_shown_here = prompt.is_in(message);
    let may_decide = message.inbound.by_owner || kind == WaitKind::Choice;
    let question = OpenQuestion { wait, can_answer: was_shown_here && may_decide };
    let is_answer = question.can_answer
        && says_only_words(message)
        && prompt.came_before(tx, id, message)?
        && is_meant_for_us(tx, message)?;
    let choice = word(&message.inbound.content.text)
        .filter(|_| is_answer)
        .and_then(|word| chosen(word, &prompt.choices));
    Ok(Some(match choice {
        Some(choice) => Reply::Decides(choice.says.clone()),
        None => Reply::Behind(question),
    }))
}

/// Whether it is no more than a person's own new text: no edit, no file, nothing forwarded.
fn says_only_words(message: &NewInbound) -> bool {
    let inbound = &message.inbound;
    let content = &inbound.content;
    !inbound.sender.is_bot
        && inbound.corrects.is_none()
        && content.attachments.is_empty()
        && !content.has_foreign_words()
}

/// In a group a short word may be meant for anybody: it counts from a person whose message is being answered, and as
/// a reply to the agent.
fn is_meant_for_us(tx: &Tx<'_>, message: &NewInbound) -> Result<bool> {
    if message.inbound.chat == ChatKind::Private || message.inbound.content.quote.is_some() {
        return Ok(true);
    }
    match open_turn(tx, &message.session)? {
        Some(turn) => has_asked(tx, turn, &message.inbound),
        None => Ok(false),
    }
}

/// A question as it was put into the outbox.
struct Prompt {
    ordinal: i64,
    /// `channel:account:chat`, and the topic.
    place: (String, String, String, Option<String>),
    choices: Vec<Choice>,
    /// The platform's ids of its messages, as far as they are known.
    platform_ids: Vec<String>,
    /// When the last of its messages was first sent; `None` while one was not.
    sent_at: Option<Timestamp>,
}

impl Prompt {
    fn asks_about(&self, wait: WaitId) -> bool {
        let name = wait.to_string();
        let names = |choice: &Choice| choice.says.split_whitespace().any(|word| word == name);
        !self.choices.is_empty() && self.choices.iter().all(names)
    }

    fn is_in(&self, message: &NewInbound) -> bool {
        let address = &message.inbound.address;
        let (channel, account, chat, topic) = &self.place;
        (channel.as_str(), account.as_str(), chat.as_str(), topic.as_deref())
            == (
                address.channel.as_str(),
                address.account.as_str(),
                address.chat.as_str(),
                address.topic.as_ref().map(avocet_protocol::TopicId::as_str),
            )
    }

    /// Whether the chat was shown the question before the message was written: an answer to something else must not
    /// be taken for one to this question. The platform's ids count up, so that they say it exactly; where they are
    /// not known, the clocks have to do.
    fn came_before(&self, tx: &Tx<'_>, id: MessageId, message: &NewInbound) -> Result<bool> {
        let Some(sent_at) = self.sent_at else { return Ok(false) };
        let shown = self.platform_ids.iter().filter_map(|shown| shown.parse::<u64>().ok()).max();
        if let Some((key, shown)) = platform_number(message).zip(shown) {
            return Ok(shown < key);
        }
        let written = tx.db.one("SELECT written_at FROM inbound WHERE id = ?1", [id.0], |row| {
            row.get::<_, Option<i64>>(0)
        })?;
        Ok(written.is_none_or(|written| sent_at.0 / SECOND <= written / SECOND))
    }
}

/// The platform's number of a message: channels make its key of an `m` and that number.
fn platform_number(message: &NewInbound) -> Option<u64> {
    let key = message.inbound.key.as_str().strip_prefix('m');
    key.filter(|_| message.inbound.from_platform)?.parse().ok()
}

/// The questions that a turn has put into the outbox, oldest first.
fn prompts(tx: &Tx<'_>, turn: TurnId) -> Result<Vec<Prompt>> {
    let chunks = tx.db.rows(
        "SELECT ordinal, channel, account, chat, topic, content, platform_id, first_sent_at \
         FROM outbox WHERE turn = ?1 AND source = 'prompt' ORDER BY ordinal, chunk",
        [turn.0],
        |row| {
            let sent_at: Option<i64> = row.get("first_sent_at")?;
            Ok(Prompt {
                ordinal: row.get("ordinal")?,
                place: (
                    row.get("channel")?,
                    row.get("account")?,
                    row.get("chat")?,
                    row.get("topic")?,
                ),
                choices: rows::json::<Content>(row, "content")?.choices,
                platform_ids: row.get::<_, Option<String>>("platform_id")?.into_iter().collect(),
                sent_at: sent_at.map(Timestamp),
            })
        },
    )?;
    let mut prompts: Vec<Prompt> = Vec::new();
    for chunk in chunks {
        match prompts.last_mut().filter(|last| last.ordinal == chunk.ordinal) {
            Some(last) => {
                last.choices.extend(chunk.choices);
                last.platform_ids.extend(chunk.platform_ids);
                last.sent_at = last.sent_at.and(chunk.sent_at);
            }
            None => prompts.push(chunk),
        }
    }
    Ok(prompts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_is_the_whole_text_or_nothing() {
        let table = [
            ("y", Some(Word::Yes)),
            (" YES! ", Some(Word::Yes)),
            ("Yes.", Some(Word::Yes)),
            ("n", Some(Word::No)),
            ("No,", Some(Word::No)),
            ("1", Some(Word::Number(1))),
            ("2.", Some(Word::Number(2))),
            ("3)", Some(Word::Number(3))),
            ("12", Some(Word::Number(12))),
            ("yes please", None),
            ("yes?", None),
            ("yess", None),
            ("ja", None),
            ("nope", None),
            ("123", None),
            ("-1", None),
            ("1 2", None),
            ("١", None),
            ("", None),
            (".", None),
        ];
        for (text, expected) in table {
            assert_eq!(word(text), expected, "{text:?}");
        }
    }

    #[test]
    fn chosen_is_the_first_for_yes_and_the_last_for_no() {
        let choices = ["a", "b", "c"].map(|says| Choice::new(says, says));
        let table = [
            (Word::Yes, Some("a")),
            (Word::No, Some("c")),
            (Word::Number(2), Some("b")),
            (Word::Number(0), None),
            (Word::Number(4), None),
        ];
        for (word, says) in table {
            assert_eq!(chosen(word, &choices).map(|choice| choice.says.as_str()), says, "{word:?}");
        }
        assert_eq!(chosen(Word::No, &choices[..1]), None);
        assert_eq!(chosen(Word::Yes, &[]), None);
    }
}
