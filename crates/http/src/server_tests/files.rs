//! Uploads, messages with files, and the files of replies.

use std::time::Duration;

use avocet_gateway::testing::UPLOAD_LIMIT;
use avocet_protocol::channel::ClientFile;
use avocet_protocol::chat::{AttachmentKind, AttachmentSource};
use avocet_testkit::http_client::{HttpConnection, RawHttpAnswer, exchange};
use serde_json::json;

use super::world::{TABLET, TestRequest, World};

impl World {
    async fn upload(&self, query: &str, media: &str, body: &str) -> RawHttpAnswer {
        let line = format!("POST /v1/files{query}");
        let mut head = self.head();
        head[2] = format!("Content-Type: {media}");
        exchange(self.server, &TestRequest { line: &line, head, body }.bytes()).await
    }
}

#[tokio::test]
async fn upload_is_stored_beyond_the_limit_of_other_bodies() {
    let world = World::new();
    let large = "x".repeat(usize::try_from(UPLOAD_LIMIT).unwrap());
    let stored = world.upload("?name=..%2Freport.pdf", "application/pdf", &large).await;
    let expected = json!({
        "reference": "upload-1", "name": "report.pdf", "media_type": "application/pdf",
        "bytes": UPLOAD_LIMIT,
    });
    assert_eq!((stored.status, stored.json()), (201, expected));
    let small = world.upload("", "text/html", "hi").await.json();
    assert_eq!((&small["name"], &small["bytes"]), (&json!("file"), &json!(2)));
    assert_eq!(world.daemon.uploads.get("upload-2"), Some(b"hi".to_vec()));
}

#[tokio::test]
async fn upload_error_names_the_reason() {
    let world = World::new();
    let large = "x".repeat(usize::try_from(UPLOAD_LIMIT).unwrap() + 1);
    let table = [
        ("", large.as_str(), 413, "larger than 2 MB; raise [attachments] max_megabytes"),
        ("", "full", 507, "the disk is full"),
        ("?nome=x", "hi", 400, "nome"),
    ];
    for (query, body, status, says) in table {
        let refused = world.upload(query, "text/plain", body).await;
        assert_eq!(refused.status, status, "{refused:?}");
        assert!(refused.body.contains(says), "{refused:?}");
    }
    assert_eq!(world.daemon.uploads.get("upload-1"), None);
    let head = vec![
        format!("Host: {}", world.server),
        format!("Authorization: Bearer {TABLET}"),
        "Content-Type: text/plain".to_owned(),
    ];
    let request = TestRequest { line: "POST /v1/files", head, body: "hi" };
    assert_eq!(exchange(world.server, &request.bytes()).await.status, 403);
}

#[tokio::test]
async fn upload_that_does_not_arrive_is_refused_after_its_time() {
    let world = World::new();
    let mut connection = HttpConnection::open(world.server).await;
    let head = world.head().join("\r\n");
    let request = format!("POST /v1/files HTTP/1.1\r\n{head}\r\nContent-Length: 9\r\n\r\n{{");
    connection.write(request.as_bytes()).await;
    let half_a_minute = Duration::from_secs(30);
    while world.daemon.uploads.begun() == 0 {
        tokio::task::yield_now().await;
    }
    world.clock.sleeper(half_a_minute).await;
    world.clock.advance(half_a_minute);
    let answer = connection.answer().await;
    assert!(answer.status == 408 && answer.body.contains("for 30 seconds"), "{answer:?}");
}

