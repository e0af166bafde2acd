//! One session of the editor: its prompts go to the chat, and the events, texts and questions of
//! the chat go to the editor.

mod buffers;
mod daemon_side;
mod editor_side;
mod finish;
mod options;
mod servers;
mod title;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use agent_client_protocol::v1;
use agent_client_protocol::v1::schema::{ContentBlock, PromptResponse, SessionUpdate};
use avocet_gateway::{Client, ClientError, ClientMethod, DeliveryChunk, Incoming};
use avocet_protocol::LruMap;
use avocet_protocol::chat::Choice;
use avocet_protocol::ids::{DeliveryId, MessageId, TurnId, WaitId};
use avocet_protocol::ignore_result;
use avocet_protocol::session::SessionServerStart;
use avocet_protocol::store::MessageStatus;
use avocet_protocol::tool::WaitKind;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::oneshot;

use crate::approval::PermissionAnswer;
use crate::daemon::ConnectDaemon;
use crate::editor::Editor;
use crate::editor_text::EditorText;
use crate::options::{OptionResponder, ShownOptions};
use crate::place::SessionPlace;
use crate::servers::EditorServers;
use crate::tool_calls::ShownCalls;

use servers::ServerStarts;

pub(crate) use editor_side::attach;

/// A request of the editor for one session.
#[derive(Debug)]
pub(crate) enum SessionInput {
    /// `session/prompt`.
    Prompt { content: Vec<ContentBlock>, responder: Box<v1::Responder<PromptResponse>> },
    /// `session/set_config_option` or `session/set_mode`.
    SetOption { option: String, value: String, responder: Box<OptionResponder> },
    /// `session/cancel`.
    Cancel,
    /// `session/close` or `session/delete`. `closed` is told after the turn was stopped.
    Close { closed: Option<oneshot::Sender<()>> },
}

/// A prompt without an answer to the editor.
#[derive(Debug)]
struct OpenPrompt {
    /// Its message. After an answer was merged into a turn, the message that began the turn.
    message: MessageId,
    responder: v1::Responder<PromptResponse>,
    /// References of its files.
    files: Vec<String>,
    is_cancelled: bool,
}

/// Work beside the session that has ended.
#[derive(Debug)]
enum Done {
    /// `wait` for the message of a prompt.
    Outcome {
        message: MessageId,
        status: Result<MessageStatus, ClientError>,
    },
    Approval {
        wait: WaitId,
        answer: PermissionAnswer,
        question: Option<Box<DeliveryChunk>>,
    },
    Choice {
        choices: Vec<Choice>,
        answer: PermissionAnswer,
    },
    Form(Result<Option<String>, agent_client_protocol::Error>),
    /// `session.servers`.
    Servers(Result<Vec<SessionServerStart>, ClientError>),
}

pub(crate) struct EditorSession {
    connector: Arc<dyn ConnectDaemon>,
    editor: Editor,
    place: SessionPlace,
    inputs: flume::Receiver<SessionInput>,
    /// The connection to the daemon; `None` after it was lost.
    client: Option<Arc<Client>>,
    /// Events and texts that arrived during a request to the daemon.
    backlog: VecDeque<Incoming>,
    /// A text before the first answer.
    notice: Option<String>,
    servers: ServerStarts,
    text: EditorText,
    calls: ShownCalls,
    title: Option<String>,
    options: ShownOptions,
    prompt: Option<OpenPrompt>,
    /// The message whose turn has asked a question, if its prompt ended with the question.
    asked: Option<MessageId>,
    turn: Option<TurnId>,
    wait: Option<WaitKind>,
    /// The last text of the chat since the turn resumed: the question, if it waits.
    question: Option<DeliveryChunk>,
    /// Approvals that the editor was asked for.
    requested: HashSet<WaitId>,
    /// Messages and deliveries that the editor has.
    own: LruMap<MessageId, (), REMEMBERED>,
    shown: LruMap<DeliveryId, (), REMEMBERED>,
    work: FuturesUnordered<BoxFuture<'static, Done>>,
}

pub(crate) struct SessionParts {
    pub(crate) connector: Arc<dyn ConnectDaemon>,
    pub(crate) editor: Editor,
    pub(crate) place: SessionPlace,
    pub(crate) inputs: flume::Receiver<SessionInput>,
    /// A connection that is attached to the chat.
    pub(crate) client: Client,
    pub(crate) notice: Option<String>,
    pub(crate) servers: EditorServers,
    /// The calls of the replayed history.
    pub(crate) calls: ShownCalls,
}

