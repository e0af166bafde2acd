//! The skills that were found, and the list of the usable ones for a model.

use std::collections::BTreeSet;

use avocet_protocol::access::Trust;
use avocet_protocol::model::estimated_tokens;
use serde::Serialize;

use crate::{ParsedSkill, SKILL_FILE, SkillDocument, SkillProblem};

/// The most skills in the list for a model.
const MAX_LISTED: usize = 40;
/// The most tokens of the list for a model, estimated.
const MAX_TOKENS: u64 = 2000;

const TITLE: &str = "# Skills\n\nIf one fits the task, load it with use_skill first.\n";

/// The origin of a skill. If several skills have one name, the first origin in this order wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SkillSource {
    /// The directory `skills` of the workspace.
    Workspace,
    /// A directory of `[skills] paths`.
    System,
    /// The program itself.
    Shipped,
}

impl SkillSource {
    /// The word in CLI output.
    #[must_use]
    pub fn as_word(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::System => "system",
            Self::Shipped => "shipped",
        }
    }
}

/// The skills that were found, usable or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundSkills {
    /// The skills: those of the workspace first, each source by name.
    pub skills: Vec<FoundSkill>,
    /// A notice for each directory in which folders were left out.
    pub left_out: Vec<String>,
}

/// A skill that was found, usable or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSkill {
    /// The name of its folder.
    pub name: String,
    /// Its origin.
    pub source: SkillSource,
    /// Its folder; relative for a skill of the workspace, empty for a shipped one.
    pub folder: String,
    /// The name of its file in the folder: one of [`crate::SKILL_FILES`].
    pub file: &'static str,
    /// Its content, or the reason why it is not used.
    pub state: SkillState,
    /// Remarks on parts of the file that have no effect or are read in another way.
    pub notes: Vec<SkillProblem>,
}

/// The state of a skill that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillState {
    /// It can be used.
    Usable(SkillDocument),
    /// Its file has this trust level, which is below full.
    Untrusted(Trust),
    /// Its file has these problems.
    Broken(Vec<SkillProblem>),
}

impl FoundSkill {
    /// Describes a skill by its name, source and folder and by the content of its file.
    #[must_use]
    pub fn new(name: String, source: SkillSource, folder: String, parsed: ParsedSkill) -> Self {
        let ParsedSkill { document, problems, notes } = parsed;
        let state = match document {
            Some(document) => SkillState::Usable(document),
            None => SkillState::Broken(problems),
        };
        Self { name, source, folder, file: SKILL_FILE, state, notes }
    }

    /// Describes a folder that cannot be used as a skill.
    pub(crate) fn new_unusable(
        name: String,
        source: SkillSource,
        folder: String,
        why: &str,
    ) -> Self {
        Self::new(name, source, folder, ParsedSkill::new_unreadable(why))
    }

    /// The path of its file, for messages.
    #[must_use]
    pub fn file_path(&self) -> String {
        format!("{}/{}", self.folder, self.file)
    }

    /// Returns `true` if a person or a model may mean this skill by `wanted`: the name of its folder
    /// or that of its file, in any case.
    pub(crate) fn has_name(&self, wanted: &str) -> bool {
        let declared = self.document().and_then(|document| document.declared_name.as_deref());
        let names = [Some(self.name.trim()), declared];
        names.into_iter().flatten().any(|name| name.to_lowercase() == wanted.to_lowercase())
    }

    /// The content of a usable skill.
    #[must_use]
    pub fn document(&self) -> Option<&SkillDocument> {
        match &self.state {
            SkillState::Usable(document) => Some(document),
            SkillState::Untrusted(_) | SkillState::Broken(_) => None,
        }
    }
}

/// The usable skills, the first of each name.
pub(crate) fn usable_skills<'s>(
    found: impl IntoIterator<Item = &'s FoundSkill>,
) -> Vec<(&'s FoundSkill, &'s SkillDocument)> {
    let mut names = BTreeSet::new();
    let usable = found.into_iter().filter_map(|one| Some((one, one.document()?)));
    usable.filter(|(one, _)| names.insert(one.name.as_str())).collect()
}

/// The list for the instructions; `None` without a usable skill.
pub(crate) fn list_text<'s>(found: impl IntoIterator<Item = &'s FoundSkill>) -> Option<String> {
    let usable = usable_skills(found);
    let mut text = TITLE.to_owned();
    let mut listed = 0;
    for (_, SkillDocument { name, description, .. }) in &usable {
        let longer = format!("{text}\n- {name}: {description}");
        // A token is at least one byte.
        let may_be_long = longer.len() as u64 > MAX_TOKENS;
        if listed == MAX_LISTED || (may_be_long && estimated_tokens(&longer) > MAX_TOKENS) {
            break;
        }
        text = longer;
        listed += 1;
    }
    let left_out = usable.len() - listed;
    if left_out > 0 {
        text.push_str(&format!(
            "\n\n{left_out} more skills are not listed here, because the list is full."
        ));
    }
    (!usable.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(name: &str, source: SkillSource, description: &str) -> FoundSkill {
        let text = format!("---\nname: {name}\ndescription: {description}\n---\nbody");
        let parsed = ParsedSkill::read(name, text.as_bytes());
        FoundSkill::new(name.to_owned(), source, String::new(), parsed)
    }

    #[test]
    fn skill_list_has_a_line_for_each_usable_name_of_the_first_source() {
        use SkillSource::{Shipped, System, Workspace};
        let untrusted = FoundSkill {
            state: SkillState::Untrusted(Trust::Low),
            ..skill("note-taking", Workspace, "obey me")
        };
        let found = [
            untrusted,
            skill("review", Workspace, "mine"),
            skill("review", System, "another"),
            FoundSkill::new_unusable("broken".to_owned(), System, String::new(), "no file"),
            skill("note-taking", Shipped, "notes"),
        ];
        let expected = format!("{TITLE}\n- review: mine\n- note-taking: notes");
        assert_eq!(list_text(&found), Some(expected));
        assert_eq!(list_text(&found[3..4]), None);
        assert_eq!(list_text(&[]), None);
    }

    #[test]
    fn skill_list_says_how_many_skills_it_leaves_out() {
        let many = |count: usize, description: &str| {
            let one = |number| skill(&format!("s{number}"), SkillSource::Workspace, description);
            list_text(&(0..count).map(one).collect::<Vec<_>>()).unwrap()
        };
        let lines = |text: &str| text.lines().filter(|line| line.starts_with("- ")).count();
        let full = many(MAX_LISTED, "short");
        assert!(!full.contains("more skills"), "{full}");
        let short = many(MAX_LISTED + 3, "short");
        assert_eq!(lines(&short), MAX_LISTED);
        assert!(short.ends_with("3 more skills are not listed here, because the list is full."));
        let long = many(30, &"long words ".repeat(90));
        assert!(lines(&long) < 30 && long.contains("more skills"), "{}", lines(&long));
        assert!(estimated_tokens(&long) < MAX_TOKENS + 30);
    }
}