#[tokio::test]
async fn message_with_an_upload_refers_to_it() {
    let world = World::new();
    world.upload("?name=a.png", "image/png", "png").await;
    let file = |reference: &str| {
        json!({
            "reference": reference, "kind": "image", "name": "a.png", "media_type": "image/png",
            "bytes": 3,
        })
    };
    let message = |file: serde_json::Value| {
        json!({"session": "web:console:main", "text": "", "attachments": [file]}).to_string()
    };
    let accepted = world.ask("POST /v1/messages", &message(file("upload-1"))).await;
    assert_eq!(accepted.status, 202, "{accepted:?}");
    let asked = world.daemon.asked.lock()[0].clone();
    let [attachment] = &asked.content.attachments[..] else { panic!("{asked:?}") };
    let name = "upload-1".to_owned();
    let reference = ClientFile { chat: asked.address, name }.to_reference();
    assert_eq!(attachment.source, AttachmentSource::Platform(reference));
    let AttachmentKind::Image = attachment.kind else { panic!("{attachment:?}") };
    assert_eq!((attachment.name.as_deref(), attachment.bytes), (Some("a.png"), Some(3)));
    for (file, says) in [
        (file("upload-7"), "there is no upload"),
        (file("../web.key"), "there is no upload"),
        (json!({"reference": "upload-1", "path": "/etc/passwd"}), "path"),
        (json!({"reference": "upload-1", "kind": "hologram"}), "hologram"),
    ] {
        let refused = world.ask("POST /v1/messages", &message(file)).await;
        assert_eq!(refused.status, 400, "{refused:?}");
        assert!(refused.body.contains(says), "{refused:?}");
    }
}

#[tokio::test]
async fn file_of_a_reply_is_a_download_of_the_workspace() {
    let world = World::new();
    let read = async |place: &str| {
        world.ask(&format!("GET /v1/sessions/terminal:local:a/files/{place}"), "").await
    };
    let table = [
        ("t1/0", "image/png", "attachment; filename*=UTF-8''a%20b.png"),
        // A page must not run in the browser.
        ("t1/1", "application/octet-stream", "attachment; filename*=UTF-8''page.html"),
    ];
    for (place, media, disposition) in table {
        let file = read(place).await;
        assert_eq!((file.status, file.body.as_str()), (200, "bytes"), "{file:?}");
        let headers = [
            ("content-type", media),
            ("content-disposition", disposition),
            ("x-content-type-options", "nosniff"),
            ("content-security-policy", "default-src 'none'; sandbox"),
        ];
        for (name, value) in headers {
            assert_eq!(file.header(name), Some(value), "{place}");
        }
    }
    for (place, status, says) in [
        ("t1/2", 404, "cannot be read any more"),
        ("t1/3", 404, "has sent no file 3"),
        ("t2/0", 404, "has sent no file 0"),
        ("x/0", 400, ""),
        ("t1/-1", 400, "the path cannot be read"),
        ("t1/..%2F..%2Fetc", 400, "the path cannot be read"),
    ] {
        let refused = read(place).await;
        assert_eq!(refused.status, status, "{place}: {refused:?}");
        assert!(refused.body.contains(says), "{place}: {refused:?}");
    }
    let head = vec![format!("Host: {}", world.server), format!("Authorization: Bearer {TABLET}")];
    let line = "GET /v1/sessions/terminal:local:a/files/t1/0";
    let foreign = exchange(world.server, &TestRequest { line, head, body: "" }.bytes()).await;
    assert_eq!(foreign.status, 403, "{foreign:?}");
}

#[tokio::test]
async fn file_of_a_message_is_a_download_of_the_workspace() {
    let world = World::new();
    let read = async |place: &str| {
        world.ask(&format!("GET /v1/sessions/terminal:local:a/received/{place}"), "").await
    };
    let picture = read("m1/0").await;
    assert_eq!((picture.status, picture.body.as_str()), (200, "bytes"), "{picture:?}");
    assert_eq!(picture.header("content-type"), Some("image/png"));
    assert_eq!(picture.header("content-security-policy"), Some("default-src 'none'; sandbox"));
    for (place, status, says) in [
        ("m1/1", 404, "has no file 1 here"),
        ("m1/2", 404, "has no file 2 here"),
        ("m2/0", 404, "has no file 0 here"),
        ("x/0", 400, ""),
    ] {
        let refused = read(place).await;
        assert_eq!(refused.status, status, "{place}: {refused:?}");
        assert!(refused.body.contains(says), "{place}: {refused:?}");
    }
}
