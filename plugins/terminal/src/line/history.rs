//! The lines that were typed before, also in earlier runs.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The first line of the file. Earlier versions wrote it, too.
const HEAD: &str = "#V2";

/// Typed lines, oldest first, and their file.
#[derive(Debug, Default)]
pub(crate) struct LineHistory {
    lines: Vec<String>,
    /// `None`: the lines are kept for this run only.
    file: Option<PathBuf>,
    /// The most lines that are kept.
    most: usize,
}

impl LineHistory {
    /// Reads the file of earlier runs. A missing or unreadable file means an empty history.
    pub(crate) fn open(file: PathBuf, most: usize) -> Self {
        let text = fs::read(&file).unwrap_or_else(|error| {
            tracing::debug!(%error, "no history yet");
            Vec::new()
        });
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<String> =
            text.lines().filter(|line| *line != HEAD).map(unescape_line).collect();
        let first = lines.len().saturating_sub(most);
        let history = Self { lines: lines[first..].to_vec(), file: Some(file), most };
        if first > 0 {
            history.report_failure(history.rewrite_file());
        }
        history
    }

    pub(super) fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Adds a line, unless it repeats the last one.
    pub(super) fn add_line(&mut self, line: &str) {
        if self.most == 0 || self.lines.last().is_some_and(|last| last == line) {
            return;
        }
        self.lines.push(line.to_owned());
        let saved = self.file.as_deref().map(|file| append_line(file, line));
        self.report_failure(saved.unwrap_or(Ok(())));
    }

    /// Replaces the file as a whole, so that a crash loses no line.
    fn rewrite_file(&self) -> io::Result<()> {
        let Some(path) = &self.file else { return Ok(()) };
        let lines = self.lines.iter().map(|line| escape_line(line) + "\n");
        let text = format!("{HEAD}\n{}", lines.collect::<String>());
        let temporary = path.with_extension("history.new");
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&temporary)?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.write_all(text.as_bytes())?;
        fs::rename(temporary, path)
    }

    fn report_failure(&self, saved: io::Result<()>) {
        if let Err(error) = saved {
            tracing::debug!(%error, "cannot save the history");
        }
    }
}

/// Appends a line, so that several chats can share the file.
fn append_line(path: &Path, line: &str) -> io::Result<()> {
    let mut file: File = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    let head = if file.metadata()?.len() == 0 { format!("{HEAD}\n") } else { String::new() };
    file.write_all(format!("{head}{}\n", escape_line(line)).as_bytes())
}

fn escape_line(line: &str) -> String {
    line.replace('\\', "\\\\").replace('\n', "\\n")
}

fn unescape_line(line: &str) -> String {
    let (mut text, mut chars) = (String::with_capacity(line.len()), line.chars());
    while let Some(c) = chars.next() {
        match if c == '\\' { chars.next() } else { Some(c) } {
            Some('n') if c == '\\' => text.push('\n'),
            Some(other) => text.push(other),
            None => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_survives_a_restart_and_keeps_the_newest_lines() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("history");
        let mut history = LineHistory::open(path.clone(), 2);
        for line in ["one", "two", "two", "a\\b\nc"] {
            history.add_line(line);
        }
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(LineHistory::open(path.clone(), 2).lines(), ["two", "a\\b\nc"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "#V2\ntwo\na\\\\b\\nc\n");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!((mode & 0o777, fs::read_dir(directory.path()).unwrap().count()), (0o600, 1));
        let mut off = LineHistory::open(path.clone(), 0);
        off.add_line("secret");
        assert!(off.lines().is_empty() && !fs::read_to_string(&path).unwrap().contains("secret"));
    }
}
