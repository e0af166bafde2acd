//! Questions that nobody has decided: where a platform loses what is pressed while nobody listens, they
//! are asked again at the start. Whoever pressed believes that it is done.

use std::time::Duration;

use avocet_outbox::Channels;
use avocet_protocol::{Clock, Content, Destinations, OpenPrompt, Planned, StoreError, Turns};

/// Nothing is asked again sooner: a daemon that starts often must not fill the chat with it.
const AGAIN_AFTER: Duration = Duration::from_hours(1);
const FIRST_LINE: &str = "Still to be decided:\n";

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
    let open = turns.open_prompts(clock.now(), AGAIN_AFTER).await?;
    let reminders: Vec<OpenPrompt> =
        open.into_iter().filter_map(|prompt| reminder(channels, prompt)).collect();
    if reminders.is_empty() {
        return Ok(());
    }
    tracing::info!(prompts = reminders.len(), "still to be decided; asked again");
    turns.say_again(&reminders).await
}

/// The prompt as it is said again; none where nothing is lost, or nobody is there to say it.
fn reminder(channels: &Channels, open: OpenPrompt) -> Option<OpenPrompt> {
    let OpenPrompt { wait, prompt: Planned { address, chunks } } = open;
    let channel = channels.of(&address)?;
    if !channel.forgets_presses() {
        return None;
    }
    let mut chunks = chunks.into_iter();
    // With the line it may be too long for one message.
    let mut prompt = channels.plan(&address, &with_line(chunks.next()?)).ok()?;
    prompt.chunks.extend(chunks);
    Some(OpenPrompt { wait, prompt })
}

/// One that has been asked again before has its line already.
fn with_line(mut content: Content) -> Content {
    if content.text.starts_with(FIRST_LINE) {
        return content;
    }
    content.text.insert_str(0, FIRST_LINE);
    for part in content.styles.iter_mut().flatten() {
        part.start += FIRST_LINE.len();
        part.end += FIRST_LINE.len();
    }
    content
}

#[cfg(test)]
#[path = "reminders_tests.rs"]
mod tests;
