//! Runs the methods of the socket. `avocet-methods` describes them; each has its [`RunMethod`] in the file
//! of its group here.
//!
//! A method sees the ports that it needs, and no others: [`MethodCall`] has all ports of the daemon, and
//! turns into the smaller ports of a group. The program's own commands call some methods without a daemon,
//! with ports of the log: see [`run_method`].

use std::marker::PhantomData;
use std::pin::Pin;

use avocet_methods::{METHODS, MethodDescription, SocketMethod, method_index, with_all_methods};
use avocet_protocol::bus::OrderHold;
use avocet_text::Redactor;
use serde::Serialize;
use serde_json::Value;

use crate::caller::Caller;
use crate::parts::GatewayParts;
use crate::values::{fitting, make_presentable, or_empty, read, unavailable};
use crate::wire::RpcError;

/// A method that the daemon answers on every way in.
pub trait RunMethod: SocketMethod {
    /// The ports that the method needs.
    type Ports<'a>: From<MethodCall<'a>> + Send + 'a;

    /// Runs the method. The rights of the caller were checked before.
    ///
    /// # Errors
    /// [`RpcError`] names the fault and its correction.
    fn run(
        ports: Self::Ports<'_>,
        params: Self::Params,
    ) -> impl Future<Output = Answered<Self>> + Send;
}

/// The result of a method.
pub type Answered<M> = Result<Reply<<M as SocketMethod>::Answer>, RpcError>;

/// A call of a method, with all ports of the daemon.
#[derive(Debug, Clone, Copy)]
pub struct MethodCall<'a> {
    pub(crate) parts: &'a GatewayParts,
    pub(crate) caller: &'a Caller,
    /// Keeps back the later messages of the same publisher.
    pub(crate) hold: &'a OrderHold,
}

/// An answer of the type `A`, as it goes on the wire.
#[derive(Debug)]
pub struct Reply<A> {
    value: Value,
    answer: PhantomData<fn() -> A>,
}

impl<A: Serialize> Reply<A> {
    /// Replies with the answer as it is.
    pub(crate) fn with_whole(answer: &A) -> Result<Self, RpcError> {
        let value = serde_json::to_value(answer).map_err(unavailable)?;
        Ok(Self { value, answer: PhantomData })
    }

    /// Replies with the answer, with long texts cut until it fits into a line.
    pub(crate) fn fitting(answer: &A) -> Result<Self, RpcError> {
        Ok(Self::with_whole(answer)?.map_value(fitting))
    }

    /// Replies with the answer without secrets, and short enough for a line. For text of models and
    /// tools.
    pub(crate) fn without_secrets(answer: &A, redactor: &Redactor) -> Result<Self, RpcError> {
        Ok(Self::with_whole(answer)?.map_value(|value| make_presentable(value, redactor)))
    }
}

impl<A> Reply<A> {
    /// Replies with a value that has the form of the answer already.
    pub(crate) fn from_value(value: Value) -> Self {
        Self { value, answer: PhantomData }
    }

    fn map_value(self, change: impl FnOnce(Value) -> Value) -> Self {
        Self::from_value(change(self.value))
    }
}

/// Reads parameters of a method.
///
/// # Errors
/// [`RpcError::PARAMS`] names the method and the fault.
pub(crate) fn read_params<M: SocketMethod>(params: Value) -> Result<M::Params, RpcError> {
    read(M::NAME, if M::PARAMS_ARE_OPTIONAL { or_empty(params) } else { params })
}

/// Runs a method with ports of its own, without a check of rights.
///
/// # Errors
/// [`RpcError`] names the fault and its correction.
pub async fn run_method<M: RunMethod>(
    ports: M::Ports<'_>,
    params: Value,
) -> Result<Value, RpcError> {
    let params = read_params::<M>(params)?;
    Ok(M::run(ports, params).await?.value)
}

/// A method under way.
pub(crate) type RunningMethod<'a> =
    Pin<Box<dyn Future<Output = Result<Value, RpcError>> + Send + 'a>>;

/// A method as data, with its run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunnableMethod {
    pub(crate) description: &'static MethodDescription,
    run: for<'a> fn(MethodCall<'a>, Value) -> RunningMethod<'a>,
}

impl RunnableMethod {
    /// Finds a method by its name.
    ///
    /// # Errors
    /// The name is unknown; the message lists all names.
    pub(crate) fn find(name: &str) -> Result<Self, RpcError> {
        let found = method_index(name)
            .and_then(|index| Some((METHODS.get(index)?, *RUNNERS.get(index)?)))
            .map(|(description, run)| Self { description, run });
        found.ok_or_else(|| unknown_method(name))
    }

    /// Runs the method. The rights of the caller were checked before.
    pub(crate) fn run(self, call: MethodCall<'_>, params: Value) -> RunningMethod<'_> {
        (self.run)(call, params)
    }
}

macro_rules! runners {
    ($($method:ident: $place:ident,)*) => {
        &[$($place::<avocet_methods::$method>),*]
    };
}

/// The runs of [`METHODS`], in the same order.
const RUNNERS: &[for<'a> fn(MethodCall<'a>, Value) -> RunningMethod<'a>] =
    with_all_methods!(runners);

fn anywhere<M: RunMethod>(call: MethodCall<'_>, params: Value) -> RunningMethod<'_> {
    Box::pin(async move { run_method::<M>(call.into(), params).await })
}

fn on_a_connection<M: SocketMethod>(_: MethodCall<'_>, _: Value) -> RunningMethod<'_> {
    let message = format!("{} works on a connection of the socket only", M::NAME);
    Box::pin(async { Err(RpcError::new(RpcError::METHOD, message)) })
}

fn unknown_method(name: &str) -> RpcError {
    let known: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
    let message = format!("there is no method {name:?}; there are {}", known.join(", "));
    RpcError::new(RpcError::METHOD, message)
}
