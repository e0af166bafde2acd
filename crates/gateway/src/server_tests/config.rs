//! The configuration file over the socket.

use serde_json::{Value, json};

use super::world::{World, refused};
use crate::RpcError;
use crate::testing::KEY;

#[tokio::test]
async fn config_methods_show_check_and_save_the_file() {
    let world = World::new();
    let client = world.client().await;
    let text = format!("a = \"{KEY}\"\n");
    *world.daemon.config.lock() = text.clone();
    let shown: Value = client.request("config.show", &json!(null)).await.unwrap();
    let digest = shown["digest"].clone();
    assert_eq!(
        shown,
        json!({
            "path": "/etc/avocet/config.toml", "text": text, "digest": digest, "is_writable": true,
        })
    );

    let diff: Value = client.request("config.diff", &json!(null)).await.unwrap();
    let change = json!({
        "key": "text", "running": null, "file": format!("{text:?}"), "needs_restart": true,
    });
    assert_eq!(diff, json!({ "path": "/etc/avocet/config.toml", "changes": [change] }));

    let fault = json!({"line": 2, "key": "key", "message": "`key`: it is a fault"});
    for (text, faults) in [("fine", json!([])), ("\nfault", json!([fault]))] {
        let checked: Value =
            client.request("config.check", &json!({ "text": text })).await.unwrap();
        assert_eq!(checked, json!({ "faults": faults, "warnings": [] }));
    }
    assert_eq!(*world.daemon.config.lock(), text, "a check changes nothing");

    let form = json!({ "text": "a", "edits": [{ "key": "b.c", "value": 5 }] });
    let form: Value = client.request("config.form", &form).await.unwrap();
    let check = json!({ "faults": [], "warnings": [] });
    let expected = json!({ "text": "ab.c = 5\n", "check": check, "groups": [], "tables": [], "additions": [] });
    assert_eq!(form, expected);
    let bad = json!({ "text": "a", "edits": [{ "key": "fault" }] });
    let (code, message) = refused(client.request::<Value>("config.form", &bad).await);
    assert_eq!(code, RpcError::PARAMS, "{message}");
    assert_eq!(*world.daemon.config.lock(), text, "a form changes nothing");

    let table = [
        ("new", json!("0"), RpcError::CONFLICT, "the file has changed since it was read"),
        ("\nfault", digest.clone(), RpcError::PARAMS, "line 2: `key`: it is a fault"),
        ("read-only", digest.clone(), RpcError::UNAVAILABLE, "read-only"),
    ];
    for (text, digest, code, says) in table {
        let save = json!({ "text": text, "digest": digest });
        let (refused, message) = refused(client.request::<Value>("config.save", &save).await);
        assert_eq!(refused, code, "{message}");
        assert!(message.contains(says), "{message}");
    }
    let save = json!({ "text": "new", "digest": digest });
    let saved: Value = client.request("config.save", &save).await.unwrap();
    assert_eq!((saved, world.daemon.config.lock().as_str()), (json!({"digest": "3"}), "new"));
}
