//! Cards: the embeds and components of a message, as text.
//!
//! serenity knows only some kinds of components, so cards are read from the raw JSON. [`reduce_cards`]
//! replaces the cards of a message, of the message that it replies to, and of those that it forwards
//! by one embed, whose description is their text. [`card_text`] returns that text from the parsed
//! message.
//!
//! A program or a web page has written a card, even in a message of a person. So its text is never
//! the person's own.

use serde_json::{Value, json};
use serenity::model::channel::Embed;

/// Characters of the cards of one message: the platform's limit for embeds (Discord API, "Embed
/// Limits").
const MAX_CHARS: usize = 6000;
/// Levels of components in components. The platform has three.
const MAX_DEPTH: usize = 8;
/// The type of a button (Discord API, "Component Types").
const BUTTON: u64 = 2;

/// The author of a card, for the model.
pub(crate) const CARD: &str = "a card";

/// Replaces the cards in a raw message. Returns `None` if there are none.
pub(crate) fn reduce_cards(message: &Value) -> Option<Value> {
    has_cards(message, 0).then(|| {
        let mut reduced = message.clone();
        reduce(&mut reduced, 0);
        reduced
    })
}

/// Returns the text of a parsed message's cards.
pub(crate) fn card_text(embeds: &[Embed]) -> Option<&str> {
    embeds.first()?.description.as_deref()
}

/// Returns the messages that a message contains: the one that it replies to, and forwarded ones.
fn inner_messages(message: &Value) -> impl Iterator<Item = &Value> {
    let snapshots = message["message_snapshots"].as_array().into_iter().flatten();
    let replied = message.get("referenced_message");
    snapshots.filter_map(|snapshot| snapshot.get("message")).chain(replied)
}

fn has_cards(message: &Value, depth: usize) -> bool {
    let has = |list: &str| message[list].as_array().is_some_and(|cards| !cards.is_empty());
    let is_inside = || inner_messages(message).any(|inner| has_cards(inner, depth + 1));
    depth < MAX_DEPTH && (has("embeds") || has("components") || is_inside())
}

fn reduce(message: &mut Value, depth: usize) {
    let text = describe_cards(message);
    let Some(fields) = message.as_object_mut().filter(|_| depth < MAX_DEPTH) else { return };
    let embeds = text.map(|text| json!({ "type": "rich", "description": text }));
    fields.insert("embeds".to_owned(), embeds.into_iter().collect());
    fields.insert("components".to_owned(), json!([]));
    if let Some(replied) = fields.get_mut("referenced_message") {
        reduce(replied, depth + 1);
    }
    let snapshots = fields.get_mut("message_snapshots").and_then(Value::as_array_mut);
    for snapshot in snapshots.into_iter().flatten() {
        if let Some(forwarded) = snapshot.get_mut("message") {
            reduce(forwarded, depth + 1);
        }
    }
}

/// Returns the text of a message's cards, at most [`MAX_CHARS`] long. `None` if they have none.
fn describe_cards(message: &Value) -> Option<String> {
    let mut lines = Vec::new();
    for embed in message["embeds"].as_array().into_iter().flatten() {
        add_embed(embed, &mut lines);
    }
    add_components(&message["components"], 0, &mut lines);
    let text = lines.join("\n");
    let mut shown: String = text.chars().take(MAX_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    (!shown.is_empty()).then_some(shown)
}

fn add_embed(embed: &Value, lines: &mut Vec<String>) {
    let media = ["image", "video"].map(|part| &embed[part]["url"]);
    let parts = [&embed["author"]["name"], &embed["title"], &embed["description"]];
    lines.extend(parts.into_iter().filter_map(readable_text));
    for field in embed["fields"].as_array().into_iter().flatten() {
        let parts = [&field["name"], &field["value"]].into_iter().filter_map(readable_text);
        let line = parts.collect::<Vec<_>>().join(": ");
        lines.extend((!line.is_empty()).then_some(line));
    }
    let rest = [&embed["footer"]["text"], &embed["url"]].into_iter().chain(media);
    lines.extend(rest.filter_map(readable_text));
}

/// Adds a list of components, or one. A kind that is new to this program may have its text in the
/// same fields.
fn add_components(components: &Value, depth: usize, lines: &mut Vec<String>) {
    if depth > MAX_DEPTH {
        return;
    }
    if let Some(list) = components.as_array() {
        list.iter().for_each(|one| add_components(one, depth, lines));
        return;
    }
    let text = |field: &str| readable_text(&components[field]);
    if components["type"].as_u64() == Some(BUTTON) {
        let parts = text("label").into_iter().chain(text("url"));
        let shown = parts.collect::<Vec<_>>().join(" ");
        lines.extend((!shown.is_empty()).then(|| format!("[button: {shown}]")));
        return;
    }
    lines.extend(["label", "placeholder", "content", "description"].into_iter().filter_map(text));
    lines.extend(
        [&components["media"], &components["file"]]
            .into_iter()
            .filter_map(|file| readable_text(&file["url"]).filter(|url| url.starts_with("http"))),
    );
    for inner in ["components", "component", "accessory", "items", "options"] {
        add_components(&components[inner], depth + 1, lines);
    }
}

fn readable_text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
#[path = "cards_tests.rs"]
mod tests;
