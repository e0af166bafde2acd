//! The operations of file tools in a workspace, each on one path.

use avocet_sandbox::{EntryKind, FileError, RemoveMode, Workspace, WorkspacePath};

/// Does something, and returns all that is known about it afterwards.
pub(crate) type Operation = fn(&Workspace, &WorkspacePath) -> Result<String, String>;

pub(crate) const OPERATIONS: [(&str, Operation); 17] = [
    ("read", |workspace, path| said(workspace.read(path).map(text))),
    ("read_up_to", |workspace, path| said(workspace.read_up_to(path, 1000).map(text))),
    ("read_if_any", |workspace, path| said(workspace.read_if_any(path).map(|it| it.map(text)))),
    ("start_of", |workspace, path| {
        said(workspace.start_of(path, 1000).map(|it| it.map(|(bytes, size)| (text(bytes), size))))
    }),
    ("size", |workspace, path| said(workspace.file_size(path))),
    ("kind", |workspace, path| said(workspace.kind(path))),
    ("list", |workspace, path| said(workspace.list_entries(path))),
    ("entries_below", |workspace, path| said(workspace.entries_below(path))),
    ("search", |workspace, path| said(search(workspace, path))),
    ("can_write", |workspace, path| said(workspace.can_write(path))),
    ("write", |workspace, path| said(workspace.write(path, b"changed"))),
    ("write_any", |workspace, path| said(workspace.write_any(path, b"changed"))),
    ("edit", |workspace, path| {
        let changed = |bytes: Vec<u8>| [bytes, b"changed".to_vec()].concat();
        said(workspace.read(path).and_then(|bytes| workspace.write(path, &changed(bytes))))
    }),
    ("rename", |workspace, path| said(rename(workspace, path))),
    ("create_directory", |workspace, path| said(workspace.create_directory(path))),
    ("remove", |workspace, path| said(workspace.remove_entry(path, RemoveMode::Single))),
    ("remove with all in it", |workspace, path| {
        said(workspace.remove_entry(path, RemoveMode::Recursive))
    }),
];

fn said<T: std::fmt::Debug>(result: Result<T, FileError>) -> Result<String, String> {
    result.map(|it| format!("{it:?}")).map_err(|error| format!("{error} {error:?}"))
}

#[expect(clippy::needless_pass_by_value, reason = "made for map")]
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads every file below a directory, like a search.
fn search(workspace: &Workspace, start: &WorkspacePath) -> Result<Vec<String>, FileError> {
    let (mut texts, mut open) = (Vec::new(), vec![start.clone()]);
    while let Some(directory) = open.pop() {
        let entries = workspace.list_entries(&directory);
        let entries = if directory.as_path() == start.as_path() {
            entries?
        } else {
            entries.unwrap_or_default()
        };
        for entry in entries {
            let path = directory.join_name(&entry.name);
            match entry.kind {
                EntryKind::Directory => open.push(path),
                // Kinds that a search skips are tried, too.
                _ => texts.push(workspace.read(&path).map(text).unwrap_or_default()),
            }
            texts.push(entry.name);
        }
    }
    Ok(texts)
}

/// Writes the content under another name and back, like a patch that renames.
fn rename(workspace: &Workspace, path: &WorkspacePath) -> Result<(), FileError> {
    let other = workspace.resolve_path("renamed.txt")?;
    workspace.write(&other, &workspace.read(path)?)?;
    workspace.remove_entry(path, RemoveMode::Single)?;
    workspace.write(path, &workspace.read(&other)?)
}
