//! Answers `wait`.

use std::time::Duration;

use avocet_protocol::{MessageStatus, TurnEvent, or_pending};
use serde_json::{Value, json};

use crate::methods::Wait;
use crate::parts::GatewayParts;
use crate::values::{fitting, unavailable};
use crate::wire::RpcError;

/// The interval at which `wait` reads the log again, in case it missed the event.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Waits until the message has its outcome, or the time is over.
pub(crate) async fn answer_with_outcome(
    parts: &GatewayParts,
    Wait { message, seconds }: Wait,
) -> Result<Value, RpcError> {
    let find = async || {
        let found = parts.query.message(message).await.map_err(unavailable)?;
        found.ok_or_else(|| {
            RpcError::new(RpcError::NOT_FOUND, format!("there is no message {message}"))
        })
    };
    let limit = seconds.map(|seconds| parts.clock.sleep(Duration::from_secs(seconds)));
    let limit = or_pending(limit);
    tokio::pin!(limit);
    // Subscribe before the first look, so that an outcome between the two is seen.
    let events = parts.events.subscribe(&find().await?.session);
    loop {
        let status: MessageStatus = find().await?;
        if status.outcome.is_some() {
            return Ok(fitting(json!(status)));
        }
        // A slow reader may miss events.
        let look_again = parts.clock.sleep(LOOK_AGAIN);
        tokio::pin!(look_again);
        loop {
            tokio::select! {
                () = &mut limit => return Ok(fitting(json!(find().await?))),
                () = &mut look_again => break,
                event = events.recv_async() => match event {
                    Ok(TurnEvent::Ended { .. }) | Err(_) => break,
                    Ok(_) => {}
                },
            }
        }
    }
}
