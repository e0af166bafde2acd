//! `avocet skills check`: every problem of a skill, with its line.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use avocet_skills::{
    AllowedTool, FixedSkills, FoundSkill, FoundSkills, MAX_SKILL_BYTES, ParsedSkill, SKILL_FILE,
    SkillSource, SkillState, WORKSPACE_SKILLS, find_skill_file,
};
use avocet_tools::skill_allows;
use serde::Serialize;

use super::command_failure;
use crate::context::CommandContext;
use crate::environment::absolute_path;
use crate::exit::{Exit, Failure};
use crate::output::{print_json, print_text};
use crate::registry;

/// A problem or a note about a file.
#[derive(Debug, Serialize)]
struct Finding {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    /// `true` if the agent cannot use the skill because of it.
    problem: bool,
    text: String,
}

/// Reads the skill in a folder anywhere, or that of a `SKILL.md`.
pub(super) fn of_folder(path: &Path) -> Result<FoundSkill, Failure> {
    let given = absolute_path(path)?;
    let shown = |error: std::io::Error| command_failure(format!("{}: {error}", path.display()));
    let place = given.canonicalize().map_err(shown)?;
    let folder = if place.is_dir() { place.as_path() } else { place.parent().unwrap_or(&place) };
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    let file = find_skill_file(folder).unwrap_or(SKILL_FILE);
    let path = folder.join(file);
    let mut bytes = Vec::new();
    File::open(&path)
        .and_then(|file| file.take(MAX_SKILL_BYTES as u64 + 1).read_to_end(&mut bytes))
        .map_err(|error| {
            command_failure(format!("{}: {error}; a skill has a {SKILL_FILE}", path.display()))
        })?;
    let parsed = ParsedSkill::read(&name, &bytes);
    let found = FoundSkill::new(name, SkillSource::System, folder.display().to_string(), parsed);
    Ok(FoundSkill { file, ..found })
}

/// Reads the skill in a folder anywhere, or all skills in the folders below it.
pub(super) fn of_folders(path: &Path) -> Result<FoundSkills, Failure> {
    let folder = absolute_path(path)?;
    if folder.is_dir() && find_skill_file(&folder).is_none() {
        let below = FixedSkills::read(&[folder], &[]).found_skills().clone();
        if below.skills.iter().any(|skill| skill.document().is_some()) {
            return Ok(below);
        }
    }
    Ok(FoundSkills { skills: vec![of_folder(path)?], left_out: Vec::new() })
}

pub(super) fn report_skills(
    context: &CommandContext,
    found: &FoundSkills,
    json: bool,
) -> Result<Exit, Failure> {
    let tools = registry::tool_names(context)?;
    let mut findings: Vec<Finding> =
        found.skills.iter().flat_map(|skill| findings(skill, &tools)).collect();
    findings.extend(found.left_out.iter().map(|left_out| Finding {
        file: WORKSPACE_SKILLS.to_owned(),
        line: None,
        problem: true,
        text: left_out.clone(),
    }));
    if json {
        print_json(&findings)?;
    } else {
        print_text(&text(found.skills.len(), &findings))?;
    }
    let has_problem = findings.iter().any(|finding| finding.problem);
    Ok(if has_problem { Exit::Failed } else { Exit::Done })
}

fn text(skills: usize, findings: &[Finding]) -> String {
    let line = |Finding { file, line, problem, text }: &Finding| {
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        let note = if *problem { "" } else { "note: " };
        format!("{file}{line}: {note}{text}\n")
    };
    let lines: String = findings.iter().map(line).collect();
    let problems = findings.iter().filter(|finding| finding.problem).count();
    format!("{lines}{skills} skills, {problems} problems\n")
}

/// The problems and notes of a skill. `tools` are the names of all tools.
fn findings(skill: &FoundSkill, tools: &[String]) -> Vec<Finding> {
    let file = match skill.folder.as_str() {
        "" => format!("{} (shipped)", skill.name),
        _ => skill.file_path(),
    };
    let finding = |line, problem, text: &str| Finding {
        file: file.clone(),
        line,
        problem,
        text: text.to_owned(),
    };
    let mut findings: Vec<Finding> =
        skill.notes.iter().map(|note| finding(Some(note.line), false, &note.text)).collect();
    match &skill.state {
        SkillState::Usable(document) => {
            let is_tool =
                |tool: &AllowedTool| tools.iter().any(|name| skill_allows(&tool.name, name));
            let unknown = document.allowed_tools.iter().flatten().filter(|tool| !is_tool(tool));
            findings.extend(unknown.map(|tool| {
                let text = format!("`allowed-tools`: no tool is called {}", tool.name);
                finding(None, false, &text)
            }));
        }
        SkillState::Untrusted(trust) => findings.push(finding(
            None,
            true,
            &format!(
                "its trust level is {}, so it is not used. Read it; if it is good, run: avocet \
                    trust --believe FILE",
                trust.as_str()
            ),
        )),
        SkillState::Broken(problems) => {
            let problems = problems.iter();
            let line = |line: usize| (line > 0).then_some(line);
            findings.extend(problems.map(|one| finding(line(one.line), true, &one.text)));
        }
    }
    findings.sort_by_key(|finding| finding.line);
    findings
}
