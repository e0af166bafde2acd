//! Lines with which some models signal the end of their work.

/// Lines that only signal the end.
const MARKS: [&str; 8] = [
    "TASK COMPLETE",
    "TASK_COMPLETE",
    "[TASK COMPLETE]",
    "[TASK_COMPLETE]",
    "<task_complete>",
    "<task_complete/>",
    "<task_complete />",
    "</task_complete>",
];

/// Returns `true` if a line is an end signal.
pub(crate) fn is_mark(line: &str) -> bool {
    MARKS.contains(&line.trim())
}

/// Returns `true` if an incomplete line can become an end signal.
pub(crate) fn may_be_mark(line: &str) -> bool {
    let start = line.trim_start();
    MARKS.iter().any(|mark| mark.starts_with(start) || *mark == start.trim_end())
}
