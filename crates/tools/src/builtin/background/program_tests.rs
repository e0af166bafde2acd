use super::*;

fn unread(pieces: &[&[u8]]) -> UnreadOutput {
    let mut output = UnreadOutput::default();
    pieces.iter().for_each(|piece| output.push(piece));
    output
}

#[test]
fn read_keeps_the_newest_output_and_counts_dropped_bytes() {
    let mut output = unread(&[b"old", &[b'x'; KEPT_BYTES - 2], b"new"]);
    let text = output.read();
    assert!(text.starts_with("[… 4 bytes were not read in time and are lost …]\nxx"), "{text:.60}");
    assert!(text.ends_with("xnew"));
    assert_eq!(output.read(), "", "what was read is read");
    output.push(b"more");
    assert_eq!(output.read(), "more", "and what fell out is said once");
}

#[test]
fn read_waits_for_the_rest_of_a_split_character() {
    let mut output = unread(&["gr\u{fc}".as_bytes().split_last().unwrap().1]);
    assert_eq!(output.read(), "gr");
    output.push(&[0xbc]);
    assert_eq!(output.read(), "\u{fc}");
    output.push(&[0xff, b'a', 0xc3]);
    assert_eq!(output.read(), "\u{fffd}a\u{fffd}", "what is no text holds nothing up");
    output.push(&[0xc3]);
    output.end = Some(BackgroundEnd { how: Ok(ProgramEnd::Code(0)), at: Duration::ZERO });
    assert_eq!(output.read(), "\u{fffd}");
}
