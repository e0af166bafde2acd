use futures_util::FutureExt;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// The events of a body in these pieces, and the error that ended it, if any.
fn read<P: AsRef<[u8]>>(pieces: &[P]) -> (Vec<BodyEvent>, Option<String>) {
    let pieces = stream::iter(pieces.iter().map(|piece| Ok::<_, NetError>(piece.as_ref())));
    let all = split_body(pieces).collect::<Vec<_>>().now_or_never().unwrap();
    let error = all.iter().find_map(|event| event.as_ref().err().map(ToString::to_string));
    (all.into_iter().filter_map(Result::ok).collect(), error)
}

/// Checks the events of a body, as a whole and byte by byte. An expected event is its data; marked
/// with `!` it is an error, and the names of the other events are in angle brackets.
#[track_caller]
fn check(body: &str, expected: &[&str]) {
    let expected: Vec<BodyEvent> = expected
        .iter()
        .map(|event| match event.split_at_checked(1) {
            Some(("!", data)) => BodyEvent::Error(data.to_owned()),
            Some(("?", words)) => BodyEvent::Words(words.to_owned()),
            _ if *event == "<done>" => BodyEvent::Done,
            _ if *event == "<whole>" => BodyEvent::Whole,
            _ if *event == "<page>" => BodyEvent::Page,
            _ => BodyEvent::Data((*event).to_owned()),
        })
        .collect();
    let bytes: Vec<&[u8]> = body.as_bytes().chunks(1).collect();
    assert_eq!(read(&[body]), (expected.clone(), None), "{body:?}");
    assert_eq!(read(&bytes), (expected, None), "{body:?}, byte by byte");
}

#[test]
fn body_split_reads_events_as_the_standard_defines() {
    let table: &[(&str, &[&str])] = &[
        ("data: one\n\ndata: two\n\n", &["one", "two"]),
        ("data: one\r\n\r\ndata: two\r\n\r\n", &["one", "two"]),
        ("data: one\r\rdata: two\r\r", &["one", "two"]),
        ("data: one\r\n\ndata: two\n\r\n", &["one", "two"]),
        ("data:a\ndata: b\ndata:  c\n\n", &["a\nb\n c"]),
        ("data: a\ndata\ndata:\ndata: b\n\n", &["a\n\n\nb"]),
        (": alive\n\nevent: ping\n\nevent: say\nid: 7\nretry: 9\ndata: a\n\n", &["a"]),
        ("data\n\ndata:\n\n\n\ndata: a\n\n", &["a"]),
        ("database: a\ndata : b\n data: c\ndata: d\n\n", &["d"]),
        ("\u{FEFF}data: one\n\ndata: \u{FEFF}two\n\n", &["one", "\u{FEFF}two"]),
        ("data: a\n\n\u{FEFF}data: b\n\n", &["a"]),
        ("data: {\"a\": \"grün 😀\"}\n\n", &["{\"a\": \"grün 😀\"}"]),
        ("", &[]),
    ];
    for (body, expected) in table {
        check(body, expected);
    }
}

#[test]
fn body_split_reads_events_of_servers_that_deviate() {
    let table: &[(&str, &[&str])] = &[
        ("data: {\"a\":1}\ndata: {\"b\":2}\ndata: [DONE]\n", &["{\"a\":1}", "{\"b\":2}", "<done>"]),
        (
            "data: {\"a\":\ndata: \"}\",\ndata:  \"b\": {}}\ndata: {}\n",
            &["{\"a\":\n\"}\",\n \"b\": {}}", "{}"],
        ),
        ("data: a\n\ndata: the last line", &["a", "the last line"]),
        ("data: {\"a\":1}\n\ndata: {\"cut", &["{\"a\":1}"]),
        ("data: : WAIT\ndata: {}\n\n", &[": WAIT", "{}"]),
        ("data: {}\n\n[DONE]\n", &["{}", "<done>"]),
        ("data: {}\n\ndata: \"[DONE]\"\n\n", &["{}", "<done>"]),
        ("error: {\"code\": 500}\n\n", &["!{\"code\": 500}"]),
        ("event: error\ndata: oops\n\ndata: a\n\n", &["!oops", "a"]),
        ("event: ping\n\nevent: error\n\ndata: a\n\n", &["a"]),
    ];
    for (body, expected) in table {
        check(body, expected);
    }
}

