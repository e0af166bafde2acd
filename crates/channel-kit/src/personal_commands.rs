//! Commands whose answer concerns only their author. Platforms that can show a message to one person
//! of a group do so.

/// Commands that only show something to their author, in every form.
const SHOWING: [&str; 5] = ["help", "id", "rules", "status", "usage"];
/// Commands that, without an argument, only show something to their author.
const SHOWING_ALONE: [&str; 7] = ["job", "memory", "model", "pair", "queue", "tasks", "think"];
/// Commands that decide a question. Its message shows the outcome to everyone.
const DECIDING: [&str; 4] = ["approve", "deny", "retry", "skip"];

/// The note that replaces an answer for its author only, once it can no longer be shown so.
pub const ANSWER_NOT_SHOWN: &str = "I could not show the answer to a command to its caller only. \
    Write the command again, here or in a direct message.";

/// Returns `true` if the answer to a command concerns only its author. `name` has no slash.
#[must_use]
pub fn is_personal_command(name: &str, has_argument: bool) -> bool {
    let is_in = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    only_shows(name) || is_in(&DECIDING) || (!has_argument && is_in(&SHOWING_ALONE))
}

/// Returns `true` for a command that only shows something to its author, whatever its argument.
#[must_use]
pub fn only_shows(name: &str) -> bool {
    SHOWING.iter().any(|known| known.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_personal_command_depends_on_the_argument_of_some() {
        let table = [
            ("status", false, true),
            ("Status", true, true),
            ("model", false, true),
            ("model", true, false),
            ("approve", true, true),
            ("new", false, false),
            ("weather", false, false),
        ];
        for (name, has_argument, expected) in table {
            assert_eq!(is_personal_command(name, has_argument), expected, "{name} {has_argument}");
        }
    }
}
