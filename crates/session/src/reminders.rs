//! Questions that nobody has decided: where a platform loses what is pressed while nobody listens, they
//! are asked again at the start. Whoever pressed believes that it is done.

use std::time::Duration;

use avocet_outbox::Channels;
use avocet_protocol::{Clock, Content, OpenPrompt, StoreError, Timestamp, Turns};

/// What was asked again is not asked once more before this: a daemon that starts often must not fill
/// the chat with it.
const AGAIN_AFTER: Duration = Duration::from_hours(1);
const FIRST_LINE: &str = "Still to be decided:";

/// Puts the prompts of open waits into the outbox once more, where presses may have been lost. Before
/// the outbox and the lanes start.
///
/// # Errors
/// [`StoreError`] if the log cannot be read or written.
pub async fn remind(
    turns: &dyn Turns,
    channels: &Channels,
    clock: &dyn Clock,
) -> Result<(), StoreError> {
    let now = clock.now();
    let open = turns.open_prompts(now).await?;
    let reminders: Vec<OpenPrompt> =
        open.into_iter().filter_map(|prompt| reminder(channels, prompt, now)).collect();
    if reminders.is_empty() {
        return Ok(());
    }
    tracing::info!(prompts = reminders.len(), "still to be decided; asked again");
    turns.say_again(&reminders).await
}

/// The prompt as it is said again; none where nothing is lost, where nobody is there to say it, or if it
/// was said again a moment ago.
fn reminder(channels: &Channels, mut open: OpenPrompt, now: Timestamp) -> Option<OpenPrompt> {
    let channel = channels.of(&open.prompt.address)?;
    if !channel.forgets_presses() {
        return None;
    }
    let chunks = &mut open.prompt.chunks;
    let first = chunks.first_mut()?;
    if first.text.starts_with(FIRST_LINE) {
        return (open.said_at.until(now) > AGAIN_AFTER).then_some(open);
    }
    match <[Content; 1]>::try_from(channel.plan(&with_line(first))) {
        Ok([with_line]) => *first = with_line,
        // It leaves no room for the line.
        Err(_) => drop(chunks.splice(..0, channel.plan(&Content::text(FIRST_LINE)))),
    }
    Some(open)
}

fn with_line(content: &Content) -> Content {
    let line = format!("{FIRST_LINE}\n");
    let mut content = content.clone();
    content.text.insert_str(0, &line);
    for part in content.styles.iter_mut().flatten() {
        part.start += line.len();
        part.end += line.len();
    }
    content
}

#[cfg(test)]
#[path = "reminders_tests.rs"]
mod tests;