#[test]
fn body_split_reads_bare_json() {
    let table: &[(&str, &[&str])] = &[
        ("{\"a\": 1}", &["{\"a\": 1}", "<whole>"]),
        (" {\r\n\"a\": \"}\",\n\n\"b\": {}}\n\n", &[" {\n\"a\": \"}\",\n\n\"b\": {}}", "<whole>"]),
        ("[{\"a\": 1},\n{}]\n", &["[{\"a\": 1},\n{}]", "<whole>"]),
        ("{\"a\": 1}\n\n{\"b\": 2}\n", &["{\"a\": 1}", "{\"b\": 2}"]),
        ("{\"a\": 1}\nnoise\n{\"b\": 2}\n", &["{\"a\": 1}", "{\"b\": 2}"]),
        ("{\"a\": 1}\n{\"b\": ", &["{\"a\": 1}"]),
        ("{\"a\": ", &[]),
        ("data: {\"a\": 1}\n\n{\"b\": 2}\n", &["{\"a\": 1}", "{\"b\": 2}"]),
        ("{\"cut\": \ndata: {}\n\n", &["{}"]),
        ("\u{FEFF}{}", &["{}", "<whole>"]),
    ];
    for (body, expected) in table {
        check(body, expected);
    }
}

#[test]
fn body_split_reports_what_is_no_answer() {
    check("<html>data: {}\n", &["<page>"]);
    check("\n <!doctype html>\n", &["<page>"]);
    check("upstream failed\nsorry\n", &["?upstream failed sorry "]);
    check(": alive\n\n", &[]);
}

#[test]
fn body_split_replaces_bytes_that_are_no_text() {
    let (events, error) = read(&[&b"data: a\xFF\n\ndata: b\n\n"[..]]);
    let data = |text: &str| BodyEvent::Data(text.to_owned());
    assert_eq!((events, error), (vec![data("a\u{fffd}"), data("b")], None));
}

#[test]
fn body_split_refuses_an_event_longer_than_the_limit() {
    let long = "x".repeat(1024 * 1024);
    for between in ["", "\ndata: "] {
        let line = format!("{between}{long}");
        let mut body = vec!["data: a\n\ndata: b"];
        body.extend(std::iter::repeat_n(line.as_str(), 3));
        body.push("\n\n");
        let (events, error) = read(&body);
        assert!(events.len() == 2 && error.is_none(), "{error:?}");
        body.insert(1, &line);
        let (events, error) = read(&body);
        assert!(events.len() == 1 && error.unwrap().contains("longer than 4194304 bytes"));
    }
}

#[test]
fn body_split_returns_the_beginning_of_a_json_value_longer_than_the_limit() {
    let long = "x".repeat(MAX_EVENT);
    let (events, error) = read(&["{\"a\": \"", &long]);
    let [BodyEvent::Cut(beginning)] = &events[..] else { panic!("{error:?}") };
    assert!(beginning.starts_with("{\"a\": \"xxx") && error.is_none());
    let (events, error) = read(&["{}\n{\"a\": \"", &long]);
    assert!(events.len() == 1 && error.is_some());
}

proptest! {
    #[test]
    fn body_split_gives_the_same_events_wherever_the_body_is_cut(
        parts in prop::collection::vec(select(vec![
            "data", ":", " ", "\n", "\r", "\r\n", "\n\n", "\u{FEFF}", "data: ", "ü", "😀", "x", "id: 1",
            "{", "}", "\"", "\\", "[DONE]", "event: error", "<",
        ]), 0..40),
        lengths in prop::collection::vec(0..5_usize, 1..20),
    ) {
        let body = parts.concat().into_bytes();
        let (mut rest, mut pieces) = (&body[..], Vec::new());
        for length in lengths {
            let (piece, more) = rest.split_at(length.min(rest.len()));
            pieces.push(piece);
            rest = more;
        }
        pieces.push(rest);
        prop_assert_eq!(read(&pieces), read(&[&body]));
    }
}
