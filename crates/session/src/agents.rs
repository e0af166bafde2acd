//! Selects the agent and the model for a session.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use avocet_agent::{AgentLoop, AgentModels};
use avocet_protocol::{LineageTurn, Model, Models, SessionId, fits, specificity};

/// A setting with different values for sessions whose ids match patterns.
#[derive(Debug, Clone)]
pub struct BySession<T> {
    default: T,
    others: Vec<(Vec<String>, T)>,
}

impl<T> BySession<T> {
    /// Uses `default` for all sessions except those that match a pattern of `others`.
    #[must_use]
    pub fn new(default: T, others: Vec<(Vec<String>, T)>) -> Self {
        Self { default, others }
    }

    /// Returns the value for a session. In a pattern, `*` stands for any characters. The most
    /// specific matching pattern wins; of equally specific ones, the first.
    #[must_use]
    pub fn of(&self, session: &SessionId) -> &T {
        let id = session.as_str();
        let fitting = self.others.iter().filter_map(|(patterns, own)| {
            let fitting = patterns.iter().filter(|pattern| fits(pattern, id));
            Some((fitting.map(|pattern| specificity(pattern)).max()?, own))
        });
        fitting.rev().max_by_key(|(says, _)| *says).map_or(&self.default, |(_, own)| own)
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

/// Name of the table of the default agent.
pub const DEFAULT_AGENT: &str = "defaults";

/// The agent of a turn.
#[derive(Debug, Clone)]
pub struct TurnAgent {
    /// The loop that runs the turn.
    pub run: AgentLoop,
    /// The other profiles among the ancestors of the turn. Their lists of tools apply as well.
    pub within: Vec<String>,
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
    /// Returns the agent of a turn with the model `chosen` for its session.
    ///
    /// # Errors
    /// [`NoAgent`] if a profile of the turn or of its ancestors was removed from the configuration.
    pub fn for_turn(
        &self,
        lineage: &[LineageTurn],
        chosen: Option<&str>,
    ) -> Result<TurnAgent, NoAgent> {
        let agent = self.of_turn(lineage)?;
        let (mut run, mut within) = (self.with_model(agent, chosen), Vec::new());
        for place in 1..lineage.len() {
            let above = self.of_turn(&lineage[place..])?;
            let name = above.shown_name();
            if name != agent.shown_name() && !within.iter().any(|known| known == name) {
                within.push(name.to_owned());
            }
            run.limits.root_tokens = Some(above.run.limits.turn.max_tokens);
        }
        Ok(TurnAgent { run, within })
    }

    /// Returns the agent of the first turn of a lineage: the one chosen for its session, else that
    /// of the root session.
    ///
    /// # Errors
    /// [`NoAgent`] if it was removed from the configuration.
    pub fn of_turn(&self, lineage: &[LineageTurn]) -> Result<&Agent, NoAgent> {
        let chosen = lineage.first().and_then(|turn| turn.agent.as_deref());
        match (chosen, lineage.last()) {
            (None, Some(root)) => Ok(self.agents.of(&root.session)),
            (None, None) => Ok(self.agents.default()),
            (Some(name), _) => self.named(name).ok_or_else(|| NoAgent(name.to_owned())),
        }
    }

    /// Returns the agent with this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.shown_name() == name)
    }

    /// Returns the agent of a session with the chosen model.
    #[must_use]
    pub fn for_session(&self, session: &SessionId, chosen: Option<&str>) -> AgentLoop {
        self.with_model(self.agents.of(session), chosen)
    }

    /// Returns an agent with the chosen model. A model removed from the configuration is ignored.
    fn with_model(&self, agent: &Agent, chosen: Option<&str>) -> AgentLoop {
        let Some(name) = chosen else { return agent.run.clone() };
        match self.models.model(name, &agent.fallbacks) {
            Ok(model) => {
                let cheap = self.cheap_before(agent, name).unwrap_or_else(|| model.clone());
                let models = AgentModels { main: model, cheap };
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
    fn by_session_of_returns_the_agent_with_the_most_specific_pattern() {
        let list = |patterns: &[&str]| patterns.iter().map(|one| (*one).to_owned()).collect();
        let agents = BySession::new(
            "default",
            vec![
                (list(&["telegram:*", "*:7:3"]), "telegram"),
                (list(&["telegram:work:*", "terminal:local:me"]), "work"),
                (list(&[]), "unused"),
            ],
        );
        let table = [
            ("telegram:work:7", "work"),
            ("telegram:work:7:3", "work"),
            ("telegram:main:7", "telegram"),
            ("terminal:local:me", "work"),
            ("terminal:local:meg", "default"),
            ("discord:work:7", "default"),
        ];
        for (session, agent) in table {
            assert_eq!(*agents.of(&session.parse().unwrap()), agent, "{session}");
        }
    }
}
