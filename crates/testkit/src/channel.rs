//! A channel whose platform is a list in memory.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::channel::{
    Channel, ChannelCapabilities, ChannelContext, ChannelError, FetchError, Health, OnUnknown,
    SendError,
};
use avocet_protocol::chat::{ChatAddress, Content, Delivery, DraftError, Outcome, Receipt};
use avocet_protocol::ids::{AccountName, ChannelName, DedupeKey, PlatformId, TurnId};
use parking_lot::Mutex;
use tokio::sync::watch;

/// The platform's reaction to a chunk.
#[derive(Debug, Clone)]
pub enum OnSend {
    /// Accepts it and confirms.
    Take,
    /// Accepts it, but the answer is lost.
    TakeAndReset,
    /// Returns this error.
    Say(SendError),
    /// Never answers.
    Hang,
    /// Panics, like a channel with a bug.
    Panic,
}

/// The drafts of a platform, and the errors of the next ones.
#[derive(Debug, Default)]
struct FakeDrafts {
    shown: Vec<(TurnId, String)>,
    errors: VecDeque<DraftError>,
}

/// The platform's reaction to a request for a file.
#[derive(Debug, Clone)]
pub enum OnFetch {
    /// Returns it if its size is within the limit.
    Give(Vec<u8>),
    /// Returns this error.
    Say(FetchError),
    /// Never answers.
    Hang,
}

/// A channel named `terminal:local`. A message holds up to [`FakeChannel::LIMIT`] characters. Sends
/// succeed by default.
#[derive(Debug)]
pub struct FakeChannel {
    script: Mutex<VecDeque<OnSend>>,
    /// Errors for the next removals of messages.
    removals: Mutex<VecDeque<SendError>>,
    taken: watch::Sender<Vec<Delivery>>,
    /// The messages of all chats, with their edits.
    messages: watch::Sender<Vec<(PlatformId, String)>>,
    tried: watch::Sender<usize>,
    typed: watch::Sender<usize>,
    outcomes: watch::Sender<Vec<(String, Outcome)>>,
    away: Mutex<BTreeSet<ChatAddress>>,
    closed: Mutex<BTreeSet<ChatAddress>>,
    failing: Mutex<BTreeMap<String, SendError>>,
    files: Mutex<BTreeMap<String, VecDeque<OnFetch>>>,
    fetches: watch::Sender<usize>,
    rule: OnUnknown,
    pause: Mutex<Duration>,
    /// Number of chunks that have waited for a turn, and `true` if turns are given.
    turns: watch::Sender<(usize, bool)>,
    preview: Option<Duration>,
    /// `None` on a platform without drafts.
    drafts: watch::Sender<Option<FakeDrafts>>,
    forgetful: bool,
    refused: AtomicBool,
}

impl Default for FakeChannel {
    fn default() -> Self {
        Self::with_rule(OnUnknown::RepeatMarked)
    }
}

impl FakeChannel {
    /// Maximum length of a message in characters.
    pub const LIMIT: usize = 400;

    /// Maximum size of a file in bytes.
    pub const MAX_FILE_BYTES: u64 = 1024 * 1024 * 1024;

    /// Returns a channel with this rule for sends of unknown outcome.
    #[must_use]
    pub fn with_rule(rule: OnUnknown) -> Self {
        Self {
            script: Mutex::default(),
            removals: Mutex::default(),
            taken: watch::Sender::new(Vec::new()),
            messages: watch::Sender::new(Vec::new()),
            tried: watch::Sender::new(0),
            typed: watch::Sender::new(0),
            outcomes: watch::Sender::new(Vec::new()),
            away: Mutex::default(),
            closed: Mutex::default(),
            failing: Mutex::default(),
            files: Mutex::default(),
            fetches: watch::Sender::new(0),
            rule,
            pause: Mutex::default(),
            turns: watch::Sender::new((0, true)),
            preview: None,
            drafts: watch::Sender::new(None),
            forgetful: false,
            refused: AtomicBool::new(false),
        }
    }

