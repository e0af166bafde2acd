//! Programs that the daemon has started as its children. Each serves the chats of one account, over
//! its standard input and output.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use avocet_methods::{ChatPatterns, Hello};
use avocet_protocol::{AccountName, ChannelName, ClientRole, IdError, SenderId};
use avocet_supervise::Group;
use avocet_text::sanitise;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::caller::Caller;
use crate::connection::{self, ConnectionOrigin, NewConnection};
use crate::parts::GatewayParts;
use crate::places::Places;
use crate::subscribe::NamedSubscriptions;
use crate::wire::RpcError;

/// The most lines of a run that are logged although they are no messages.
const GARBAGE_LINES: u32 = 5;
/// Characters of such a line that are logged.
const GARBAGE_CHARS: usize = 200;

/// The daemon's end of the standard streams of a program.
#[derive(Debug)]
pub struct ChildConnection<R, W> {
    /// The output of the program.
    pub stdout: R,
    /// The input of the program. It is closed after the end of the connection.
    pub stdin: W,
    /// Has the rights of the connection.
    pub program: Arc<RunningProgram>,
}

/// A running program, and the account that it serves.
#[derive(Debug)]
pub struct RunningProgram {
    caller: Caller,
    account: String,
    garbage: AtomicU32,
    /// Fires when the program attaches to its account.
    pub attached: CancellationToken,
}

impl RunningProgram {
    /// Makes the record of a program that has just been started.
    ///
    /// # Errors
    /// [`IdError`] if the account is too long for a sender's id.
    pub fn new(channel: &ChannelName, account: &AccountName) -> Result<Self, IdError> {
        let account = format!("{channel}:{account}");
        let caller = Caller {
            sender: SenderId::parse(&format!("program:{account}"))?,
            role: ClientRole::Channel,
            chats: ChatPatterns::new(vec![format!("{account}:*")]),
            methods: None,
        };
        let (garbage, attached) = (AtomicU32::new(0), CancellationToken::new());
        Ok(Self { caller, account, garbage, attached })
    }

    /// Returns the rights of the program. It cannot take those of a client.
    pub(crate) fn hello(&self, hello: &Hello) -> Result<Caller, RpcError> {
        if hello.client.is_none() && hello.token.is_none() {
            return Ok(self.caller.clone());
        }
        let message = format!(
            "hello: the daemon has started this program for {}, and knows its rights; leave out \
             `client` and `token`",
            self.account
        );
        Err(RpcError::new(RpcError::NOT_ALLOWED, message))
    }

    pub(crate) fn hello_first(&self) -> RpcError {
        let message = "a program that the daemon has started says hello first: {\"method\": \
            \"hello\", \"params\": {\"protocol\": 1}}";
        RpcError::new(RpcError::NOT_ALLOWED, message)
    }

    /// Logs a line that is no message, such as the output of a library.
    pub(crate) fn log_garbage(&self, line: &[u8], error: &RpcError) {
        let logged = self.garbage.fetch_add(1, Ordering::Relaxed);
        if logged > GARBAGE_LINES {
            return;
        }
        let account = &self.account;
        if logged == GARBAGE_LINES {
            tracing::warn!(
                account,
                "the program prints more lines that are no messages to its \
                standard output; they are ignored"
            );
            return;
        }
        let line = sanitise(&String::from_utf8_lossy(line)).text;
        let line: String = line.chars().take(GARBAGE_CHARS).collect();
        tracing::warn!(account, line, %error, "the program printed a line that is no message to its \
            standard output; it is ignored. Print to standard error");
    }
}

/// Serves the programs that the daemon has started.
#[derive(Debug, Clone)]
pub struct Programs {
    parts: Arc<GatewayParts>,
    places: Arc<Places>,
    subscriptions: Arc<NamedSubscriptions>,
}

impl Programs {
    /// Makes the server for programs.
    #[must_use]
    pub fn new(parts: GatewayParts) -> Self {
        let places = Places::new(parts.clock.clone());
        Self { parts: Arc::new(parts), places, subscriptions: Arc::default() }
    }

    /// Shared by the connections of all programs.
    #[must_use]
    pub fn parts(&self) -> &Arc<GatewayParts> {
        &self.parts
    }

    /// Serves a program until its output ends, or the group is cancelled. Open requests continue in
    /// the group until they are answered; then the input of the program is closed.
    pub async fn serve<R, W>(&self, child: ChildConnection<R, W>, group: &Group)
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let ChildConnection { stdout, stdin, program } = child;
        let place = match self.places.take() {
            Ok(place) => place,
            Err(full) => {
                tracing::warn!(account = program.account, %full, "the program is not served");
                return;
            }
        };
        let new = NewConnection {
            reader: stdout,
            writer: stdin,
            origin: ConnectionOrigin::Child(program),
            caller: None,
            place,
            subscriptions: self.subscriptions.clone(),
        };
        connection::serve(new, &self.parts, group).await;
    }
}

#[cfg(test)]
#[path = "programs_tests.rs"]
mod tests;
