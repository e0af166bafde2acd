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
fn buttons_leave_out_choices_that_discord_refuses() {
    let choices = [
        Choice::new("too long", "ü".repeat(101)),
        Choice::new("", "/skip"),
        Choice::new("x".repeat(100), "/retry w0"),
        Choice::new("twice", "/retry w0"),
        Choice::new("No", "no"),
    ];
    let rows = serde_json::to_value(buttons(&choices)).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 1);
    let shown = rows[0]["components"].as_array().unwrap();
    assert_eq!(shown.len(), 2);
    assert_eq!(
        (&shown[0]["custom_id"], &shown[1]["custom_id"]),
        (&json!("/retry w0"), &json!("no"))
    );
    assert_eq!(shown[0]["label"], "x".repeat(80));
    assert!(buttons(&[]).is_empty());
}

#[test]
fn buttons_become_a_menu_of_up_to_25_options_above_five_choices() {
    let choices: Vec<Choice> = (0..30)
        .map(|number| {
            Choice::new(format!("{number} {}", "x".repeat(120)), format!("/model m{number}"))
        })
        .collect();
    let rows = |count: usize| serde_json::to_value(buttons(&choices[..count])).unwrap();
    assert_eq!(rows(5)[0]["components"].as_array().unwrap().len(), 5);
    for (count, shown) in [(6, 6), (30, 25)] {
        let rows = rows(count);
        assert_eq!(rows.as_array().unwrap().len(), 1);
        let menu = &rows[0]["components"][0];
        assert_eq!((&menu["type"], &menu["custom_id"]), (&json!(3), &json!("menu")));
        let options = menu["options"].as_array().unwrap();
        assert_eq!((options.len(), &options[5]["value"]), (shown, &json!("/model m5")));
        assert_eq!(options[5]["label"].as_str().unwrap().chars().count(), 100);
    }
}
