//! Shows skills, for people and as JSON.

use avocet_protocol::access::Trust;
use avocet_skills::{FoundSkill, SkillDocument, SkillProblem, SkillSource, SkillState};
use avocet_text::{PlainTable, append_line};
use serde::Serialize;

/// A skill as it is shown.
#[derive(Debug, Serialize)]
pub(super) struct SkillRow {
    pub(super) name: String,
    source: SkillSource,
    /// Empty for a skill that is a part of the program.
    #[serde(skip_serializing_if = "String::is_empty")]
    folder: String,
    #[serde(skip)]
    file: &'static str,
    state: SkillUse,
    #[serde(skip_serializing_if = "Option::is_none")]
    trust: Option<Trust>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<SkillProblem>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<SkillProblem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skill: Option<SkillDocument>,
}

/// The use of a skill by the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum SkillUse {
    Used,
    /// An earlier source has a skill of this name.
    Hidden,
    Untrusted,
    Broken,
}

impl SkillRow {
    pub(super) fn new(found: &FoundSkill, is_hidden: bool) -> Self {
        let FoundSkill { name, source, folder, file, state, notes } = found.clone();
        let (state, trust, problems, skill) = match state {
            SkillState::Usable(skill) if is_hidden => {
                (SkillUse::Hidden, None, Vec::new(), Some(skill))
            }
            SkillState::Usable(skill) => (SkillUse::Used, None, Vec::new(), Some(skill)),
            SkillState::Untrusted(trust) => (SkillUse::Untrusted, Some(trust), Vec::new(), None),
            SkillState::Broken(problems) => (SkillUse::Broken, None, problems, None),
        };
        Self { name, source, folder, file, state, trust, problems, notes, skill }
    }

    pub(super) fn is_used(&self) -> bool {
        self.state == SkillUse::Used
    }

    /// The description, or the reason why the skill is not used.
    fn about(&self) -> String {
        match (self.state, &self.skill) {
            (SkillUse::Used, Some(skill)) => skill.description.clone(),
            (SkillUse::Hidden, _) => {
                "hidden: a skill of this name comes from an earlier source".to_owned()
            }
            (SkillUse::Untrusted, _) => format!(
                "untrusted: somebody who is not an owner may have written it. Read it; if it is \
                    good, run: avocet trust --believe {}/{}",
                self.folder, self.file
            ),
            (SkillUse::Broken | SkillUse::Used, _) => match self.problems.first() {
                Some(problem) => format!("broken: {problem}"),
                None => "broken".to_owned(),
            },
        }
    }
}

pub(super) fn list(rows: &[SkillRow]) -> String {
    if rows.is_empty() {
        return "there are no skills; `avocet skills add FOLDER` adds one\n".to_owned();
    }
    let head = ["NAME", "SOURCE", "ABOUT"].map(str::to_owned);
    let row = |row: &SkillRow| [row.name.clone(), row.source.as_word().to_owned(), row.about()];
    let table: PlainTable = [head].into_iter().chain(rows.iter().map(row)).collect();
    table.to_string()
}

pub(super) fn skill_report(row: &SkillRow) -> String {
    let mut text = format!("{} ({})\n", row.name, row.source.as_word());
    let mut line = |key: &str, value: &str| {
        if !value.is_empty() {
            append_line(&mut text, format_args!("{key}: {value}"));
        }
    };
    line("folder", &row.folder);
    if !row.is_used() {
        line("not used", &row.about());
    }
    if let Some(skill) = &row.skill {
        line("description", &skill.description);
        line("license", skill.license.as_deref().unwrap_or_default());
        line("compatibility", skill.compatibility.as_deref().unwrap_or_default());
        for (key, value) in &skill.metadata {
            line(key, value);
        }
        let names = skill.allowed_tools.iter().flatten().map(|tool| tool.name.as_str());
        line("allowed tools", &names.collect::<Vec<_>>().join(" "));
    }
    for note in &row.notes {
        line("note", &note.to_string());
    }
    if let Some(skill) = &row.skill {
        text.push('\n');
        text.push_str(&skill.body);
        text.push('\n');
    }
    text
}
