//! `search_files`: finds lines by a regular expression, and definitions by name.

use std::collections::BTreeMap;
use std::collections::btree_map;

use avocet_protocol::tool::{ToolClass, ToolError};
use avocet_sandbox::{FileError, Workspace, WorkspacePath};
use globset::{GlobBuilder, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::file_tool::{FileCall, FileWork};
use super::files::tool_error;
use super::hits::SearchHits;
use super::languages::{definition_pattern, extension_of};
use super::walk::{WorkspaceWalk, is_sane_glob};

/// Memory limit of a compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 10 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct SearchFiles;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct SearchFilesArguments {
    #[schemars(extend("x-aliases" = ["query", "t"]))]
    pattern: String,
    /// Directory or file.
    path: Option<String>,
    /// Such as *.rs or src/**/*.{ts,tsx}.
    #[schemars(extend("x-aliases" = ["g", "include"]))]
    glob: Option<String>,
    /// Plain text, no expression.
    #[schemars(extend("x-aliases" = ["F"]))]
    literal: Option<bool>,
    case: Option<CaseMode>,
    /// Lines around each match. Default: 0.
    #[schemars(range(max = 10), extend("x-aliases" = ["C"]))]
    context: Option<usize>,
    /// Hidden files, too.
    hidden: Option<bool>,
    /// Find where the name is defined.
    #[schemars(extend("x-aliases" = ["d"]))]
    definitions: Option<bool>,
}

/// The treatment of case.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum CaseMode {
    #[default]
    Smart,
    Sensitive,
    Insensitive,
}

impl FileWork for SearchFiles {
    type Arguments = SearchFilesArguments;

    const NAME: &'static str = "search_files";
    const CLASS: ToolClass = ToolClass::Pure;
    const TEXT: &'static str = "Search text files for a regular expression, or the definition of a \
        name.";
    const GROUP: &'static str = "search";

    fn list_paths(arguments: &SearchFilesArguments) -> Vec<String> {
        vec![arguments.path.clone().unwrap_or_default()]
    }

    fn run(call: &FileCall<'_>, arguments: &SearchFilesArguments) -> Result<Value, ToolError> {
        let search = FileSearch::new(arguments)?;
        search.run(call.workspace, arguments, &|| call.is_stopped()).map(Value::from)
    }
}

struct FileSearch {
    searcher: Searcher,
    glob: Option<GlobMatcher>,
    /// Keyed by file extension if definitions are searched; otherwise one entry with an empty key.
    matchers: BTreeMap<String, RegexMatcher>,
    hits: SearchHits,
    too_large: usize,
}

impl FileSearch {
    fn new(arguments: &SearchFilesArguments) -> Result<Self, ToolError> {
        if arguments.pattern.is_empty() {
            return Err(invalid_arguments("pattern is empty; to list files, use list_directory"));
        }
        let context = arguments.context.unwrap_or(0);
        let searcher = SearcherBuilder::new()
            .before_context(context)
            .after_context(context)
            .binary_detection(BinaryDetection::quit(0))
            .build();
        let glob = arguments.glob.as_deref().map(compile_glob).transpose()?;
        let (matchers, hits) = (BTreeMap::new(), SearchHits::default());
        Ok(Self { searcher, glob, matchers, hits, too_large: 0 })
    }

