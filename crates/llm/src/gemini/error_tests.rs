//! The errors of the provider: refusals in the words of the API, quotas and their delays.

use super::*;

fn error(code: u16, status: &str, message: &str, details: &Value) -> Value {
    json!({ "error": { "code": code, "status": status, "message": message, "details": details } })
}

#[tokio::test]
async fn gemini_error_explains_refusals_in_the_words_of_the_api() {
    const LONG: &str =
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).";
    let bad_key = json!([{ "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "API_KEY_INVALID" }]);
    let none = json!([]);
    let table = [
        (
            400,
            "INVALID_ARGUMENT",
            "API key not valid. Please pass a valid API key.",
            &none,
            "refused the key (401: API key not valid.",
        ),
        (400, "INVALID_ARGUMENT", "Renew it.", &bad_key, "refused the key (401: Renew it.)"),
        (400, "INVALID_ARGUMENT", LONG, &none, "start a new one with /new"),
        (
            400,
            "INVALID_ARGUMENT",
            "Request payload size exceeds the limit: 20971520 bytes.",
            &none,
            "start a new one with /new",
        ),
        (
            400,
            "FAILED_PRECONDITION",
            "User location is not supported for the API use.",
            &none,
            "refused the request: 400: User location is not supported",
        ),
    ];
    for (code, status, message, details, says) in table {
        let error = error(code, status, message, details);
        for answer in [json_answer(code, &error), streams(&[text("so "), error.clone()])] {
            let error = ask_for(answer).await.0.reply.unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
            assert!(!error.is_transient(), "{error}");
        }
    }
}

#[tokio::test]
async fn gemini_error_contains_the_refusals_of_the_fake_server() {
    let fake = GeminiFake::start(|_| ModelAnswer::says("ok")).await;
    let mut config = config(fake.base_url());
    let ask_as = async |model: &str, config: &GeminiConfig| {
        let model = GeminiModel::new("google", model, config, Arc::<ManualClock>::default());
        ask_model(&model).await.reply.unwrap_err().to_string()
    };
    let error = ask_as("gemini-0", &config).await;
    assert!(error.contains("refused the request: 404: models/gemini-0 is not found"), "{error}");
    config.api_key = Some(Secret::new("AIza-other".to_owned()).into());
    let error = ask_as(MODEL, &config).await;
    assert!(error.contains("refused the key (401: API key not valid."), "{error}");
    assert!(error.contains("check api_key in the configuration"), "{error}");
    config.api_key = None;
    let error = ask_as(MODEL, &config).await;
    assert!(error.contains("refused the key (403: Method doesn't allow unregistered"), "{error}");
}

#[tokio::test]
async fn gemini_error_without_a_status_within_a_stream_is_transient() {
    let error = ask_for(streams(&[json!({ "error": {} })])).await.0.reply.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    let error = json!({ "error": { "message": "oops" } });
    let error = ask_for(streams(&[error])).await.0.reply.unwrap_err();
    assert!(matches!(error, ModelError::Busy { .. }), "{error:?}");
}

#[tokio::test]
async fn gemini_retries_an_exhausted_quota_after_the_given_delay() {
    let asks = |delay: &str| {
        let details = json!([
            { "@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [] },
            { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay },
        ]);
        json_answer(429, &error(429, "RESOURCE_EXHAUSTED", "quota", &details))
    };
    let clock = Arc::<ManualClock>::default();
    let (_fake, model) = serve(vec![asks("34.5s"), ModelAnswer::says("good")], &clock).await;
    let asked = ask_through(&model, &clock, 34 * SECOND + SECOND / 2).await;
    assert_eq!(asked.reply.unwrap().text, "good");

    let (asked, _) = ask_for(asks("3600s")).await;
    let Err(ModelError::Busy { retry_after, .. }) = asked.reply else { panic!() };
    assert_eq!(retry_after, Some(3600 * SECOND));
    let (asked, _) = ask_for(asks("soon")).await;
    let Err(ModelError::Busy { retry_after: None, .. }) = asked.reply else { panic!() };
}

#[tokio::test]
async fn gemini_retries_a_quota_per_minute_but_not_per_day() {
    let limited = |limit: &str| {
        let violation = json!({ "quotaMetric": "generativelanguage.googleapis.com/requests",
            "quotaId": format!("GenerateRequestsPer{limit}PerProjectPerModel-FreeTier") });
        let details = json!([
            { "@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation] },
            { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s" },
        ]);
        error(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", &details)
    };
    let today = limited("Day");
    for answer in [json_answer(429, &today), streams(&[text("so "), today.clone()])] {
        let error = ask_for(answer).await.0.reply.unwrap_err();
        assert!(matches!(error, ModelError::Refused { .. }), "{error:?}");
    }
    let clock = Arc::<ManualClock>::default();
    let now = json_answer(429, &limited("Minute"));
    let (_fake, model) = serve(vec![now, ModelAnswer::says("good")], &clock).await;
    assert_eq!(ask_through(&model, &clock, 7 * SECOND).await.reply.unwrap().text, "good");
}

#[tokio::test]
async fn gemini_instructions_that_a_model_refuses_precede_the_first_message() {
    let fake = GeminiFake::start(|request| {
        if request["systemInstruction"].is_null() {
            return ModelAnswer::says("ok");
        }
        let says = "Developer instruction is not enabled for models/gemma-3-27b-it";
        json_answer(400, &error(400, "INVALID_ARGUMENT", says, &Value::Null))
    })
    .await;
    let config = config(fake.base_url());
    let model = GeminiModel::new("google", MODEL, &config, Arc::<ManualClock>::default());
    for _ in 0..2 {
        assert_eq!(ask_model(&model).await.reply.unwrap().text, "ok");
    }
    assert_eq!(fake.refusals(), [""; 0]);
    let sent = fake.requests();
    assert_eq!(sent.len(), 3);
    let expected =
        json!({ "role": "user", "parts": [{ "text": "be kind\n\n" }, { "text": "hi" }] });
    assert_eq!((&sent[1]["contents"][0], &sent[2]["contents"][0]), (&expected, &expected));
}
