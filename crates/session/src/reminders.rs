//! Repeats open questions at the start of the daemon, for platforms that lose button presses while
//! it is down. The person who pressed believes that the question is decided.

use std::time::Duration;

use avocet_outbox::ChannelRegistry;
use avocet_protocol::chat::Content;
use avocet_protocol::chat::notices::{self, readers};
use avocet_protocol::clock::{Clock, Timestamp};
use avocet_protocol::store::{OpenPrompt, StoreError, Turns};

/// Minimum time between repetitions of a prompt, which protects the chat from frequent starts.
const AGAIN_AFTER: Duration = Duration::from_hours(1);
const FIRST_LINE: &str = "Still waiting for a decision:";

/// Repeats the prompts of open waits whose button presses may be lost. Must run before the outbox
/// and the lanes start.
///
/// # Errors
/// [`StoreError`] if the log cannot be read or written.
pub async fn remind_approvers(
    turns: &dyn Turns,
    channels: &ChannelRegistry,
    clock: &dyn Clock,
) -> Result<(), StoreError> {
    let now = clock.now();
    let open = turns.open_prompts(now).await?;
    let reminders: Vec<OpenPrompt> =
        open.into_iter().filter_map(|prompt| make_reminder(channels, prompt, now)).collect();
    if reminders.is_empty() {
        return Ok(());
    }
    tracing::info!(prompts = reminders.len(), "repeating open questions");
    turns.repeat_prompts(&reminders).await
}

/// Returns the prompt to repeat; `None` if the channel keeps presses or is missing, or the prompt
/// was repeated recently.
fn make_reminder(
    channels: &ChannelRegistry,
    mut open: OpenPrompt,
    now: Timestamp,
) -> Option<OpenPrompt> {
    let channel = channels.channel_of(&open.prompt.address)?;
    if !channel.capabilities().forgets_presses {
        return None;
    }
    let chunks = &mut open.prompt.chunks;
    let first = chunks.first_mut()?;
    if open.is_repeated {
        return (open.said_at.until(now) > AGAIN_AFTER).then_some(open);
    }
    match <[Content; 1]>::try_from(channel.plan(&with_line(first))) {
        Ok([with_line]) => *first = with_line,
        // The message has no room for the line.
        Err(_) => {
            let line = notices::Repeated.for_reader(readers::EVERYBODY, FIRST_LINE);
            chunks.splice(..0, channel.plan(&line));
        }
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
