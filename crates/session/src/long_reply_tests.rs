use super::*;
use avocet_protocol::turn::CUT_OFF;

#[test]
fn beginning_ends_at_a_line_or_a_word() {
    let lines = "one line of words\n".repeat(300);
    let words = "word ".repeat(1000);
    let solid = "ü".repeat(5000);
    let table = [
        ("short \n".to_owned(), "short".to_owned()),
        (lines.clone(), lines[..lines[..SHOWN].rfind('\n').unwrap()].to_owned()),
        (words.clone(), words[..SHOWN - 1].to_owned()),
        (solid.clone(), solid[..SHOWN].to_owned()),
    ];
    for (text, shown) in table {
        assert_eq!(cut_beginning(&text), shown);
    }
}

#[test]
fn shortened_names_the_file_closes_code_and_keeps_the_cut_off_note() {
    let text = format!("```rust\n{}\n\n{CUT_OFF}", "let x = 1;\n".repeat(20_000));
    let reply = ReplyText { ending: AnswerEnding::CutOff, ..ReplyText::new(&text, Trust::Full) };
    let content = shorten_reply(reply, Ok("answers/t7.md".to_owned()), false);
    assert_eq!(content.text.matches("```").count(), 2, "{}", content.text);
    let note = "\n\n[This is the beginning of an answer of 215 KB. The whole answer is in the file \
        answer.md.]\n\n";
    assert!(content.text.ends_with(&format!("{note}{CUT_OFF}")), "{}", content.text);
    assert!(content.text.len() < SHOWN + 300);
    let [file] = &content.attachments[..] else { panic!("{content:?}") };
    let path = AttachmentSource::Workspace("answers/t7.md".to_owned());
    assert_eq!((&file.source, file.name.as_deref()), (&path, Some("answer.md")));
    assert_eq!(file.bytes, Some(text.len() as u64));
}

#[test]
fn shortened_gives_the_reason_to_an_owner_if_there_is_no_file() {
    let text = "word ".repeat(100_000);
    let reply = ReplyText::new(&text, Trust::Full);
    for (is_for_owner, said) in [
        (true, " as a file (the disk is full); `avocet sessions show` prints it.]"),
        (false, " as a file.]"),
    ] {
        let content = shorten_reply(reply, Err("the disk is full".to_owned()), is_for_owner);
        assert!(content.text.ends_with(said), "{}", content.text);
        assert!(content.attachments.is_empty() && !content.text.contains(CUT_OFF));
    }
}
