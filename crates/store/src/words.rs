//! Plain words as answers to a question: `yes`, `no`, or the number of a choice. Such a message
//! becomes the command of that choice's button, and then takes the same path as a pressed button.
//! In the same way, `stop` becomes `/stop` during a turn.

use avocet_protocol::chat::{ChatAddress, ChatKind, Choice, Content, NewInbound};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::{MessageId, TurnId, WaitId};
use avocet_protocol::store::OpenQuestion;
use avocet_protocol::tool::WaitKind;

use crate::rows;
use crate::rows::messages::has_asked;
use crate::rows::turns::{open_turn, session_of, speaking_session};
use crate::tx::{Result, Tx};
use crate::waits::{WaitBelow, open_person_waits};

/// Characters that may follow a word.
const PUNCTUATION: [char; 5] = ['.', '!', ',', ';', ')'];
/// Platforms give the writing time of a message in whole seconds.
const SECOND: i64 = 1000;

/// A short answer to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerWord {
    /// The first choice.
    Yes,
    /// The last choice.
    No,
    /// The choice with this number, from 1.
    Number(usize),
}

/// Returns `true` if a message asks to stop the turn of its session: `stop` and nothing else. The
/// turn must be open, and must not wait for an answer, because the word may be that answer.
pub(crate) fn asks_to_stop(tx: &Tx<'_>, message: &NewInbound) -> Result<bool> {
    let content = &message.inbound.content;
    if !is_stop(&content.text) || content.program.is_some() || !says_only_words(message) {
        return Ok(false);
    }
    match open_turn(tx, &message.session)? {
        Some(turn) if is_meant_for_us(tx, turn, message)? => {
            let waits = open_person_waits(tx, &message.session)?;
            Ok(waits.iter().all(|wait| wait.kind != WaitKind::Answer))
        }
        _ => Ok(false),
    }
}

fn is_stop(text: &str) -> bool {
    let text = text.trim().trim_end_matches(PUNCTUATION).trim_end();
    text.trim_end_matches('…').eq_ignore_ascii_case("stop")
}

/// Returns the word if the text consists of one.
fn parse_word(text: &str) -> Option<AnswerWord> {
    let text = text.trim().trim_end_matches(PUNCTUATION).trim_end().to_ascii_lowercase();
    match text.as_str() {
        "y" | "yes" => Some(AnswerWord::Yes),
        "n" | "no" => Some(AnswerWord::No),
        digits if digits.len() <= 2 && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().ok().map(AnswerWord::Number)
        }
        _ => None,
    }
}

fn choice_of_word(word: AnswerWord, choices: &[Choice]) -> Option<&Choice> {
    match word {
        AnswerWord::Yes => choices.first(),
        AnswerWord::No => choices.last().filter(|_| choices.len() > 1),
        AnswerWord::Number(number) => choices.get(number.checked_sub(1)?),
    }
}

/// Returns the option of the agent's own question that an answer chooses: by its text, or by its
/// number. An option whose text is that number has priority.
pub(crate) fn meant_answer(tx: &Tx<'_>, turn: TurnId, content: &Content) -> Result<Option<String>> {
    let is_plain = content.own_files().next().is_none() && !content.quotes_others();
    let Some(prompt) = prompts_of_turn(tx, turn)?.pop().filter(|_| is_plain) else {
        return Ok(None);
    };
    let text = content.text.trim();
    let by_text = prompt.choices.iter().find(|choice| choice.says == text);
    let by_number = || match parse_word(text) {
        Some(word @ AnswerWord::Number(_)) => choice_of_word(word, &prompt.choices),
        _ => None,
    };
    Ok(by_text.or_else(by_number).map(|choice| choice.says.clone()))
}

