//! Selects the agent and the model for a session.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use avocet_agent::{AgentLoop, AgentModels, ModelsByTask};
use avocet_protocol::access::{PermissionMode, PersonId};
use avocet_protocol::chat::SessionId;
use avocet_protocol::model::{Effort, Model, Models};
use avocet_protocol::store::{LineageTurn, SessionStatus};
use avocet_protocol::tool::SkillCall;
use avocet_text::{fits_pattern, specificity};

/// A setting with different values for some sessions.
#[derive(Debug, Clone)]
pub struct BySession<T> {
    default: T,
    others: Vec<(SessionBinding, T)>,
}

/// The sessions to which a value of [`BySession`] applies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionBinding {
    /// Session ids, in which `*` stands for any characters.
    pub sessions: Vec<String>,
    /// People, for their private chats.
    pub people: Vec<PersonId>,
}

/// The rank of a matching binding: the greatest applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum BindingRank {
    Pattern((bool, usize)),
    Person,
    Session,
}

impl SessionBinding {
    /// Returns the rank of the best match; `None` without a match. A session named in full comes
    /// before its person, and the person before a pattern with `*`.
    fn rank(&self, session: &SessionId, person: Option<&PersonId>) -> Option<BindingRank> {
        let fitting =
            self.sessions.iter().filter(|pattern| fits_pattern(pattern, session.as_str()));
        let patterns = fitting.map(|pattern| {
            if pattern.contains('*') {
                BindingRank::Pattern(specificity(pattern))
            } else {
                BindingRank::Session
            }
        });
        let is_theirs = person.is_some_and(|person| self.people.contains(person));
        patterns.chain(is_theirs.then_some(BindingRank::Person)).max()
    }
}

impl<T> BySession<T> {
    /// Uses `default` for all sessions except those to which a binding of `others` applies.
    #[must_use]
    pub fn new(default: T, others: Vec<(SessionBinding, T)>) -> Self {
        Self { default, others }
    }

    /// Returns the value for a session, which may be the private chat of `person`. The most
    /// specific binding applies; of equally specific ones, the first.
    #[must_use]
    pub fn select_for(&self, session: &SessionId, person: Option<&PersonId>) -> &T {
        let fitting = self
            .others
            .iter()
            .filter_map(|(binding, own)| Some((binding.rank(session, person)?, own)));
        fitting.rev().max_by_key(|(rank, _)| *rank).map_or(&self.default, |(_, own)| own)
    }

    /// Returns the value for sessions without a matching pattern.
    #[must_use]
    pub fn default(&self) -> &T {
        &self.default
    }

    /// Returns all values.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        std::iter::once(&self.default).chain(self.others.iter().map(|(_, own)| own))
    }
}

/// An agent of the configuration.
#[derive(Debug, Clone)]
pub struct Agent {
    /// Name of its table; `None` for the default agent.
    pub name: Option<String>,
    /// The loop that runs its turns.
    pub run: AgentLoop,
    /// Models to ask if the agent's or the session's model fails, as `provider/model`.
    pub fallbacks: Vec<String>,
    /// `true` if the agent has a separate cheap model, which falls back to the answering one.
    /// Otherwise the answering model does its work.
    pub has_cheap_model: bool,
    /// The settings of its jobs.
    pub jobs: AgentJobs,
}

/// The settings of an agent's jobs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentJobs {
    /// `true` if each job works on a git branch of its own.
    pub own_branch: bool,
    /// The command that opens a pull request with that branch. Empty: none.
    pub pr_command: Vec<String>,
}

impl Agent {
    /// The name of its table.
    #[must_use]
    pub fn shown_name(&self) -> &str {
        self.name.as_deref().unwrap_or(DEFAULT_AGENT)
    }
}

/// Name of the default agent.
pub const DEFAULT_AGENT: &str = "default";
/// Name of the default agent in the log of an older version.
const OLD_DEFAULT_AGENT: &str = "defaults";

/// An agent with the limits that the ancestors of a turn add.
#[derive(Debug, Clone)]
pub struct TurnAgent {
    /// With the model and the effort that the session has chosen.
    pub run: AgentLoop,
    /// The name of the agent.
    pub name: String,
    /// The other profiles among the ancestors of the turn. Their lists of tools apply as well.
    pub within: Vec<String>,
    /// The calls of each ancestor that may have loaded a skill. Their limits on tools apply as well.
    pub skills_above: Arc<[Vec<SkillCall>]>,
}

