//! Asks a person in the name of a server (MCP, "Elicitation"): one question for each field of a form,
//! or one about a link.

use std::time::Duration;

use avocet_net::check_url;
use avocet_protocol::chat::ChatAddress;
use avocet_protocol::tool::{AnswerCheck, AnswerOption, AskPerson, PersonAnswer, PersonQuestion};
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value};

use crate::calls::RunningCall;
use crate::form::{FormField, cut_text, fence_text, form_fields};
use crate::secret_words::names_secret;

/// The most questions of one call; a form counts as one.
pub(crate) const MOST_QUESTIONS: u32 = 5;
/// The time for an answer to one field.
pub(crate) const TIME_LIMIT: Duration = Duration::from_mins(10);
/// Characters of a server's message that are shown.
const SHOWN: usize = 1000;
/// Bytes of the longest link.
const LONGEST_URL: usize = 2000;

/// A person who is asked in the name of a server.
pub(crate) struct ServerQuestion<'a> {
    pub(crate) server: &'a str,
    pub(crate) people: &'a dyn AskPerson,
    pub(crate) call: &'a RunningCall,
    pub(crate) chat: &'a ChatAddress,
}

impl ServerQuestion<'_> {
    /// Asks, and waits for the answers.
    ///
    /// # Errors
    /// The reason why the person cannot be asked, or did not answer.
    pub(crate) async fn run(&self, request: ElicitRequestParams) -> Result<ElicitResult, String> {
        match request {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                let fields = form_fields(&requested_schema)?;
                if fields.is_empty() {
                    return self.ask_to_confirm(&message).await;
                }
                self.fill_in(&message, fields).await
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                self.open_link(&message, &url).await
            }
            _ => Err("it asks in an unknown way".to_owned()),
        }
    }

    /// Asks for the value of each field.
    async fn fill_in(&self, message: &str, fields: Vec<FormField>) -> Result<ElicitResult, String> {
        let (mut content, count) = (Map::new(), fields.len());
        for (number, field) in (1..).zip(fields) {
            let place = if count > 1 { format!(" ({number} of {count})") } else { String::new() };
            let is_secret = field.asks_for_secret() || names_secret(message);
            let warning = if is_secret { self.warn_of_secret() } else { String::new() };
            let text = format!(
                "{}\n\nField{place}:\n{}{warning}",
                self.introduce_server(message),
                field.describe_field()
            );
            let check = field.clone();
            let check = AnswerCheck::new(move |answer| check.read(answer).map(drop));
            let Some(answer) = self.ask_person(text, field.answer_options(), check).await? else {
                return Ok(ElicitResult::new(ElicitationAction::Decline));
            };
            if let Some(value) = field.read(&answer)? {
                content.insert(field.name, value);
            }
        }
        let accepted = ElicitResult::new(ElicitationAction::Accept);
        Ok(accepted.with_content(Value::Object(content)))
    }

    /// Asks for a yes, because the form has no fields.
    async fn ask_to_confirm(&self, message: &str) -> Result<ElicitResult, String> {
        let accepted = self.ask_yes(self.introduce_server(message), "Accept").await?;
        Ok(match accepted {
            ElicitationAction::Accept => {
                ElicitResult::new(accepted).with_content(Value::Object(Map::new()))
            }
            other => ElicitResult::new(other),
        })
    }

    /// Shows a link. An accepted link is opened by the person.
    async fn open_link(&self, message: &str, url: &str) -> Result<ElicitResult, String> {
        let is_bounded =
            url.len() <= LONGEST_URL && url.bytes().all(|byte| byte.is_ascii_graphic());
        let host = url.parse::<http::Uri>().ok();
        let host = host.as_ref().and_then(http::Uri::host).filter(|_| is_bounded);
        let (Some(host), Ok(_)) = (host, check_url(url)) else {
            return Err("it sends a link that is not a URL of the web".to_owned());
        };
        let text = format!(
            "{}\n\nIt wants you to open this link to `{host}`, if you trust that site:\n{}",
            self.introduce_server(message),
            fence_text(url)
        );
        Ok(ElicitResult::new(self.ask_yes(text, "Accept").await?))
    }

    async fn ask_yes(&self, text: String, label: &str) -> Result<ElicitationAction, String> {
        let check = AnswerCheck::new(|answer| {
            let is_yes = ["accept", "yes"].iter().any(|word| answer.eq_ignore_ascii_case(word));
            if is_yes { Ok(()) } else { Err("Answer with accept or decline.".to_owned()) }
        });
        let options = vec![AnswerOption::new(label, "accept")];
        Ok(match self.ask_person(text, options, check).await? {
            Some(_) => ElicitationAction::Accept,
            None => ElicitationAction::Decline,
        })
    }

    /// Names the server, and shows its message as it is.
    fn introduce_server(&self, message: &str) -> String {
        let message = fence_text(&cut_text(message, SHOWN));
        format!("The MCP server {} asks, and gets your answer:\n{message}", self.server)
    }

    /// Warns of a field that asks for a secret. Servers must not ask for one in a form (MCP,
    /// "Elicitation").
    fn warn_of_secret(&self) -> String {
        format!(
            "\n\n**This asks for a secret.** {} and everyone who can read this chat would get it. Decline, \
             unless you are sure.",
            self.server
        )
    }

    /// Returns the answer; `None` if the person declines.
    async fn ask_person(
        &self,
        text: String,
        options: Vec<AnswerOption>,
        check: AnswerCheck,
    ) -> Result<Option<String>, String> {
        let RunningCall { session, is_from_owner, .. } = self.call;
        let question = PersonQuestion {
            session: session.clone(),
            chat: self.chat.clone(),
            is_from_owner: *is_from_owner,
            text,
            options,
            check,
            time_limit: TIME_LIMIT,
        };
        match self.people.ask(question).await {
            Ok(PersonAnswer::Text(answer)) => Ok(Some(answer)),
            Ok(PersonAnswer::Declined) => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }
}