    /// Returns a channel whose platform loses button presses while no daemon runs.
    #[must_use]
    pub fn forgetful() -> Self {
        Self { forgetful: true, ..Self::default() }
    }

    /// Makes a chat one in which the platform lets the bot write nothing. The script still says what
    /// happens to each message.
    pub fn close(&self, chat: &ChatAddress) {
        self.closed.lock().insert(chat.clone());
    }

    /// Sets if the platform refuses the account.
    pub fn set_refused(&self, is_refused: bool) {
        self.refused.store(is_refused, Ordering::SeqCst);
    }

    /// Returns a channel whose messages may be edited once per interval.
    #[must_use]
    pub fn with_preview(interval: Duration) -> Self {
        Self { preview: Some(interval), ..Self::default() }
    }

    /// Returns a channel like [`Self::with_preview`], whose platform also shows drafts.
    #[must_use]
    pub fn with_drafts(interval: Duration) -> Self {
        let drafts = watch::Sender::new(Some(FakeDrafts::default()));
        Self { drafts, ..Self::with_preview(interval) }
    }

    /// Adds an error of the next draft.
    pub fn fail_draft(&self, error: DraftError) {
        self.drafts.send_modify(|drafts| drafts.as_mut().unwrap().errors.push_back(error));
    }

    /// Waits until `count` drafts were shown, and returns them with their turns.
    pub async fn drafts(&self, count: usize) -> Vec<(TurnId, String)> {
        let mut drafts = self.drafts.subscribe();
        let shown = |drafts: &Option<FakeDrafts>| drafts.as_ref().unwrap().shown.clone();
        let found = drafts.wait_for(|drafts| shown(drafts).len() >= count).await.unwrap();
        shown(&found)
    }

    /// Adds reactions for the next chunks. Later chunks are accepted.
    pub fn script(&self, script: impl IntoIterator<Item = OnSend>) {
        self.script.lock().extend(script);
    }

    /// Makes the next removals of messages fail with these errors.
    pub fn script_removals(&self, errors: impl IntoIterator<Item = SendError>) {
        self.removals.lock().extend(errors);
    }

    /// Sets the answers to requests for a file, in order. The last one repeats.
    pub fn keep(&self, reference: &str, answers: impl IntoIterator<Item = OnFetch>) {
        self.files.lock().insert(reference.to_owned(), answers.into_iter().collect());
    }

    /// Waits until files have been requested `count` times.
    pub async fn fetches(&self, count: usize) -> usize {
        *self.fetches.subscribe().wait_for(|fetches| *fetches >= count).await.unwrap()
    }

    /// Sets the time that chunks have to wait before their send begins.
    pub fn set_pause(&self, pause: Duration) {
        *self.pause.lock() = pause;
    }

    /// Gives chunks their turn if `true`, else makes them wait in line.
    pub fn give_turns(&self, give: bool) {
        self.turns.send_modify(|(_, given)| *given = give);
    }

    /// Waits until `count` chunks have joined the line.
    pub async fn in_line(&self, count: usize) {
        self.turns.subscribe().wait_for(|(waiting, _)| *waiting >= count).await.unwrap();
    }

    /// Sets whether the chat can be reached. Default: `true`.
    pub fn set_reachable(&self, chat: &ChatAddress, reachable: bool) {
        let mut away = self.away.lock();
        if reachable {
            away.remove(chat)
        } else {
            away.insert(chat.clone())
        };
    }

    /// Makes every send of this text fail with this error. `None` ends that.
    pub fn set_failing(&self, text: &str, error: Option<SendError>) {
        let mut failing = self.failing.lock();
        match error {
            Some(error) => failing.insert(text.to_owned(), error),
            None => failing.remove(text),
        };
    }

    /// Deletes all messages, like a user would.
    pub fn delete_all(&self) {
        self.messages.send_modify(Vec::clear);
    }

