//! The description of a method: one implementation of [`SocketMethod`] says everything about a method
//! that its callers and its server have in common.
//!
//! ```text
//! SocketMethod (this crate)         name, params, answer, role, what it touches
//!   |-- RunMethod (gateway)         what the daemon does: `run(ports, params) -> answer`
//!   |-- Client::call::<M> (gateway) what a program of ours sends and reads
//!   |-- HTTP, MCP, ACP, CLI         call a method by its type
//!   `-- clients/schema/socket.json  made from all of it for the client libraries, by a test of the gateway
//! ```
//!
//! The parameters of most methods are a type of their own, which is then the method, too: `Ask` is
//! `ask` and its parameters. Methods that share their parameters, or have none, are empty types:
//! `ShowJob` and `CancelJob` both take a `NamedJob`.
//!
//! To add a method: implement the trait with `method!` in the file of its group, add the type to the
//! list in `list.rs`, and implement `RunMethod` in the gateway. The compiler asks for the last step, and
//! tests ask for its row in `docs/src/build/socket.md`. `docs/src/build/method.md` has each step, up to
//! HTTP, MCP and the client libraries.

use avocet_protocol::access::ClientRole;
use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny};
use serde::{Deserialize, Serialize};

use crate::{ListParams, ListRows, NamesTarget, ReadTarget, Touches};

/// A method of the socket.
pub trait SocketMethod: 'static {
    /// The name in requests.
    const NAME: &'static str;
    /// The parameters.
    type Params: DeserializeOwned + JsonSchema + Send;
    /// The answer.
    type Answer: Serialize + JsonSchema;
    /// The least role that may call it.
    const LEAST_ROLE: ClientRole;
    /// The part of the daemon that a call touches.
    const TOUCHES: Touches;
    /// `true` if a request without parameters is read as one with an empty object.
    const PARAMS_ARE_OPTIONAL: bool = false;
    /// `true` for a method that enters messages. Those of one connection take effect in the order in
    /// which they were read.
    const ENTERS_MESSAGE: bool = false;
    /// `true` if it needs no rights, so that every client can find out its own.
    const IS_OPEN_TO_ALL: bool = false;
    /// `true` if the client libraries have its types: it is in `clients/schema/socket.json`.
    const IS_IN_LIBRARIES: bool = true;
}

/// A method that programs of this project call: its parameters can be written, and its answer read.
pub trait ClientMethod:
    SocketMethod<Params: Serialize + Sync, Answer: DeserializeOwned + Send>
{
}

impl<M> ClientMethod for M where
    M: SocketMethod<Params: Serialize + Sync, Answer: DeserializeOwned + Send>
{
}

/// Implements [`SocketMethod`] in one line: the type, the name, the parameters, the answer, the least
/// role, the part of the daemon that it touches, and the constants that differ from their defaults.
macro_rules! method {
    (
        $method:ty = $name:literal: $params:ty => $answer:ty, $role:ident, $touches:expr
        $(, $constant:ident)*
    ) => {
        impl $crate::SocketMethod for $method {
            const NAME: &'static str = $name;
            type Params = $params;
            type Answer = $answer;
            const LEAST_ROLE: ::avocet_protocol::access::ClientRole =
                ::avocet_protocol::access::ClientRole::$role;
            const TOUCHES: $crate::Touches = $touches;
            $(method!(@constant $constant);)*
        }
    };
    (@constant optional_params) => { const PARAMS_ARE_OPTIONAL: bool = true; };
    (@constant enters_message) => { const ENTERS_MESSAGE: bool = true; };
    (@constant outside_libraries) => { const IS_IN_LIBRARIES: bool = false; };
    (@constant open_to_all) => { const IS_OPEN_TO_ALL: bool = true; };
}

/// A call of this method touches the target that its parameters name.
pub(crate) const fn named_target<M: SocketMethod<Params: NamesTarget>>() -> Touches {
    Touches::Target(ReadTarget::new::<M::Params>())
}

/// A call of this method touches the rows that its parameters ask for.
pub(crate) const fn listed_rows<M: SocketMethod<Params: ListParams>>() -> Touches {
    Touches::Rows(ListRows::new::<M::Params>())
}

/// A [`SocketMethod`] as data, for what is the same for all methods.
#[derive(Debug, Clone, Copy)]
pub struct MethodDescription {
    /// The name in requests.
    pub name: &'static str,
    /// The least role that may call it.
    pub least: ClientRole,
    /// The part of the daemon that a call touches.
    pub touches: Touches,
    /// `true` for a method that enters messages.
    pub enters_message: bool,
    /// `true` if it needs no rights.
    pub is_open_to_all: bool,
}

impl MethodDescription {
    /// Describes a method.
    #[must_use]
    pub const fn new<M: SocketMethod>() -> Self {
        Self {
            name: M::NAME,
            least: M::LEAST_ROLE,
            touches: M::TOUCHES,
            enters_message: M::ENTERS_MESSAGE,
            is_open_to_all: M::IS_OPEN_TO_ALL,
        }
    }
}

/// The parameters of a method that reads none. Whatever a client sends is ignored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NoParams {}

impl<'de> Deserialize<'de> for NoParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self {})
    }
}

/// The parameters of a method that has none, and refuses others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EmptyParams {}

/// The answer of a method that only reports its success, as an empty object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EmptyAnswer {}
