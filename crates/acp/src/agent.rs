//! The agent's end of the connection to an editor: its requests, and the sessions that they are for.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate,
    CancelNotification, ClientCapabilities, CloseSessionRequest, CloseSessionResponse,
    DeleteSessionRequest, DeleteSessionResponse, Implementation, InitializeRequest,
    InitializeResponse, ListSessionsRequest, ListSessionsResponse, LoadSessionRequest,
    McpCapabilities, NewSessionRequest, PromptCapabilities, PromptRequest, PromptResponse,
    ResumeSessionRequest, SessionCapabilities, SessionCloseCapabilities, SessionDeleteCapabilities,
    SessionId, SessionListCapabilities, SessionResumeCapabilities, SessionUpdate,
    SetSessionConfigOptionRequest, SetSessionModeRequest, UnstructuredCommandInput,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{
    Agent, Client as EditorRole, Error, JsonRpcResponse, on_receive_notification,
    on_receive_request,
};
use avocet_protocol::channel::CommandHelp;
use avocet_protocol::clock::Clock;
use avocet_protocol::ignore_result;
use avocet_protocol::session::SessionOption;
use avocet_supervise::Group;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::daemon::ConnectDaemon;
use crate::delete::delete_conversation;
use crate::editor::{Editor, failed, invalid};
use crate::history::{replay, turns};
use crate::list::list;
use crate::options::{OptionResponder, ShownOptions};
use crate::place::{EditorPlaces, EditorProfile, SessionPlace};
use crate::servers::EditorServers;
use crate::session::{EditorSession, SessionInput, SessionParts, attach};
use crate::session_queue::send_when_room;
use crate::stdio::StdioLines;
use crate::tool_calls::ShownCalls;

/// Requests of an editor that wait for one session.
const QUEUE: usize = 64;
/// Characters of the part of an id that makes it unique.
const KEY: usize = 12;
/// Commands of the chat that an editor has other means for.
const OWN_MEANS: [&str; 4] = ["approve", "deny", "link", "stop"];

/// The parts of [`serve`].
#[derive(Debug)]
pub struct AcpParts {
    /// Connects each session to the daemon.
    pub connector: Arc<dyn ConnectDaemon>,
    /// The profiles of the configuration, the default profile first.
    pub profiles: Vec<EditorProfile>,
    /// Directories that file tools may change beside the workspaces.
    pub beside: Vec<PathBuf>,
    /// The commands of the chat.
    pub commands: Vec<CommandHelp>,
    /// The version of the program.
    pub version: &'static str,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Runs the sessions.
    pub group: Group,
}

/// Serves an editor until it closes the input.
///
/// # Errors
/// If the lines of the editor cannot be read or written: the reason.
pub async fn serve(parts: AcpParts, lines: StdioLines) -> Result<(), String> {
    let AcpParts { connector, profiles, beside, commands, version, clock, group } = parts;
    let places = EditorPlaces::new(profiles, &beside);
    let (sessions, capabilities) = (Mutex::default(), OnceLock::new());
    let agent = Arc::new(EditorAgent {
        connector,
        places,
        commands,
        version,
        clock,
        group,
        sessions,
        capabilities,
    });
    agent.serve(lines).await.map_err(|error| error.to_string())
}

#[derive(Debug)]
struct EditorAgent {
    connector: Arc<dyn ConnectDaemon>,
    places: EditorPlaces,
    commands: Vec<CommandHelp>,
    version: &'static str,
    clock: Arc<dyn Clock>,
    group: Group,
    sessions: Mutex<HashMap<SessionId, flume::Sender<SessionInput>>>,
    /// The capabilities of the editor, from `initialize`.
    capabilities: OnceLock<ClientCapabilities>,
}

/// The beginning of a session.
#[derive(Debug)]
enum Opening {
    New(PathBuf),
    /// With the earlier conversation.
    Load(SessionId),
    /// Without it.
    Resume(SessionId),
}

