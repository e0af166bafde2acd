//! Each setting against a server that requires it and refuses requests without it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::model::{ModelError, ModelReply};
use avocet_testkit::openai::responses::{MODEL, ResponsesFake};
use avocet_testkit::openai::{Insists, KEY, ModelAnswer, OpenAiFake};
use avocet_testkit::{ManualClock, http::Piece};
use avocet_text::Secret;
use serde_json::{Value, json};

use super::*;
use crate::testing::{ask_model, ask_through, serve_model};
use crate::{OpenAi, ProviderConfig, SourcedFacts, ToolStyle};

fn model(base_url: String, change: impl Fn(&mut OpenAiConfig)) -> OpenAi {
    let mut config = OpenAiConfig { base_url, max_retries: 0, ..OpenAiConfig::default() };
    change(&mut config);
    config.check_config().unwrap();
    OpenAi::new("local", "qwen3", &config, Arc::<ManualClock>::default()).unwrap()
}

/// The reply of a server with this requirement, and the request if it was accepted.
async fn asked(
    on: Insists,
    change: impl Fn(&mut OpenAiConfig),
) -> (Result<ModelReply, ModelError>, Option<Value>) {
    let fake = OpenAiFake::start_insisting(on, |_| ModelAnswer::says("all good")).await;
    let reply = ask_model(&model(fake.base_url(), change)).await.reply;
    (reply, fake.requests().pop())
}

/// Checks that a server with this requirement refuses a request without the setting and accepts it
/// with the setting.
async fn switches(on: Insists, change: impl Fn(&mut OpenAiConfig)) -> (ModelReply, Value) {
    let limited = |config: &mut OpenAiConfig| config.max_output_tokens = Some(100);
    assert_eq!(refusals(on, limited).await, 1, "{on:?}");
    let (reply, request) = asked(on, |config| {
        limited(config);
        change(config);
    })
    .await;
    let reply = reply.unwrap();
    assert_eq!(reply.text, "all good", "{on:?}");
    (reply, request.unwrap())
}

/// The number of requests that a server with this requirement refuses.
async fn refusals(on: Insists, change: impl Fn(&mut OpenAiConfig)) -> usize {
    let fake = OpenAiFake::start_insisting(on, |_| ModelAnswer::says("all good")).await;
    drop(ask_model(&model(fake.base_url(), change)).await.reply);
    fake.refusals().len()
}

#[tokio::test]
async fn openai_setting_that_a_server_refuses_is_left_out_until_the_next_start() {
    type Change = fn(&mut OpenAiConfig);
    let developer: Change = |config| config.system_role = SystemRole::Developer;
    let nothing: Change = |_| ();
    let table: [(Insists, Change); 9] = [
        (Insists::MaxCompletionTokens, nothing),
        (Insists::MaxTokens, |config| {
            config.max_tokens_field = Some(MaxTokensField::MaxCompletionTokens);
        }),
        (Insists::Developer, nothing),
        (Insists::NoInstructions, nothing),
        (Insists::NoInstructions, developer),
        (Insists::NoStreamOptions, nothing),
        (Insists::NoStream, nothing),
        (Insists::NoTemperature, |config| config.temperature = Some(0.5)),
        (Insists::NoEffort, |config| config.reasoning_effort = Some("low".to_owned())),
    ];
    for (on, change) in table {
        let fake = OpenAiFake::start_insisting(on, |_| ModelAnswer::says("all good")).await;
        let model = model(fake.base_url(), |config| {
            config.max_output_tokens = Some(100);
            change(config);
        });
        for _ in 0..2 {
            assert_eq!(ask_model(&model).await.reply.unwrap().text, "all good", "{on:?}");
        }
        assert_eq!(fake.refusals().len(), 1, "{on:?}: {:?}", fake.refusals());
        assert_eq!(fake.requests().len(), 2, "{on:?}");
    }
}

