//! Settings for showing the log, and the form of names in it.

use avocet_protocol::access::PermissionMode;
use jiff::tz::TimeZone;

use crate::{Marks, RenderedTurns};

/// Settings for showing the log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HistoryView<'a> {
    pub(crate) zone: &'a TimeZone,
    pub(crate) marks: Marks,
    pub(crate) rendered: &'a RenderedTurns,
    /// The mode of the current turn.
    pub(crate) mode: PermissionMode,
}

/// The most characters of a name that are shown.
const NAME: usize = 64;

/// Returns a display name, made safe: its owner may have put brackets or line breaks into it.
pub(crate) fn shown_name(name: &str) -> String {
    let in_line = |c: char| if c.is_control() || "[]:<>".contains(c) { ' ' } else { c };
    name.chars().take(NAME).map(in_line).collect::<String>().trim().to_owned()
}
