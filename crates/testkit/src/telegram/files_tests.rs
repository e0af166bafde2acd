use super::super::SentFile;
use super::super::client::{TOKEN, USER, call, fake, form, post, send};
use super::*;

#[test]
fn upload_refuses_empty_and_large_files() {
    let megabytes = |count: usize| count * 1024 * 1024;
    let cases = [
        (0, false, Some("Bad Request: file must be non-empty")),
        (1, false, None),
        (megabytes(10), true, None),
        (megabytes(10) + 1, true, Some("Bad Request: too big for a photo: 10485761 bytes")),
        (megabytes(50), false, None),
        (megabytes(50) + 1, false, Some("Request Entity Too Large")),
    ];
    for (bytes, is_photo, refusal) in cases {
        let found = check_upload(bytes, is_photo).map_err(|error| error.description);
        assert_eq!(found.err().as_deref(), refusal, "{bytes} bytes");
    }
}

#[tokio::test]
async fn upload_accepts_a_file_by_part_attachment_or_identifier() {
    let fake = fake().await;
    let document = b"1\r\n--X\r\n\0".as_slice();
    let photo = super::super::png(1, 1);
    let upload = async |method: &str, fields: &[(&str, &str)], part: &str, file: &str| {
        let bytes = if method == "sendPhoto" { &photo } else { document };
        let (media_type, body) = form(fields, &[(part, file, bytes)]);
        let path = format!("/bot{TOKEN}/{method}");
        post(&fake, &path, &media_type, &body).await.answer().await.unwrap().result()
    };
    let name = "filename=\"a; b.txt\"";
    let fields = [("chat_id", "7"), ("caption", "look")];
    let sent = upload("sendDocument", &fields, "document", name).await;
    assert_eq!(
        (&sent["caption"], &sent["document"]["file_name"]),
        (&json!("look"), &json!("a; b.txt"))
    );
    let fields = [("chat_id", "7"), ("photo", "attach://one")];
    let sent = upload("sendPhoto", &fields, "one", "filename*=utf-8''%C3%A4.png").await;
    let id = sent["photo"][0]["file_id"].clone();
    call(&fake, "sendPhoto", &json!({ "chat_id": USER, "photo": id })).await.result();

    let files: Vec<SentFile> = fake.sent().into_iter().filter_map(|sent| sent.file).collect();
    let upload = files[0].upload.as_ref().unwrap();
    assert_eq!(
        (upload.name.as_str(), upload.bytes.as_slice()),
        ("a; b.txt", &b"1\r\n--X\r\n\0"[..])
    );
    assert_eq!(files[1].upload.as_ref().unwrap().name, "ä.png");
    assert_eq!((files[2].upload.as_ref(), &files[2].id), (None, &files[1].id));
    let args = json!({ "chat_id": USER, "message_id": 3, "text": "x" });
    let refusal = call(&fake, "editMessageText", &args).await.refusal();
    assert_eq!(refusal.1, "Bad Request: there is no text in the message to edit");
}

#[tokio::test]
async fn request_body_may_be_chunked() {
    let fake = fake().await;
    let head = format!(
        "POST /bot{TOKEN}/sendMessage HTTP/1.1\r\ncontent-type: application/json\r\n\
         transfer-encoding: chunked\r\n\r\n"
    );
    let chunks = "a\r\n{\"chat_id\"\r\n11\r\n:7,\"text\":\"hello\"\r\n1\r\n}\r\n0\r\n\r\n";
    let mut sent = send(&fake, format!("{head}{chunks}").as_bytes()).await;
    assert_eq!(sent.answer().await.unwrap().result()["text"], "hello");
}

#[tokio::test]
async fn get_file_finds_a_file_for_download() {
    let fake = fake().await;
    fake.add_file("a", Some(5), b"12345");
    let found = call(&fake, "getFile", &json!({ "file_id": "a" })).await.result();
    let path = found["file_path"].as_str().unwrap();
    let get = async |token: &str, path: &str| {
        let request = format!("GET /file/bot{token}/{path} HTTP/1.1\r\n\r\n");
        send(&fake, request.as_bytes()).await.answer().await
    };
    for path in [path.to_owned(), path.replace('/', "%2F")] {
        assert_eq!(get(TOKEN, &path).await.unwrap().bytes, b"12345", "{path}");
    }
    assert_eq!(get(TOKEN, "files/big").await.unwrap().refusal(), (404, "Not Found".to_owned()));
    assert_eq!(get(TOKEN, "files/b").await.unwrap().refusal(), (404, "Not Found".to_owned()));
    assert_eq!(get("1:x", path).await.unwrap().refusal(), (401, "Unauthorized".to_owned()));
    fake.advance(FILE_PATH_KEPT);
    assert_eq!(get(TOKEN, path).await.unwrap().refusal(), (404, "Not Found".to_owned()));
    call(&fake, "getFile", &json!({ "file_id": "a" })).await.result();
    fake.cut_downloads(true);
    get(TOKEN, path).await.unwrap_err();
}