#[tokio::test]
async fn openai_tools_that_a_server_refuses_become_text_unless_the_operator_wants_native_calls() {
    let fake = OpenAiFake::start_insisting(Insists::NoTools, |_| ModelAnswer::says("ok")).await;
    let served = |tools: Option<ToolStyle>| {
        let base_url = fake.base_url();
        let config = OpenAiConfig { base_url, tools, max_retries: 0, ..OpenAiConfig::default() };
        serve_model(config, "local/nobody-knows", SourcedFacts::default(), Arc::default())
    };
    let model = served(None);
    for _ in 0..2 {
        assert_eq!(ask_model(model.as_ref()).await.reply.unwrap().text, "ok");
    }
    assert_eq!(fake.refusals().len(), 1, "{:?}", fake.refusals());
    let sent = fake.requests();
    assert_eq!(sent.len(), 2);
    assert!(sent[0]["messages"][0]["content"].as_str().unwrap().contains("## read_file"));
    let native = served(Some(ToolStyle::Native));
    let error = ask_model(native.as_ref()).await.reply.unwrap_err().to_string();
    assert!(error.contains("does not support tools; set tools = \"json\""), "{error}");
}

#[tokio::test]
async fn openai_setting_that_does_not_help_is_not_kept() {
    const SAYS: &str =
        r#"{"error":{"message":"'max_tokens' and 'max_completion_tokens' are unsupported"}}"#;
    let fake = OpenAiFake::start(|_| ModelAnswer::Status(400, Vec::new(), SAYS.to_owned())).await;
    let model = model(fake.base_url(), |config| config.max_output_tokens = Some(100));
    for asked in 1..=2 {
        let error = ask_model(&model).await.reply.unwrap_err().to_string();
        assert!(error.contains("are unsupported"), "{error}");
        assert_eq!(fake.requests().len(), 2 * asked);
    }
}

#[tokio::test]
async fn openai_max_tokens_field_names_the_output_limit() {
    let newer = MaxTokensField::MaxCompletionTokens;
    let (_, request) = switches(Insists::MaxCompletionTokens, |config| {
        config.max_tokens_field = Some(newer);
    })
    .await;
    assert_eq!(
        (&request["max_completion_tokens"], &request["max_tokens"]),
        (&json!(100), &Value::Null)
    );
    let limited = |config: &mut OpenAiConfig| config.max_output_tokens = Some(100);
    let (reply, _) = asked(Insists::MaxTokens, limited).await;
    assert_eq!(reply.unwrap().text, "all good", "as most servers call it");

    let of = |base_url: &str, field| {
        let base_url = base_url.to_owned();
        OpenAiConfig { base_url, max_tokens_field: field, ..OpenAiConfig::default() }
            .max_tokens_field()
    };
    for openai in ["https://api.openai.com/v1", "https://API.OpenAI.com:443/v1"] {
        assert_eq!(of(openai, None), newer, "{openai}");
        assert_eq!(of(openai, Some(MaxTokensField::MaxTokens)), MaxTokensField::MaxTokens);
    }
    for other in ["http://127.0.0.1:8080/v1", "https://api.openai.com.example.org/v1"] {
        assert_eq!(of(other, None), MaxTokensField::MaxTokens, "{other}");
    }
}

#[tokio::test]
async fn openai_system_role_puts_instructions_in_a_developer_or_user_message() {
    let (_, request) =
        switches(Insists::Developer, |config| config.system_role = SystemRole::Developer).await;
    assert_eq!(request["messages"][0], json!({ "role": "developer", "content": "be kind" }));
    let (_, request) =
        switches(Insists::NoInstructions, |config| config.system_role = SystemRole::User).await;
    assert_eq!(request["messages"][0], json!({ "role": "user", "content": "be kind\n\nhi" }));
    assert_eq!(request["messages"][2]["content"], "read a", "only the first");
}

#[tokio::test]
async fn openai_stream_usage_can_be_switched_off() {
    let (reply, _) = switches(Insists::NoStreamOptions, |config| config.stream_usage = false).await;
    assert!(reply.usage().input > 0);
}

