use std::sync::Arc;

use avocet_testkit::ManualClock;
use avocet_testkit::http::{HttpFake, HttpRequest, whole};
use serde_json::json;

use super::*;
use crate::OpenAiConfig;
use crate::openai::OpenAi;
use crate::testing::{SECOND, ask_model};

fn secrets(keys: &[&str]) -> ApiKeys {
    ApiKeys::from_keys(keys.iter().map(|key| Secret::new((*key).to_owned())).collect())
}

/// A server that gives each key its own status, and a record of the keys in order.
async fn server(
    status: impl Fn(&str) -> (u16, Vec<(&'static str, &'static str)>) + Send + Sync + 'static,
) -> (HttpFake, Arc<Mutex<Vec<String>>>) {
    let used = Arc::<Mutex<Vec<String>>>::default();
    let seen = used.clone();
    let fake = HttpFake::start(move |request: HttpRequest| {
        let key = request.header("authorization").unwrap_or_default();
        let key = key.trim_start_matches("Bearer ").to_owned();
        if request.method == "POST" {
            seen.lock().push(key.clone());
        }
        let (status, headers) = status(&key);
        let body = match status {
            200 => {
                json!({ "choices": [{ "message": { "content": "ok" }, "finish_reason": "stop" }] })
            }
            _ => json!({ "error": { "message": format!("not with {key}") } }),
        };
        let headers = [&[("content-type", "application/json")][..], &headers].concat();
        whole(status, &headers, &body.to_string())
    })
    .await;
    (fake, used)
}

fn model(fake: &HttpFake, keys: ApiKeys, clock: &Arc<ManualClock>) -> OpenAi {
    let config = OpenAiConfig {
        base_url: format!("http://{}/v1", fake.address()),
        api_key: Some(keys),
        max_retries: 0,
        ..OpenAiConfig::default()
    };
    OpenAi::new("local", "some", &config, clock.clone()).unwrap()
}

const KEYS: [&str; 3] = ["key-a-123456", "key-b-123456", "key-c-123456"];

#[tokio::test]
async fn keys_are_used_in_turn_and_a_refused_key_rests() {
    let (fake, used) = server(|key| match key {
        "key-a-123456" => (401, vec![]),
        "key-b-123456" => (429, vec![("retry-after", "30")]),
        _ => (200, vec![]),
    })
    .await;
    let clock = Arc::<ManualClock>::default();
    let model = model(&fake, secrets(&KEYS), &clock);
    let asked = async |expected: &[&str]| {
        assert_eq!(ask_model(&model).await.reply.unwrap().text, "ok");
        assert_eq!(std::mem::take(&mut *used.lock()), expected);
    };
    asked(&KEYS).await;
    asked(&KEYS[2..]).await;
    clock.advance(31 * SECOND);
    asked(&KEYS[1..]).await;
    clock.advance(600 * SECOND);
    asked(&KEYS).await;
}

#[tokio::test]
async fn keys_that_are_all_refused_give_the_last_error_without_any_key() {
    let (fake, used) = server(|_| (401, vec![])).await;
    let model = model(&fake, secrets(&KEYS), &Arc::default());
    let error = ask_model(&model).await.reply.unwrap_err().to_string();
    assert_eq!(
        error,
        "local/some refused the key (401: not with [secret]); check api_key in the configuration"
    );
    assert_eq!(*used.lock(), KEYS);
}

#[tokio::test]
async fn keys_stay_in_use_after_errors_that_are_not_about_them() {
    let (fake, used) = server(|_| (500, vec![])).await;
    let model = model(&fake, secrets(&KEYS), &Arc::default());
    ask_model(&model).await.reply.unwrap_err();
    ask_model(&model).await.reply.unwrap_err();
    assert_eq!(*used.lock(), [KEYS[0]; 2]);
}

#[test]
fn keys_are_read_as_a_text_or_a_list_and_checked() {
    let read = |text: &str| -> ApiKeys { serde_json::from_str(text).unwrap() };
    let table = [
        ("\"one\"", None),
        ("[\"one\", \"two\"]", None),
        ("\"\"", Some("it is empty; leave it out if the provider needs no key")),
        ("[]", Some("it is empty; leave it out if the provider needs no key")),
        (
            "[\"one\", \" \"]",
            Some("key 2 of the list is empty; leave it out if the provider needs no key"),
        ),
        (
            "\"one\\n\"",
            Some(
                "it contains a line break; remove it, or use ${file:PATH}, which ignores the last one",
            ),
        ),
        (
            "[\"two\", \"Bearer one\"]",
            Some("key 2 of the list contains a space or a control character; copy the key alone"),
        ),
    ];
    for (text, error) in table {
        let keys = read(text);
        assert!(!format!("{keys:?}").contains("one"), "{keys:?}");
        assert_eq!(
            check_keys(Some(&keys)).err().map(|(_, error)| error).as_deref(),
            error,
            "{text}"
        );
    }
}

#[tokio::test]
async fn short_dummy_key_is_not_cut_out_of_an_error() {
    let (fake, _) = server(|_| (400, vec![])).await;
    let model = model(&fake, secrets(&["x"]), &Arc::default());
    let error = ask_model(&model).await.reply.unwrap_err().to_string();
    assert_eq!(error, "local/some refused the request: 400: not with x");
}