/// The choices that people made for a session.
#[derive(Debug, Clone, Copy, Default)]
pub struct SessionChoice<'s> {
    /// The model, as `provider/model`; `None` for the agent's model.
    pub model: Option<&'s str>,
    /// The thinking effort; `None` for the configured one.
    pub effort: Option<Effort>,
}

impl<'s> From<&'s SessionStatus> for SessionChoice<'s> {
    fn from(status: &'s SessionStatus) -> Self {
        Self { model: status.model.as_deref(), effort: status.effort }
    }
}

/// Returns the narrowest mode of a turn and its ancestors.
#[must_use]
pub fn permission_mode(lineage: &[LineageTurn]) -> PermissionMode {
    lineage.iter().map(|turn| turn.permission_mode).max().unwrap_or_default()
}

/// A profile is not configured any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the profile [agents.{0}] is not configured any more")]
pub struct NoAgent(pub String);

/// Lets agents work in other directories than their own workspace.
pub trait AgentDirectories: fmt::Debug + Send + Sync {
    /// Returns `run`, a loop of the agent with this name, with the tools and files of a directory.
    ///
    /// # Errors
    /// [`NoDirectory`] if the directory cannot be a workspace.
    fn in_directory(
        &self,
        agent: &str,
        directory: &Path,
        run: AgentLoop,
    ) -> Result<AgentLoop, NoDirectory>;

    /// Returns the absolute path of a directory that a person names in a chat.
    ///
    /// # Errors
    /// [`NoDirectory`] if it is outside of the directories that the configuration opens to agents.
    fn named(&self, directory: &str) -> Result<String, NoDirectory>;
}

/// A directory cannot be a workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("I cannot work in {directory}: {why}")]
pub struct NoDirectory {
    /// The directory.
    pub directory: String,
    /// The reason.
    pub why: String,
}

/// The agents, and the models that sessions can choose.
#[derive(Debug, Clone)]
pub struct Agents {
    /// The agent of each session.
    pub agents: BySession<Agent>,
    /// All models that sessions can choose.
    pub models: Arc<dyn Models>,
    /// The directories that jobs work in.
    pub directories: Arc<dyn AgentDirectories>,
}

impl Agents {
    /// Returns the agent of a turn with the model and effort `chosen` for its session.
    ///
    /// # Errors
    /// [`NoAgent`] if a profile of the turn or of its ancestors was removed from the configuration.
    pub fn for_turn(
        &self,
        lineage: &[LineageTurn],
        chosen: SessionChoice<'_>,
    ) -> Result<TurnAgent, NoAgent> {
        let agent = self.of_turn(lineage)?;
        let (mut run, mut within) = (self.with_choice(agent, chosen), Vec::new());
        for place in 1..lineage.len() {
            let above = self.of_turn(&lineage[place..])?;
            let name = above.shown_name();
            if name != agent.shown_name() && !within.iter().any(|known| known == name) {
                within.push(name.to_owned());
            }
            run.limits.root_tokens = Some(above.run.limits.turn.max_tokens);
        }
        let skills_above = lineage.iter().skip(1).map(|above| above.skills.clone()).collect();
        let name = agent.shown_name().to_owned();
        Ok(TurnAgent { run, name, within, skills_above })
    }

    /// Returns the agent of the first turn of a lineage: the one chosen for its session, else that
    /// of the root session.
    ///
    /// # Errors
    /// [`NoAgent`] if it was removed from the configuration.
    pub fn of_turn(&self, lineage: &[LineageTurn]) -> Result<&Agent, NoAgent> {
        let chosen = lineage.first().and_then(|turn| turn.agent.as_deref());
        match (chosen, lineage.last()) {
            (None, Some(root)) => Ok(self.agents.select_for(&root.session, root.person.as_ref())),
            (None, None) => Ok(self.agents.default()),
            (Some(name), _) => self.named(name).ok_or_else(|| NoAgent(name.to_owned())),
        }
    }

