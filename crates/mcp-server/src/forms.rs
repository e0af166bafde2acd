//! Forms (MCP elicitation) with which the client asks its user.

use avocet_protocol::access::{ApprovalChoice, ApprovalDecision, OpenApproval};
use avocet_protocol::chat::{ChatAddress, Choice};
use avocet_text::printable_json;
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    EnumSchema, PrimitiveSchemaDefinition, ServerRequest, StringSchema,
};
use serde_json::{Map, Value, json};

/// The choices about a message that the client's model wants to send.
const ALLOW: &str = "Allow once";
const DENY: &str = "Deny";

/// A decision that a turn waits for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TurnQuestion {
    /// A call waits for approval.
    Approval(Box<OpenApproval>),
    /// The agent has asked something. The next message in the chat answers it.
    Answer {
        text: String,
        /// The offered answers.
        choices: Vec<Choice>,
    },
}

/// The person's answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FormAnswer {
    /// Parameters of `approval.decide`.
    Decision(Value),
    /// A message to the chat.
    Text(String),
    /// The form was closed without an answer.
    Open,
}

impl TurnQuestion {
    /// Describes the question and how to answer it.
    pub(crate) fn in_words(&self, session: &str) -> String {
        match self {
            Self::Approval(approval) => format!(
                "the call of {} waits for approval: answer with `avocet approvals approve {}`, \
                 `avocet approvals deny {}`, or the buttons in the chat",
                approval.tool, approval.id, approval.id
            ),
            Self::Answer { text, choices } => {
                let offered: Vec<&str> = choices.iter().map(|one| one.says.as_str()).collect();
                let offered = match offered.as_slice() {
                    [] => String::new(),
                    offered => format!(" ({})", offered.join(", ")),
                };
                format!(
                    "the agent asks “{text}”{offered}: answer with ask, session {session}, and the \
                     answer as text"
                )
            }
        }
    }

    /// Returns `true` if both are the same question.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Approval(one), Self::Approval(other)) => one.id == other.id,
            (one, other) => one == other,
        }
    }

    /// Makes the request that shows the form.
    pub(crate) fn make_request(&self) -> ServerRequest {
        let (message, schema) = match self {
            Self::Approval(approval) => {
                let message = format!("In {}:\n\n{}", approval.session, approval.card.text);
                (message, approval_schema(approval))
            }
            Self::Answer { text, choices } => (text.clone(), answer_schema(choices)),
        };
        ServerRequest::ElicitRequest(ElicitRequest::new(
            ElicitRequestParams::FormElicitationParams {
                meta: None,
                message,
                requested_schema: schema,
            },
        ))
    }

    /// Reads the answer to the form.
    pub(crate) fn read_answer(&self, result: ElicitResult) -> FormAnswer {
        let content = match result.content {
            Some(Value::Object(content)) => content,
            _ => Map::new(),
        };
        let field = |name: &str| content.get(name).and_then(Value::as_str).map(str::trim);
        match (self, result.action) {
            (_, ElicitationAction::Cancel) => FormAnswer::Open,
            (Self::Approval(approval), ElicitationAction::Decline) => {
                FormAnswer::Decision(json!({ "id": approval.id, "decision": "denied" }))
            }
            (Self::Approval(approval), ElicitationAction::Accept) => {
                let choices = &approval.card.choices;
                let chosen = choices.iter().find(|choice| field("decision") == Some(&choice.label));
                // Ignore a choice that the form does not offer.
                let Some(ApprovalChoice { decision, .. }) = chosen else { return FormAnswer::Open };
                let why = field("reason").filter(|why| !why.is_empty());
                FormAnswer::Decision(match decision {
                    ApprovalDecision::Once => json!({ "id": approval.id, "decision": "once" }),
                    ApprovalDecision::ForSession => {
                        json!({ "id": approval.id, "decision": "for_session" })
                    }
                    ApprovalDecision::Denied { .. } => {
                        json!({ "id": approval.id, "decision": "denied", "why": why })
                    }
                })
            }
            (Self::Answer { choices, .. }, ElicitationAction::Accept) => match field("answer") {
                Some(answer) if !answer.is_empty() => {
                    let chosen = choices.iter().find(|choice| choice.label == answer);
                    let says = chosen.map_or(answer, |choice| choice.says.as_str());
                    FormAnswer::Text(says.to_owned())
                }
                _ => FormAnswer::Open,
            },
            (Self::Answer { .. }, _) | (Self::Approval(_), _) => FormAnswer::Open,
        }
    }
}

