//! The placeholders among the reasoning items of a step.

/// The placeholder for a step's text among its reasoning items. With a phase it is `message:PHASE`.
pub(super) const SAID: &str = "message";
/// The placeholder for the next call of a step among its reasoning items.
pub(super) const CALLED: &str = "call";
