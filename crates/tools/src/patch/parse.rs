//! Parses unified diffs of diff, git and models. Text between files is skipped, and the counts of a
//! hunk decide its end.

use std::iter::{Enumerate, Peekable};
use std::str::Lines;

use super::{FileChange, FilePatch, PatchHunk, PatchLine};

/// The name that stands for a missing file.
const NOWHERE: &str = "/dev/null";

/// The header of a file, as far as it was read.
#[derive(Debug, Default)]
struct FileHeader<'p> {
    /// Both paths of `diff --git`.
    git: Option<(&'p str, &'p str)>,
    old: Option<&'p str>,
    new: Option<&'p str>,
    renamed: (Option<&'p str>, Option<&'p str>),
    is_new: bool,
    is_deleted: bool,
}

struct PatchParser<'p> {
    lines: Peekable<Enumerate<Lines<'p>>>,
    files: Vec<FilePatch>,
    header: FileHeader<'p>,
    hunks: Vec<PatchHunk>,
}

/// Parses a patch.
///
/// # Errors
/// If a line cannot be read: its number and the expected syntax.
pub(crate) fn parse_patch(text: &str) -> Result<Vec<FilePatch>, String> {
    let lines = text.lines().enumerate().peekable();
    let mut parser =
        PatchParser { lines, files: Vec::new(), header: FileHeader::default(), hunks: Vec::new() };
    while let Some((number, line)) = parser.lines.next() {
        parser.read_line(number + 1, line)?;
    }
    parser.end_file()?;
    if parser.files.is_empty() {
        return Err("there is no file in it; begin each with the lines --- a/path and +++ b/path"
            .to_owned());
    }
    Ok(parser.files)
}

impl<'p> PatchParser<'p> {
    fn read_line(&mut self, number: usize, line: &'p str) -> Result<(), String> {
        if line.starts_with("@@") {
            let hunk = self.read_hunk(number, line)?;
            self.hunks.push(hunk);
        } else if let Some(paths) = line.strip_prefix("diff --git ") {
            self.end_file()?;
            self.header.git = split_names(paths);
        } else if let Some(path) = line.strip_prefix("--- ") {
            if self.header.old.is_some() || !self.hunks.is_empty() {
                self.end_file()?;
            }
            self.header.old = Some(name(path));
        } else if let Some(path) = line.strip_prefix("+++ ") {
            self.header.new = Some(name(path));
        } else if let Some(path) = line.strip_prefix("rename from ") {
            self.header.renamed.0 = Some(name(path));
        } else if let Some(path) = line.strip_prefix("rename to ") {
            self.header.renamed.1 = Some(name(path));
        } else if line.starts_with("new file mode ") {
            self.header.is_new = true;
        } else if line.starts_with("deleted file mode ") {
            self.header.is_deleted = true;
        } else if line.starts_with("GIT binary patch") || line.starts_with("copy from ") {
            return Err(format!("line {number}: {line:?} is not supported; write the whole file"));
        } else if !self.hunks.is_empty() && line.starts_with(['+', '-', ' ']) {
            return Err(format!(
                "line {number}: {line:?} is behind the end of its hunk; correct the counts of the @@ line"
            ));
        }
        Ok(())
    }

    /// Adds the file whose header and hunks have been read.
    fn end_file(&mut self) -> Result<(), String> {
        let header = std::mem::take(&mut self.header);
        let hunks = std::mem::take(&mut self.hunks);
        match header.file_change()? {
            Some(change) => self.files.push(FilePatch { change, hunks }),
            None if hunks.is_empty() => {}
            None => {
                return Err(format!(
                    "line {}: the hunk has no file; put --- a/path and +++ b/path before it",
                    hunks[0].at
                ));
            }
        }
        Ok(())
    }

