//! Questions of running calls, such as those of MCP servers. A call waits in memory for the answer,
//! which arrives as the command `/answer`.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_bus::Bus;
use avocet_outbox::{ChannelRegistry, Deliverer};
use avocet_protocol::access::Roles;
use avocet_protocol::bus::{Deliveries, Destinations};
use avocet_protocol::chat::notices::{self, readers};
use avocet_protocol::chat::{ChatAddress, Choice, Content};
use avocet_protocol::clock::{Clock, within};
use avocet_protocol::ids::DedupeKey;
use avocet_protocol::ignore_result;
use avocet_protocol::store::Outbox;
use avocet_protocol::tool::{
    AnswerCheck, AnswerOption, AskPerson, PersonAnswer, PersonQuestion, UnansweredQuestion,
};
use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use tokio::sync::oneshot;

use crate::RunningTurns;

/// The word that declines a question.
const DECLINE: &str = "decline";
/// Characters of a code.
const CODE_CHARS: usize = 6;

pub(crate) const USAGE: &str =
    "Write /answer, the code of the question, and the answer or the word decline.";
pub(crate) const UNKNOWN: &str = "No question waits for this answer: it was answered, its time is over, its \
    turn has ended, or I was restarted meanwhile.";

/// The parts that questions need.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "each field is the part of its type")]
pub struct QuestionParts {
    pub outbox: Arc<dyn Outbox>,
    pub channels: Arc<ChannelRegistry>,
    pub deliverer: Deliverer,
    pub roles: Arc<Bus>,
    pub running: Arc<RunningTurns>,
    pub clock: Arc<dyn Clock>,
}

/// The open questions.
#[derive(Debug)]
pub struct Questions {
    parts: QuestionParts,
    open: DashMap<String, AskedQuestion>,
}

/// A question that waits for its answer.
#[derive(Debug)]
struct AskedQuestion {
    check: AnswerCheck,
    answer: oneshot::Sender<PersonAnswer>,
}

impl Questions {
    /// Makes an empty list.
    #[must_use]
    pub fn new(parts: QuestionParts) -> Self {
        Self { parts, open: DashMap::new() }
    }

    /// Lists a question under a new code for as long as the guard lives.
    fn enter_question(
        &self,
        check: AnswerCheck,
    ) -> (EnteredQuestion<'_>, oneshot::Receiver<PersonAnswer>) {
        let (answer, answered) = oneshot::channel();
        loop {
            // Random, so that a button of an earlier daemon fits no question of this one.
            let random = uuid::Uuid::new_v4().simple().to_string();
            let code = random[..CODE_CHARS].to_owned();
            if let Entry::Vacant(entry) = self.open.entry(code.clone()) {
                entry.insert(AskedQuestion { check, answer });
                return (EnteredQuestion { list: self, code }, answered);
            }
        }
    }

    /// Sends the question to its chat, and to the owners if others have asked.
    async fn send(&self, question: &PersonQuestion, code: &str) -> Result<(), UnansweredQuestion> {
        let refused = UnansweredQuestion::Unsent;
        let key = DedupeKey::parse(&format!("question-{}", uuid::Uuid::new_v4()));
        let key = key.map_err(|error| refused(error.to_string()))?;
        let content = question_content(question, code);
        let QuestionParts { channels, roles, .. } = &self.parts;
        let mut sends = Vec::new();
        if !question.is_from_owner {
            let text = format!("In `{}`:\n\n{}", question.chat, content.text);
            let notice = Content { text, ..content.clone() };
            let may_decide = |chat: &ChatAddress| roles.may_decide_for(chat, Some(&question.chat));
            let chats = roles.owners_chats().into_iter().filter(may_decide);
            sends.extend(chats.filter_map(|chat| channels.plan(&chat, &notice).ok()));
        }
        // Only owners can answer, and they have been asked in private.
        let is_asked_elsewhere = !sends.is_empty() && !roles.is_owners_chat(&question.chat);
        let here = if is_asked_elsewhere {
            notices::OwnerAsked.for_reader(readers::OTHERS, OWNER_ASKED)
        } else {
            content
        };
        let planned = channels.plan(&question.chat, &here);
        sends.insert(0, planned.map_err(|error| refused(error.to_string()))?);
        for planned in sends {
            let enqueued = self.parts.outbox.enqueue(&planned, &key, None).await;
            enqueued.map_err(|error| refused(error.to_string()))?;
            self.parts.deliverer.wake(&planned.address);
        }
        Ok(())
    }

