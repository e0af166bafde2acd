use super::*;

#[track_caller]
fn rejects(text: &str, error: &str) {
    assert_eq!(SessionId::parse(text).unwrap_err().to_string(), error);
}

#[test]
fn session_id_parse_accepts_three_or_four_parts() {
    let session = SessionId::parse("telegram:work:-100123:7").unwrap();
    let address = session.address();
    assert_eq!(address.channel.as_str(), "telegram");
    assert_eq!(address.account.as_str(), "work");
    assert_eq!(address.chat.as_str(), "-100123");
    assert_eq!(address.topic.as_ref().map(TopicId::as_str), Some("7"));
    assert_eq!(address.whole_chat().to_string(), "telegram:work:-100123");
    assert_eq!(SessionId::from_address(&address), Ok(session));
}

#[test]
fn session_id_parse_rejects_other_text_with_the_expected_form() {
    rejects(
        "alice",
        "session id \"alice\" has 1 parts; \
         a session id is channel:account:chat or channel:account:chat:topic",
    );
    rejects(
        "a:b:c:d:e",
        "session id \"a:b:c:d:e\" has 5 parts; \
         a session id is channel:account:chat or channel:account:chat:topic",
    );
    rejects("a::c", "session id \"a::c\" is empty");
    rejects(
        "terminal:local:../../etc",
        "session id \"terminal:local:../../etc\" contains `/`, which is not allowed in an id",
    );
    rejects("", "session id \"\" is empty");
}

#[test]
fn session_id_of_an_address_refuses_parts_that_are_too_long_together() {
    let address = ChatAddress {
        channel: ChannelName::parse("telegram").unwrap(),
        account: AccountName::parse("work").unwrap(),
        chat: ChatId::parse(&"9".repeat(250)).unwrap(),
        topic: None,
    };
    assert_eq!(SessionId::from_address(&address).unwrap_err().fault, IdFault::TooLong(264));
}

#[test]
fn session_id_of_child_parses_as_a_session_id() {
    let child = SessionId::of_child(CallId { turn: crate::ids::TurnId(4), step: 1, ordinal: 0 });
    assert_eq!(SessionId::parse("spawn:t4:s1c0"), Ok(child));
}

#[test]
fn session_id_spawned_by_reads_what_of_child_writes() {
    let call = CallId { turn: crate::ids::TurnId(4), step: 12, ordinal: 3 };
    assert_eq!(SessionId::of_child(call).spawned_by(), Some(call));
    for other in ["telegram:main:7", "spawn:t4:s1", "spawn:x:s1c0", "spawn:t4:s1cx"] {
        assert_eq!(SessionId::parse(other).unwrap().spawned_by(), None, "{other}");
    }
}

#[test]
fn is_named_as_job_requires_the_number_of_a_job() {
    let table = [
        (SessionId::of_job(JobId(5)).to_string(), true),
        (SessionId::of_terminal_job(JobId(5)).to_string(), true),
        ("terminal:local:job-hunting".to_owned(), false),
        ("terminal:local:job-5:7".to_owned(), false),
        ("telegram:local:job-5".to_owned(), false),
        ("terminal:local:me".to_owned(), false),
    ];
    for (session, expected) in table {
        assert_eq!(SessionId::parse(&session).unwrap().is_named_as_job(), expected, "{session}");
    }
}

#[test]
fn session_id_parse_has_the_faults_of_the_address() {
    let parts = ["a", "", "..", "a.", ".b", "a/b", "\\", "é", "\u{7f}", "x y", "\t", "~"];
    for first in parts {
        for last in parts {
            for text in
                [first.to_owned(), format!("{first}:a:{last}"), format!("{first}:{last}:a:a")]
            {
                let parsed = SessionId::parse(&text);
                let fault = text.parse::<ChatAddress>().map(|address| address.to_string());
                let fault = fault.map_err(|error| error.fault);
                let parsed = parsed.map(|session| session.as_str().to_owned());
                assert_eq!(parsed.map_err(|error| error.fault), fault, "{text:?}");
            }
        }
    }
}

#[test]
fn is_same_chat_ignores_the_topic() {
    let address = |text: &str| text.parse::<ChatAddress>().unwrap();
    let chat = address("telegram:work:1:7");
    for (other, is_same) in [
        ("telegram:work:1", true),
        ("telegram:work:1:8", true),
        ("telegram:work:2:7", false),
        ("telegram:home:1:7", false),
        ("discord:work:1:7", false),
    ] {
        assert_eq!(chat.is_same_chat(&address(other)), is_same, "{other}");
    }
}