    fn read_hunk(&mut self, at: usize, line: &str) -> Result<PatchHunk, String> {
        let Some((start, mut old, mut new)) = parse_ranges(line) else {
            return Err(format!("line {at}: {line:?} is not a hunk header; write @@ -1,3 +1,4 @@"));
        };
        let mut hunk = PatchHunk { at, start, lines: Vec::new(), is_open: (false, false) };
        let ends = |place: &str| {
            format!("line {at}: the hunk ends {place} its @@ line says; correct the counts")
        };
        while old > 0 || new > 0 {
            let (number, line) = self.lines.next().ok_or_else(|| ends("before"))?;
            // Models may drop the blank that marks an empty line of context.
            let mark = line.chars().next().unwrap_or(' ');
            let text = || line.get(1..).unwrap_or_default().to_owned();
            let (old_lines, new_lines, read) = match mark {
                ' ' => (1, 1, PatchLine::Context(text())),
                '-' => (1, 0, PatchLine::Removed(text())),
                '+' => (0, 1, PatchLine::Added(text())),
                '\\' => {
                    hunk.note_open();
                    continue;
                }
                _ => {
                    return Err(format!(
                        "line {}: {line:?} begins with none of ' ', '-' and '+', and the hunk of line \
                         {at} has {old} old and {new} new lines more by its @@ line",
                        number + 1
                    ));
                }
            };
            old = usize::checked_sub(old, old_lines).ok_or_else(|| ends("after what"))?;
            new = usize::checked_sub(new, new_lines).ok_or_else(|| ends("after what"))?;
            hunk.lines.push(read);
        }
        if self.lines.next_if(|(_, line)| line.starts_with('\\')).is_some() {
            hunk.note_open();
        }
        Ok(hunk)
    }
}

impl PatchHunk {
    /// Notes that the last line lacks a line end (`\ No newline at end of file`).
    fn note_open(&mut self) {
        match self.lines.last() {
            Some(PatchLine::Removed(_)) => self.is_open.0 = true,
            Some(PatchLine::Added(_)) => self.is_open.1 = true,
            Some(PatchLine::Context(_)) => self.is_open = (true, true),
            None => {}
        }
    }
}

impl FileHeader<'_> {
    fn file_change(self) -> Result<Option<FileChange>, String> {
        let Self { git, old, new, renamed, is_new, is_deleted } = self;
        if let (Some(from), Some(to)) = renamed {
            return Ok(Some(FileChange::Rename { from: from.to_owned(), to: to.to_owned() }));
        }
        let (old, new) = match (old, new, git) {
            (Some(old), Some(new), _) => (old, new),
            (None, None, Some((_, new))) if is_new => (NOWHERE, new),
            (None, None, Some((old, _))) if is_deleted => (old, NOWHERE),
            // A change of the file mode only.
            (None, None, _) => return Ok(None),
            (Some(old), None, _) => return Err(format!("--- {old} has no line +++ behind it")),
            (None, Some(new), _) => return Err(format!("+++ {new} has no line --- before it")),
        };
        Ok(Some(match (strip_prefix_of_git(old, "a/"), strip_prefix_of_git(new, "b/")) {
            (NOWHERE, NOWHERE) => return Err("a file is /dev/null on both sides".to_owned()),
            (NOWHERE, new) => FileChange::Create(new.to_owned()),
            (old, NOWHERE) => FileChange::Delete(old.to_owned()),
            (old, new) if old == new => FileChange::Modify(new.to_owned()),
            (old, new) => {
                return Err(format!(
                    "--- {old} and +++ {new} are two files; to rename, put the lines rename from {old} and \
                     rename to {new} before them"
                ));
            }
        }))
    }
}

/// A name in a header, without the date that diff adds, and without quotes.
fn name(given: &str) -> &str {
    let name = given.split('\t').next().unwrap_or_default().trim_end();
    name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name)
}

/// A name without the prefix that git adds.
fn strip_prefix_of_git<'n>(name: &'n str, letter: &str) -> &'n str {
    name.strip_prefix(letter).unwrap_or(name)
}

/// Both names of `diff --git a/x b/x`.
fn split_names(names: &str) -> Option<(&str, &str)> {
    let at = names.find(" b/")?;
    Some((name(&names[..at]), name(&names[at + 1..])))
}

/// The first line of a hunk in the old file, and its numbers of old and new lines.
fn parse_ranges(line: &str) -> Option<(usize, usize, usize)> {
    let inner = line.strip_prefix("@@ -")?;
    let (old, rest) = inner.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let range = |text: &str| {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse::<u32>().ok()? as usize, count.parse::<u32>().ok()? as usize))
    };
    let ((start, old), (_, new)) = (range(old)?, range(new)?);
    Some((start, old, new))
}
