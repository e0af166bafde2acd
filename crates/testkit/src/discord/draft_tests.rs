use serde_json::json;

use super::super::client::{DiscordFixture, TOKEN, known, messages, raw, send};
use super::*;

/// Checks that each message is refused for exactly these reasons, without effect.
async fn refuses(cases: Vec<(Value, &[&str])>) {
    let known = known().await;
    for (body, reasons) in cases {
        let answer = known.create(known.channel, &body).await;
        assert_eq!(answer.errors(), reasons, "{body}");
    }
    assert_eq!(known.fake.sent(), []);
}

fn buttons(buttons: &[Value]) -> Value {
    json!({ "components": [{ "type": 1, "components": buttons }] })
}

fn button(id: &str) -> Value {
    json!({ "type": 2, "style": 1, "label": "x", "custom_id": id })
}

fn menu(options: usize) -> Value {
    let options = (0..options).map(|number| json!({ "label": "x", "value": number.to_string() }));
    json!({ "type": 3, "custom_id": "a", "options": options.collect::<Value>() })
}

#[tokio::test]
async fn draft_refuses_invalid_texts_and_embeds() {
    let embed = |embed: Value| json!({ "embeds": [embed] });
    let fields = json!([{ "name": "a".repeat(257), "value": "b".repeat(1025) }]);
    refuses(vec![
        (
            json!({ "content": "ä".repeat(2001) }),
            &["content BASE_TYPE_MAX_LENGTH: Must be 2000 or fewer in length."],
        ),
        (
            json!({ "nonce": "a".repeat(26) }),
            &["nonce BASE_TYPE_MAX_LENGTH: Must be 25 or fewer in length."],
        ),
        (
            json!({ "allowed_mentions": null }),
            &["allowed_mentions BASE_TYPE_REQUIRED: This field is required"],
        ),
        (
            json!({ "embeds": vec![json!({ "title": "a" }); 11] }),
            &["embeds BASE_TYPE_MAX_LENGTH: Must be 10 or fewer in length."],
        ),
        (
            embed(json!({ "title": "a".repeat(257) })),
            &["embeds.0.title BASE_TYPE_MAX_LENGTH: Must be 256 or fewer in length."],
        ),
        (
            embed(json!({ "description": "a".repeat(4097) })),
            &["embeds.0.description BASE_TYPE_MAX_LENGTH: Must be 4096 or fewer in length."],
        ),
        (
            embed(json!({ "fields": fields })),
            &[
                "embeds.0.fields.0.name BASE_TYPE_MAX_LENGTH: Must be 256 or fewer in length.",
                "embeds.0.fields.0.value BASE_TYPE_MAX_LENGTH: Must be 1024 or fewer in length.",
            ],
        ),
        (
            embed(json!({ "fields": vec![json!({ "name": "a", "value": "b" }); 26] })),
            &["embeds.0.fields BASE_TYPE_MAX_LENGTH: Must be 25 or fewer in length."],
        ),
        (
            json!({ "embeds": vec![json!({ "description": "a".repeat(3001) }); 2] }),
            &["embeds MAX_EMBED_SIZE_EXCEEDED: Embed size exceeds maximum size of 6000"],
        ),
        (
            json!({ "attachments": vec![json!({ "id": 0 }); 11] }),
            &["attachments BASE_TYPE_MAX_LENGTH: Must be 10 or fewer in length."],
        ),
    ])
    .await;
}

