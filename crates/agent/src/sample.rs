//! Asks the cheap model in the name of another program, such as an MCP server.

use std::sync::Arc;

use avocet_protocol::model::{ModelRequest, NoSample, Sample, SampleRequest};
use avocet_protocol::store::Purpose;

use crate::budgets::{NoAnswer, UsageContext, could_not_answer};
use crate::{AgentLoop, UsageMeter};

impl AgentLoop {
    /// Asks the cheap model once, without tools, if the budgets allow it. The cost stays in `meter`
    /// for the caller, who records it.
    ///
    /// # Errors
    /// [`NoSample`], if a budget is used up, the model fails or the log cannot be read.
    pub async fn sample(
        &self,
        request: SampleRequest,
        meter: &UsageMeter,
    ) -> Result<Sample, NoSample> {
        let SampleRequest { messages, images, .. } = request;
        let model = &self.models.cheap;
        let sees = model.facts().await.images;
        let request = ModelRequest {
            messages: messages.into_iter().collect(),
            tools: Arc::new([]),
            images: if sees { images } else { Default::default() },
            ..ModelRequest::default()
        };
        let until = self.clock.elapsed().saturating_add(self.limits.turn.max_duration);
        let usage = UsageContext { meter, purpose: Purpose::Answer, until };
        let reply = self.ask_within_budgets(model.as_ref(), usage, &request, &|_| ()).await;
        let reply = reply.map_err(|error| NoSample(reason(&error)))?;
        let (usage, model) = (reply.usage(), reply.spent.last().map(|spent| spent.model.clone()));
        Ok(Sample {
            model: model.unwrap_or_else(|| self.models.cheap.name().to_owned()),
            text: reply.text,
            truncated: reply.truncated,
            usage,
        })
    }
}

fn reason(error: &NoAnswer) -> String {
    match error {
        NoAnswer::Limit(why) => why.text.clone(),
        NoAnswer::Unanswerable(reason) => could_not_answer(reason),
        NoAnswer::Model(error) => format!("the model failed: {error}"),
        NoAnswer::Instructions(error) => error.to_string(),
        NoAnswer::Log(error) => error.to_string(),
    }
}
