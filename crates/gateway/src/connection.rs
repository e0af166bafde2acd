//! Serves one connection: requests in, responses out.
//!
//! ```text
//! line -> `hello`, `attach`, `subscribe`, a piece of a file   in place, in order
//!      -> `wait`             beside the others; over the limit: refused
//!      -> other requests     beside the others; at the limit, reading pauses
//!           -> responses, as they are ready -> bounded queue -> writer
//! ```
//!
//! **Hello first.** Until then a connection has no rights, unless its origin gives them. It is
//! answered in place, so that the next line has the new rights.
//!
//! **Messages keep their order** although requests run side by side. A request that enters a
//! message takes a ticket while its line is read, and waits for its turn with it.
//!
//! **A request outlives its client.** Once begun, it runs to its commit. Only `wait` ends with the
//! connection, because it changes nothing.
//!
//! **Room.** An idle connection gives up its place when all are needed. Its client reads the
//! reason.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use avocet_methods::{
    AttachEditor, AttachParams, Capability, GetFile, GiveServers, Hello, Ping, SocketMethod,
    Subscribe, Wait, Welcome, find_method,
};
use avocet_protocol::bus::{OrderHold, OrderTicket, PublishOrder};
use avocet_protocol::ids::{AccountName, ChannelName};
use avocet_protocol::ignore_result;
use avocet_supervise::Group;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::MAX_LINE_BYTES;
use crate::caller::Caller;
use crate::channel_program::check_protocol;
use crate::client_request::ClientRequest;
use crate::clients::{Clients, Peer, welcome_caller};
use crate::lines::{self, InputLine};
use crate::methods;
use crate::named_subscriptions::NamedSubscriptions;
use crate::parts::GatewayParts;
use crate::places::{CONNECTIONS, ConnectionPlace, UnderWay};
use crate::run::{MethodCall, read_params};
use crate::running_program::RunningProgram;
use crate::values::{check_have_names, to_value};
use crate::wire::{RpcError, RpcMessage};

/// Bytes after which no more lines are added to those that are written together.
const BATCH: usize = 16 * 1024;
/// The most lines that wait for the client to read them.
const BEHIND: usize = 1024;
/// The most requests of a connection that run at the same time. At the limit, reading pauses.
const AT_ONCE: usize = 64;
/// The most messages whose outcome a connection may wait for at the same time.
const WAITS: usize = 1024;
/// The time for a connection that makes room to read the reason.
const FAREWELL: Duration = Duration::from_secs(1);

/// The state that the tasks of a connection share.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) parts: Arc<GatewayParts>,
    origin: ConnectionOrigin,
    /// The rights of later requests; `None` until the client has said `hello`.
    caller: Arc<Mutex<Option<Arc<Caller>>>>,
    /// The capabilities that the client has named in `hello`; `None` for all.
    capabilities: Arc<Mutex<Option<BTreeSet<Capability>>>>,
    /// The accounts that the client serves.
    pub(crate) served: Arc<Mutex<Vec<(ChannelName, AccountName)>>>,
    pub(crate) lines: flume::Sender<Vec<u8>>,
    /// Requests that the client has received but not answered, by their ids.
    pub(crate) open: Arc<Mutex<HashMap<String, ClientRequest>>>,
    pub(crate) subscriptions: Arc<NamedSubscriptions>,
    requests: Arc<Semaphore>,
    /// The order of the requests that enter messages.
    order: Arc<Mutex<PublishOrder>>,
    /// Limits `wait` requests on their own, since they take long.
    waits: Arc<Semaphore>,
    pub(crate) place: Arc<ConnectionPlace>,
    /// Fires when the connection ends.
    pub(crate) ended: CancellationToken,
}

/// A request in progress, with the places that it holds until its response.
struct RunningRequest {
    id: Value,
    caller: Arc<Caller>,
    method: String,
    params: Value,
    /// The place among the requests that enter messages; `None` for the others.
    ticket: Option<OrderTicket>,
    permit: OwnedSemaphorePermit,
    under_way: UnderWay,
}