#[tokio::test]
async fn openai_stream_can_be_switched_off() {
    let (reply, _) = switches(Insists::NoStream, |config| config.stream = false).await;
    assert_eq!(reply.usage().input, 12);
}

#[tokio::test]
async fn openai_answer_without_a_stream_may_take_the_total_timeout() {
    let fake = OpenAiFake::start(|_| ModelAnswer::Raw(vec![Piece::Hang])).await;
    let config = OpenAiConfig {
        base_url: fake.base_url(),
        stream: false,
        max_retries: 0,
        ..OpenAiConfig::default()
    };
    let clock = Arc::<ManualClock>::default();
    let model = OpenAi::new("local", "qwen3", &config, clock.clone()).unwrap();
    let asked = ask_through(&model, &clock, Duration::from_mins(15)).await;
    assert!(matches!(asked.reply, Err(ModelError::TimedOut { .. })));
}

fn headers(name: &str, value: &str) -> BTreeMap<String, Secret> {
    BTreeMap::from([(name.to_owned(), Secret::new(value.to_owned()))])
}

#[tokio::test]
async fn openai_headers_are_sent_and_shown_in_no_error() {
    const TOKEN: &str = "token-1234567890";
    let on = Insists::Header("x-proxy-token", TOKEN);
    switches(on, |config| config.headers = headers("X-Proxy-Token", TOKEN)).await;
    let repeats = || ModelAnswer::Status(403, Vec::new(), format!("not with {TOKEN}"));
    let fake = OpenAiFake::start(move |_| repeats()).await;
    let model = model(fake.base_url(), |config| config.headers = headers("X-Proxy-Token", TOKEN));
    let error = ask_model(&model).await.reply.unwrap_err();
    assert!(!format!("{error:?} {model:?}").contains(TOKEN), "{error:?} {model:?}");
    assert!(error.to_string().contains("not with [secret]"), "{error}");
}

#[tokio::test]
async fn openai_untrusted_server_is_asked_on_the_public_internet_only() {
    let fake = OpenAiFake::start(|_| ModelAnswer::says("all good")).await;
    let untrusted = |untrusted| OpenAiConfig {
        base_url: fake.base_url(),
        max_retries: 0,
        untrusted,
        ..OpenAiConfig::default()
    };
    for (untrusted, expected) in
        [(untrusted(false), None), (untrusted(true), Some("127.0.0.1 is not public"))]
    {
        let checked = untrusted.check_config().map_err(|(key, error)| format!("{key}: {error}"));
        let clock = Arc::<ManualClock>::default();
        let model = OpenAi::new("local", "qwen3", &untrusted, clock).unwrap();
        let reply = ask_model(&model).await.reply.map_err(|error| error.to_string());
        match expected {
            None => assert!(checked.is_ok() && reply.is_ok(), "{checked:?} {reply:?}"),
            Some(expected) => {
                assert!(checked.unwrap_err().contains(expected));
                assert!(reply.unwrap_err().contains(expected));
            }
        }
    }
    assert_eq!(fake.requests().len(), 1);
}

#[tokio::test]
async fn openai_extra_body_adds_keys_to_the_request() {
    let more = json!({ "enable_thinking": false });
    let (_, request) = switches(Insists::NoThinking, |config| {
        config.extra_body.insert("chat_template_kwargs".to_owned(), more.clone());
        config.extra_body.insert("stream_options".to_owned(), json!({ "chunked": 1 }));
        config.extra_body.insert("max_tokens".to_owned(), json!(7));
    })
    .await;
    assert_eq!(request["stream_options"], json!({ "include_usage": true, "chunked": 1 }));
    assert_eq!(request["max_tokens"], 7);
}

#[tokio::test]
async fn openai_temperature_and_reasoning_effort_can_be_set() {
    let (_, request) = asked(Insists::MaxTokens, |config| {
        config.temperature = Some(0.5);
        config.reasoning_effort = Some("low".to_owned());
    })
    .await;
    let request = request.unwrap();
    let said = (&request["temperature"], &request["reasoning_effort"]);
    assert_eq!(said, (&json!(0.5), &json!("low")));
    let (_, request) = asked(Insists::MaxTokens, |_| ()).await;
    assert!(request.unwrap()["temperature"].is_null(), "the provider's own value");
}