/// Returns `true` if the agent has asked the author of a message this question. A scheduled task or
/// job asks in a chat where another conversation may go on. There, the message must have been
/// written after the question was shown. In their private chat, an owner may answer for the person
/// in whose name the task runs.
pub(crate) fn is_asked(
    tx: &Tx<'_>,
    question: &WaitBelow,
    id: MessageId,
    message: &NewInbound,
) -> Result<bool> {
    let asked = has_asked(tx, question.turn, &message.inbound)?;
    if session_of(tx.db, question.turn)? == message.session {
        return Ok(asked);
    }
    let Some(prompt) = prompts_of_turn(tx, question.turn)?.pop() else { return Ok(false) };
    let is_owners = message.inbound.chat == ChatKind::Private && message.inbound.by_owner;
    Ok(prompt.is_in(message)
        && (asked || is_owners)
        && message.inbound.corrects.is_none()
        && prompt.came_before(tx, id, message)?)
}

/// The relation of a new text to the question that a person is to decide in its session.
pub(crate) enum QuestionRelation {
    /// The text decides the question; holds the command of the choice's button.
    Decides(String),
    /// The text waits behind the question.
    Behind(OpenQuestion),
}

/// Examines a text that is already in the log. `None` if its session waits for something else.
pub(crate) fn examine_reply(
    tx: &Tx<'_>,
    id: MessageId,
    message: &NewInbound,
) -> Result<Option<QuestionRelation>> {
    let waits = open_person_waits(tx, &message.session)?;
    let [WaitBelow { id: wait, turn, kind }] = waits[..] else { return Ok(None) };
    let prompts = prompts_of_turn(tx, turn)?.into_iter();
    // The first prompt about this wait; later ones repeat it.
    let Some(prompt) = prompts.into_iter().find(|prompt| prompt.asks_about(wait)) else {
        return Ok(None);
    };
    let was_shown_here = prompt.is_in(message);
    let may_decide = message.inbound.by_owner || kind == WaitKind::Choice;
    let question = OpenQuestion { wait, can_answer: was_shown_here && may_decide };
    let is_answer = question.can_answer
        && says_only_words(message)
        && prompt.came_before(tx, id, message)?
        && is_meant_for_us(tx, turn, message)?;
    let choice = parse_word(&message.inbound.content.text)
        .filter(|_| is_answer)
        .and_then(|word| choice_of_word(word, &prompt.choices));
    if let Some(choice) = choice {
        return Ok(Some(QuestionRelation::Decides(choice.says.clone())));
    }
    // Scheduled tasks and tasks in the background let the conversation go on.
    let blocks = speaking_session(tx.db, turn)? == message.session;
    Ok(blocks.then_some(QuestionRelation::Behind(question)))
}

/// Returns `true` for new plain text from a person: no edit, attachment or forwarded content, and no
/// button with a text of the agent.
fn says_only_words(message: &NewInbound) -> bool {
    let inbound = &message.inbound;
    let content = &inbound.content;
    !inbound.sender.is_bot
        && !content.by_button
        && inbound.corrects.is_none()
        && content.own_files().next().is_none()
        && !content.quotes_others()
}

/// Returns `true` if the text is meant for the agent. A short word in a group may be meant for
/// anyone, so it counts only from a person whose message is being answered, or as a reply to the
/// agent.
fn is_meant_for_us(tx: &Tx<'_>, turn: TurnId, message: &NewInbound) -> Result<bool> {
    if message.inbound.chat == ChatKind::Private || message.inbound.content.quote.is_some() {
        return Ok(true);
    }
    if let Some(turn) = open_turn(tx, &message.session)?
        && has_asked(tx, turn, &message.inbound)?
    {
        return Ok(true);
    }
    has_asked(tx, turn, &message.inbound)
}

/// A question in the outbox.
struct OutboxPrompt {
    ordinal: i64,
    address: ChatAddress,
    choices: Vec<Choice>,
    /// Known platform ids of its messages.
    platform_ids: Vec<String>,
    /// Time of the first send of its last message; `None` until all messages were sent.
    sent_at: Option<Timestamp>,
}

impl OutboxPrompt {
    fn asks_about(&self, wait: WaitId) -> bool {
        let name = wait.to_string();
        let names = |choice: &Choice| choice.says.split_whitespace().any(|word| word == name);
        !self.choices.is_empty() && self.choices.iter().all(names)
    }

    fn is_in(&self, message: &NewInbound) -> bool {
        self.address == message.inbound.address
    }

