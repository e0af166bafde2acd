//! `prepare` and `verify` of the file tools, before and after a crash.

use std::fs;

use avocet_protocol::tool::{Evidence, ToolClass, ToolError, Toolbox, Verdict};
use serde_json::json;

use crate::world::{World, call, context};

#[tokio::test]
async fn verify_recognises_an_interrupted_write() {
    let world = World::new().await;
    world.put("x.txt", "before");
    for (tool, arguments) in [
        ("write_file", json!({"path": "x.txt", "content": "after"})),
        ("edit_file", json!({"path": "x.txt", "find": "before", "replace": "after"})),
        ("edit_file", json!({"path": "x.txt", "start_line": 1, "replace": "after"})),
    ] {
        world.put("x.txt", "before");
        let call = call(tool, &arguments);
        let prepared = world.registry.prepare(&call, None, &context()).await.unwrap();
        assert_eq!(prepared.class, ToolClass::Verifiable);
        let evidence = prepared.evidence.unwrap();
        let verify = async || world.registry.verify(&call, &evidence).await;
        assert_eq!(verify().await, Verdict::DidNotHappen, "{tool}");
        world.put("x.txt", "after");
        let happened = "x.txt was written before a restart and has the expected content";
        assert_eq!(verify().await, Verdict::Happened(json!(happened)), "{tool}");
        world.put("x.txt", "something else");
        assert_eq!(verify().await, Verdict::Unknown, "{tool}");
        fs::remove_file(world.workspace.path().join("x.txt")).unwrap();
        assert_eq!(verify().await, Verdict::Unknown, "{tool}");
    }
    let call = call("write_file", &json!({"path": "new.txt", "content": "x"}));
    let evidence = world.registry.prepare(&call, None, &context()).await.unwrap().evidence;
    let verdict = world.registry.verify(&call, &evidence.unwrap()).await;
    assert_eq!(verdict, Verdict::DidNotHappen);
}

#[tokio::test]
async fn verify_recognises_an_interrupted_change_of_directories() {
    let world = World::new().await;
    let verdict = async |evidence: &Evidence, tool: &str| {
        world.registry.verify(&call(tool, &json!({"path": "x"})), evidence).await
    };
    let prepare = async |tool: &str| {
        let call = call(tool, &json!({"path": "x", "recursive": true}));
        let call =
            if tool == "create_directory" { self::call(tool, &json!({"path": "x"})) } else { call };
        world.registry.prepare(&call, None, &context()).await.unwrap().evidence.unwrap()
    };
    let real = world.workspace.path().join("x");
    let evidence = prepare("create_directory").await;
    assert_eq!(verdict(&evidence, "create_directory").await, Verdict::DidNotHappen);
    fs::create_dir(&real).unwrap();
    let made = json!("x is there");
    assert_eq!(verdict(&evidence, "create_directory").await, Verdict::Happened(made));

    world.put("x/a", "");
    world.put("x/b", "");
    let evidence = prepare("delete_file").await;
    assert_eq!(verdict(&evidence, "delete_file").await, Verdict::DidNotHappen);
    fs::remove_file(real.join("a")).unwrap();
    assert_eq!(verdict(&evidence, "delete_file").await, Verdict::Unknown);
    fs::remove_dir_all(&real).unwrap();
    let gone = json!("x was deleted before a restart and is gone");
    assert_eq!(verdict(&evidence, "delete_file").await, Verdict::Happened(gone));

    world.put("x", "one");
    let evidence = prepare("delete_file").await;
    assert_eq!(verdict(&evidence, "delete_file").await, Verdict::DidNotHappen);
    world.put("x", "another");
    assert_eq!(verdict(&evidence, "delete_file").await, Verdict::Unknown);
}

#[tokio::test]
async fn delete_file_of_a_missing_file_is_refused_in_prepare() {
    let world = World::new().await;
    let call = call("delete_file", &json!({"path": "nope.txt"}));
    let refused = world.registry.prepare(&call, None, &context()).await.unwrap_err();
    assert!(matches!(refused, ToolError::FileNotFound(_)), "{refused}");
}
