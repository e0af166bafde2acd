//! OpenAI's API "Files", with forms as clients send them, and requests that refer to files.

use std::time::Duration;

use avocet_gateway::testing::UPLOAD_LIMIT;
use avocet_protocol::channel::ClientFile;
use avocet_protocol::chat::{AttachmentKind, AttachmentSource, Outcome};
use avocet_testkit::http_client::{HttpConnection, RawHttpAnswer, exchange};
use serde_json::{Value, json};

use super::world::{TABLET, TestRequest, World};

/// The boundary that the Python client makes.
const PYTHON: &str = "d41d8cd98f00b204e9800998ecf8427e";

/// A part of a form.
fn part(head: &str, body: &str) -> String {
    format!("{head}\r\n\r\n{body}")
}

fn form(boundary: &str, parts: &[String]) -> String {
    let parts = parts.iter().map(|part| format!("--{boundary}\r\n{part}\r\n"));
    format!("{}--{boundary}--\r\n", parts.collect::<String>())
}

fn purpose(value: &str) -> String {
    part("Content-Disposition: form-data; name=\"purpose\"", value)
}

fn file(body: &str) -> String {
    let head = "Content-Disposition: form-data; name=\"file\"; filename=\"notes.txt\"\r\n\
                Content-Type: text/plain";
    part(head, body)
}

impl World {
    async fn send_form(&self, content_type: &str, body: &str) -> RawHttpAnswer {
        let mut head = self.head();
        head[2] = format!("Content-Type: {content_type}");
        exchange(self.server, &TestRequest { line: "POST /v1/files", head, body }.bytes()).await
    }

    async fn upload_form(&self, parts: &[String]) -> RawHttpAnswer {
        let content_type = format!("multipart/form-data; boundary={PYTHON}");
        self.send_form(&content_type, &form(PYTHON, parts)).await
    }
}

#[tokio::test]
async fn file_form_is_read_as_clients_write_it() {
    let quoted = "multipart/form-data; charset=utf-8; boundary=\"a b:c/d\"";
    let webkit = "multipart/form-data; boundary=----WebKitFormBoundaryA=1";
    let bare = "Content-Disposition: form-data; name=file; filename=a.pdf";
    let extended = "content-disposition: form-data; name=\"file\"; filename=\"x\"; \
                    filename*=UTF-8''%E6%97%A5.pdf\r\nContent-Type:application/pdf";
    let unnamed = "Content-Disposition: form-data; name=\"file\"";
    let python = &format!("multipart/form-data; boundary={PYTHON}");
    let table = [
        (python.as_str(), PYTHON, vec![purpose("user_data"), file("hi")], "notes.txt", "user_data"),
        (quoted, "a b:c/d", vec![part(bare, "hi"), purpose("vision")], "a.pdf", "vision"),
        (webkit, "----WebKitFormBoundaryA=1", vec![part(extended, "hi")], "日.pdf", "user_data"),
        (python, PYTHON, vec![part(unnamed, "hi"), purpose("assistants")], "file", "assistants"),
    ];
    for (content_type, boundary, parts, name, purpose) in table {
        let world = World::new();
        let stored = world.send_form(content_type, &form(boundary, &parts)).await;
        let expected = json!({
            "id": "file-upload-1", "object": "file", "bytes": 2, "created_at": 1_767_225_600,
            "expires_at": 1_767_225_600 + 7 * 24 * 3600, "filename": name, "purpose": purpose,
            "status": "processed",
        });
        assert_eq!((stored.status, stored.json()), (200, expected));
        assert_eq!(world.daemon.uploads.get("upload-1"), Some(b"hi".to_vec()));
    }
    let world = World::new();
    let anchor =
        part("Content-Disposition: form-data; name=\"expires_after[anchor]\"", "created_at");
    let hour = part("Content-Disposition: form-data; name=\"expires_after[seconds]\"", "3600");
    let stored = world.upload_form(&[file("hi"), anchor, hour]).await.json();
    assert_eq!(stored["expires_at"], 1_767_225_600 + 3600);
}

