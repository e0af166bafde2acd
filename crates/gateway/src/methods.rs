//! Answers requests: checks the rights of the caller, and runs the method.

use avocet_methods::{MethodDescription, NamesTarget, SocketMethod, Touches};
use avocet_protocol::bus::OrderHold;
use serde_json::Value;

use crate::caller::Caller;
use crate::parts::GatewayParts;
use crate::run::{MethodCall, RunnableMethod, read_params};
use crate::scope::ChatScope;
use crate::wire::RpcError;

/// Answers a request of a caller, after a check of the caller's rights.
///
/// # Errors
/// [`RpcError`] names the fault and its correction.
pub async fn answer<M: SocketMethod>(
    parts: &GatewayParts,
    caller: &Caller,
    params: Value,
) -> Result<Value, RpcError> {
    answer_by_name(parts, caller, M::NAME, params).await
}

/// Answers like [`answer`], for a method that the caller has named.
///
/// # Errors
/// As for [`answer`]; an unknown name is an error, too.
pub async fn answer_by_name(
    parts: &GatewayParts,
    caller: &Caller,
    method: &str,
    params: Value,
) -> Result<Value, RpcError> {
    let hold = OrderHold::default();
    answer_in_order(MethodCall { parts, caller, hold: &hold }, method, params).await
}

/// Answers a request of a publisher whose later messages the call keeps back.
///
/// # Errors
/// As for [`answer`].
pub(crate) async fn answer_in_order(
    call: MethodCall<'_>,
    method: &str,
    params: Value,
) -> Result<Value, RpcError> {
    let MethodCall { parts, caller, .. } = call;
    let method = RunnableMethod::find(method)?;
    check_description(parts, caller, method.description, &params).await?;
    match method.description.touches {
        Touches::Rows(list) if !caller.chats.are_all() => {
            ChatScope { parts, caller }.own_rows(method, list, params).await
        }
        _ => method.run(call, params).await,
    }
}

/// Checks that the caller may call a method with these parameters.
///
/// # Errors
/// [`RpcError`] names the missing right and the setting that gives it.
pub async fn check_rights<M: SocketMethod<Params: NamesTarget>>(
    parts: &GatewayParts,
    caller: &Caller,
    params: &M::Params,
) -> Result<(), RpcError> {
    check_method_rights::<M>(caller)?;
    ChatScope { parts, caller }.check_target(M::NAME, params.call_target()).await
}

/// Checks that the caller may call a method, for whichever chat.
///
/// # Errors
/// [`RpcError::NOT_ALLOWED`] names the setting that permits the method.
pub fn check_method_rights<M: SocketMethod>(caller: &Caller) -> Result<(), RpcError> {
    caller.check_method(&MethodDescription::new::<M>())
}

/// Checks that the caller may call a method with these parameters, and reads them.
///
/// # Errors
/// [`RpcError`] names the missing right, or the fault of the parameters.
pub(crate) async fn permitted_params<M: SocketMethod>(
    parts: &GatewayParts,
    caller: &Caller,
    params: Value,
) -> Result<M::Params, RpcError> {
    check_description(parts, caller, &MethodDescription::new::<M>(), &params).await?;
    read_params::<M>(params)
}

async fn check_description(
    parts: &GatewayParts,
    caller: &Caller,
    method: &MethodDescription,
    params: &Value,
) -> Result<(), RpcError> {
    caller.check_method(method)?;
    ChatScope { parts, caller }.check(method, params).await
}
