//! `avocet skills`: lists, checks, adds and removes skills. It works on the files themselves, with or
//! without a running daemon; the agent reads the workspace anew for each turn.

mod add;
mod check;
mod report;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use avocet_config::DEFAULT;
use avocet_sandbox::{FileError, RemoveMode, RemovedKind, Workspace, WorkspacePath};
use avocet_skills::{
    FixedSkills, FoundSkill, FoundSkills, SkillCatalogue, SkillSource, SkillState,
    WORKSPACE_SKILLS, check_name,
};
use avocet_text::printable;
use avocet_tools::WorkspaceFiles;
use clap::{Args, Subcommand};
use serde_json::json;

use crate::components::workspaces::{fixed_skills, guarded_workspace};
use crate::configuration::{Configuration, ConfigurationUse};
use crate::context::CommandContext;
use crate::exit::{Exit, Failure};
use crate::output::{ask_confirmation, print_result};
use crate::stderr;

use report::SkillRow;

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// Copy a folder with a SKILL.md into the workspace and trust its files.
    Add {
        /// Folder of the skill; its name is the name of the skill.
        path: PathBuf,
        #[command(flatten)]
        options: SkillsOptions,
    },
    /// Check skills, and report each problem with its line. Exits with 1 if a skill has a problem.
    Check {
        /// Folders to check. Default: all skills that the agent finds.
        paths: Vec<PathBuf>,
        #[command(flatten)]
        options: SkillsOptions,
    },
    /// List skills, and tell which of them are used.
    List {
        #[command(flatten)]
        options: SkillsOptions,
    },
    /// Remove a skill and its files from the workspace.
    Remove {
        /// Name of the skill.
        name: String,
        /// Remove it without a question.
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        options: SkillsOptions,
    },
    /// Show a skill with its instructions.
    Show {
        /// Name of the skill.
        name: String,
        #[command(flatten)]
        options: SkillsOptions,
    },
}

/// Options of all commands about skills.
#[derive(Debug, Clone, Args)]
pub(crate) struct SkillsOptions {
    /// Agent whose workspace is meant, by its name in [agents]. Default: the default agent.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

struct AgentSkills {
    /// The workspace's path.
    path: PathBuf,
    /// `None` if the daemon has not created the workspace yet.
    workspace: Option<Workspace>,
    fixed: Arc<FixedSkills>,
    configuration: Configuration,
}

pub(crate) async fn run(context: &CommandContext, command: SkillsCommand) -> Result<Exit, Failure> {
    match command {
        SkillsCommand::Add { path, options } => {
            let skills = AgentSkills::open(context, &options)?;
            let added = add::add_skill(&skills, &path).await?;
            print_result(options.json, &added, || added.text())
        }
        SkillsCommand::Check { paths, options } => {
            let found = if paths.is_empty() {
                AgentSkills::open(context, &options)?.found().await
            } else {
                let mut found = FoundSkills::default();
                for path in &paths {
                    let FoundSkills { skills, left_out } = check::of_folders(path)?;
                    found.skills.extend(skills);
                    found.left_out.extend(left_out);
                }
                found
            };
            check::report_skills(context, &found, options.json)
        }
        SkillsCommand::List { options } => {
            let found = AgentSkills::open(context, &options)?.found().await;
            for left_out in &found.left_out {
                stderr::write(&format!("warning: {}\n", printable(left_out)));
            }
            let rows = skill_rows(&found.skills);
            print_result(options.json, &rows, || report::list(&rows))
        }
        SkillsCommand::Remove { name, yes, options } => {
            let skills = AgentSkills::open(context, &options)?;
            let entries = skills.remove(&name, yes).await?;
            let removed = json!({"name": name, "entries": entries});
            let text = || format!("removed the skill {name}: {entries} files and directories\n");
            print_result(options.json, &removed, text)
        }
        SkillsCommand::Show { name, options } => {
            let skills = AgentSkills::open(context, &options)?;
            let found = skills.found().await.skills;
            let row = skills.row(&found, &name)?;
            print_result(options.json, &row, || report::skill_report(&row))
        }
    }
}

impl AgentSkills {
    fn open(context: &CommandContext, options: &SkillsOptions) -> Result<Self, Failure> {
        let configuration = Configuration::load(context, ConfigurationUse::Log)?;
        let wanted = options.agent.as_deref().unwrap_or(DEFAULT);
        let mut agents = configuration.agents.iter();
        let agent = agents.find(|agent| agent.profile.is_named(wanted)).ok_or_else(|| {
            command_failure(format!(
                "there is no agent {wanted:?}; add [agents.{wanted}], or name another"
            ))
        })?;
        let path = agent.workspace.clone();
        let workspace =
            if path.exists() { Some(guarded_workspace(&configuration, &path)?) } else { None };
        let fixed = Arc::new(fixed_skills(&configuration));
        Ok(Self { path, workspace, fixed, configuration })
    }