    /// Returns `true` if the chat was shown the question before the message was written, since
    /// other messages must not count as answers. Platform ids, which only grow, decide; if they are
    /// unknown, the clocks decide.
    fn came_before(&self, tx: &Tx<'_>, id: MessageId, message: &NewInbound) -> Result<bool> {
        let Some(sent_at) = self.sent_at else { return Ok(false) };
        let shown = self.platform_ids.iter().filter_map(|shown| shown.parse::<u64>().ok()).max();
        if let Some((key, shown)) = platform_number(message).zip(shown) {
            return Ok(shown < key);
        }
        let written =
            tx.db.query_one("SELECT written_at FROM inbound WHERE id = ?1", [id.0], |row| {
                row.get::<_, Option<i64>>(0)
            })?;
        Ok(written.is_none_or(|written| sent_at.0 / SECOND <= written / SECOND))
    }
}

/// Returns the platform's number of a message. Channels use `m` and that number as its key.
fn platform_number(message: &NewInbound) -> Option<u64> {
    let key = message.inbound.key.as_str().strip_prefix('m');
    key.filter(|_| message.inbound.from_platform)?.parse().ok()
}

/// Returns the questions that a turn has put into the outbox, oldest first.
fn prompts_of_turn(tx: &Tx<'_>, turn: TurnId) -> Result<Vec<OutboxPrompt>> {
    let chunks = tx.db.query_rows(
        "SELECT ordinal, channel, account, chat, topic, content, platform_id, first_sent_at \
         FROM outbox WHERE turn = ?1 AND source = 'prompt' ORDER BY ordinal, chunk",
        [turn.0],
        |row| {
            let sent_at: Option<i64> = row.get("first_sent_at")?;
            Ok(OutboxPrompt {
                ordinal: row.get("ordinal")?,
                address: rows::address_from_row(row)?,
                choices: rows::json_column::<Content>(row, "content")?.choices,
                platform_ids: row.get::<_, Option<String>>("platform_id")?.into_iter().collect(),
                sent_at: sent_at.map(Timestamp),
            })
        },
    )?;
    let mut prompts: Vec<OutboxPrompt> = Vec::new();
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
    fn word_accepts_only_a_word_that_is_the_whole_text() {
        let table = [
            ("y", Some(AnswerWord::Yes)),
            (" YES! ", Some(AnswerWord::Yes)),
            ("Yes.", Some(AnswerWord::Yes)),
            ("n", Some(AnswerWord::No)),
            ("No,", Some(AnswerWord::No)),
            ("1", Some(AnswerWord::Number(1))),
            ("2.", Some(AnswerWord::Number(2))),
            ("3)", Some(AnswerWord::Number(3))),
            ("12", Some(AnswerWord::Number(12))),
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
            assert_eq!(parse_word(text), expected, "{text:?}");
        }
    }

    #[test]
    fn is_stop_accepts_the_word_with_punctuation_only() {
        for text in ["stop", "Stop!", " STOP. ", "stop!!!", "Stop…", "stop,"] {
            assert!(is_stop(text), "{text:?}");
        }
        let others =
            ["stop please", "please stop", "stop?", "stopp", "don't stop", "st op", "", "!", "…"];
        for text in others {
            assert!(!is_stop(text), "{text:?}");
        }
    }

    #[test]
    fn chosen_is_the_first_for_yes_and_the_last_for_no() {
        let choices = ["a", "b", "c"].map(|says| Choice::new(says, says));
        let table = [
            (AnswerWord::Yes, Some("a")),
            (AnswerWord::No, Some("c")),
            (AnswerWord::Number(2), Some("b")),
            (AnswerWord::Number(0), None),
            (AnswerWord::Number(4), None),
        ];
        for (word, says) in table {
            assert_eq!(
                choice_of_word(word, &choices).map(|choice| choice.says.as_str()),
                says,
                "{word:?}"
            );
        }
        assert_eq!(choice_of_word(AnswerWord::No, &choices[..1]), None);
        assert_eq!(choice_of_word(AnswerWord::Yes, &[]), None);
    }
}
