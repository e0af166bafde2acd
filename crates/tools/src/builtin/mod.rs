//! The built-in tools. To add one, add a file here, its two lines below (`mod`, and a call in
//! [`add_builtin`]), and its name in `names.rs`. `docs/src/build/tool.md` has each step.

mod apply_patch;
mod ask_user;
mod attachments;
mod background;
// The example of the book, chapter "Add a tool": compiled and tested, but not offered to the model.
#[cfg(test)]
mod backup_file;
mod buffers;
mod create_directory;
mod delete_file;
mod edit_file;
mod exec_shell;
mod file_tool;
mod files;
mod git;
mod hits;
mod job_pull_request;
mod languages;
mod lines;
mod list_directory;
mod live_output;
mod memories;
mod memory_forget;
mod memory_read;
mod memory_search;
mod memory_write;
mod message;
pub(crate) mod names;
mod outline;
mod parts;
mod poll;
mod process_kill;
mod process_poll;
mod program_settings;
mod programs;
mod read_file;
mod read_result;
mod run_tests;
mod schedule;
mod search_files;
mod search_history;
mod spawn;
mod update_plan;
mod use_skill;
mod walk;
mod watched;
mod web_fetch;
mod web_search;
mod write_file;

pub use background::BackgroundPrograms;
pub use parts::BuiltinParts;
pub use program_settings::ProgramSettings;

use crate::{AlreadyRegistered, ToolRegistry};
use buffers::EditorBuffers;
use file_tool::FileTool;

/// Adds every built-in tool.
///
/// # Errors
/// [`AlreadyRegistered`] if one of their names is taken.
#[rustfmt::skip]
pub fn add_builtin(registry: &mut ToolRegistry, parts: &BuiltinParts) -> Result<(), AlreadyRegistered> {
    registry.add_tool(FileTool::new(apply_patch::ApplyPatch, parts))?;
    registry.add_tool(ask_user::AskUser)?;
    registry.add_tool(FileTool::new(create_directory::CreateDirectory, parts))?;
    registry.add_tool(FileTool::new(delete_file::DeleteFile, parts))?;
    registry.add_tool(FileTool::new(edit_file::EditFile, parts))?;
    if let Some(shell) = &parts.shell {
        registry.add_tool(exec_shell::ExecShell::new(parts.roots.clone(), shell.clone(), EditorBuffers::new(parts)))?;
    }
    if let Some(shell) = &parts.shell {
        let git = || git::WorkspaceGit::new(parts.roots.clone(), shell.clone());
        registry.add_tool(git::GitAdd(git().with_changes()))?;
        registry.add_tool(git::GitBranches(git()))?;
        registry.add_tool(git::GitCommit(git().with_changes()))?;
        registry.add_tool(git::GitDiff(git()))?;
        registry.add_tool(git::GitLog(git()))?;
        registry.add_tool(git::GitPush(git().with_changes()))?;
        registry.add_tool(git::GitStatus(git()))?;
        registry.add_tool(git::GitSwitch(git().with_changes()))?;
    }
    registry.add_tool(FileTool::new(list_directory::ListDirectory, parts))?;
    registry.add_tool(memory_forget::MemoryForget::new(parts))?;
    registry.add_tool(memory_read::MemoryRead::new(parts))?;
    registry.add_tool(memory_search::MemorySearch::new(parts))?;
    registry.add_tool(memory_write::MemoryWrite::new(parts))?;
    registry.add_tool(message::MessageTool::new(parts))?;
    registry.add_tool(FileTool::new(outline::OutlineTool, parts))?;
    if let Some(shell) = &parts.shell {
        registry.add_tool(process_kill::ProcessKill(shell.background.clone()))?;
        registry.add_tool(process_poll::ProcessPoll(shell.background.clone()))?;
    }
    registry.add_tool(FileTool::new(read_file::ReadFile, parts))?;
    registry.add_tool(read_result::ReadResult::new(parts))?;
    if let Some(shell) = &parts.shell {
        registry.add_tool(run_tests::RunTests::new(parts.roots.clone(), shell.clone(), EditorBuffers::new(parts)))?;
    }
    registry.add_tool(schedule::ScheduleTool::new(parts))?;
    registry.add_tool(FileTool::new(search_files::SearchFiles, parts))?;
    registry.add_tool(search_history::SearchHistory::new(parts))?;
    registry.add_tool(spawn::SpawnTool::new(parts))?;
    registry.add_tool(update_plan::UpdatePlan)?;
    registry.add_tool(use_skill::UseSkill::new(parts))?;
    registry.add_tool(web_fetch::WebFetch::new(parts))?;
    registry.add_tool(web_search::WebSearch::new(parts))?;
    registry.add_tool(FileTool::new(write_file::WriteFile, parts))?;
    let git = || parts.shell.as_ref().map(|shell| git::WorkspaceGit::new(parts.roots.clone(), shell.clone()));
    registry.add_internal(git::JobBranchTool(git().map(git::WorkspaceGit::with_changes)))?;
    registry.add_internal(git::JobCommitsTool(git()))?;
    registry.add_internal(job_pull_request::JobPullRequest::new(parts))?;
    Ok(())
}

#[cfg(any(test, feature = "testing"))]
pub(crate) use {git::read_as_git, run_tests::read_as_tests};

#[cfg(test)]
#[path = "backup_file_tests.rs"]
mod tests;