    /// Waits until the texts of the messages, with their edits, are as wanted, and returns them.
    pub async fn shows(&self, wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
        let texts = |messages: &Vec<(PlatformId, String)>| -> Vec<String> {
            messages.iter().map(|(_, text)| text.clone()).collect()
        };
        let mut messages = self.messages.subscribe();
        let shown = messages.wait_for(|messages| wanted(&texts(messages))).await.unwrap();
        texts(&shown)
    }

    /// Waits until sends and edits were tried this many times, with any result.
    pub async fn tried(&self, times: usize) {
        self.tried.subscribe().wait_for(|tried| *tried >= times).await.unwrap();
    }

    /// Waits until the typing indicator was shown this many times.
    pub async fn typed(&self, times: usize) -> usize {
        *self.typed.subscribe().wait_for(|typed| *typed >= times).await.unwrap()
    }

    /// Waits until the channel knows the outcomes of `count` messages, and returns them by key.
    pub async fn outcomes(&self, count: usize) -> Vec<(String, Outcome)> {
        let mut outcomes = self.outcomes.subscribe();
        outcomes.wait_for(|outcomes| outcomes.len() >= count).await.unwrap().clone()
    }

    /// Adds a chunk to the chat, or edits the message that shows it.
    fn take(&self, delivery: &Delivery) -> PlatformId {
        let id = PlatformId::parse(&format!("p{}", delivery.id)).unwrap();
        let (id, text) = (delivery.shown_as.clone().unwrap_or(id), delivery.content.text.clone());
        self.messages.send_modify(|messages| {
            match messages.iter_mut().find(|(found, _)| *found == id) {
                Some((_, shown)) if delivery.shown_as.is_some() => *shown = text,
                _ => messages.push((id.clone(), text)),
            }
        });
        self.taken.send_modify(|taken| taken.push(delivery.clone()));
        id
    }

    fn has(&self, message: &PlatformId) -> bool {
        self.messages.borrow().iter().any(|(id, _)| id == message)
    }

    /// Waits until the platform has accepted `count` chunks, and returns all of them.
    pub async fn taken(&self, count: usize) -> Vec<Delivery> {
        let mut taken = self.taken.subscribe();
        let taken = taken.wait_for(|taken| taken.len() >= count).await.unwrap();
        taken.clone()
    }

    /// Waits like [`Self::taken`], and returns the texts.
    pub async fn texts(&self, count: usize) -> Vec<String> {
        self.taken(count).await.into_iter().map(|delivery| delivery.content.text).collect()
    }
}

#[async_trait]
impl Channel for FakeChannel {
    fn name(&self) -> ChannelName {
        ChannelName::parse("terminal").unwrap()
    }

    fn account(&self) -> AccountName {
        AccountName::parse("local").unwrap()
    }

    fn capabilities(&self) -> ChannelCapabilities {
        let is_full = self.preview.is_some();
        ChannelCapabilities {
            preview_interval: self.preview,
            can_edit: is_full,
            sends_code_as_files: is_full,
            keeps_files: is_full,
            has_polls: false,
            forgets_presses: self.forgetful,
            on_unknown: self.rule,
        }
    }

    async fn run(&self, context: ChannelContext) -> Result<(), ChannelError> {
        context.stop.cancelled().await;
        Ok(())
    }

    fn is_closed(&self, chat: &ChatAddress) -> bool {
        self.closed.lock().contains(chat)
    }

    fn notifies(&self, content: &Content) -> bool {
        content.notifies.is_some() || content.text.contains("@ann")
    }

    fn is_refused(&self) -> bool {
        self.refused.load(Ordering::SeqCst)
    }

