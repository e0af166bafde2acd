//! Inputs that must reach a session although its queue is full.

use avocet_protocol::ignore_result;
use avocet_supervise::Group;
use flume::{Sender, TrySendError};

/// Sends an input, behind those that wait already. If the queue is full, a task waits for room.
pub(crate) fn send_when_room<T: Send + 'static>(group: &Group, queue: Sender<T>, input: T) {
    let Err(TrySendError::Full(input)) = queue.try_send(input) else { return };
    group.spawn("acp-waiting-input", async move {
        ignore_result(queue.send_async(input).await, "the session has ended");
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn send_when_room_delivers_behind_a_full_queue() {
        let group = Group::new("test");
        let (queue, inputs) = flume::bounded(1);
        for input in ["prompt", "close"] {
            send_when_room(&group, queue.clone(), input);
        }
        drop(queue);
        assert_eq!(inputs.recv_async().await, Ok("prompt"));
        assert_eq!(inputs.recv_async().await, Ok("close"));
        assert!(inputs.recv_async().await.is_err());
        // A session that has ended takes nothing.
        let (queue, inputs) = flume::bounded(1);
        drop(inputs);
        send_when_room(&group, queue, "close");
    }
}
