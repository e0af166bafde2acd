//! The methods about people: who may write to the agent, and which chats are linked. If no daemon
//! runs, the program's own commands call them directly.

use avocet_methods::{
    AddLink, Approve, Deny, ListLinks, ListPairings, ListPeople, NoParams, Remove, RemoveLink,
    SocketMethod,
};
use avocet_protocol::access::{AccessControl, AccessError, Role};

use crate::run::{Answered, MethodCall, Reply, RunMethod};
use crate::values::check_limit;
use crate::wire::RpcError;

impl<'a> From<MethodCall<'a>> for &'a dyn AccessControl {
    fn from(call: MethodCall<'a>) -> Self {
        call.parts.access.as_ref()
    }
}

impl RunMethod for AddLink {
    type Ports<'a> = &'a dyn AccessControl;

    async fn run(access: Self::Ports<'_>, Self { into, chat }: Self) -> Answered<Self> {
        Reply::with_whole(&access.link(&into, &chat).await.map_err(|error| refusal(&error))?)
    }
}

impl RunMethod for ListLinks {
    type Ports<'a> = &'a dyn AccessControl;

    async fn run(access: Self::Ports<'_>, Self { limit, after }: Self) -> Answered<Self> {
        check_limit(Self::NAME, "limit", limit)?;
        Reply::with_whole(&page(access.links(), limit, after.as_ref(), |link| &link.chat))
    }
}

impl RunMethod for RemoveLink {
    type Ports<'a> = &'a dyn AccessControl;

    async fn run(access: Self::Ports<'_>, Self { chat }: Self) -> Answered<Self> {
        Reply::with_whole(&access.unlink(&chat).await.map_err(|error| refusal(&error))?)
    }
}

impl RunMethod for Approve {
    type Ports<'a> = &'a dyn AccessControl;

    async fn run(access: Self::Ports<'_>, Self { code, owner }: Self) -> Answered<Self> {
        let role = if owner { Role::Owner } else { Role::User };
        Reply::with_whole(&access.approve(&code, role).await.map_err(|error| refusal(&error))?)
    }
}

impl RunMethod for Deny {
    type Ports<'a> = &'a dyn AccessControl;

    async fn run(access: Self::Ports<'_>, Self { code }: Self) -> Answered<Self> {
        Reply::with_whole(&access.deny(&code).await.map_err(|error| refusal(&error))?)
    }
}

impl RunMethod for ListPairings {
    type Ports<'a> = &'a dyn AccessControl;

    async fn run(access: Self::Ports<'_>, _: NoParams) -> Answered<Self> {
        Reply::with_whole(&access.pairings())
    }
}

impl RunMethod for ListPeople {
    type Ports<'a> = &'a dyn AccessControl;

    async fn run(access: Self::Ports<'_>, Self { limit, after }: Self) -> Answered<Self> {
        check_limit(Self::NAME, "limit", limit)?;
        Reply::with_whole(&page(access.people(), limit, after.as_ref(), |person| &person.id))
    }
}

impl RunMethod for Remove {
    type Ports<'a> = &'a dyn AccessControl;

    async fn run(access: Self::Ports<'_>, Self { person }: Self) -> Answered<Self> {
        Reply::with_whole(&access.remove_person(&person).await.map_err(|error| refusal(&error))?)
    }
}

/// Returns the rows of a list behind the one with this key.
fn page<T, K: Ord>(
    mut rows: Vec<T>,
    limit: u32,
    after: Option<&K>,
    key: impl Fn(&T) -> &K,
) -> Vec<T> {
    rows.sort_by(|one, other| key(one).cmp(key(other)));
    let is_new = |row: &T| after.is_none_or(|after| key(row) > after);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    rows.into_iter().filter(is_new).take(limit).collect()
}

fn refusal(error: &AccessError) -> RpcError {
    let code = match error {
        AccessError::Log(_) => RpcError::UNAVAILABLE,
        AccessError::UnknownCode(_)
        | AccessError::UnknownPerson(_)
        | AccessError::NotPrivate(_)
        | AccessError::NotLinked(_)
        | AccessError::Destination(_) => RpcError::NOT_FOUND,
        AccessError::NoCode(_)
        | AccessError::UsedCode(..)
        | AccessError::ExpiredCode(_)
        | AccessError::Configured(_)
        | AccessError::Itself(_)
        | AccessError::Linked { .. }
        | AccessError::LinkedTo { .. } => RpcError::PARAMS,
    };
    RpcError::new(code, error.to_string())
}
