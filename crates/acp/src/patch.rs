//! The changes of a unified diff, for display.

/// A changed part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatchPart {
    /// The path as the patch names it.
    pub(crate) path: String,
    /// The lines before; `None` for a new file.
    pub(crate) old: Option<String>,
    /// The lines after.
    pub(crate) new: String,
    /// The first line after the change, from 1; 0 if unknown.
    pub(crate) line: u32,
}

/// Reads the hunks of a patch. Lines that are unknown are left out.
pub(crate) fn parts(patch: &str) -> Vec<PatchPart> {
    let mut parts: Vec<PatchPart> = Vec::new();
    let (mut before, mut after) = (None, None);
    let mut is_in_hunk = false;
    let mut lines = patch.lines().peekable();
    while let Some(line) = lines.next() {
        let next_is_new_file = lines.peek().is_some_and(|next| next.starts_with("+++ "));
        if let Some(path) = line.strip_prefix("--- ").filter(|_| next_is_new_file) {
            (before, after, is_in_hunk) = (name(path), None, false);
        } else if let Some(path) = line.strip_prefix("+++ ").filter(|_| !is_in_hunk) {
            after = name(path);
        } else if line.starts_with("@@") {
            let Some(path) = after.clone().or_else(|| before.clone()) else { continue };
            let old = before.is_some().then(String::new);
            parts.push(PatchPart { path, old, new: String::new(), line: first_line(line) });
            is_in_hunk = true;
        } else if let Some(part) = parts.last_mut().filter(|_| is_in_hunk) {
            part.add(line);
        }
    }
    parts
}

impl PatchPart {
    fn add(&mut self, line: &str) {
        let mark = line.chars().next();
        let text = line.get(1..).unwrap_or_default();
        if let (Some('-' | ' ') | None, Some(old)) = (mark, &mut self.old) {
            old.push_str(text);
            old.push('\n');
        }
        if let Some('+' | ' ') | None = mark {
            self.new.push_str(text);
            self.new.push('\n');
        }
    }
}

/// The path of a header; `None` for a missing file.
fn name(header: &str) -> Option<String> {
    let path = header.split('\t').next().unwrap_or(header).trim();
    if path == "/dev/null" {
        return None;
    }
    let path = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path);
    Some(path.to_owned())
}

/// The first new line of `@@ -1,3 +1,4 @@`.
fn first_line(header: &str) -> u32 {
    let new = header.split('+').nth(1).unwrap_or_default();
    let digits: String = new.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_returns_each_hunk_of_each_file() {
        let patch = "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -3,3 +3,3 @@ fn main\n one\n-two\n+zwei\n three\n\
            @@ -9 +9,2 @@\n--- old\n+++ new\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+hello\n\
            --- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n";
        let part = |path: &str, old: Option<&str>, new: &str, line| PatchPart {
            path: path.to_owned(),
            old: old.map(str::to_owned),
            new: new.to_owned(),
            line,
        };
        // A removed line `-- old` before an added line `++ new` looks like a header.
        let expected = [
            part("src/a.rs", Some("one\ntwo\nthree\n"), "one\nzwei\nthree\n", 3),
            part("src/a.rs", Some(""), "", 9),
            part("new.txt", None, "hello\n", 1),
            part("gone.txt", Some("bye\n"), "", 0),
        ];
        assert_eq!(parts(patch), expected);
    }

    #[test]
    fn parts_of_a_text_without_hunks_are_empty() {
        assert_eq!(parts("no patch\n+line"), []);
    }
}