#[tokio::test]
async fn file_form_error_names_the_reason_and_stores_nothing() {
    let large = file(&"x".repeat(usize::try_from(UPLOAD_LIMIT).unwrap() + 1));
    let huge = purpose(&"x".repeat(usize::try_from(UPLOAD_LIMIT).unwrap() + 2 * 1024 * 1024));
    let other = part("Content-Disposition: form-data; name=\"color\"", "red");
    let days = |text| part("Content-Disposition: form-data; name=\"expires_after[seconds]\"", text);
    let table = [
        (vec![large], 413, "larger than 2 MB"),
        (vec![huge], 413, "`purpose` of the form is longer"),
        (vec![file("full")], 507, "the disk is full"),
        (vec![purpose("user_data")], 400, "no part with the name `file`"),
        (vec![file("a"), file("b")], 400, "more than one `file`"),
        (vec![file("a"), purpose("batch")], 400, "supported are user_data, assistants, vision"),
        (vec![file("a"), other], 400, "no parameter `color`"),
        (vec![file("a"), days("60")], 400, "a number from 3600 to 604800"),
        (vec![part("Content-Type: text/plain", "a")], 400, "has no name"),
        (vec![part("not a header", "a")], 400, "the form cannot be read"),
    ];
    let world = World::new();
    for (parts, status, says) in table {
        let refused = world.upload_form(&parts).await;
        assert_eq!(refused.status, status, "{says}: {refused:?}");
        let message = refused.json()["error"]["message"].clone();
        assert!(message.as_str().unwrap().contains(says), "{says}: {message}");
    }
    for (content_type, says) in [
        ("multipart/form-data", "has no `boundary`"),
        ("multipart/form-data; boundary=another", "the form is incomplete"),
    ] {
        let refused = world.send_form(content_type, &form(PYTHON, &[file("hi")])).await;
        assert!(refused.status == 400 && refused.body.contains(says), "{refused:?}");
    }
    let half = form(PYTHON, &[file("hi")]).replace("--\r\n", "");
    let content_type = format!("multipart/form-data; boundary={PYTHON}");
    let refused = world.send_form(&content_type, &half).await;
    assert!(refused.status == 400 && refused.body.contains("is incomplete"), "{refused:?}");
    let listed = world.ask("GET /v1/files", "").await.json();
    assert_eq!(listed["data"], json!([]));
}

#[tokio::test]
async fn file_form_that_does_not_arrive_is_refused_after_its_time() {
    let world = World::new();
    let mut connection = HttpConnection::open(world.server).await;
    let mut head = world.head();
    head[2] = format!("Content-Type: multipart/form-data; boundary={PYTHON}");
    let begin = form(PYTHON, &[file("hi")]).replace("hi\r\n--", "h");
    let request = format!(
        "POST /v1/files HTTP/1.1\r\n{}\r\nContent-Length: 9999\r\n\r\n{begin}",
        head.join("\r\n")
    );
    connection.write(request.as_bytes()).await;
    let half_a_minute = Duration::from_secs(30);
    while world.daemon.uploads.begun() == 0 {
        tokio::task::yield_now().await;
    }
    // Once for the file, and once for the rest that is dropped.
    for _ in 0..2 {
        world.clock.sleeper(half_a_minute).await;
        world.clock.advance(half_a_minute);
    }
    let answer = connection.answer().await;
    assert!(answer.status == 408 && answer.body.contains("for 30 seconds"), "{answer:?}");
}

#[tokio::test]
async fn files_are_listed_read_and_deleted_by_their_token_only() {
    let world = World::new();
    for name in ["one", "two"] {
        assert_eq!(world.upload_form(&[file(name)]).await.status, 200);
    }
    let ids = |list: &Value| -> Vec<String> {
        let data = list["data"].as_array().unwrap();
        data.iter().map(|file| file["id"].as_str().unwrap().to_owned()).collect()
    };
    let listed = world.ask("GET /v1/files?limit=1", "").await.json();
    assert_eq!(
        (ids(&listed), &listed["has_more"]),
        (vec!["file-upload-2".to_owned()], &json!(true))
    );
    let next = world.ask("GET /v1/files?after=file-upload-2&order=desc", "").await.json();
    assert_eq!((ids(&next), &next["has_more"]), (vec!["file-upload-1".to_owned()], &json!(false)));
    let shown = world.ask("GET /v1/files/file-upload-1", "").await.json();
    assert_eq!(shown, next["data"][0]);
    let content = world.ask("GET /v1/files/file-upload-1/content", "").await;
    assert_eq!((content.status, content.body.as_str()), (200, "one"));
    assert_eq!(content.header("content-type"), Some("text/plain"));
    let head = vec![format!("Host: {}", world.server), format!("Authorization: Bearer {TABLET}")];
    let foreign = async |line: &str| {
        exchange(world.server, &TestRequest { line, head: head.clone(), body: "" }.bytes()).await
    };
    assert_eq!(foreign("GET /v1/files").await.json()["data"], json!([]));
    for line in [
        "GET /v1/files/file-upload-1",
        "GET /v1/files/file-upload-1/content",
        "DELETE /v1/files/file-upload-1",
    ] {
        let refused = foreign(line).await;
        assert_eq!(refused.status, 404, "{refused:?}");
        assert!(refused.body.contains("there is no file"), "{refused:?}");
    }
    let deleted = world.ask("DELETE /v1/files/file-upload-1", "").await.json();
    assert_eq!(deleted, json!({"id": "file-upload-1", "object": "file", "deleted": true}));
    for id in ["file-upload-1", "upload-2", "file-..%2Fweb.key"] {
        assert_eq!(world.ask(&format!("GET /v1/files/{id}"), "").await.status, 404, "{id}");
    }
}