/// Sends a client the reason why its connection is refused.
pub(crate) fn refuse(stream: &UnixStream, refusal: RpcError) {
    let line = RpcMessage::Response { id: Value::Null, result: Err(refusal) }.to_line();
    ignore_result(stream.try_write(&line), "a new connection has room, so the client is gone");
}

/// The other end of a connection.
#[derive(Clone)]
pub(crate) enum ConnectionOrigin {
    /// A process on the socket, and the clients that it can name in `hello`.
    Socket(Arc<Clients>, Peer),
    /// A child of the daemon.
    Child(Arc<RunningProgram>),
}

/// A new connection, and the rights that it has without `hello`.
pub(crate) struct NewConnection<R, W> {
    pub(crate) reader: R,
    pub(crate) writer: W,
    pub(crate) origin: ConnectionOrigin,
    pub(crate) caller: Option<Caller>,
    pub(crate) place: Arc<ConnectionPlace>,
    pub(crate) subscriptions: Arc<NamedSubscriptions>,
}

/// Serves a connection until the client closes it, it has to make room, or the group is cancelled.
pub(crate) async fn serve<R, W>(new: NewConnection<R, W>, parts: &Arc<GatewayParts>, group: &Group)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let NewConnection { reader, writer, origin, caller, place, subscriptions } = new;
    let (lines, to_write) = flume::bounded(BEHIND);
    let ended = group.cancel_token().child_token();
    let _end = ended.clone().drop_guard();
    let connection = Connection {
        parts: parts.clone(),
        origin,
        caller: Arc::new(Mutex::new(caller.map(Arc::new))),
        capabilities: Arc::default(),
        served: Arc::default(),
        lines,
        open: Arc::default(),
        subscriptions,
        requests: Arc::new(Semaphore::new(AT_ONCE)),
        order: Arc::default(),
        waits: Arc::new(Semaphore::new(WAITS)),
        place: place.clone(),
        ended: ended.clone(),
    };
    let cut = CancellationToken::new();
    group.spawn("writer", write(writer, to_write, ended.clone(), cut.clone()));
    let mut reader = BufReader::new(reader);
    loop {
        let line = tokio::select! {
            biased;
            () = ended.cancelled() => return,
            () = place.wait_for_leave() => {
                let _cut = cut.drop_guard();
                connection.make_room();
                let clock = parts.clock.clone();
                drop(connection);
                return tokio::select! {
                    () = ended.cancelled() => {}
                    () = clock.sleep(FAREWELL) => {}
                };
            }
            line = lines::next(&mut reader) => line,
        };
        match line {
            Ok(Some(InputLine::Whole(line))) if line.trim_ascii().is_empty() => {}
            Ok(Some(InputLine::Whole(line))) => connection.take(&line, group).await,
            Ok(Some(InputLine::TooLong(length))) => {
                let message = format!(
                    "the line is {length} bytes long; at most {MAX_LINE_BYTES} are accepted. Send \
                        large texts as files"
                );
                let error = RpcError::new(RpcError::REQUEST, message);
                connection.reject(&[], error).await;
            }
            Ok(None) | Err(_) => return,
        }
    }
}

async fn write(
    mut writer: impl AsyncWrite + Unpin + Send,
    lines: flume::Receiver<Vec<u8>>,
    ended: CancellationToken,
    cut: CancellationToken,
) {
    while let Ok(mut batch) = lines.recv_async().await {
        // One system call for the lines of one moment.
        while batch.len() < BATCH
            && let Ok(line) = lines.try_recv()
        {
            batch.extend(line);
        }
        tokio::select! {
            () = cut.cancelled() => break,
            written = writer.write_all(&batch) => if written.is_err() { break },
        }
    }
    ended.cancel();
}