#[tokio::test]
async fn openai_responses_api_accepts_the_switches_that_fit_it() {
    let fake = ResponsesFake::start(|_| ModelAnswer::says("all good")).await;
    let ask_with = async |change: &dyn Fn(&mut OpenAiConfig)| {
        let mut config = OpenAiConfig {
            base_url: fake.base_url(),
            api_key: Some(Secret::new(KEY.to_owned()).into()),
            api: OpenAiApi::Responses,
            max_retries: 0,
            ..OpenAiConfig::default()
        };
        change(&mut config);
        let clock = Arc::<ManualClock>::default();
        let model = OpenAi::new("openai", MODEL, &config, clock).unwrap();
        ask_model(&model).await.reply
    };
    assert_eq!(ask_with(&|config| config.stream = false).await.unwrap().text, "all good");
    assert_eq!(fake.requests()[0]["stream"], false);
    let summary = json!({ "summary": "auto" });
    let more = |config: &mut OpenAiConfig| {
        config.reasoning_effort = Some("low".to_owned());
        config.extra_body.insert("reasoning".to_owned(), summary.clone());
    };
    ask_with(&more).await.unwrap();
    assert_eq!(fake.requests()[1]["reasoning"], json!({ "effort": "low", "summary": "auto" }));
    ask_with(&|config| config.temperature = Some(0.5)).await.unwrap();
    let refusals = fake.refusals();
    assert_eq!(refusals.len(), 1);
    assert!(refusals[0].contains("'temperature' is not supported with this model."));
    assert_eq!(fake.requests()[2]["temperature"], Value::Null);
}

#[test]
fn openai_config_check_names_the_key_of_an_impossible_switch() {
    type ConfigChange = fn(&mut OpenAiConfig);
    let table: [(ConfigChange, &str, &str); 10] = [
        (
            |config| drop(config.extra_body.insert("messages".to_owned(), json!([]))),
            "extra_body",
            "it cannot set messages, which Avocet sets",
        ),
        (|config| config.temperature = Some(2.5), "temperature", "2.5 is not from 0 to 2"),
        (|config| config.headers = headers("no name", "x"), "headers", "the header no name cannot"),
        (|config| config.headers = headers("X-Key", "a\nb"), "headers", "the header X-Key cannot"),
        (|config| config.headers = headers("Host", "x"), "headers", "Host cannot be set"),
        (
            |config| {
                config.api_key = Some(Secret::new(KEY.to_owned()).into());
                config.headers = headers("Authorization", "Basic x");
            },
            "headers",
            "Authorization is set by api_key; leave one of them out",
        ),
        (
            |config| {
                config.api = OpenAiApi::Responses;
                config.max_tokens_field = Some(MaxTokensField::MaxTokens);
            },
            "max_tokens_field",
            "it is for api = \"chat\" only; leave it out",
        ),
        (
            |config| {
                config.api = OpenAiApi::Responses;
                config.system_role = SystemRole::User;
            },
            "system_role",
            "it is for api = \"chat\" only",
        ),
        (
            |config| {
                config.api = OpenAiApi::Responses;
                config.stream_usage = false;
            },
            "stream_usage",
            "it is for api = \"chat\" only",
        ),
        (
            |config| config.deferred_tools = true,
            "deferred_tools",
            "it is for api = \"responses\" only; leave it out",
        ),
    ];
    for (change, key, says) in table {
        let mut config = OpenAiConfig::default();
        change(&mut config);
        let (found, error) = config.check_config().unwrap_err();
        assert_eq!(found, key);
        assert!(error.contains(says), "{error}");
    }
    let headers = headers("Authorization", "Basic x");
    let fits = OpenAiConfig { headers, temperature: Some(0.0), ..OpenAiConfig::default() };
    fits.check_config().unwrap();
}
