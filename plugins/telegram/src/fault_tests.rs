use super::*;

fn refusal(code: u16, description: &str) -> BotApiRefusal {
    BotApiRefusal { code, description: Some(description.to_owned()), retry_after: None }
}

#[test]
fn with_advice_adds_a_fix_to_the_description() {
    let cases = [
        ("Forbidden: bot was blocked by the user", "can unblock it (Forbidden: bot was blocked by"),
        (
            "Forbidden: bot was kicked from the group chat",
            "add it again (Forbidden: bot was kicked",
        ),
        (
            "Bad Request: chat not found",
            "has never written to the bot (Bad Request: chat not found)",
        ),
        ("Forbidden: user is deactivated", "has deleted the account (Forbidden: user is"),
        ("Bad Request: x", "Bad Request: x"),
    ];
    for (description, expected) in cases {
        let advice = refusal(400, description).with_advice();
        assert!(advice.contains(expected), "{advice}");
    }
}

#[test]
fn is_certain_failure_only_if_the_bot_api_reports_a_failed_method() {
    let cases = [
        (500, Some("Internal Server Error"), true),
        (500, Some("Internal Server Error: RPC_SEND_FAIL"), true),
        (500, Some("Internal Server Error: restart"), false),
        (500, Some("Internal Server Error: Request aborted"), false),
        (500, Some("Internal Server Error: sent message was immediately deleted"), false),
        (500, Some("Bad Gateway"), false),
        (500, None, false),
        (502, Some("Bad Gateway"), false),
        (502, Some("Internal Server Error"), false),
        (503, None, false),
        (504, Some("Gateway Timeout"), false),
    ];
    for (code, description, is_certain) in cases {
        let refusal =
            BotApiRefusal { code, description: description.map(str::to_owned), retry_after: None };
        assert_eq!(refusal.is_certain_failure(), is_certain, "{code} {description:?}");
    }
}

#[test]
fn turned_away_for_returns_the_wait_of_a_503_with_retry_after() {
    let wait = Some(Duration::from_secs(7));
    for (code, retry_after, expected) in [(503, wait, wait), (503, None, None), (502, wait, None)] {
        let refusal = BotApiRefusal { code, description: None, retry_after };
        assert_eq!(refusal.turned_away_for(), expected, "{code} {retry_after:?}");
    }
}

#[test]
fn answered_reads_the_wait_of_a_429_from_body_or_header() {
    let body = |seconds| Parameters { retry_after: Some(seconds), migrate_to_chat_id: None };
    let header = Some(Duration::from_secs(5));
    let cases = [(Some(body(17)), header, 17), (None, header, 5), (None, None, 1)];
    for (parameters, header, seconds) in cases {
        let fault = BotApiError::answered(429, None, parameters, header);
        assert_eq!(fault, BotApiError::Wait(Duration::from_secs(seconds)));
    }
}