/// Messages and deliveries that are remembered.
const REMEMBERED: usize = 256;

impl EditorSession {
    pub(crate) fn new(parts: SessionParts) -> Self {
        let SessionParts { connector, editor, place, inputs, client, notice, servers, calls } =
            parts;
        Self {
            connector,
            editor,
            place,
            inputs,
            client: Some(Arc::new(client)),
            backlog: VecDeque::new(),
            notice,
            servers: ServerStarts::new(servers),
            text: EditorText::default(),
            calls,
            title: None,
            options: ShownOptions::default(),
            prompt: None,
            asked: None,
            turn: None,
            wait: None,
            question: None,
            requested: HashSet::new(),
            own: LruMap::default(),
            shown: LruMap::default(),
            work: FuturesUnordered::new(),
        }
    }

    /// Sends the commands of the chat to the editor.
    pub(crate) fn offer_commands(&self, commands: SessionUpdate) {
        self.editor.update(commands);
    }

    /// Runs until the editor closes the session or leaves. `is_known` says that the session is an
    /// earlier one.
    pub(crate) async fn run(mut self, is_known: bool) {
        self.begin_servers();
        if is_known {
            self.show_title().await;
        }
        loop {
            if let Some(incoming) = self.backlog.pop_front() {
                self.take_incoming(incoming).await;
                continue;
            }
            let incoming = self.client.as_ref().map(|client| client.incoming().recv_async());
            let incoming = avocet_protocol::clock::or_pending(incoming);
            tokio::select! {
                biased;
                input = self.inputs.recv_async() => match input {
                    Ok(SessionInput::Prompt { content, responder }) => {
                        self.take_prompt(content, *responder).await;
                    }
                    Ok(SessionInput::SetOption { option, value, responder }) => {
                        self.set_option(option, value, *responder).await;
                    }
                    Ok(SessionInput::Cancel) => self.cancel().await,
                    Ok(SessionInput::Close { closed }) => {
                        self.close().await;
                        if let Some(closed) = closed {
                            ignore_result(closed.send(()), "the editor that deletes it is gone");
                        }
                        return;
                    }
                    // The editor is gone, or has opened the session again. The turn goes on.
                    Err(_) => return self.end_session(),
                },
                arrived = incoming => match arrived {
                    Ok(incoming) => self.take_incoming(incoming).await,
                    Err(_) => self.lose_daemon(),
                },
                Some(done) = self.work.next() => self.take_done(done).await,
            }
        }
    }

    /// Makes a request to the daemon. Meanwhile it takes events off the connection, because the
    /// answer stands behind them.
    async fn call<M: ClientMethod>(
        &mut self,
        client: &Client,
        params: &M::Params,
    ) -> Result<M::Answer, ClientError> {
        let calling = client.call::<M>(params);
        tokio::pin!(calling);
        loop {
            tokio::select! {
                biased;
                answer = &mut calling => return answer,
                Ok(incoming) = client.incoming().recv_async() => match incoming {
                    Incoming::Editor(call) => self.pass_to_editor(call),
                    other => self.backlog.push_back(other),
                },
            }
        }
    }

    /// Takes the events and texts that have arrived.
    async fn take_arrived(&mut self) {
        loop {
            let mut next = self.backlog.pop_front();
            if next.is_none() {
                let client = self.client.as_ref();
                next = client.and_then(|client| client.incoming().try_recv().ok());
            }
            let Some(incoming) = next else { return };
            self.take_incoming(incoming).await;
        }
    }

    async fn take_incoming(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Event(event) => self.take_event(event).await,
            Incoming::Deliver { chunk, shown } => {
                self.take_chunk(*chunk).await;
                shown.confirm().await;
            }
            Incoming::Editor(call) => self.pass_to_editor(call),
            Incoming::Output(piece) => self.show_output(piece).await,
            // The session subscribes to nothing.
            Incoming::Events { .. } => {}
        }
    }

    /// Ends the open prompt with an error. The next prompt connects again.
    fn lose_daemon(&mut self) {
        self.client = None;
        self.backlog.clear();
        self.work = FuturesUnordered::new();
        self.requested.clear();
        self.forget_turn();
        self.asked = None;
        self.lose_servers();
        let Some(prompt) = self.prompt.take() else { return };
        let message = "the connection to the daemon was lost. Your message is in its log: the \
            answer comes into this session after the next prompt, or load the session again";
        self.end_prompt(prompt, Err(crate::editor::failed(message)));
    }

    fn forget_turn(&mut self) {
        (self.turn, self.wait, self.question) = (None, None, None);
        self.text.end_turn();
    }
}