    fn run(
        mut self,
        workspace: &Workspace,
        arguments: &SearchFilesArguments,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<String, ToolError> {
        let given = arguments.path.as_deref().unwrap_or_default();
        let start = workspace.resolve_path(given).map_err(tool_error)?;
        let mut walk =
            WorkspaceWalk::new(workspace, start.clone(), arguments.hidden.unwrap_or(false))?;
        let mut searched = 0;
        // Report a bad pattern even if no file matches.
        self.matcher_for("", arguments)?;
        for file in walk.by_ref() {
            if is_stopped() {
                return Err(ToolError::ExecutionFailed("the search was stopped".to_owned()));
            }
            let Some(path) = file else { continue };
            let is_named = path.as_path() == start.as_path();
            if !is_named && self.glob.as_ref().is_some_and(|glob| !glob.is_match(path.as_path())) {
                continue;
            }
            searched += 1;
            self.search_file(workspace, &path, is_named, arguments)?;
            if self.hits.is_full() {
                break;
            }
        }
        Ok(self
            .hits
            .write_report(searched, &[(self.too_large, "too large"), (walk.secrets, "secret")]))
    }

    fn search_file(
        &mut self,
        workspace: &Workspace,
        path: &WorkspacePath,
        is_named: bool,
        arguments: &SearchFilesArguments,
    ) -> Result<(), ToolError> {
        // `apart` counts trust separately: only a file with a match lowers the call's trust.
        let apart = workspace.examine_apart();
        let bytes = match apart.read(path) {
            Ok(bytes) => bytes,
            Err(error) if is_named => return Err(tool_error(error)),
            Err(FileError::TooLarge { .. }) => {
                self.too_large += 1;
                return Ok(());
            }
            // The file has disappeared or is unreadable.
            Err(_) => return Ok(()),
        };
        let matcher = self.matcher_for(extension_of(path.as_path()), arguments)?;
        let bytes = plain_line_ends(bytes);
        let before = self.hits.collected_bytes();
        let sink = self.hits.hits_in_file(path.to_string());
        let searched = self.searcher.search_slice(matcher, &bytes, sink);
        if self.hits.collected_bytes() > before {
            workspace.note_shown(apart.least_read());
            workspace.note_shown_name(path);
        }
        searched.map_err(|error| ToolError::ExecutionFailed(format!("{path}: {error}")))
    }

    fn matcher_for(
        &mut self,
        extension: &str,
        arguments: &SearchFilesArguments,
    ) -> Result<RegexMatcher, ToolError> {
        let definitions = arguments.definitions.unwrap_or(false);
        let key = if definitions { extension.to_owned() } else { String::new() };
        match self.matchers.entry(key) {
            btree_map::Entry::Occupied(known) => Ok(known.get().clone()),
            btree_map::Entry::Vacant(new) => {
                let compiled = compile_matcher(arguments, definitions.then_some(extension))?;
                Ok(new.insert(compiled).clone())
            }
        }
    }
}

fn compile_matcher(
    arguments: &SearchFilesArguments,
    extension: Option<&str>,
) -> Result<RegexMatcher, ToolError> {
    let SearchFilesArguments { pattern, case, literal, .. } = arguments;
    let pattern = if literal.unwrap_or(false) { regex::escape(pattern) } else { pattern.clone() };
    let has_capitals = pattern.chars().any(char::is_uppercase);
    let mut builder = RegexMatcherBuilder::new();
    builder.line_terminator(Some(b'\n'));
    builder.size_limit(MAX_PATTERN_BYTES).dfa_size_limit(MAX_PATTERN_BYTES);
    match (case.unwrap_or_default(), extension) {
        (CaseMode::Smart, None) => builder.case_smart(true),
        // The definition pattern around the name contains capitals too, so test the name alone.
        (CaseMode::Smart, Some(_)) => builder.case_insensitive(!has_capitals),
        (CaseMode::Sensitive, _) => builder.case_insensitive(false),
        (CaseMode::Insensitive, _) => builder.case_insensitive(true),
    };
    let whole =
        extension.map_or(pattern.clone(), |extension| definition_pattern(extension, &pattern));
    builder.build(&whole).map_err(|error| {
        invalid_arguments(&format!(
            "pattern is not a regular expression: {error}; escape it, or set literal to true for \
                plain text"
        ))
    })
}

/// Changes `\r\n` to `\n`, so that `$` matches at the end of a line.
fn plain_line_ends(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.contains(&b'\r') {
        let ends = bytes.windows(2).map(|two| two == b"\r\n").chain([false]).collect::<Vec<_>>();
        let mut ends = ends.into_iter();
        bytes.retain(|_| !ends.next().unwrap_or(false));
    }
    bytes
}

/// Compiles a glob. Unless it begins with `/`, it matches at any depth.
fn compile_glob(given: &str) -> Result<GlobMatcher, ToolError> {
    if !is_sane_glob(given) {
        return Err(invalid_arguments(
            "glob: it is too long, or has too many braces; for example *.rs",
        ));
    }
    let anywhere = format!("**/{given}");
    let pattern = given.strip_prefix('/').unwrap_or(&anywhere);
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    let glob =
        glob.map_err(|error| invalid_arguments(&format!("glob: {error}; for example *.rs")))?;
    Ok(glob.compile_matcher())
}

fn invalid_arguments(what: &str) -> ToolError {
    ToolError::InvalidArgs(what.to_owned())
}
