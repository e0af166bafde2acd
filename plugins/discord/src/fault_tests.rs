use super::*;

#[track_caller]
fn waits(header: Option<f64>, body: &str, seconds: f64) {
    let fault = Fault::answered(429, header, body.as_bytes());
    assert_eq!(fault, Fault::Wait(Duration::from_secs_f64(seconds)));
}

#[test]
fn how_long_to_wait_is_read_from_the_body_or_else_from_the_header() {
    // Without `code`, as the API writes it for an ordinary bucket.
    waits(Some(2.0), r#"{"message":"slow","retry_after":1.25,"global":false}"#, 1.25);
    waits(None, r#"{"message":"slow","retry_after":3,"global":true,"code":0}"#, 3.0);
    // What stands before the API writes no JSON.
    waits(Some(17.0), "<html>error 1015</html>", 17.0);
    waits(None, "", 1.0);
    waits(Some(-5.0), "", 0.0);
    waits(Some(f64::INFINITY), "", 1.0);
    waits(Some(1e300), "", 86_400.0);
}

#[test]
fn a_refusal_is_shown_in_the_platforms_words() {
    let body = br#"{"message":"Invalid Form Body","code":50035,"errors":{"content":{"_errors":
        [{"code":"BASE_TYPE_MAX_LENGTH","message":"Must be 2000 or fewer in length."}]}}}"#;
    let fault = Fault::answered(400, None, body);
    let words = "Invalid Form Body; content: Must be 2000 or fewer in length. (50035)";
    assert_eq!(fault.to_string(), words);
    assert!(fault.is_refused_with(50035) && !fault.is_about_token());

    let fault = Fault::answered(401, None, br#"{"message":"401: Unauthorized","code":0}"#);
    assert_eq!(fault.to_string(), "401: Unauthorized");
    assert!(fault.is_about_token());

    assert_eq!(Fault::answered(405, None, b"").to_string(), "HTTP 405");
    assert_eq!(Fault::answered(502, None, b"<html>"), Fault::Server(502));
}