    /// `None` if no profile has this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Agent> {
        let name = if name == OLD_DEFAULT_AGENT { DEFAULT_AGENT } else { name };
        self.agents.iter().find(|agent| agent.shown_name() == name)
    }

    /// Returns the agent of a session. A chosen profile that was removed from the configuration is
    /// ignored.
    #[must_use]
    pub fn of_session(&self, session: &SessionId, status: &SessionStatus) -> &Agent {
        let SessionStatus { agent, person, .. } = status;
        let chosen = agent.as_deref().and_then(|name| self.named(name));
        chosen.unwrap_or_else(|| self.agents.select_for(session, person.as_ref()))
    }

    /// Returns the agent of a session with the model and effort chosen for the session.
    #[must_use]
    pub fn for_session(&self, session: &SessionId, status: &SessionStatus) -> AgentLoop {
        self.with_choice(self.of_session(session, status), status.into())
    }

    /// Returns the name of the model that answers in a session.
    #[must_use]
    pub fn model_of_session(&self, session: &SessionId, status: &SessionStatus) -> String {
        let agent = self.of_session(session, status);
        let chosen = status.model.as_deref();
        let chosen = chosen.filter(|name| self.models.model(name, &agent.fallbacks).is_ok());
        chosen.unwrap_or_else(|| agent.run.models.main.name()).to_owned()
    }

    fn with_choice(&self, agent: &Agent, chosen: SessionChoice<'_>) -> AgentLoop {
        let run = self.with_model(agent, chosen.model);
        AgentLoop { effort: chosen.effort.or(run.effort), ..run }
    }

    /// Returns an agent with the chosen model. A model removed from the configuration is ignored.
    fn with_model(&self, agent: &Agent, chosen: Option<&str>) -> AgentLoop {
        let Some(name) = chosen else { return agent.run.clone() };
        match self.models.model(name, &agent.fallbacks) {
            Ok(model) => {
                let cheap = self.cheap_before(agent, name).unwrap_or_else(|| model.clone());
                let models = AgentModels { main: model, cheap, tasks: ModelsByTask::default() };
                AgentLoop { models, ..agent.run.clone() }
            }
            Err(error) => {
                let instead = agent.run.models.main.name();
                tracing::warn!(model = name, %error, instead, "the chosen model is gone");
                agent.run.clone()
            }
        }
    }

    /// Returns the agent's cheap model with the chosen one as fallback; `None` without a cheap
    /// model.
    fn cheap_before(&self, agent: &Agent, chosen: &str) -> Option<Arc<dyn Model>> {
        let cheap = agent.has_cheap_model.then_some(&agent.run.models.cheap)?;
        let behind = [&[chosen.to_owned()], &agent.fallbacks[..]].concat();
        Some(self.models.model(cheap.name(), &behind).unwrap_or_else(|_| cheap.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_session_of_returns_the_agent_with_the_most_specific_binding() {
        let bound = |patterns: &[&str], people: &[&str]| SessionBinding {
            sessions: patterns.iter().map(|one| (*one).to_owned()).collect(),
            people: people.iter().map(|one| one.parse().unwrap()).collect(),
        };
        let agents = BySession::new(
            "default",
            vec![
                (bound(&["telegram:*", "*:7:3"], &["discord:main:99"]), "telegram"),
                (bound(&["telegram:work:*", "terminal:local:me"], &[]), "work"),
                (bound(&["discord:main:7"], &["telegram:work:8"]), "ann"),
                (bound(&[], &[]), "unused"),
            ],
        );
        let table = [
            ("telegram:work:7", "", "work"),
            ("telegram:work:7:3", "", "work"),
            ("telegram:main:7", "", "telegram"),
            ("terminal:local:me", "", "work"),
            ("terminal:local:meg", "", "default"),
            ("discord:work:7", "", "default"),
            // A person comes before a pattern, and after a session that is named in full.
            ("telegram:work:8", "telegram:work:8", "ann"),
            ("discord:main:5", "discord:main:99", "telegram"),
            ("discord:main:7", "discord:main:99", "ann"),
            ("discord:main:5", "discord:work:99", "default"),
        ];
        for (session, person, agent) in table {
            let person = (!person.is_empty()).then(|| person.parse().unwrap());
            let found = *agents.select_for(&session.parse().unwrap(), person.as_ref());
            assert_eq!(found, agent, "{session} {person:?}");
        }
    }
}
