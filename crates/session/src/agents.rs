//! Selects the agent and the model for a session.

use std::sync::Arc;

use avocet_agent::{AgentLoop, AgentModels};
use avocet_protocol::{LoggedInbound, Model, Models, SessionId, TurnRecord, fits, specificity};

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
}

/// The agents, and the models that sessions can choose.
#[derive(Debug, Clone)]
pub struct Agents {
    /// The agent of each session.
    pub agents: BySession<Agent>,
    /// All models that sessions can choose.
    pub models: Arc<dyn Models>,
}

impl Agents {
    /// Returns the agent of the turn's root session, with the model `chosen` for the session. For a
    /// child, `asked_by` contains the messages of the root turn.
    #[must_use]
    pub fn for_turn(
        &self,
        turn: &TurnRecord,
        asked_by: &[LoggedInbound],
        chosen: Option<&str>,
    ) -> AgentLoop {
        let root = asked_by.first().map_or(&turn.session, |message| &message.message.session);
        self.for_session(root, chosen)
    }

    /// Returns the agent of a session with the chosen model. A model removed from the configuration
    /// is ignored.
    #[must_use]
    pub fn for_session(&self, session: &SessionId, chosen: Option<&str>) -> AgentLoop {
        let agent = self.agents.of(session);
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
