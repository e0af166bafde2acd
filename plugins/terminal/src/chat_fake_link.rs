//! A daemon for tests of the chat.

use std::sync::atomic::{AtomicBool, Ordering};

use avocet_protocol::chat::SessionId;
use avocet_protocol::model::{Money, Usage};
use avocet_protocol::turn::AnswerEnding;
use parking_lot::Mutex;

use super::*;

/// A daemon that answers each message with the events that the test has prepared.
#[derive(Debug)]
pub(super) struct FakeLink {
    pub(super) said: Mutex<Vec<String>>,
    pub(super) shown: Mutex<Vec<DeliveryId>>,
    answers: Mutex<VecDeque<Vec<DaemonNotice>>>,
    outcome: Option<Outcome>,
    /// Messages that must have been sent before any has an outcome.
    pub(super) sent_first: usize,
    /// The last turn in the log.
    pub(super) past: Option<TurnRecord>,
    /// `true` if the question for the last turn gets no answer.
    pub(super) is_silent: bool,
    /// Notices that arrive after the first outcome.
    pub(super) late: Mutex<Vec<DaemonNotice>>,
    /// Number of reported outcomes.
    told: Mutex<usize>,
    to_hear: (flume::Sender<DaemonNotice>, flume::Receiver<DaemonNotice>),
    is_lost: AtomicBool,
    /// The model that is chosen for the conversation.
    pub(super) model: Mutex<Option<String>>,
    remarks: (flume::Sender<String>, flume::Receiver<String>),
    /// `true` as long as a message gets no answer.
    pub(super) holds: AtomicBool,
    /// The conversations that were opened.
    pub(super) opened: Mutex<Vec<String>>,
}

impl FakeLink {
    pub(super) fn new(answers: Vec<Vec<DaemonNotice>>, outcome: Option<Outcome>) -> Self {
        Self {
            said: Mutex::default(),
            shown: Mutex::default(),
            answers: Mutex::new(answers.into()),
            outcome,
            sent_first: 0,
            past: None,
            is_silent: false,
            late: Mutex::default(),
            told: Mutex::default(),
            to_hear: flume::bounded(99),
            is_lost: AtomicBool::new(false),
            model: Mutex::default(),
            remarks: flume::bounded(9),
            holds: AtomicBool::new(false),
            opened: Mutex::default(),
        }
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.to_hear.1.is_empty()
    }

    pub(super) fn has_answered(&self, lines: usize) -> bool {
        self.is_quiet() && *self.told.lock() == lines
    }

    pub(super) fn has_ended(&self, lines: usize) -> bool {
        *self.told.lock() == lines
    }

    /// Loses the connection, or gets it back.
    pub(super) fn set_lost(&self, is_lost: bool) {
        self.is_lost.store(is_lost, Ordering::Relaxed);
        let remark = if is_lost { "It was lost." } else { "It is back." };
        self.remarks.0.send(remark.to_owned()).unwrap();
    }

    pub(super) fn send_notice(&self, notice: DaemonNotice) {
        self.to_hear.0.send(notice).unwrap();
    }

    pub(super) fn said(&self) -> Vec<String> {
        self.said.lock().clone()
    }
}

#[async_trait]
impl TerminalLink for FakeLink {
    async fn say(&self, text: &str) -> Result<MessageId, LinkError> {
        if text == "refuse" {
            return Err(LinkError("the disk is full".to_owned()));
        }
        while self.is_lost() || self.holds.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
        let mut said = self.said.lock();
        said.push(text.to_owned());
        let answers = self.answers.lock().pop_front().unwrap_or_default();
        answers.into_iter().for_each(|notice| self.send_notice(notice));
        Ok(MessageId(said.len() as i64))
    }

    async fn outcome(&self, id: MessageId) -> Result<MessageStatus, LinkError> {
        // The outcome of a message comes after its events.
        while !self.is_quiet() || self.said.lock().len() < self.sent_first {
            tokio::task::yield_now().await;
        }
        let session = SessionId::parse("terminal:local:a").unwrap();
        let turn = Some(TurnId(id.0));
        match self.outcome {
            Some(_) => {
                *self.told.lock() += 1;
                self.late.lock().drain(..).for_each(|notice| self.send_notice(notice));
                Ok(MessageStatus {
                    id,
                    session,
                    turn,
                    outcome: self.outcome,
                    reply: None,
                    ending: AnswerEnding::Complete,
                    failed: false,
                    failure: None,
                    received_at: None,
                    usage: None,
                    calls: Vec::new(),
                })
            }
            None => std::future::pending().await,
        }
    }

    async fn hear(&self) -> DaemonNotice {
        self.to_hear.1.recv_async().await.unwrap()
    }

    async fn remark(&self) -> String {
        self.remarks.1.recv_async().await.unwrap()
    }

    fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    async fn shown(&self, chunk: DeliveryId) {
        self.shown.lock().push(chunk);
    }

    async fn last_turn(&self) -> Option<TurnRecord> {
        if self.is_silent { std::future::pending().await } else { self.past.clone() }
    }

    async fn conversations(&self) -> Result<Vec<ConversationEntry>, LinkError> {
        let entry = |name: &str| ConversationEntry {
            name: name.to_owned(),
            summary: format!("about {name}"),
        };
        Ok(["work", "garden"].map(entry).into())
    }

    async fn open_conversation(&self, name: &str) -> Result<(), LinkError> {
        self.opened.lock().push(name.to_owned());
        Ok(())
    }

    async fn earlier_messages(&self) -> Result<Vec<EarlierMessage>, LinkError> {
        let message =
            |turn, text: &str| EarlierMessage { turn: TurnId(turn), text: text.to_owned() };
        Ok(vec![message(7, "plant\ntomatoes"), message(3, "what is a garden")])
    }

    async fn branch_before(&self, turn: TurnId) -> Result<String, LinkError> {
        Ok(format!("before-{turn}"))
    }

    async fn set_title(&self, title: &str) -> Result<(), LinkError> {
        match title {
            "bad" => Err(LinkError("not this title".to_owned())),
            _ => Ok(()),
        }
    }

    async fn picture(&self, _: &str) -> Option<Vec<u8>> {
        None
    }

    async fn figures(&self) -> ChatFigures {
        let used = Total { usage: Usage::new(1_500, 0), cost: Money(20_000_000), unpriced: 0 };
        ChatFigures { model: self.model.lock().clone(), used: Some(used) }
    }
}