impl EditorAgent {
    async fn serve(self: Arc<Self>, lines: StdioLines) -> Result<(), Error> {
        let [init, new, load, resume, listed, prompts, configs, modes, cancels, closes, deletes] =
            std::array::from_fn(|_| self.clone());
        let agent = Agent
            .v1()
            .on_receive_request(
                async move |request: InitializeRequest, responder, _| {
                    responder.respond(init.initialize(request))
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: NewSessionRequest, responder, connection| {
                    let opening = Opening::New(request.cwd);
                    let servers = EditorServers::new(request.mcp_servers);
                    new.begin(opening, servers, responder, connection, ShownOptions::new_session);
                    Ok(())
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: LoadSessionRequest, responder, connection| {
                    let opening = Opening::Load(request.session_id);
                    let servers = EditorServers::new(request.mcp_servers);
                    load.begin(
                        opening,
                        servers,
                        responder,
                        connection,
                        ShownOptions::loaded_session,
                    );
                    Ok(())
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: ResumeSessionRequest, responder, connection| {
                    let opening = Opening::Resume(request.session_id);
                    let servers = EditorServers::new(request.mcp_servers);
                    resume.begin(
                        opening,
                        servers,
                        responder,
                        connection,
                        ShownOptions::resumed_session,
                    );
                    Ok(())
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: ListSessionsRequest, responder, _| {
                    let agent = listed.clone();
                    listed.group.spawn("acp-list", async move {
                        ignore_result(
                            responder.respond_with_result(agent.list(request).await),
                            "an editor that is gone waits for no answer",
                        );
                    });
                    Ok(())
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: PromptRequest, responder, _| {
                    prompts.prompt(request, responder)
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: SetSessionConfigOptionRequest, responder, _| {
                    configs.set_config_option(&request, OptionResponder::Config(responder))
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: SetSessionModeRequest, responder, _| {
                    let mode = (SessionOption::MODE.to_owned(), request.mode_id.to_string());
                    modes.set_option(&request.session_id, mode, OptionResponder::Mode(responder))
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: CloseSessionRequest, responder, _| {
                    if let Some(session) = closes.forget(&request.session_id) {
                        let close = SessionInput::Close { closed: None };
                        send_when_room(&closes.group, session, close);
                    }
                    responder.respond(CloseSessionResponse::new())
                },
                on_receive_request!(),
            )
            .on_receive_request(
                async move |request: DeleteSessionRequest, responder, _| {
                    let agent = deletes.clone();
                    deletes.group.spawn("acp-delete", async move {
                        ignore_result(
                            responder.respond_with_result(agent.delete(request.session_id).await),
                            "an editor that is gone waits for no answer",
                        );
                    });
                    Ok(())
                },
                on_receive_request!(),
            )
            .on_receive_notification(
                async move |request: CancelNotification, _| {
                    if let Some(session) = cancels.session(&request.session_id) {
                        send_when_room(&cancels.group, session, SessionInput::Cancel);
                    }
                    Ok(())
                },
                on_receive_notification!(),
            );
        lines.serve(agent).await
    }

    fn initialize(&self, request: InitializeRequest) -> InitializeResponse {
        ignore_result(
            self.capabilities.set(request.client_capabilities),
            "a second `initialize` does not change the capabilities",
        );
        let prompts = PromptCapabilities::new().image(true).audio(true).embedded_context(true);
        let sessions = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new())
            .delete(SessionDeleteCapabilities::new());
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .mcp_capabilities(McpCapabilities::new().http(true))
            .prompt_capabilities(prompts)
            .session_capabilities(sessions);
        let program = Implementation::new("avocet", self.version).title("Avocet".to_owned());
        InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .agent_info(program)
    }

    /// Opens a session beside the dispatch of requests, answers the editor, and runs the session.
    fn begin<R: JsonRpcResponse>(
        self: &Arc<Self>,
        opening: Opening,
        servers: EditorServers,
        responder: Responder<R>,
        connection: ConnectionTo<EditorRole>,
        answer: fn(SessionId, &ShownOptions) -> R,
    ) {
        let agent = self.clone();
        let is_known = !matches!(opening, Opening::New { .. });
        self.group.spawn("acp-opening", async move {
            match agent.open(opening, servers, connection).await {
                Ok((id, mut session)) => {
                    let answer = answer(id, session.read_options().await);
                    ignore_result(
                        responder.respond(answer),
                        "an editor that is gone waits for no answer",
                    );
                    session.offer_commands(agent.commands());
                    agent.group.spawn("acp-session", session.run(is_known));
                }
                Err(error) => ignore_result(
                    responder.respond_with_error(error),
                    "an editor that is gone waits for no answer",
                ),
            }
        });
    }

    async fn open(
        &self,
        opening: Opening,
        servers: EditorServers,
        connection: ConnectionTo<EditorRole>,
    ) -> Result<(SessionId, EditorSession), Error> {
        let (place, notice) = self.place_of(&opening)?;
        let id = SessionId::new(place.session.as_str());
        let capabilities = self.capabilities.get().cloned().unwrap_or_default();
        let editor = Editor { connection, id: id.clone(), capabilities };
        // An older connection of this session must not take its texts.
        drop(self.forget(&id));
        let client =
            attach(self.connector.as_ref(), &place.session, &editor).await.map_err(failed)?;
        let mut calls = ShownCalls::new(&editor.capabilities);
        if matches!(opening, Opening::Load(_)) {
            // The events of a running turn must not stand before the answers.
            let reader = self.connector.connect().await.map_err(failed)?;
            let turns = turns(&reader, &place.session).await;
            let turns =
                turns.map_err(|error| failed(format!("cannot load the session: {error}")))?;
            turns.iter().for_each(|turn| replay(turn, &editor, &mut calls, &place));
        }
        let (sender, inputs) = flume::bounded(QUEUE);
        self.sessions.lock().insert(id.clone(), sender);
        let connector = self.connector.clone();
        let parts =
            SessionParts { connector, editor, place, inputs, client, notice, servers, calls };
        Ok((id, EditorSession::new(parts)))
    }

    /// Returns the place of a session, and a remark about it for the person.
    fn place_of(&self, opening: &Opening) -> Result<(SessionPlace, Option<String>), Error> {
        match opening {
            Opening::New(cwd) => {
                let key = uuid::Uuid::new_v4().simple().to_string();
                let place = self.places.new_session(cwd, &key[..KEY]).map_err(invalid)?;
                let notice = notice(&place);
                Ok((place, notice))
            }
            Opening::Load(id) | Opening::Resume(id) => {
                Ok((self.places.find_place(&id.0).ok_or_else(|| unknown(id))?, None))
            }
        }
    }

    async fn list(&self, request: ListSessionsRequest) -> Result<ListSessionsResponse, Error> {
        let client = self.connector.connect().await.map_err(failed)?;
        list(&client, &self.places, request).await
    }

    /// Closes a session, and deletes its conversation. An id that is not of an editor's session
    /// names nothing that could be deleted.
    async fn delete(&self, id: SessionId) -> Result<DeleteSessionResponse, Error> {
        let Some(place) = self.places.find_place(&id.0) else {
            return Ok(DeleteSessionResponse::new());
        };
        let open = self.forget(&id);
        if let Some(session) = &open {
            let (closed, has_closed) = oneshot::channel();
            let close = SessionInput::Close { closed: Some(closed) };
            if session.send_async(close).await.is_ok() {
                ignore_result(
                    has_closed.await,
                    "the end of a session drops the sender, and it is closed then, too",
                );
            }
        }
        let client = self.connector.connect().await.map_err(failed)?;
        let clock = self.clock.as_ref();
        delete_conversation(&client, clock, place.session, open.is_some()).await?;
        Ok(DeleteSessionResponse::new())
    }

    /// Passes on a prompt to its session.
    fn prompt(
        &self,
        request: PromptRequest,
        responder: Responder<PromptResponse>,
    ) -> Result<(), Error> {
        let Some(session) = self.session(&request.session_id) else {
            return responder.respond_with_error(unknown(&request.session_id));
        };
        let responder = Box::new(responder);
        let prompt = SessionInput::Prompt { content: request.prompt, responder };
        match session.try_send(prompt).map_err(flume::TrySendError::into_inner) {
            Err(SessionInput::Prompt { responder, .. }) => {
                responder.respond_with_error(failed("the session has too many requests"))
            }
            _ => Ok(()),
        }
    }

    fn set_config_option(
        &self,
        request: &SetSessionConfigOptionRequest,
        responder: OptionResponder,
    ) -> Result<(), Error> {
        let Some(value) = request.value.as_value_id() else {
            return responder.refuse_change(invalid("the value of an option is a text"));
        };
        let option = (request.config_id.to_string(), value.to_string());
        self.set_option(&request.session_id, option, responder)
    }

    /// Passes on the change of an option, which is its name and value, to its session.
    fn set_option(
        &self,
        id: &SessionId,
        (option, value): (String, String),
        responder: OptionResponder,
    ) -> Result<(), Error> {
        let Some(session) = self.session(id) else { return responder.refuse_change(unknown(id)) };
        let input = SessionInput::SetOption { option, value, responder: Box::new(responder) };
        match session.try_send(input).map_err(flume::TrySendError::into_inner) {
            Err(SessionInput::SetOption { responder, .. }) => {
                responder.refuse_change(failed("the session has too many requests"))
            }
            _ => Ok(()),
        }
    }

    fn commands(&self) -> SessionUpdate {
        let offered = self.commands.iter().filter(|one| !OWN_MEANS.contains(&one.name));
        let commands = offered.map(|CommandHelp { name, argument, help, .. }| {
            let input = UnstructuredCommandInput::new(*argument);
            let input = (!argument.is_empty()).then(|| AvailableCommandInput::Unstructured(input));
            AvailableCommand::new(*name, *help).input(input)
        });
        let update = AvailableCommandsUpdate::new(commands.collect());
        SessionUpdate::AvailableCommandsUpdate(update)
    }

    fn session(&self, id: &SessionId) -> Option<flume::Sender<SessionInput>> {
        self.sessions.lock().get(id).cloned()
    }

    /// Ends the session with this id, if it is open.
    fn forget(&self, id: &SessionId) -> Option<flume::Sender<SessionInput>> {
        self.sessions.lock().remove(id)
    }
}

fn unknown(id: &SessionId) -> Error {
    invalid(format!("there is no session {id}; make one with session/new"))
}

/// A remark for the person about the place of a new session.
fn notice(place: &SessionPlace) -> Option<String> {
    let cwd = place.cwd.as_ref().filter(|_| !place.is_covered)?;
    let (cwd, workspace) = (cwd.display(), place.workspace.display());
    Some(format!(
        "I work with the files in `{workspace}`, not with those in `{cwd}`. To change this, add \
             a profile to the configuration of Avocet and restart it:\n\n```toml\n\
             [agents.project]\nworkspace = \"{cwd}\"\n```\n\n"
    ))
}