impl Connection {
    async fn take(&self, line: &[u8], group: &Group) {
        match RpcMessage::parse(line) {
            Err(error) => self.reject(line, error).await,
            Ok(RpcMessage::Notification { method, params }) => self.notice(&method, params),
            Ok(RpcMessage::Response { id, result }) => self.receive(&id, result),
            Ok(RpcMessage::Request { id, method, params }) => {
                // A connection that has to make room refuses the request with a reason.
                if let Some(under_way) = self.place.begin_request() {
                    self.take_request(id, method, params, under_way, group).await;
                }
            }
        }
    }

    /// Reports a line that is no message. A child may have libraries that print, so its lines are
    /// logged: an answer without an id would end the connection.
    async fn reject(&self, line: &[u8], error: RpcError) {
        match &self.origin {
            ConnectionOrigin::Socket(..) => self.respond(Value::Null, Err(error)).await,
            ConnectionOrigin::Child(program) => program.log_garbage(line, &error),
        }
    }

    async fn take_request(
        &self,
        id: Value,
        method: String,
        params: Value,
        under_way: UnderWay,
        group: &Group,
    ) {
        if let Err(refusal) = check_have_names(&method, &params) {
            return self.respond(id, Err(refusal)).await;
        }
        if method == Hello::NAME {
            // Later requests of the same connection have the new rights.
            let welcome = self.hello(params);
            return self.respond(id, welcome).await;
        }
        let Some(caller) = self.caller() else {
            let refusal = self.hello_first();
            let answer = if method == Ping::NAME { Ok(Value::Null) } else { Err(refusal) };
            return self.respond(id, answer).await;
        };
        match method.as_str() {
            AttachParams::NAME => {
                let attached = self.attach(&caller, params, group).await;
                self.respond(id, attached).await;
            }
            AttachEditor::NAME => {
                let attached = self.attach_editor(&caller, params, group).await;
                self.respond(id, attached).await;
            }
            Subscribe::NAME => self.subscribe(&caller, id, params, group).await,
            GetFile::NAME => {
                let piece = self.file_piece(&caller, params).await;
                self.respond(id, piece).await;
            }
            Wait::NAME => {
                let Ok(permit) = self.waits.clone().try_acquire_owned() else {
                    let message =
                        format!("a connection waits for at most {WAITS} messages; open another");
                    let refusal = Err(RpcError::new(RpcError::REQUEST, message));
                    return self.respond(id, refusal).await;
                };
                let request =
                    RunningRequest { id, caller, method, params, ticket: None, permit, under_way };
                self.run(request, group);
            }
            _ => {
                // The semaphore always stays open.
                if let Ok(permit) = self.requests.clone().acquire_owned().await {
                    let ticket = self.take_ticket(&method);
                    let request =
                        RunningRequest { id, caller, method, params, ticket, permit, under_way };
                    self.run(request, group);
                }
            }
        }
    }

    /// Runs a request beside the others.
    fn run(&self, request: RunningRequest, group: &Group) {
        let connection = self.clone();
        group.spawn(&format!("request-{}", request.method), async move {
            let RunningRequest { id, caller, method, params, ticket, permit, under_way } = request;
            let _until_answered = (permit, under_way);
            let Connection { parts, ended, .. } = &connection;
            let hold = match ticket {
                Some(ticket) => ticket.wait_turn().await,
                None => OrderHold::default(),
            };
            let answering = async {
                if method == GiveServers::NAME {
                    return connection.give_servers(&caller, params).await;
                }
                let call = MethodCall { parts, caller: &caller, hold: &hold };
                methods::answer_in_order(call, &method, params).await
            };
            // Only `wait` ends with the client. Other requests are answered once they have
            // committed.
            let answer = tokio::select! {
                () = ended.cancelled(), if method == Wait::NAME => return,
                answer = answering => answer,
            };
            // The answer may wait for the client to read.
            drop(hold);
            tokio::select! {
                biased;
                () = connection.respond(id, answer) => {}
                () = ended.cancelled() => {}
            }
        });
    }

    /// Takes a place for a request that enters messages; `None` for the other methods.
    fn take_ticket(&self, method: &str) -> Option<OrderTicket> {
        find_method(method).filter(|method| method.enters_message)?;
        Some(self.order.lock().take_ticket())
    }