#[tokio::test]
async fn draft_refuses_invalid_components() {
    let row = |id: &str| json!({ "type": 1, "components": [button(id)] });
    let rows: Vec<Value> = (0..6).map(|place| row(&place.to_string())).collect();
    let six: Vec<Value> = (0..6).map(|place| button(&place.to_string())).collect();
    let link = |url: &str| json!({ "type": 2, "style": 5, "label": "x", "url": url });
    refuses(vec![
        (
            json!({ "components": rows }),
            &["components BASE_TYPE_MAX_LENGTH: Must be 5 or fewer in length."],
        ),
        (
            buttons(&six),
            &["components.0.components BASE_TYPE_BAD_LENGTH: Must be between 1 and 5 in length."],
        ),
        (
            buttons(&[]),
            &["components.0.components BASE_TYPE_BAD_LENGTH: Must be between 1 and 5 in length."],
        ),
        (
            json!({ "components": [{ "type": 2, "components": [button("a")] }] }),
            &["components.0.type BASE_TYPE_CHOICES: Value must be one of {1}."],
        ),
        (
            buttons(&[json!({ "type": 4, "style": 1, "label": "x", "custom_id": "a" })]),
            &["components.0.components.0.type BASE_TYPE_CHOICES: Value must be one of {2}."],
        ),
        (
            buttons(&[json!({ "type": 2, "label": "x", "custom_id": "a" })]),
            &["components.0.components.0.style BASE_TYPE_CHOICES: \
               Value must be one of {1, 2, 3, 4, 5}."],
        ),
        (
            buttons(&[json!({ "type": 2, "style": 1, "custom_id": "a" })]),
            &["components.0.components.0.label BASE_TYPE_REQUIRED: This field is required"],
        ),
        (
            buttons(&[json!({ "type": 2, "style": 1, "label": "a".repeat(81), "custom_id": "a" })]),
            &["components.0.components.0.label BASE_TYPE_MAX_LENGTH: \
               Must be 80 or fewer in length."],
        ),
        (
            buttons(&[button(&"a".repeat(101))]),
            &["components.0.components.0.custom_id BASE_TYPE_MAX_LENGTH: \
               Must be 100 or fewer in length."],
        ),
        (
            buttons(&[button("")]),
            &["components.0.components.0.custom_id BUTTON_COMPONENT_CUSTOM_ID_REQUIRED: \
               A custom id is required"],
        ),
        (
            buttons(&[json!({ "type": 3, "custom_id": "a", "options": [] })]),
            &["components.0.components.0.options BASE_TYPE_BAD_LENGTH: \
               Must be between 1 and 25 in length."],
        ),
        (
            buttons(&[menu(26)]),
            &["components.0.components.0.options BASE_TYPE_BAD_LENGTH: \
               Must be between 1 and 25 in length."],
        ),
        (
            buttons(&[menu(2), button("b")]),
            &["components.0.components BASE_TYPE_BAD_LENGTH: Must be between 1 and 1 in length."],
        ),
        (
            buttons(&[json!({ "type": 3, "custom_id": "a", "options": [
                { "label": "", "value": "x" }, { "label": "b", "value": "x" },
            ] })]),
            &[
                "components.0.components.0.options.0.label BASE_TYPE_BAD_LENGTH: \
                 Must be between 1 and 100 in length.",
                "components.0.components.0.options.1.value \
                 SELECT_COMPONENT_OPTION_VALUE_DUPLICATED: \
                 The specified option value is already used",
            ],
        ),
        (
            json!({ "components": [row("a"), row("a")] }),
            &["components.1.components.0.custom_id COMPONENT_CUSTOM_ID_DUPLICATED: \
               Component custom id cannot be duplicated"],
        ),
        (
            buttons(&[link("nowhere")]),
            &["components.0.components.0.url URL_TYPE_INVALID_SCHEME: Scheme \"\" is not \
               supported. Scheme must be one of ('http', 'https', 'discord')."],
        ),
        (
            buttons(&[link(&format!("https://{}", "a".repeat(512)))]),
            &["components.0.components.0.url BASE_TYPE_MAX_LENGTH: \
               Must be 512 or fewer in length."],
        ),
    ])
    .await;
}

