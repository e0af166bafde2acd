use super::*;

#[track_caller]
fn check(message: &Value, expected: &str) {
    let reduced = reduce_cards(message).unwrap_or_default();
    let shown = reduced["embeds"][0]["description"].as_str().unwrap_or_default();
    assert_eq!(shown, expected, "{message}");
}

#[test]
fn reduce_cards_keeps_every_text_of_embeds() {
    let embed = json!({
        "type": "rich", "title": "Report", "url": "https://x/r", "description": "all is well",
        "author": { "name": "Bot" }, "footer": { "text": "today" },
        "image": { "url": "https://x/i.png" },
        "fields": [{ "name": "CPU", "value": "97 %" }, { "name": "RAM", "value": 5 }, 7],
    });
    let text = "Bot\nReport\nall is well\nCPU: 97 %\nRAM: 5\ntoday\nhttps://x/r\nhttps://x/i.png";
    check(&json!({ "embeds": [embed] }), text);
    check(
        &json!({ "embeds": [{ "title": "one" }, 5, { "title": [] }, { "title": "two" }] }),
        "one\ntwo",
    );
    check(&json!({ "embeds": [{ "color": 5 }] }), "");
    assert_eq!(reduce_cards(&json!({ "content": "x", "embeds": [], "components": [] })), None);
}

#[test]
fn reduce_cards_keeps_every_text_of_components() {
    let components = json!([
        { "type": 17, "components": [
            { "type": 10, "content": "in a container" },
            { "type": 9, "components": [{ "type": 10, "content": "in a section" }],
                "accessory": { "type": 11, "description": "a thumbnail",
                    "media": { "url": "https://x/t.png" } } },
            { "type": 12, "items": [{ "description": "a hill", "media": { "url": "https://x/h" } }] },
            { "type": 14, "divider": true },
        ] },
        { "type": 1, "components": [
            { "type": 2, "label": "yes", "custom_id": "y" },
            { "type": 2, "label": "more", "url": "https://x/m" },
            { "type": 2, "emoji": {} },
            { "type": 3, "placeholder": "choose", "options": [{ "label": "tea", "value": "t" }] },
        ] },
        { "type": 99, "content": "of next year" },
    ]);
    let text = "in a container\nin a section\na thumbnail\nhttps://x/t.png\na hill\nhttps://x/h\n\
        [button: yes]\n[button: more https://x/m]\nchoose\ntea\nof next year";
    check(&json!({ "components": components }), text);
}

#[test]
fn reduce_cards_bounds_text_and_depth() {
    let long = "x".repeat(MAX_CHARS + 5);
    check(&json!({ "embeds": [{ "description": long }] }), &format!("{}…", &long[..MAX_CHARS]));
    let deep = (0..50).fold(
        json!({ "type": 10, "content": "deep" }),
        |inner, _| json!({ "type": 17, "components": [inner] }),
    );
    check(&json!({ "components": [deep] }), "");
}