    async fn deliver(&self, delivery: &Delivery) -> Result<Receipt, SendError> {
        let length = delivery.content.text.chars().count();
        if length > Self::LIMIT || delivery.content.is_empty() {
            return Err(SendError::Refused(format!("a message of {length} characters")));
        }
        let failing = self.failing.lock().get(&delivery.content.text).cloned();
        let next = match failing {
            Some(error) => OnSend::Say(error),
            None => self.script.lock().pop_front().unwrap_or(OnSend::Take),
        };
        self.tried.send_modify(|tried| *tried += 1);
        if delivery.shown_as.as_ref().is_some_and(|message| !self.has(message)) {
            return Err(SendError::Gone);
        }
        match next {
            OnSend::Take => Ok(Receipt { platform_id: Some(self.take(delivery)) }),
            OnSend::TakeAndReset => {
                self.take(delivery);
                Err(SendError::Unknown("connection reset".to_owned()))
            }
            OnSend::Say(error) => Err(error),
            OnSend::Hang => std::future::pending().await,
            OnSend::Panic => panic!("a bug in the channel"),
        }
    }

    fn plan(&self, reply: &Content) -> Vec<Content> {
        let chars: Vec<char> = reply.text.chars().collect();
        let texts = chars.chunks(Self::LIMIT).map(String::from_iter);
        let mut chunks: Vec<Content> = texts.map(Content::text).collect();
        let last = chunks.pop().unwrap_or_default();
        chunks.push(Content { text: last.text, reply_to: None, ..reply.clone() });
        chunks
    }

    fn reachable(&self, chat: &ChatAddress) -> bool {
        !self.away.lock().contains(chat)
    }

    fn max_file_bytes(&self, _chat: &ChatAddress) -> Option<u64> {
        Some(Self::MAX_FILE_BYTES)
    }

    fn pause_before(&self, _delivery: &Delivery) -> Duration {
        *self.pause.lock()
    }

    async fn turn(&self, delivery: &Delivery) -> Result<(), Duration> {
        self.turns.send_modify(|(waiting, _)| *waiting += 1);
        self.turns.subscribe().wait_for(|(_, given)| *given).await.unwrap();
        self.spare_turn(delivery)
    }

    fn shows_drafts(&self, _chat: &ChatAddress) -> bool {
        self.drafts.borrow().is_some()
    }

    async fn show_draft(
        &self,
        _chat: &ChatAddress,
        turn: TurnId,
        content: &Content,
    ) -> Result<(), DraftError> {
        let mut result = Err(DraftError::Unsupported);
        self.drafts.send_if_modified(|drafts| {
            let Some(drafts) = drafts else { return false };
            result = drafts.errors.pop_front().map_or(Ok(()), Err);
            if result.is_ok() {
                drafts.shown.push((turn, content.text.clone()));
            }
            true
        });
        result
    }

    async fn typing(&self, _chat: &ChatAddress) {
        self.typed.send_modify(|typed| *typed += 1);
    }

    fn note_outcome(&self, _chat: &ChatAddress, key: &DedupeKey, outcome: Outcome) {
        self.outcomes.send_modify(|outcomes| outcomes.push((key.to_string(), outcome)));
    }

    async fn retract(&self, _chat: &ChatAddress, message: &PlatformId) -> Result<(), SendError> {
        self.tried.send_modify(|tried| *tried += 1);
        let next = self.removals.lock().pop_front();
        if let Some(error) = next {
            return Err(error);
        }
        self.messages.send_modify(|messages| messages.retain(|(id, _)| id != message));
        Ok(())
    }

    async fn fetch(&self, reference: &str, limit: u64) -> Result<Vec<u8>, FetchError> {
        self.fetches.send_modify(|fetches| *fetches += 1);
        let answer = {
            let mut files = self.files.lock();
            match files.get_mut(reference) {
                Some(answers) if answers.len() > 1 => answers.pop_front(),
                Some(answers) => answers.front().cloned(),
                None => None,
            }
        };
        match answer {
            None => Err(FetchError::Gone(format!("there is no file {reference}"))),
            Some(OnFetch::Give(bytes)) if bytes.len() as u64 > limit => {
                Err(FetchError::TooLarge { limit })
            }
            Some(OnFetch::Give(bytes)) => Ok(bytes),
            Some(OnFetch::Say(error)) => Err(error),
            Some(OnFetch::Hang) => std::future::pending().await,
        }
    }

    fn health(&self) -> Health {
        Health::Up
    }
}
