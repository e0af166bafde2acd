//! Conversations are deleted, unless they are busy.

use serde_json::{Value, json};

use super::world::{World, refused};
use crate::DeleteSession;
use crate::testing::{BUSY, session};

#[tokio::test]
async fn sessions_delete_returns_the_number_of_turns_or_the_reason() {
    let world = World::new();
    let client = world.client().await;
    let turns: u64 =
        client.request("sessions.delete", &DeleteSession { session: session() }).await.unwrap();
    assert_eq!(turns, 3);
    let table = [
        (BUSY, -32004, "has an open turn"),
        ("spawn:t1:s0c0", -32004, "belongs to a sub-agent"),
        ("terminal:local:none", -32002, "there is no session terminal:local:none"),
    ];
    for (session, code, text) in table {
        let params = json!({ "session": session });
        let (refused, message) = refused(client.request::<Value>("sessions.delete", &params).await);
        assert_eq!(refused, code, "{message}");
        assert!(message.contains(text), "{message}");
    }
}
