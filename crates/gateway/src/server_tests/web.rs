//! `web.open`, `web.sign_out`, and the files of web chats.

use avocet_protocol::access::ClientRole;
use avocet_protocol::channel::{Uploads, WebLink};
use avocet_protocol::ids::SenderId;
use serde_json::{Value, json};

use super::world::{World, refused};
use crate::testing::TAKEN_PORT;
use crate::{ChatPatterns, ClientIdentity, Clients, NamedClient, OpenWeb, RpcError};

#[tokio::test]
async fn web_open_makes_a_link_for_the_user_of_the_connection() {
    let world = World::new();
    let connection = world.client().await;
    let uid = rustix::process::geteuid().as_raw();
    for (params, port) in [(json!(OpenWeb::default()), 8470), (json!({"port": 9000}), 9000)] {
        let link: WebLink = connection.request("web.open", &params).await.unwrap();
        assert_eq!(link.url, format!("http://127.0.0.1:{port}/#code=of-uid:{uid}"));
    }
    for (params, says) in [
        (json!({"port": TAKEN_PORT}), "cannot listen on port 22"),
        (json!({"port": 70000}), "web.open: "),
        (json!({"sender": "uid:0"}), "web.open: "),
    ] {
        let (code, message) = refused(connection.request::<Value>("web.open", &params).await);
        assert_eq!(code, RpcError::PARAMS, "{params}");
        assert!(message.contains(says), "{message}");
    }
}

#[tokio::test]
async fn web_open_is_refused_to_a_named_client() {
    let chats = ChatPatterns::all();
    let of = |name: &str, role| {
        NamedClient::new(name, ClientIdentity::default(), role, chats.clone(), None).unwrap()
    };
    let clients = vec![of("ci", ClientRole::Operator), of("watch", ClientRole::Observer)];
    let world = World::with(Clients::new(clients));
    for (client, code, says) in [
        ("ci", RpcError::PARAMS, "client:ci is a client of the configuration"),
        ("watch", RpcError::NOT_ALLOWED, "needs the role operator"),
    ] {
        let connection = world.client().await;
        let _: Value = connection.request("hello", &json!({"client": client})).await.unwrap();
        let refusal = refused(connection.request::<Value>("web.open", &json!({})).await);
        assert_eq!(refusal.0, code);
        assert!(refusal.1.contains(says), "{}", refusal.1);
    }
}

#[tokio::test]
async fn web_sign_out_reaches_the_console() {
    let world = World::new();
    let () = world.client().await.request("web.sign_out", &json!({})).await.unwrap();
    assert_eq!(*world.daemon.signed_out.lock(), 1);
    let connection = world.client().await;
    let browsers: Value = connection.request("web.browsers", &json!({})).await.unwrap();
    let id = &browsers[0]["id"];
    let () = connection.request("web.sign_out", &json!({ "browser": id })).await.unwrap();
    assert_eq!(*world.daemon.signed_out.lock(), 2);
    let unknown = connection.request::<Value>("web.sign_out", &json!({ "browser": "x" })).await;
    assert_eq!(refused(unknown).0, RpcError::PARAMS);
}

#[tokio::test]
async fn ask_in_a_web_chat_takes_uploads_and_no_other_reference() {
    let world = World::new();
    let mut upload = world.daemon.begin().await.unwrap();
    upload.write(b"hello").await.unwrap();
    let reference = upload.finish().await.unwrap().reference;
    let connection = world.client().await;
    let ask = |chat: &str, reference: &str| json!({"session": chat, "text": "hi", "attachments": [{"reference": reference}]});
    let chat = "web:console:main";
    let _: Value = connection.request("ask", &ask(chat, &reference)).await.unwrap();
    let asked = world.daemon.asked.lock()[0].clone();
    let uid = rustix::process::geteuid().as_raw();
    assert_eq!(asked.sender.id, SenderId::parse(&format!("uid:{uid}")).unwrap());
    assert_eq!(asked.content.attachments.len(), 1);
    for (chat, reference, says) in [
        (chat, "upload-9", "there is no upload \"upload-9\""),
        (chat, "../web.key", "there is no upload"),
        ("discord:main:1", &*reference, "takes no files"),
    ] {
        let refusal = refused(connection.request::<Value>("ask", &ask(chat, reference)).await);
        assert_eq!(refusal.0, RpcError::PARAMS);
        assert!(refusal.1.contains(says), "{}", refusal.1);
    }
}
