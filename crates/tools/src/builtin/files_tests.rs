use std::fs;

use avocet_protocol::tool::Tool;
use avocet_sandbox::{RootAccess, Workspace, WorkspaceRoots};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::buffers::EditorBuffers;
use super::super::file_tool::{FileTool, FileWork};
use super::super::{create_directory, delete_file, edit_file, list_directory, outline, read_file};
use super::super::{search_files, write_file};
use super::*;

/// The paths that a tool reports for a call.
fn paths<W: FileWork>(work: W, roots: &Arc<WorkspaceRoots>, arguments: &Value) -> Vec<String> {
    let files = ToolFiles { roots: roots.clone() };
    let tool = FileTool::with_files(work, files, EditorBuffers::default());
    tool.paths(&serde_json::from_value(arguments.clone()).unwrap())
}

#[test]
fn paths_of_file_tools_are_equal_for_every_name_of_a_file() {
    let directory = TempDir::new().unwrap();
    let here = directory.path().canonicalize().unwrap();
    let [workspace, notes] = ["workspace", "notes"].map(|name| here.join(name));
    fs::create_dir(&notes).unwrap();
    let beside = vec![Workspace::open_beside(&notes, RootAccess::Change).unwrap()];
    let roots = Arc::new(WorkspaceRoots::new(Workspace::open(&workspace).unwrap(), beside));
    for (given, place) in [
        ("a".to_owned(), workspace.join("a")),
        (workspace.join("a").display().to_string(), workspace.join("a")),
        (notes.join("b/../a").display().to_string(), notes.join("a")),
    ] {
        let expected = [place.display().to_string()];
        let plain = json!({ "path": given });
        assert_eq!(paths(read_file::ReadFile, &roots, &plain), expected);
        assert_eq!(paths(outline::OutlineTool, &roots, &plain), expected);
        assert_eq!(paths(list_directory::ListDirectory, &roots, &plain), expected);
        assert_eq!(paths(create_directory::CreateDirectory, &roots, &plain), expected);
        assert_eq!(paths(delete_file::DeleteFile, &roots, &plain), expected);
        let search = json!({ "path": given, "pattern": "x" });
        assert_eq!(paths(search_files::SearchFiles, &roots, &search), expected);
        let write = json!({ "path": given, "content": "x" });
        assert_eq!(paths(write_file::WriteFile, &roots, &write), expected);
        let edit = json!({ "path": given, "find": "x", "replace": "y" });
        assert_eq!(paths(edit_file::EditFile, &roots, &edit), expected);
    }
}
