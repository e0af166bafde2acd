use std::time::Duration;

use super::*;

fn fault(code: u16, description: Option<&str>) -> BotApiError {
    BotApiError::answered(code, description.map(str::to_owned), None, None)
}

#[test]
fn f5_outcome_is_failed_only_if_the_send_was_certainly_not_carried_out() {
    let failed = |text: &str| SendError::Failed(text.to_owned());
    let unknown = |text: &str| SendError::Unknown(text.to_owned());
    let refused = |text: &str| SendError::Refused(text.to_owned());
    let error = "Internal Server Error";
    let cases = [
        (BotApiError::NotSent("no connection"), failed("no connection")),
        (BotApiError::Broken("the connection broke"), unknown("the connection broke")),
        (fault(500, Some(error)), failed(error)),
        (
            fault(500, Some("Internal Server Error: restart")),
            unknown("Internal Server Error: restart"),
        ),
        (fault(500, None), unknown("HTTP 500")),
        (fault(502, Some("Bad Gateway")), unknown("Bad Gateway")),
        (fault(504, None), unknown("HTTP 504")),
        (fault(302, None), unknown("HTTP 302")),
        (fault(401, Some("Unauthorized")), failed("Unauthorized")),
        (fault(404, Some("Not Found")), failed("Not Found")),
        (fault(403, None), failed("HTTP 403")),
        (fault(400, Some("Bad Request: x")), refused("Bad Request: x")),
        (fault(413, None), refused("HTTP 413")),
        (
            fault(500, Some("Internal Server Error: sent message was immediately deleted")),
            refused(
                "another bot or a rule of the chat deletes what the bot writes (Internal Server Error: \
                 sent message was immediately deleted)",
            ),
        ),
    ];
    for (fault, expected) in cases {
        assert_eq!(outcome(&fault), expected, "{fault:?}");
    }
    let wait = Duration::from_secs(7);
    let turned_away = BotApiError::answered(503, None, None, Some(wait));
    assert_eq!(outcome(&turned_away), SendError::RetryAfter(wait));
}
