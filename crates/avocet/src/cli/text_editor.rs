//! The editor of the person: `$VISUAL`, else `$EDITOR`.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use avocet_supervise::{CaughtPanic, run_blocking};
use avocet_text::plain_io;

use crate::environment::read_variable;

/// Returns the command of the editor; `None` if the person has set none.
pub(crate) fn editor_command() -> Option<String> {
    read_variable("VISUAL").or_else(|| read_variable("EDITOR"))
}

/// Opens the editor with a text. Returns the text that it saved. The file is removed again.
///
/// # Errors
/// The reason, for the person.
pub(crate) async fn edit_text(
    editor: String,
    file: PathBuf,
    text: String,
) -> Result<String, String> {
    let edited = run_blocking(move || {
        let edited = write_file(&file, &text).and_then(|()| open_editor(&editor, &file));
        let removed = fs::remove_file(&file);
        edited.and_then(|text| removed.map(|()| text).map_err(|error| failed(&file, &error)))
    });
    edited.await.map_err(|CaughtPanic(bug)| bug)?
}

fn write_file(file: &Path, text: &str) -> Result<(), String> {
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    opened
        .and_then(|mut opened| opened.write_all(text.as_bytes()))
        .map_err(|error| failed(file, &error))
}

/// Runs the editor through a shell, as its command may have options.
fn open_editor(editor: &str, file: &Path) -> Result<String, String> {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(file);
    let ended = command.status();
    let ended = ended.map_err(|error| format!("cannot run the editor: {}", plain_io(&error)))?;
    if !ended.success() {
        return Err(format!("the editor {editor:?} ended with {ended}"));
    }
    fs::read_to_string(file).map_err(|error| failed(file, &error))
}

fn failed(file: &Path, error: &std::io::Error) -> String {
    format!("cannot edit the text in {}: {}", file.display(), plain_io(error))
}
