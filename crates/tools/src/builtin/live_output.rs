//! The output of a running program, which the editor of its session shows while the program runs.

use std::sync::Arc;

use avocet_protocol::ids::CallId;
use avocet_protocol::tool::SessionEditor;
use parking_lot::Mutex;

/// Bytes of the output of one call that are shown. The result of the call has the rest.
const MOST_SHOWN: usize = 128 * 1024;
/// Bytes that are held back until they are complete.
const MOST_HELD: usize = 64 * 1024;
/// The lines around a key. The daemon removes private keys, but only whole ones.
const KEY_BEGINS: &[u8] = b"-----BEGIN ";
const KEY_ENDS: &[u8] = b"-----END ";

/// The output of one call.
#[derive(Debug)]
pub(super) struct LiveOutput {
    editor: Arc<dyn SessionEditor>,
    call: CallId,
    state: Mutex<LiveState>,
}

#[derive(Debug, Default)]
struct LiveState {
    held: Vec<u8>,
    shown_bytes: usize,
    /// `true` once a part could not be shown. The later parts are not shown either.
    is_over: bool,
}

impl LiveOutput {
    pub(super) fn new(editor: Arc<dyn SessionEditor>, call: CallId) -> Self {
        Self { editor, call, state: Mutex::default() }
    }

    /// Takes printed bytes, and shows the lines that are complete.
    pub(super) fn add_bytes(&self, bytes: &[u8]) {
        let mut state = self.state.lock();
        if state.is_over {
            return;
        }
        state.held.extend_from_slice(bytes);
        let complete = complete_bytes(&state.held);
        self.show_bytes(&mut state, complete);
        state.is_over |= state.held.len() > MOST_HELD;
    }

    /// Shows the last line, which may have no end.
    pub(super) fn show_rest(&self) {
        let mut state = self.state.lock();
        if !state.is_over {
            let all = state.held.len();
            self.show_bytes(&mut state, all);
        }
    }

    fn show_bytes(&self, state: &mut LiveState, count: usize) {
        if count == 0 {
            return;
        }
        if state.shown_bytes + count > MOST_SHOWN {
            state.is_over = true;
            return;
        }
        state.shown_bytes += count;
        let complete: Vec<u8> = state.held.drain(..count).collect();
        self.editor.show_output(self.call, &String::from_utf8_lossy(&complete));
    }
}

/// Returns the number of bytes in whole lines before an unfinished key.
fn complete_bytes(held: &[u8]) -> usize {
    let line_after =
        |bytes: &[u8]| bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let lines = &held[..line_after(held)];
    let find = |bytes: &[u8], what: &[u8]| bytes.windows(what.len()).rposition(|one| one == what);
    match find(lines, KEY_BEGINS) {
        Some(begin) if find(&lines[begin..], KEY_ENDS).is_none() => line_after(&lines[..begin]),
        _ => lines.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use avocet_testkit::{FakeEditor, tool_context};

    #[test]
    fn complete_bytes_are_whole_lines_outside_of_keys() {
        for (held, expected) in [
            ("", 0),
            ("half", 0),
            ("one\nhalf", 4),
            ("a\n-----BEGIN KEY-----\nx\n", 2),
            ("a\n-----BEGIN KEY-----\nx\n-----END KEY-----\n", 42),
            ("a\n-----BEGIN KEY-----\nx\n-----END KEY-----", 2),
        ] {
            assert_eq!(complete_bytes(held.as_bytes()), expected, "{held:?}");
        }
    }

    #[test]
    fn add_bytes_shows_lines_up_to_a_limit_and_show_rest_the_last_one() {
        let editor = FakeEditor::default();
        let live = |parts: &[&str]| {
            let live = LiveOutput::new(Arc::new(editor.clone()), tool_context().call);
            parts.iter().for_each(|part| live.add_bytes(part.as_bytes()));
            live.show_rest();
            editor.take_output()
        };
        assert_eq!(live(&["one\ntw", "o\nthree"]), ["one\n", "two\n", "three"]);
        let line = format!("{}\n", "x".repeat(MOST_HELD - 1));
        assert_eq!(live(&[&line, &line, "more\n"]), [line.clone(), line.clone()]);
        let long = "x".repeat(MOST_HELD + 1);
        assert_eq!(live(&["one\n", &long, "\ntwo\n"]), ["one\n"]);
    }
}
