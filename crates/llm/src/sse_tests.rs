use futures_util::FutureExt;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// The events of a body in these pieces, and the error that ended it, if any.
fn read<P: AsRef<[u8]>>(pieces: &[P]) -> (Vec<String>, Option<String>) {
    let pieces = stream::iter(pieces.iter().map(|piece| Ok::<_, NetError>(piece.as_ref())));
    let all = split(pieces).collect::<Vec<_>>().now_or_never().unwrap();
    let error = all.iter().find_map(|event| event.as_ref().err().map(ToString::to_string));
    (all.into_iter().filter_map(Result::ok).collect(), error)
}

#[test]
fn sse_split_reads_events_as_the_standard_defines() {
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
        ("\u{FEFF}\u{FEFF}data: a\n\ndata: b\n\n", &["b"]),
        ("data: a\n\n\u{FEFF}data: b\n\n", &["a"]),
        ("data: a\n\ndata: the end is missing\n", &["a"]),
        ("", &[]),
    ];
    for (body, expected) in table {
        let expected: Vec<String> = expected.iter().map(|&event| event.to_owned()).collect();
        let bytes: Vec<&[u8]> = body.as_bytes().chunks(1).collect();
        assert_eq!(read(&[body]), (expected.clone(), None), "{body:?}");
        assert_eq!(read(&bytes), (expected, None), "{body:?}, byte by byte");
    }
}

#[test]
fn sse_split_returns_the_events_before_an_unreadable_one() {
    let (events, error) = read(&[&b"data: a\n\ndata: \xFF\n\ndata: b\n\n"[..]]);
    assert!(events == ["a"] && error.unwrap().contains("utf-8"));
}

#[test]
fn sse_split_refuses_an_event_longer_than_the_limit() {
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
        assert!(events == ["a"] && error.unwrap().contains("longer than 4194304 bytes"));
    }
}

proptest! {
    #[test]
    fn sse_split_gives_the_same_events_wherever_the_body_is_cut(
        parts in prop::collection::vec(select(vec![
            "data", ":", " ", "\n", "\r", "\r\n", "\n\n", "\u{FEFF}", "data: ", "ü", "😀", "x", "id: 1",
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
