//! Health, readiness and metrics.

use avocet_protocol::daemon::DaemonStatus;
use avocet_testkit::http_client::{RawHttpAnswer, exchange};

use super::routes::status;
use super::world::{TestRequest, World};

async fn without_token(world: &World, path: &str) -> RawHttpAnswer {
    let line = format!("GET {path}");
    let head = vec![format!("Host: {}", world.server)];
    exchange(world.server, &TestRequest { line: &line, head, body: "" }.bytes()).await
}

#[tokio::test]
async fn health_needs_no_token_on_loopback_but_the_right_host() {
    let world = World::new();
    *world.daemon.status.lock() = Some(status());
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(without_token(&world, path).await.status, 200, "{path}");
        let line = format!("GET {path}");
        for host in ["evil.example", "bus.example"] {
            let head = vec![format!("Host: {host}")];
            let request = TestRequest { line: &line, head, body: "" };
            let answer = exchange(world.server, &request.bytes()).await;
            assert!([401, 403].contains(&answer.status), "{path} for {host}: {answer:?}");
        }
    }
    assert_eq!(without_token(&world, "/v1/status").await.status, 401);
    assert_eq!(without_token(&world, "/openapi.json").await.status, 401);
}

#[tokio::test]
async fn readyz_names_the_faults() {
    let world = World::new();
    assert_eq!(without_token(&world, "/healthz").await.status, 200, "the process lives");
    let unready = without_token(&world, "/readyz").await;
    assert_eq!((unready.status, &unready.json()["detail"]), (503, &"the log is closed".into()));
    let broken: DaemonStatus = {
        let mut broken = serde_json::to_value(status()).unwrap();
        broken["disk"]["fault"] = "the disk is full".into();
        let channel =
            |account: &str| serde_json::json!({"account": account, "fault": "no network"});
        broken["channels"] = [channel("telegram:main"), channel("discord:main")].to_vec().into();
        serde_json::from_value(broken).unwrap()
    };
    *world.daemon.status.lock() = Some(broken);
    let unready = without_token(&world, "/readyz").await;
    let detail = "disk: the disk is full; telegram:main: no network; discord:main: no network";
    assert_eq!((unready.status, &unready.json()["detail"]), (503, &detail.into()));
}

#[tokio::test]
async fn metrics_show_queues_turns_deliveries_channels_and_cost() {
    let world = World::new();
    let mut shown = status();
    shown.channels = serde_json::from_str(
        r#"[{"account": "telegram:main", "fault": null}, {"account": "a\"b:c", "fault": "down"}]"#,
    )
    .unwrap();
    *world.daemon.status.lock() = Some(shown);
    world.daemon.log.add("terminal:local:a", "hi");
    world.daemon.log.add("terminal:local:a", "hi");
    let answer = without_token(&world, "/metrics").await;
    let media = "text/plain; version=0.0.4; charset=utf-8";
    assert_eq!(answer.header("content-type"), Some(media));
    for line in [
        "# TYPE avocet_turns gauge",
        "avocet_info{version=\"1.2.3\"} 1",
        "avocet_uptime_seconds 5",
        "avocet_messages_queued 4",
        "avocet_turns{state=\"running\"} 5",
        "avocet_turns{state=\"waiting\"} 6",
        "avocet_deliveries{state=\"pending\"} 7",
        "avocet_deliveries{state=\"unconfirmed\"} 8",
        "avocet_deliveries{state=\"dead\"} 9",
        "avocet_channel_up{account=\"telegram:main\"} 1",
        "avocet_channel_up{account=\"a\\\"b:c\"} 0",
        "# TYPE avocet_messages_total counter",
        "avocet_messages_total 2",
        "# TYPE avocet_model_cost_dollars_total counter",
        "# TYPE avocet_turn_duration_seconds histogram",
        "# TYPE avocet_queue_duration_seconds histogram",
        "# TYPE gen_ai_client_operation_duration_seconds histogram",
        "# TYPE avocet_tool_duration_seconds histogram",
    ] {
        assert!(answer.body.lines().any(|found| found == line), "{line}\n{}", answer.body);
    }
    let again = without_token(&world, "/metrics").await.body;
    assert!(again.contains("avocet_messages_total 2"), "an event is counted once");
    let counters = answer.body.lines().filter(|line| line.ends_with(" counter"));
    assert!(counters.clone().count() > 6);
    assert!(
        counters.clone().all(|line| line.contains("_total ")),
        "{:?}",
        counters.collect::<Vec<_>>()
    );
    for line in answer.body.lines().filter(|line| !line.starts_with('#')) {
        let (_, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
}
