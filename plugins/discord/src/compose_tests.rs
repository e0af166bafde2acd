use serde_json::json;

use super::*;

#[test]
fn chunks_leave_room_for_the_repeat_mark_and_put_buttons_last() {
    let choices = vec![Choice::new("Retry", "/retry w3")];
    let reply = Content { choices: choices.clone(), ..Content::text("*word* _ ".repeat(900)) };
    let chunks = chunks(&reply, false);
    assert!(chunks.len() > 3);
    for chunk in &chunks {
        assert!(text(chunk, true).chars().count() <= discord::MAX_CONTENT);
    }
    let (last, others) = chunks.split_last().unwrap();
    assert!(others.iter().all(|chunk| chunk.choices.is_empty()));
    assert_eq!(last.choices, choices);
}

#[test]
fn text_marks_a_repeated_message() {
    let content = chunks(&Content::text("**hello**"), false).remove(0);
    assert_eq!(text(&content, true), format!("{REPEAT_MARK}\n**hello**"));
    assert_eq!(text(&Content::text("**hello**"), false), "**hello**", "a text that is no chunk");
}

#[test]
fn buttons_form_rows_of_five_without_choices_that_discord_refuses() {
    let mut choices: Vec<Choice> =
        (0..30).map(|number| Choice::new("x".repeat(100), format!("/retry w{number}"))).collect();
    choices.insert(0, Choice::new("too long", "ü".repeat(101)));
    choices.insert(1, Choice::new("", "/skip"));
    choices.insert(3, Choice::new("twice", "/retry w0"));
    let rows = serde_json::to_value(buttons(&choices)).unwrap();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 5);
    assert!(rows.iter().all(|row| row["components"].as_array().unwrap().len() == 5));
    let first = &rows[0]["components"][0];
    assert_eq!(first["custom_id"], "/retry w0");
    assert_eq!(first["label"], "x".repeat(80));
    assert_eq!(rows[4]["components"][4]["custom_id"], json!("/retry w24"));
    assert!(buttons(&[]).is_empty());
}
