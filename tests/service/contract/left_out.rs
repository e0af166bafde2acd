//! The clauses that some channels cannot have.

/// A clause that not every channel can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionalClause {
    Typing,
    RepeatedEvent,
    LostAnswer,
    WrittenMeanwhile,
}

/// The clauses that a channel leaves out, with the reason. A channel that is not listed has all.
const LEFT_OUT: [(&str, OptionalClause, &str); 12] = [
    ("directory:main", OptionalClause::Typing, "a folder has no indicator"),
    ("directory:main", OptionalClause::RepeatedEvent, "each file in the inbox is a new message"),
    ("directory:main", OptionalClause::LostAnswer, "the rename is the send and its answer"),
    ("external:chat", OptionalClause::Typing, "the platform of the template has no indicator"),
    ("external:email", OptionalClause::Typing, "mail has no indicator"),
    ("external:files", OptionalClause::Typing, "its platform, a file, has no indicator"),
    ("terminal:local", OptionalClause::Typing, "in a pipe, the chat prints answers only"),
    ("terminal:local", OptionalClause::RepeatedEvent, "a line is typed once"),
    ("terminal:local", OptionalClause::LostAnswer, "a pipe loses no confirmation"),
    ("web:console", OptionalClause::Typing, "the page reads the state of the turn instead"),
    ("web:console", OptionalClause::LostAnswer, "the page reads the log; there is no send"),
    ("web:console", OptionalClause::WrittenMeanwhile, "without a daemon, there is no page"),
];

/// Returns `true` if a channel cannot have a clause.
pub(super) fn leaves_out(account: &str, clause: OptionalClause) -> bool {
    LEFT_OUT.iter().any(|(of, left_out, _)| *of == account && *left_out == clause)
}
