//! The reply to `/start`, which messengers send when a person opens the chat for the first time.

/// The command, which is no part of `/help`: people do not type it.
pub(crate) const START: &str = "start";

/// Returns the welcome: the name, the abilities, and the next step.
pub(crate) fn welcome_text(is_owner: bool) -> String {
    let more = if is_owner {
        "You are my owner, so I ask you before a risky step. /status shows what I am doing."
    } else {
        "I ask my owner before a risky step."
    };
    format!(
        "Hello, I am Avocet, an assistant.\n\n\
         I answer questions, read the files and pictures that you send, and work with my tools: \
         files, programs, web pages, memories and reminders. {more}\n\n\
         Write to me as you would to a person. /help shows the commands, /new begins a new \
         conversation, and /stop ends the current work."
    )
}
