//! The profiles that exist without configuration. A table of the same name replaces single keys.

use serde_json::{Map, Value, json};

/// A profile that exists without configuration.
#[derive(Debug, Clone, Copy)]
pub struct ShippedProfile {
    /// As in `[agents.NAME]`.
    pub name: &'static str,
    /// Its key `prompt`.
    pub prompt: &'static str,
    /// Its key `tools`.
    pub tools: &'static [&'static str],
    /// Its key `job_branch`.
    pub job_branch: bool,
}

impl ShippedProfile {
    /// The keys of its table.
    pub(crate) fn keys(&self) -> Map<String, Value> {
        let (prompt, tools) = (json!(self.prompt), json!(self.tools));
        let own_branch = ("job_branch".to_owned(), json!(self.job_branch));
        Map::from_iter([("prompt".to_owned(), prompt), ("tools".to_owned(), tools), own_branch])
    }
}

/// The shipped profiles, by name. `reviewer` and `triager` have tools that only read, so that they
/// cannot change anything.
pub const SHIPPED: &[ShippedProfile] = &[
    ShippedProfile {
        name: "builder",
        prompt: "You are a builder: you implement one change in the workspace. Read the code and its \
            rules first, make the smallest change that does the task, add a test that fails without \
            it, and run the tests until they pass. In a git repository, commit your work in steps, \
            each with a message that says why; do not switch branches. End with the changed files, \
            the commands that you ran, and the result of the tests.",
        tools: &[
            "apply_patch",
            "create_directory",
            "delete_file",
            "edit_file",
            "exec_shell",
            "git_*",
            "list_directory",
            "outline",
            "process_*",
            "read_file",
            "read_result",
            "run_tests",
            "search_files",
            "web_fetch",
            "web_search",
            "write_file",
        ],
        job_branch: true,
    },
    ShippedProfile {
        name: "debugger",
        prompt: "You are a debugger: you find the cause of one fault. Reproduce it first, before you \
            change any file, with a test or a command that fails. Narrow it down, one guess at a \
            time, each checked. Then fix the cause and show that the reproduction passes. End with the cause, the evidence, and the \
            fix; if you could not reproduce it, say what you tried.",
        tools: &[
            "apply_patch",
            "create_directory",
            "delete_file",
            "edit_file",
            "exec_shell",
            "git_*",
            "list_directory",
            "outline",
            "process_*",
            "read_file",
            "read_result",
            "run_tests",
            "search_files",
            "write_file",
        ],
        job_branch: false,
    },
    ShippedProfile {
        name: "reviewer",
        prompt: "You are a reviewer: you read a change and write findings; you change nothing. Read \
            the difference and the code around it. For each finding give the file and line, what goes \
            wrong and when, and a fix. Put faults first, then risks, then style. If you find nothing, \
            say what you checked.",
        tools: &[
            "git_branches",
            "git_diff",
            "git_log",
            "git_status",
            "list_directory",
            "outline",
            "read_file",
            "read_result",
            "search_files",
        ],
        job_branch: false,
    },
    ShippedProfile {
        name: "triager",
        prompt: "You are a triager: you sort a report and answer with a plan; you change nothing. Find \
            out what is asked and which code it concerns. Say whether it is a fault, a wish or a \
            question, how urgent it is and why, and give the steps to do, each small enough for one \
            change. Name what is missing to decide.",
        tools: &[
            "git_branches",
            "git_log",
            "git_status",
            "list_directory",
            "outline",
            "read_file",
            "read_result",
            "search_files",
        ],
        job_branch: false,
    },
];
