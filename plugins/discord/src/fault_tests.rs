use super::*;

/// Names and values.
type Headers = &'static [(&'static str, &'static str)];

#[test]
fn limited_read_returns_the_wait_and_the_scope_of_a_429() {
    use Scope::{Address, Bot, Channel};
    const RETRY: &str = "retry-after";
    const OWN: &str = r#"{"message":"slow","retry_after":1.25,"global":false}"#;
    const GLOBAL: &str = r#"{"message":"slow","retry_after":1.25,"global":true}"#;
    const WITHOUT: &str = r#"{"message":"slow","retry_after":3,"code":0}"#;
    // The server in front of the API sends HTML instead of JSON.
    const HTML: &str = "<html>error 1015</html>";
    let table: [(Headers, &str, f64, Scope); 11] = [
        (&[(RETRY, "2")], OWN, 1.25, Channel),
        (&[], WITHOUT, 3.0, Channel),
        (&[("x-ratelimit-scope", "shared")], OWN, 1.25, Channel),
        (&[("x-ratelimit-scope", "global")], OWN, 1.25, Bot),
        (&[("x-ratelimit-global", "true")], WITHOUT, 3.0, Bot),
        (&[], GLOBAL, 1.25, Bot),
        (&[(RETRY, "17")], HTML, 17.0, Address),
        (&[], "", 60.0, Address),
        (&[(RETRY, "-5")], "", 0.0, Address),
        (&[(RETRY, "inf")], "", 60.0, Address),
        (&[(RETRY, "1e300")], "", 86_400.0, Address),
    ];
    for (headers, body, seconds, scope) in table {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect();
        let wait = Duration::from_secs_f64(seconds);
        assert_eq!(Limited::read(&headers, body.as_bytes()), Limited { wait, scope }, "{body}");
        assert_eq!(
            RestError::answered(429, &headers, body.as_bytes()),
            RestError::Wait(wait),
            "{body}"
        );
    }
}

fn answered(status: u16, body: &[u8]) -> RestError {
    RestError::answered(status, &HeaderMap::new(), body)
}

#[test]
fn fault_answered_shows_the_error_message_of_the_platform() {
    let body = br#"{"message":"Invalid Form Body","code":50035,"errors":{"content":{"_errors":
        [{"code":"BASE_TYPE_MAX_LENGTH","message":"Must be 2000 or fewer in length."}]}}}"#;
    let fault = answered(400, body);
    let words = "Invalid Form Body; content: Must be 2000 or fewer in length. (50035)";
    assert_eq!(fault.to_string(), words);
    assert!(fault.is_refused_with(50035) && !fault.is_about_token());

    let fault = answered(401, br#"{"message":"401: Unauthorized","code":0}"#);
    assert_eq!(fault.to_string(), "401: Unauthorized");
    assert!(fault.is_about_token());

    assert_eq!(answered(405, b"").to_string(), "HTTP 405");
    assert_eq!(answered(502, b"<html>"), RestError::Server(502));
}
