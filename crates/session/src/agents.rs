//! Which agent answers a session, and with which model.

use std::sync::Arc;

use avocet_agent::AgentLoop;
use avocet_protocol::{LoggedInbound, Model, Models, SessionId, TurnRecord, fits, specificity};

/// Something of which some sessions have their own: those whose ids fit patterns.
#[derive(Debug, Clone)]
pub struct BySession<T> {
    default: T,
    others: Vec<(Vec<String>, T)>,
}

impl<T> BySession<T> {
    /// `default` for all sessions but those that fit a pattern of the others.
    #[must_use]
    pub fn new(default: T, others: Vec<(Vec<String>, T)>) -> Self {
        Self { default, others }
    }

    /// That of a session. In a pattern `*` stands for any characters; of several that fit, the one
    /// that says more wins, and of those that say as much the first.
    #[must_use]
    pub fn of(&self, session: &SessionId) -> &T {
        let id = session.as_str();
        let fitting = self.others.iter().filter_map(|(patterns, own)| {
            let fitting = patterns.iter().filter(|pattern| fits(pattern, id));
            Some((fitting.map(|pattern| specificity(pattern)).max()?, own))
        });
        fitting.rev().max_by_key(|(says, _)| *says).map_or(&self.default, |(_, own)| own)
    }

    /// That of the sessions that fit no pattern.
    #[must_use]
    pub fn default(&self) -> &T {
        &self.default
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        std::iter::once(&self.default).chain(self.others.iter().map(|(_, own)| own))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        std::iter::once(&mut self.default).chain(self.others.iter_mut().map(|(_, own)| own))
    }
}

/// An agent of the configuration.
#[derive(Debug, Clone)]
pub struct Agent {
    /// What its table is called; none for the one that answers whatever no other does.
    pub name: Option<String>,
    /// How it answers.
    pub run: AgentLoop,
    /// Who is asked where its model, or the one that a session has chosen, gives no answer:
    /// `provider/model`.
    pub fallbacks: Vec<String>,
    /// Whether it has a cheap model of its own, which has the one that answers behind it; else that is
    /// the one that answers.
    pub has_cheap_model: bool,
}

/// The agents, and the models that sessions can choose.
#[derive(Debug, Clone)]
pub struct Agents {
    /// Who answers which session.
    pub agents: BySession<Agent>,
    /// Every model that can be chosen.
    pub models: Arc<dyn Models>,
}

impl Agents {
    /// Who runs a turn: the agent of the session at its root, with the model that its session has
    /// chosen. `asked_by` are the messages that the turn at the root of a child works on.
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

    /// Writes down what was spent on turns and compactions that were dropped before their end.
    pub(crate) async fn book_costs(&self) {
        for agent in self.agents.iter() {
            if let Err(error) = agent.run.book_costs().await {
                tracing::error!(%error, "what was given up is not in the ledger");
            }
        }
    }

    /// Who answers a session, with the model that it has chosen. One that there is not any more is
    /// passed over.
    #[must_use]
    pub fn for_session(&self, session: &SessionId, chosen: Option<&str>) -> AgentLoop {
        let agent = self.agents.of(session);
        let Some(name) = chosen else { return agent.run.clone() };
        match self.models.model(name, &agent.fallbacks) {
            Ok(model) => {
                let cheap = self.cheap_before(agent, name).unwrap_or_else(|| model.clone());
                AgentLoop { model, cheap, ..agent.run.clone() }
            }
            Err(error) => {
                let instead = agent.run.model.name();
                tracing::warn!(model = name, %error, instead, "the chosen model is gone");
                agent.run.clone()
            }
        }
    }

    /// The cheap model of an agent, which has the chosen one behind it; none if it has no cheap model.
    fn cheap_before(&self, agent: &Agent, chosen: &str) -> Option<Arc<dyn Model>> {
        let cheap = agent.has_cheap_model.then_some(&agent.run.cheap)?;
        let behind = [&[chosen.to_owned()], &agent.fallbacks[..]].concat();
        Some(self.models.model(cheap.name(), &behind).unwrap_or_else(|_| cheap.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_whose_pattern_says_most_has_the_session() {
        let list = |patterns: &[&str]| patterns.iter().map(|one| (*one).to_owned()).collect();
        let agents = BySession::new(
            "default",
            vec![
                (list(&["telegram:*", "*:7:3"]), "telegram"),
                (list(&["telegram:work:*", "terminal:local:me"]), "work"),
                (list(&[]), "nobody"),
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