/// Makes the request for a yes to a message that the client's model wants to send.
pub(crate) fn message_form(to: &ChatAddress, text: &str) -> ServerRequest {
    let choices = vec![ALLOW.to_owned(), DENY.to_owned()];
    let schema = ElicitationSchema::new([("decision".to_owned(), select_one(choices))].into());
    ServerRequest::ElicitRequest(ElicitRequest::new(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: format!(
            "Send this message to {to}?\n{}",
            printable_json(&json!(text).to_string())
        ),
        requested_schema: schema.with_required(vec!["decision".to_owned()]),
    }))
}

/// Returns `true` if the person has allowed the message.
pub(crate) fn allows_message(result: &ElicitResult) -> bool {
    let decision = result.content.as_ref().and_then(|content| content["decision"].as_str());
    result.action == ElicitationAction::Accept && decision == Some(ALLOW)
}

fn approval_schema(approval: &OpenApproval) -> ElicitationSchema {
    let choices = approval.card.choices.iter().map(|choice| choice.label.clone());
    let reason = StringSchema::new().title("Reason, if you deny it");
    let fields = [
        ("decision".to_owned(), select_one(choices.collect())),
        ("reason".to_owned(), PrimitiveSchemaDefinition::String(reason)),
    ];
    ElicitationSchema::new(fields.into()).with_required(vec!["decision".to_owned()])
}

fn answer_schema(choices: &[Choice]) -> ElicitationSchema {
    let field = if choices.is_empty() {
        PrimitiveSchemaDefinition::String(StringSchema::new().title("Answer"))
    } else {
        select_one(choices.iter().map(|one| one.label.clone()).collect())
    };
    let answer = "answer".to_owned();
    ElicitationSchema::new([(answer.clone(), field)].into()).with_required(vec![answer])
}

/// Makes a list without titles, which clients of all protocol versions can show.
fn select_one(choices: Vec<String>) -> PrimitiveSchemaDefinition {
    PrimitiveSchemaDefinition::Enum(EnumSchema::builder(choices).untitled().build())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn approval() -> TurnQuestion {
        let approval = json!({
            "id": "w7", "session": "terminal:local:a", "chat": null, "tool": "exec_shell",
            "arguments": {"command": "rm x"}, "grant": null, "expires_at": 5,
            "card": {"text": "**May I use `exec_shell`?** I ask because so.", "choices": [
                {"label": "Allow once", "decision": {"decision": "once"}},
                {"label": "Deny", "decision": {"decision": "denied", "why": null}},
            ]},
        });
        TurnQuestion::Approval(Box::new(serde_json::from_value(approval).unwrap()))
    }

    fn answer(question: &TurnQuestion, action: &str, content: &Value) -> FormAnswer {
        let result = json!({"action": action, "content": content});
        question.read_answer(serde_json::from_value(result).unwrap())
    }

    #[test]
    fn form_answer_decides_only_what_the_form_offers() {
        let decided = |decision: Value| FormAnswer::Decision(decision);
        let denied = json!({"id": "w7", "decision": "denied", "why": "no"});
        let table = [
            (
                "accept",
                json!({"decision": "Allow once"}),
                decided(json!({"id": "w7", "decision": "once"})),
            ),
            ("accept", json!({"decision": "Deny", "reason": " no "}), decided(denied)),
            ("decline", json!({}), decided(json!({"id": "w7", "decision": "denied"}))),
            ("accept", json!({"decision": "Allow for this session"}), FormAnswer::Open),
            ("accept", json!({"decision": "allow once"}), FormAnswer::Open),
            ("accept", json!({"decision": true}), FormAnswer::Open),
            ("accept", json!({}), FormAnswer::Open),
            ("cancel", json!({"decision": "Allow once"}), FormAnswer::Open),
        ];
        for (action, content, expected) in table {
            assert_eq!(answer(&approval(), action, &content), expected, "{action} {content}");
        }
    }

    #[test]
    fn form_answer_of_a_choice_is_the_text_of_its_button() {
        let choices = vec![Choice::new("Try again", "/retry w3")];
        let question = TurnQuestion::Answer { text: "?".to_owned(), choices };
        let chosen = answer(&question, "accept", &json!({"answer": "Try again"}));
        assert_eq!(chosen, FormAnswer::Text("/retry w3".to_owned()));
        for action in ["decline", "cancel"] {
            assert_eq!(answer(&question, action, &json!({"answer": "x"})), FormAnswer::Open);
        }
    }

    #[test]
    fn form_of_an_approval_is_its_card() {
        let form = json!(approval().make_request());
        let message = "In terminal:local:a:\n\n**May I use `exec_shell`?** I ask because so.";
        assert_eq!(form["params"]["message"], message);
        let offered = &form["params"]["requestedSchema"]["properties"]["decision"]["enum"];
        assert_eq!(*offered, json!(["Allow once", "Deny"]));
    }
}
