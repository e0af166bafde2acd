//! Jobs: submitted, listed, shown and cancelled.

use avocet_protocol::store::{JobLimits, JobRules, SubmittedJob};
use serde_json::{Value, json};

use super::world::{World, refused};
use crate::SubmitJob;
use crate::testing::JOB;

#[tokio::test]
async fn job_methods_reach_the_daemon_and_return_its_refusals() {
    let world = World::new();
    let client = world.client().await;
    let rules =
        JobRules { agent: "builder".to_owned(), workspace: None, limits: JobLimits::default() };
    let key = Some("k1".parse().unwrap());
    let submit = SubmitJob { task: "add tests".to_owned(), rules, key };
    for is_duplicate in [false, true] {
        let submitted: SubmittedJob = client.request("job.submit", &submit).await.unwrap();
        assert_eq!((submitted.id, submitted.is_duplicate), (JOB, is_duplicate));
    }
    let asked = world.daemon.asked.lock()[0].clone();
    assert_eq!(asked.content.text, "add tests");
    assert!(asked.sender.id.as_str().starts_with("uid:"), "{:?}", asked.sender);

    let list: Value = client.request("job.list", &json!({})).await.unwrap();
    assert_eq!(list[0]["task"], "use [secret]");
    let shown: Value = client.request("job.show", &json!({ "id": "j3" })).await.unwrap();
    assert_eq!(shown, list[0]);
    let table = [
        ("job.show", json!({ "id": "j4" }), -32002, "there is no job j4"),
        ("job.cancel", json!({ "id": "j4" }), -32002, "there is no job j4"),
        ("job.cancel", json!({ "id": "j3" }), -32004, "j3 is running and cannot be cancelled"),
        ("job.list", json!({ "limit": 0 }), -32602, "it must be from 1 to 500"),
        ("job.submit", json!({ "task": "x" }), -32602, "`agent` is missing"),
    ];
    for (method, params, code, text) in table {
        let (refused, message) = refused(client.request::<Value>(method, &params).await);
        assert_eq!(refused, code, "{method}: {message}");
        assert!(message.contains(text), "{method}: {message}");
    }
}
