//! Runs `wait`.

use std::time::Duration;

use avocet_methods::Wait;
use avocet_protocol::clock::or_pending;
use avocet_protocol::store::MessageStatus;
use avocet_protocol::turn::TurnEvent;

use crate::run::{Answered, MethodCall, Reply, RunMethod};
use crate::values::unavailable;
use crate::wire::RpcError;

/// The interval at which `wait` reads the log again, in case it missed the event.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

impl RunMethod for Wait {
    type Ports<'a> = MethodCall<'a>;

    /// Waits until the message has its outcome, or the time is over.
    async fn run(call: Self::Ports<'_>, Self { message, seconds }: Self) -> Answered<Self> {
        let parts = call.parts;
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
                return Reply::fitting(&status);
            }
            // A slow reader may miss events.
            let look_again = parts.clock.sleep(LOOK_AGAIN);
            tokio::pin!(look_again);
            loop {
                tokio::select! {
                    () = &mut limit => return Reply::fitting(&find().await?),
                    () = &mut look_again => break,
                    event = events.recv_async() => match event {
                        Ok(TurnEvent::Ended { .. }) | Err(_) => break,
                        Ok(_) => {}
                    },
                }
            }
        }
    }
}
