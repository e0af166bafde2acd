//! The settings of a conversation are shown and changed.

use avocet_protocol::session::{SessionOption, SetSessionOption};

use super::world::{World, refused};
use crate::testing::session;
use crate::{RpcError, ShowOptions};

fn change(option: &str, value: &str) -> SetSessionOption {
    SetSessionOption { session: session(), option: option.to_owned(), value: value.to_owned() }
}

#[tokio::test]
async fn sessions_set_option_returns_all_settings_or_the_reason() {
    let client = World::new().client().await;
    let show = ShowOptions { session: session() };
    let options: Vec<SessionOption> = client.request("sessions.options", &show).await.unwrap();
    assert_eq!((options[0].value.as_str(), options[0].values.len()), ("default", 2));
    let set = change("model", "a/b");
    let options: Vec<SessionOption> = client.request("sessions.set_option", &set).await.unwrap();
    assert_eq!(options[0].value, "a/b");
    let table = [
        ("model", "c/d", RpcError::PARAMS, "\"c/d\" is no value of model"),
        ("other", "a/b", RpcError::PARAMS, "\"a/b\" is no value of other"),
        ("model", "owner", RpcError::NOT_ALLOWED, "is no owner in terminal:local:a"),
    ];
    for (option, value, code, text) in table {
        let answer = client
            .request::<Vec<SessionOption>>("sessions.set_option", &change(option, value))
            .await;
        let (refused, message) = refused(answer);
        assert_eq!(refused, code, "{message}");
        assert!(message.contains(text), "{message}");
    }
}