    /// Returns all skills, with absolute folders.
    async fn found(&self) -> FoundSkills {
        let Some(workspace) = &self.workspace else { return self.fixed.found_skills().clone() };
        let roots = Arc::new(workspace.clone().into());
        let files = Arc::new(WorkspaceFiles::new(roots));
        let mut found = SkillCatalogue::new(files, self.fixed.clone()).find_skills().await;
        let of_workspace =
            found.skills.iter_mut().filter(|skill| skill.source == SkillSource::Workspace);
        for skill in of_workspace {
            skill.folder = self.path.join(&skill.folder).display().to_string();
        }
        found
    }

    /// Returns the skill of this name that is used, or the first one.
    fn row(&self, found: &[FoundSkill], name: &str) -> Result<SkillRow, Failure> {
        let mut rows: Vec<SkillRow> =
            skill_rows(found).into_iter().filter(|row| row.name == name).collect();
        rows.sort_by_key(|row| !row.is_used());
        rows.into_iter().next().ok_or_else(|| self.unknown_skill(name))
    }

    fn unknown_skill(&self, name: &str) -> Failure {
        command_failure(format!(
            "there is no skill {name:?} in {}, in [skills] paths or in the program; `avocet skills \
                list` shows all",
            self.path.join(WORKSPACE_SKILLS).display()
        ))
    }

    /// Removes a skill of the workspace, usable or not. Returns the number of its files and
    /// directories.
    async fn remove(&self, name: &str, yes: bool) -> Result<usize, Failure> {
        check_name(name).map_err(command_failure)?;
        let found = self.found().await.skills;
        let Some((workspace, folder)) = self.folder(name)? else {
            return Err(match found.iter().find(|one| one.name == name) {
                Some(one) => command_failure(format!(
                    "{name} is a {} skill, and only skills of a workspace can be removed; see \
                        [skills] in the configuration",
                    one.source.as_word()
                )),
                None => self.unknown_skill(name),
            });
        };
        let entries = workspace.entries_below(&folder).map_err(file_failure)?;
        let place = self.path.join(WORKSPACE_SKILLS).join(name);
        let question = format!("Remove {} with {entries} files and directories?", place.display());
        if !yes && !ask_confirmation(&question)? {
            return Err(command_failure("nothing was removed"));
        }
        match workspace.remove_entry(&folder, RemoveMode::Recursive).map_err(file_failure)? {
            RemovedKind::Directory(entries) => Ok(entries),
            RemovedKind::File | RemovedKind::Link => Ok(1),
        }
    }

    /// Returns the folder of a skill in the workspace; `None` if nothing is there.
    fn folder(&self, name: &str) -> Result<Option<(&Workspace, WorkspacePath)>, Failure> {
        let Some(workspace) = &self.workspace else { return Ok(None) };
        let folder =
            workspace.resolve_path(&format!("{WORKSPACE_SKILLS}/{name}")).map_err(file_failure)?;
        let kind = workspace.kind(&folder).map_err(file_failure)?;
        Ok(kind.map(|_| (workspace, folder)))
    }
}

/// Describes each skill. Of several usable skills with one name, the first is used.
fn skill_rows(found: &[FoundSkill]) -> Vec<SkillRow> {
    let mut used = BTreeSet::new();
    let row = |one: &FoundSkill| {
        let is_hidden = match &one.state {
            SkillState::Usable(_) => !used.insert(one.name.clone()),
            SkillState::Untrusted(_) | SkillState::Broken(_) => false,
        };
        SkillRow::new(one, is_hidden)
    };
    found.iter().map(row).collect()
}

fn command_failure(message: impl Into<String>) -> Failure {
    Failure::new(Exit::Failed, message)
}

#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
fn file_failure(error: FileError) -> Failure {
    command_failure(error.to_string())
}
