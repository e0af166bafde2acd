//! A program that the daemon has started as its child: its rights, and the lines it prints that are no
//! messages.

use std::sync::atomic::{AtomicU32, Ordering};

use avocet_methods::{ChatPatterns, Hello};
use avocet_protocol::access::ClientRole;
use avocet_protocol::ids::{AccountName, ChannelName, IdError, SenderId};
use avocet_text::sanitise;
use tokio_util::sync::CancellationToken;

use crate::caller::Caller;
use crate::wire::RpcError;

/// The most lines of a run that are logged although they are no messages.
const GARBAGE_LINES: u32 = 5;

/// Characters of such a line that are logged.
const GARBAGE_CHARS: usize = 200;

/// A running program, and the account that it serves.
#[derive(Debug)]
pub struct RunningProgram {
    caller: Caller,
    pub(crate) account: String,
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
    pub(crate) fn admit_program(&self, hello: &Hello) -> Result<Caller, RpcError> {
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
