//! Answers by a JSON Schema, outside of conversations and without tools. Providers with structured
//! output get the schema; every answer is validated here, and corrected twice at most.

use std::sync::Arc;

use async_trait::async_trait;
use avocet_agent::{AnswerValidator, UpkeepMeter, ask_for_correction};
use avocet_config::AgentProfile;
use avocet_protocol::clock::Clock;
use avocet_protocol::model::{
    AskJson, AskJsonError, Delta, JsonAnswer, JsonQuestion, Message, Model, ModelError,
    ModelRequest, Models, Spent,
};
use avocet_protocol::store::{Purpose, Query, SessionStatus, UpkeepBudget};
use avocet_session::BySession;
use avocet_store::SqliteStore;
use parking_lot::Mutex;

use crate::components::consolidation::open_meter;
use crate::components::workspaces::session_binding;
use crate::configuration::Configuration;

/// Most corrections after the first answer.
const CORRECTIONS: u32 = 2;
const INSTRUCTIONS: &str = "Answer the question with one JSON value that is valid by this JSON \
    Schema. Write the JSON only: no other text, no code fence.";

/// Asks the models of the configuration.
#[derive(Debug)]
pub(crate) struct JsonAnswers {
    profiles: BySession<ProfileModels>,
    models: Arc<dyn Models>,
    log: Arc<SqliteStore>,
    budget: Arc<UpkeepMeter>,
}

#[derive(Debug, Clone)]
struct ProfileModels {
    profile: String,
    model: String,
    fallbacks: Vec<String>,
}

impl JsonAnswers {
    pub(crate) fn new(
        configuration: &Configuration,
        models: Arc<dyn Models>,
        log: Arc<SqliteStore>,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let models_of = |profile: &AgentProfile| ProfileModels {
            profile: profile.name.clone(),
            model: profile.agent.model.clone(),
            fallbacks: profile.agent.fallbacks.clone(),
        };
        // The default profile comes first.
        let (first, others) = configuration.agents.split_at(1);
        let default = models_of(&first[0].profile);
        let others =
            others.iter().map(|one| (session_binding(&one.profile), models_of(&one.profile)));
        let profiles = BySession::new(default, others.collect());
        let budget = open_meter(&configuration.settings, &log, clock);
        Self { profiles, models, log, budget }
    }

    /// Returns the model that answers the session's messages.
    fn model(
        &self,
        question: &JsonQuestion,
        status: &SessionStatus,
    ) -> Result<Arc<dyn Model>, AskJsonError> {
        let chosen = status.agent.as_deref();
        let named = chosen.and_then(|name| self.profiles.iter().find(|one| one.profile == name));
        let profile = named
            .unwrap_or_else(|| self.profiles.select_for(&question.session, status.person.as_ref()));
        let ProfileModels { model, fallbacks, .. } = profile;
        let name = status.model.as_deref().unwrap_or(model);
        self.models
            .model(name, fallbacks)
            .map_err(|error| AskJsonError::Refused(format!("{name} cannot be used: {error}")))
    }

    /// Asks once, and records the cost.
    async fn ask_once(
        &self,
        model: &dyn Model,
        request: &ModelRequest,
    ) -> Result<Result<String, ModelError>, AskJsonError> {
        if let Some(notice) = self.budget.used_up(model.facts().await.price).await? {
            return Err(AskJsonError::Refused(notice));
        }
        let lost = Mutex::<Vec<Spent>>::default();
        let keep_losses = |delta: Delta<'_>| {
            if let Delta::Lost(spent) = delta {
                lost.lock().push(spent.clone());
            }
        };
        let answered = model.complete(request, &keep_losses).await;
        let mut spent = lost.into_inner();
        spent.extend(answered.iter().flat_map(|reply| reply.spent.clone()));
        self.budget.record(Purpose::Answer, &spent).await?;
        Ok(answered.map(|reply| reply.text))
    }
}

#[async_trait]
impl AskJson for JsonAnswers {
    async fn ask_json(&self, question: &JsonQuestion) -> Result<JsonAnswer, AskJsonError> {
        let validator = AnswerValidator::new(&question.schema).map_err(AskJsonError::Schema)?;
        let status = self.log.session_status(&question.session).await?;
        let model = self.model(question, &status)?;
        let system = format!("{INSTRUCTIONS}\n\n{}", question.schema);
        let mut request = ModelRequest {
            messages: vec![Message::System { text: system }, Message::user(&*question.text)].into(),
            answer_schema: Some(Arc::new(question.schema.clone())),
            ..ModelRequest::default()
        };
        let name = model.name().to_owned();
        let mut found = JsonAnswer { model: name, requests: 0, answer: None, faults: Vec::new() };
        let mut corrections = 0;
        loop {
            found.requests += 1;
            let text = match self.ask_once(model.as_ref(), &request).await? {
                Ok(text) => text,
                // The schema is in the instructions, too, for models without structured output.
                Err(ModelError::Refused { lasting: false, .. })
                    if request.answer_schema.is_some() =>
                {
                    request.answer_schema = None;
                    continue;
                }
                Err(error) => return Err(AskJsonError::Refused(error.to_string())),
            };
            match validator.check_answer(&text) {
                Ok(answer) => {
                    return Ok(JsonAnswer { answer: Some(answer), faults: Vec::new(), ..found });
                }
                Err(faults) => found.faults = faults,
            }
            if corrections == CORRECTIONS {
                return Ok(found);
            }
            corrections += 1;
            request.messages.push(Message::assistant(text, Vec::new()));
            request.messages.push(Message::user(ask_for_correction(&found.faults)));
        }
    }
}

#[cfg(test)]
#[path = "json_answers_tests.rs"]
mod tests;