    /// Sends the reason to the client of an idle connection before the connection is closed.
    fn make_room(&self) {
        let message = format!(
            "the connection was closed because it was idle and all {CONNECTIONS} places were needed; connect again"
        );
        self.say_goodbye(RpcError::new(RpcError::UNAVAILABLE, message));
    }

    pub(crate) fn close(&self, reason: RpcError) {
        self.say_goodbye(reason);
        self.ended.cancel();
    }

    /// Sends a refusal that is the answer to all open requests.
    fn say_goodbye(&self, reason: RpcError) {
        let line = RpcMessage::Response { id: Value::Null, result: Err(reason) }.to_line();
        ignore_result(self.lines.try_send(line), "a client that reads nothing misses this, too");
    }

    pub(crate) async fn respond(&self, id: Value, result: Result<Value, RpcError>) {
        let mut line = RpcMessage::Response { id: id.clone(), result }.to_line();
        if line.len() > MAX_LINE_BYTES {
            let message = format!(
                "the answer is {} bytes long, and a line has at most {MAX_LINE_BYTES}; ask for less at once",
                line.len()
            );
            let result = Err(RpcError::new(RpcError::PARAMS, message));
            line = RpcMessage::Response { id, result }.to_line();
        }
        self.write(line).await;
    }

    pub(crate) async fn write(&self, line: Vec<u8>) {
        ignore_result(self.lines.send_async(line).await, "the writer ends with the connection");
    }

    /// Gives later requests the rights of the named client.
    fn hello(&self, params: Value) -> Result<Value, RpcError> {
        let hello = read_params::<Hello>(params)?;
        check_protocol(hello.protocol)?;
        let welcome = match &self.origin {
            ConnectionOrigin::Socket(clients, peer) => {
                self.hello_of_client(clients, *peer, &hello)?
            }
            ConnectionOrigin::Child(program) => {
                let caller = Arc::new(program.admit_program(&hello)?);
                *self.caller.lock() = Some(caller.clone());
                welcome_caller(&caller)
            }
        };
        if let Some(named) = hello.capabilities {
            *self.capabilities.lock() = Some(named);
        }
        to_value(Ok(welcome))
    }

    fn hello_of_client(
        &self,
        clients: &Clients,
        peer: Peer,
        hello: &Hello,
    ) -> Result<Welcome, RpcError> {
        let mut caller = self.caller.lock();
        if hello.client.is_some() || hello.token.is_some() {
            let named = clients.admit_named(peer, hello).inspect_err(|refusal| {
                // Repeated refusals can mean that someone tries out tokens.
                tracing::warn!(user = peer.uid, %refusal, "a client was refused");
            });
            *caller = Some(Arc::new(named?));
        }
        let caller = caller.as_ref().ok_or_else(|| clients.hello_first(peer))?;
        Ok(welcome_caller(caller))
    }

    fn hello_first(&self) -> RpcError {
        match &self.origin {
            ConnectionOrigin::Socket(clients, peer) => clients.hello_first(*peer),
            ConnectionOrigin::Child(program) => program.hello_first(),
        }
    }

    /// Returns `true` if the client has the capability.
    pub(crate) fn has_capability(&self, capability: Capability) -> bool {
        let named = self.capabilities.lock();
        named.as_ref().is_none_or(|named| named.contains(&capability))
    }

    /// Returns `true` if the client serves all chats of an account.
    pub(crate) fn is_serving(&self, channel: &ChannelName, account: &AccountName) -> bool {
        let served = self.served.lock();
        served.iter().any(|(one, other)| one == channel && other == account)
    }

    /// Notes that the client serves an account.
    pub(crate) fn serves(&self, channel: &ChannelName, account: &AccountName) {
        let account = (channel.clone(), account.clone());
        self.served.lock().push(account);
        if let ConnectionOrigin::Child(program) = &self.origin {
            program.attached.cancel();
        }
    }

    fn caller(&self) -> Option<Arc<Caller>> {
        self.caller.lock().clone()
    }
}
