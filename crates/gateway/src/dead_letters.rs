//! The methods about dead letters. If no daemon runs, the program's own commands call them
//! directly.

use avocet_methods::{
    DropDeadLetter, ListDeadLetters, NamedDeadLetter, RetryDeadLetter, ShowDeadLetter, SocketMethod,
};
use avocet_protocol::store::{DeadId, DeadLetters, DeadPage};
use avocet_text::Redactor;

use crate::run::{Answered, MethodCall, Reply, RunMethod};
use crate::values::{check_limit, unavailable};
use crate::wire::RpcError;

/// The ports of these methods.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "each field is the port of its type")]
pub struct DeadLetterPorts<'a> {
    pub letters: &'a dyn DeadLetters,
    pub redactor: &'a Redactor,
}

impl<'a> From<MethodCall<'a>> for DeadLetterPorts<'a> {
    fn from(call: MethodCall<'a>) -> Self {
        Self { letters: call.parts.dead_letters.as_ref(), redactor: &call.parts.redactor }
    }
}

impl RunMethod for ListDeadLetters {
    type Ports<'a> = DeadLetterPorts<'a>;

    async fn run(ports: Self::Ports<'_>, Self { limit, after }: Self) -> Answered<Self> {
        check_limit(Self::NAME, "limit", limit)?;
        let page = DeadPage { limit, after };
        let list = ports.letters.dead_letters(page).await.map_err(unavailable)?;
        Reply::without_secrets(&list, ports.redactor)
    }
}

impl RunMethod for ShowDeadLetter {
    type Ports<'a> = DeadLetterPorts<'a>;

    async fn run(
        ports: Self::Ports<'_>,
        NamedDeadLetter { id }: NamedDeadLetter,
    ) -> Answered<Self> {
        let letter = ports.letters.dead_letter(id).await.map_err(unavailable)?;
        Reply::without_secrets(&letter.ok_or_else(|| unknown(id))?, ports.redactor)
    }
}

impl RunMethod for RetryDeadLetter {
    type Ports<'a> = DeadLetterPorts<'a>;

    async fn run(
        ports: Self::Ports<'_>,
        NamedDeadLetter { id }: NamedDeadLetter,
    ) -> Answered<Self> {
        let retried = ports.letters.retry_dead_letter(id).await.map_err(unavailable)?;
        retried.ok_or_else(|| unknown(id))?;
        Reply::with_whole(&())
    }
}

impl RunMethod for DropDeadLetter {
    type Ports<'a> = DeadLetterPorts<'a>;

    async fn run(
        ports: Self::Ports<'_>,
        NamedDeadLetter { id }: NamedDeadLetter,
    ) -> Answered<Self> {
        if ports.letters.drop_dead_letter(id).await.map_err(unavailable)? {
            return Reply::with_whole(&());
        }
        Err(unknown(id))
    }
}

fn unknown(id: DeadId) -> RpcError {
    let message = format!(
        "there is no dead letter {id}; it may wait, or have been retried or dropped: `avocet trace {id}` \
         shows it"
    );
    RpcError::new(RpcError::NOT_FOUND, message)
}