    /// Takes the answer of an owner. The question is closed unless the check refuses the answer.
    ///
    /// # Errors
    /// The reply to an answer that no question takes.
    pub(crate) fn take_answer(&self, code: &str, text: &str) -> Result<TakenAnswer, String> {
        let code = code.to_ascii_lowercase();
        let Entry::Occupied(open) = self.open.entry(code.clone()) else {
            return Err(UNKNOWN.to_owned());
        };
        if open.get().answer.is_closed() {
            return Err(UNKNOWN.to_owned());
        }
        let answer = if text.eq_ignore_ascii_case(DECLINE) {
            PersonAnswer::Declined
        } else {
            if let Err(why) = open.get().check.check(text) {
                return Err(format!("{why} Try again: /answer {code} …"));
            }
            PersonAnswer::Text(text.to_owned())
        };
        let AskedQuestion { answer: to, .. } = open.remove();
        Ok(TakenAnswer { answer, to })
    }
}

/// An answer on its way to the call.
pub(crate) struct TakenAnswer {
    answer: PersonAnswer,
    to: oneshot::Sender<PersonAnswer>,
}

impl TakenAnswer {
    /// Returns the reply to the command.
    pub(crate) fn reply_text(&self) -> &'static str {
        match self.answer {
            PersonAnswer::Declined => "Declined.",
            PersonAnswer::Text(_) => "Passed on.",
        }
    }

    /// Lets the call continue.
    pub(crate) fn resume_call(self) {
        ignore_result(self.to.send(self.answer), "the call may have ended meanwhile");
    }
}

/// Takes the question from the list when it is dropped.
struct EnteredQuestion<'l> {
    list: &'l Questions,
    code: String,
}

impl Drop for EnteredQuestion<'_> {
    fn drop(&mut self) {
        self.list.open.remove(&self.code);
    }
}

#[async_trait]
impl AskPerson for Questions {
    async fn ask(&self, question: PersonQuestion) -> Result<PersonAnswer, UnansweredQuestion> {
        let QuestionParts { running, clock, .. } = &self.parts;
        let (entered, answered) = self.enter_question(question.check.clone());
        self.send(&question, &entered.code).await?;
        tracing::debug!(session = %question.session, code = entered.code, "a call asks a person");
        // The turn makes no other sign of life while it waits.
        running.sign_session(&question.session);
        let answer = within(clock.as_ref(), question.time_limit, answered).await;
        running.sign_session(&question.session);
        match answer {
            Ok(Ok(answer)) => Ok(answer),
            // The command has taken the question, and has failed before it gave the answer.
            Ok(Err(_)) => Err(UnansweredQuestion::Unrecorded),
            Err(_) => Err(UnansweredQuestion::Late(question.time_limit.as_secs())),
        }
    }
}

/// The text for people who cannot answer.
const OWNER_ASKED: &str = "I have asked my owner a question, and go on after the answer.";

/// Returns the question with its buttons, and the way to answer with a command.
fn question_content(question: &PersonQuestion, code: &str) -> Content {
    let option = |AnswerOption { label, answer }: &AnswerOption| {
        Choice::new(label, format!("/answer {code} {answer}"))
    };
    let mut choices: Vec<Choice> = question.options.iter().map(option).collect();
    choices.push(Choice::new("Decline", format!("/answer {code} {DECLINE}")));
    let text = format!(
        "{}\n\nAnswer with `/answer {code} …` or `/answer {code} {DECLINE}`.",
        question.text
    );
    Content { choices, ..notices::ServerQuestion.for_reader(readers::DECIDERS, text) }
}
