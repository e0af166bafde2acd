//! Threads for tasks: with `threads = "auto"`, each mention in a server's channel gets a new
//! thread. Such a thread has the id of the message (Discord API, "Start Thread from Message"), so
//! its address is known before it exists. It is created with the first sign of the agent in it. If
//! the platform refuses it, the answer goes into the channel.

use avocet_protocol::channel::SendError;
use avocet_protocol::chat::ChatAddress;
use parking_lot::Mutex;
use reqwest::Method;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use serenity::model::id::{ChannelId, MessageId};

use crate::Discord;
use crate::bounded::KnownMap;
use crate::fault::{RestError, RestRefusal};
use crate::routes::Route;

/// Longest name of a thread, in characters (Discord API, "Start Thread from Message").
pub(crate) const MAX_NAME: usize = 100;
/// Characters of a message that become the name, so that a list of threads stays readable.
const SHOWN_NAME: usize = 60;
/// The name of a thread whose message has no text.
const UNNAMED: &str = "Conversation";
/// Minutes without a message after which the platform hides a thread.
const HIDE_AFTER_MINUTES: u32 = 1440;

/// Codes of refusals (Discord API, "JSON Error Codes").
const UNKNOWN_CHANNEL: isize = 10_003;
const ALREADY_HAS_THREAD: isize = 160_004;

/// The threads that the bot makes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Threads {
    /// No threads. Answers go where the message is.
    #[default]
    Off,
    /// A thread for each message that mentions the bot in a server's channel.
    Auto,
}

/// The threads of this run.
#[derive(Debug, Default)]
pub(crate) struct TaskThreads {
    states: Mutex<KnownMap<ChannelId, TaskThread>>,
    /// Held while a thread is created: typing, a preview and an answer may come at the same time.
    creating: tokio::sync::Mutex<()>,
}

/// The state of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TaskThread {
    /// The thread has still to be created, with this name.
    Wanted(String),
    Exists,
    /// The platform refused the thread.
    Refused,
}

impl TaskThreads {
    /// Notes a message that gets a thread, before its commit.
    pub(crate) fn want(&self, message: MessageId, text: &str) {
        let mut states = self.states.lock();
        let thread = ChannelId::new(message.get());
        states.get_or_insert(thread, || TaskThread::Wanted(short_name(text)));
    }

    /// Notes a thread that exists.
    pub(crate) fn note(&self, thread: ChannelId) {
        self.states.lock().put(thread, TaskThread::Exists);
    }

    /// Returns the channel to send to, unless the thread has still to be created or found.
    fn place(&self, thread: ChannelId, parent: ChannelId) -> Option<ChannelId> {
        match self.states.lock().peek(&thread)? {
            TaskThread::Exists => Some(thread),
            TaskThread::Refused => Some(parent),
            TaskThread::Wanted(_) => None,
        }
    }
}

/// Returns the name of a thread: the beginning of the message, in one line.
pub(crate) fn short_name(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    if line.is_empty() {
        return UNNAMED.to_owned();
    }
    if line.chars().count() <= SHOWN_NAME {
        return line;
    }
    let near: String = line.chars().take(SHOWN_NAME).collect();
    let end = near.rfind(' ').filter(|end| *end > near.len() / 2).unwrap_or(near.len());
    let name = format!("{}…", &near[..end]);
    name.chars().take(MAX_NAME).collect()
}

impl Discord {
    /// Returns the channel of a topic: the thread, which is created if necessary, or the channel
    /// that should contain it.
    pub(crate) async fn thread(
        &self,
        address: &ChatAddress,
        thread: ChannelId,
    ) -> Result<ChannelId, SendError> {
        let Ok(parent) = address.chat.as_str().parse::<ChannelId>() else { return Ok(thread) };
        if self.settings.threads == Threads::Off || address.topic.is_none() {
            return Ok(thread);
        }
        if let Some(place) = self.task_threads.place(thread, parent) {
            return Ok(place);
        }
        let _creating = self.task_threads.creating.lock().await;
        if let Some(place) = self.task_threads.place(thread, parent) {
            return Ok(place);
        }
        let known = self.task_threads.states.lock().get(&thread).cloned();
        let wanted = match known {
            Some(TaskThread::Wanted(name)) => Some(name),
            _ => self.missing_thread(parent, thread).await.map_err(|fault| not_sent(&fault))?,
        };
        let state = match wanted {
            None => TaskThread::Exists,
            Some(name) => self.create_thread(parent, thread, &name).await?,
        };
        let place = if state == TaskThread::Refused { parent } else { thread };
        self.task_threads.states.lock().put(thread, state);
        Ok(place)
    }

    /// Asks the platform for a thread that is unknown since a restart. Returns its name if it has
    /// still to be created; `None` if it exists. If its message is gone, also returns `None`: the
    /// thread was deleted, and its answers, which may be private, must not go into the channel.
    async fn missing_thread(
        &self,
        parent: ChannelId,
        thread: ChannelId,
    ) -> Result<Option<String>, RestError> {
        let found = self.rest.get::<Value>(Route::Channel { channel_id: thread }).await;
        match found {
            Err(fault) if fault.is_refused_with(UNKNOWN_CHANNEL) => {}
            Ok(_) | Err(RestError::Refused(_)) => return Ok(None),
            Err(fault) => return Err(fault),
        }
        let message_id = MessageId::new(thread.get());
        let route = Route::ChannelMessage { channel_id: parent, message_id };
        let text = match self.rest.get::<Value>(route).await {
            Ok(message) => message["content"].as_str().unwrap_or_default().to_owned(),
            Err(RestError::Refused(_)) => return Ok(None),
            Err(fault) => return Err(fault),
        };
        Ok(Some(short_name(&text)))
    }

    async fn create_thread(
        &self,
        parent: ChannelId,
        thread: ChannelId,
        name: &str,
    ) -> Result<TaskThread, SendError> {
        let message_id = MessageId::new(thread.get());
        let route = Route::MessageThreads { channel_id: parent, message_id };
        let body = json!({ "name": name, "auto_archive_duration": HIDE_AFTER_MINUTES });
        match self.rest.send(Method::POST, route, &body).await {
            Ok(_) => Ok(TaskThread::Exists),
            Err(fault) if fault.is_refused_with(ALREADY_HAS_THREAD) => Ok(TaskThread::Exists),
            Err(RestError::Refused(RestRefusal { status: 401, text, .. })) => {
                Err(SendError::Failed(text))
            }
            Err(fault @ RestError::Refused(_)) => {
                tracing::info!(channel = %parent, error = %fault, "cannot create a thread; the \
                    answer goes into the channel");
                Ok(TaskThread::Refused)
            }
            Err(fault) => Err(not_sent(&fault)),
        }
    }
}

/// Converts the fault of a request that precedes the message: the message itself was not sent.
pub(crate) fn not_sent(fault: &RestError) -> SendError {
    match fault {
        RestError::Wait(wait) => SendError::RetryAfter(*wait),
        fault => SendError::Failed(fault.to_string()),
    }
}

#[cfg(test)]
#[path = "threads_tests.rs"]
mod tests;