#[tokio::test]
async fn request_with_an_uploaded_file_gives_its_bytes_to_the_daemon() {
    let world = World::new();
    world.upload_form(&[file("hello")]).await;
    let parts = json!([
        {"type": "text", "text": "read"},
        {"type": "file", "file": {"file_id": "file-upload-1"}},
    ]);
    let body = json!({"messages": [{"role": "user", "content": parts}]}).to_string();
    let asking = world.ask("POST /v1/chat/completions", &body);
    let serving = async {
        world.clock.sleeper(Duration::from_secs(600)).await;
        let inbound = world.daemon.asked.lock()[0].clone();
        let attachment = inbound.content.attachments[0].clone();
        let described = (attachment.kind, attachment.name.as_deref(), attachment.bytes);
        assert_eq!(described, (AttachmentKind::Document, Some("notes.txt"), Some(5)));
        let AttachmentSource::Platform(reference) = attachment.source else {
            panic!("{attachment:?}")
        };
        let clients = world.daemon.attached.lock().clone();
        let read = ClientFile::parse(&reference).unwrap().read(clients, 9).await;
        assert_eq!(read, Ok(b"hello".to_vec()));
        *world.daemon.outcome.lock() = Some(Outcome::Replied);
        world.clock.advance(Duration::from_secs(600));
    };
    let (answer, ()) = tokio::join!(asking, serving);
    assert_eq!(answer.status, 200, "{answer:?}");
    let unknown = json!([{"type": "input_file", "file_id": "file-upload-9"}]);
    let body = json!({"input": [{"role": "user", "content": unknown}]}).to_string();
    let refused = world.ask("POST /v1/responses", &body).await;
    assert_eq!(refused.status, 404, "{refused:?}");
    assert!(
        refused.body.contains("`input`: there is no file \\\"file-upload-9\\\""),
        "{refused:?}"
    );
    assert_eq!(world.daemon.asked.lock().len(), 1);
}

#[tokio::test]
async fn request_with_an_address_gives_the_fetched_bytes_to_the_daemon() {
    let world = World::new();
    let picture = "https://files.example/cat.png";
    let parts = json!([
        {"type": "input_image", "image_url": picture},
        {"type": "input_file", "file_url": "https://files.example/a", "filename": "b.pdf"},
    ]);
    let body = json!({"input": [{"role": "user", "content": parts}]}).to_string();
    let asking = world.ask("POST /v1/responses", &body);
    let serving = async {
        world.clock.sleeper(Duration::from_secs(600)).await;
        let inbound = world.daemon.asked.lock()[0].clone();
        let [image, file] = &inbound.content.attachments[..] else { panic!("{inbound:?}") };
        assert_eq!((image.kind, image.name.as_deref()), (AttachmentKind::Image, Some("cat.png")));
        assert_eq!((file.kind, file.name.as_deref()), (AttachmentKind::Document, Some("b.pdf")));
        let AttachmentSource::Platform(reference) = &image.source else { panic!("{image:?}") };
        let clients = world.daemon.attached.lock().clone();
        let read = ClientFile::parse(reference).unwrap().read(clients, 99).await;
        assert_eq!(read, Ok(picture.as_bytes().to_vec()));
        *world.daemon.outcome.lock() = Some(Outcome::Replied);
        world.clock.advance(Duration::from_secs(600));
    };
    let (answer, ()) = tokio::join!(asking, serving);
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[tokio::test]
async fn request_with_an_address_that_is_not_fetched_is_refused_with_the_reason() {
    let world = World::new();
    let image = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    let many = vec![image("https://files.example/a.png"); 11];
    let table = [
        (
            vec![image("http://127.0.0.1/a")],
            "cannot fetch http://127.0.0.1/a: http://127.0.0.1/a is",
        ),
        (vec![image("file:///etc/passwd")], "cannot fetch file:///etc/passwd"),
        (many, "at most 10 files"),
    ];
    for (parts, says) in table {
        let body = json!({"messages": [{"role": "user", "content": parts}]}).to_string();
        let refused = world.ask("POST /v1/chat/completions", &body).await;
        assert_eq!(refused.status, 400, "{refused:?}");
        let error = refused.json()["error"].clone();
        assert!(error["message"].as_str().unwrap().contains(says), "{says}: {error}");
        assert_eq!(error["param"], "messages");
    }
    assert!(world.daemon.asked.lock().is_empty());
}