#[tokio::test]
async fn draft_accepts_values_at_the_limits() {
    let known = known().await;
    let row = |row: usize| {
        let id = |place: usize| format!("{row}-{place}-{}", "a".repeat(96));
        let button = |place| json!({ "type": 2, "style": 4, "label": "ä".repeat(80), "custom_id": id(place) });
        json!({ "type": 1, "components": (0..5).map(button).collect::<Vec<_>>() })
    };
    let link = json!({ "type": 2, "style": 5, "label": "x", "url": "https://a.b" });
    for body in [
        json!({ "content": "ä".repeat(2000), "nonce": "a".repeat(25) }),
        json!({ "nonce": 7, "flags": 4 }),
        json!({ "components": (0..5).map(row).collect::<Vec<_>>() }),
        buttons(&[link, json!({ "type": 2, "style": 1, "emoji": {}, "custom_id": "a" })]),
        json!({ "content": null, "embeds": vec![json!({ "description": "a".repeat(600) }); 10] }),
    ] {
        known.create(known.channel, &body).await.result();
    }
    known.fake.require_allowed_mentions(false);
    known.create(known.channel, &json!({ "allowed_mentions": null })).await.result();
    assert_eq!(known.fake.refusals(), []);
}

/// Sends a form with `payload_json` and these files.
async fn upload(
    known: &DiscordFixture,
    json: &str,
    files: &[(&str, &[u8])],
) -> super::super::client::HttpAnswer {
    let mut body =
        format!("--XX\r\nContent-Disposition: form-data; name=\"payload_json\"\r\n\r\n{json}\r\n")
            .into_bytes();
    for (place, (name, bytes)) in files.iter().enumerate() {
        let head = format!(
            "--XX\r\nContent-Disposition: form-data; name=\"files[{place}]\"; \
             filename=\"{name}\"\r\nContent-Type: text/plain\r\n\r\n"
        );
        body.extend([head.as_bytes(), bytes, b"\r\n"].concat());
    }
    body.extend(b"--XX--\r\n");
    let (token, form) = (format!("Bot {TOKEN}"), "multipart/form-data; boundary=XX");
    let request = raw("POST", &messages(known.channel), Some(&token), form, &body);
    send(&known.fake, &request).await.answer().await.unwrap()
}

const NOTHING: &str = r#"{"attachments":[{"id":0,"filename":"a.txt"}]}"#;

#[tokio::test]
async fn draft_keeps_files_for_download() {
    let known = known().await;
    let described = upload(&known, NOTHING, &[("a.txt", b"one"), ("b.txt", b"two")]).await.result();
    let [message] = &known.fake.sent()[..] else { panic!("{:?}", known.fake.sent()) };
    let names: Vec<&str> = message.files.iter().map(|file| &*file.name).collect();
    assert_eq!(names, ["a.txt", "b.txt"]);
    assert_eq!(described["attachments"][1]["size"], 3);
    let url = described["attachments"][1]["url"].as_str().unwrap();
    let path = url.strip_prefix(&known.fake.base_url()).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
    let answer = send(&known.fake, request.as_bytes()).await.answer().await.unwrap();
    assert_eq!((answer.status, &answer.bytes[..]), (200, &b"two"[..]));
}

#[tokio::test]
async fn draft_refuses_a_file_above_the_limit() {
    let known = known().await;
    known.fake.limit_uploads(3);
    assert_eq!(upload(&known, NOTHING, &[("a.txt", b"one")]).await.status, 200);
    let refusal = upload(&known, NOTHING, &[("a.txt", b"four")]).await.refusal();
    assert_eq!(refusal, (413, 40005, "Request entity too large".to_owned()));
    assert_eq!(known.fake.sent().len(), 1);
    known.fake.boost(known.guild, 2);
    assert_eq!(upload(&known, NOTHING, &[("a.txt", b"four")]).await.status, 200);
}

#[tokio::test]
async fn draft_refuses_an_invalid_form() {
    let known = known().await;
    let refusal = upload(&known, "{", &[]).await.refusal();
    assert_eq!(refusal, (400, 50109, "The request body contains invalid JSON.".to_owned()));
}
