//! Approvals and choices as permission requests to the editor.

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    ToolCall, ToolCallUpdate,
};
use avocet_gateway::DeliveryChunk;
use avocet_protocol::access::{ApprovalChoice, ApprovalDecision, OpenApproval};
use avocet_protocol::chat::Choice;
use avocet_protocol::turn::TurnRecord;

use crate::editor::Editor;
use crate::place::SessionPlace;
use crate::tool_calls::approved_call;

const ONCE: &str = "once";
const FOR_SESSION: &str = "for_session";
const DENY: &str = "deny";
/// The reason that the model gets if the editor ends the request without an answer.
const CLOSED: &str = "the person closed the question in the editor";

/// A permission request that waits for the editor.
pub(crate) type PermissionAnswer = Result<RequestPermissionOutcome, agent_client_protocol::Error>;

/// Asks the editor about a call that waits for approval.
pub(crate) async fn ask_approval(
    editor: Editor,
    call: ToolCallUpdate,
    choices: &[ApprovalChoice],
) -> PermissionAnswer {
    let options = choices.iter().map(|ApprovalChoice { label, decision }| {
        let (id, kind) = match decision {
            ApprovalDecision::Once => (ONCE, PermissionOptionKind::AllowOnce),
            ApprovalDecision::ForSession => (FOR_SESSION, PermissionOptionKind::AllowAlways),
            ApprovalDecision::Denied { .. } => (DENY, PermissionOptionKind::RejectOnce),
        };
        PermissionOption::new(id, label.clone(), kind)
    });
    request(editor, call, options.collect()).await
}

/// Describes the call of an approval.
pub(crate) fn call_of(
    approval: &OpenApproval,
    turn: Option<&TurnRecord>,
    place: &SessionPlace,
) -> ToolCallUpdate {
    approved_call(approval, turn, place)
}

/// The decision that an answer of [`ask_approval`] makes.
pub(crate) fn decision(outcome: &RequestPermissionOutcome) -> ApprovalDecision {
    match outcome {
        RequestPermissionOutcome::Selected(selected) => match &*selected.option_id.0 {
            ONCE => ApprovalDecision::Once,
            FOR_SESSION => ApprovalDecision::ForSession,
            _ => ApprovalDecision::Denied { why: None },
        },
        _ => ApprovalDecision::Denied { why: Some(CLOSED.to_owned()) },
    }
}

/// Asks the editor for one of the buttons of a question. The first line of the question is the title.
pub(crate) async fn ask_choice(editor: Editor, question: DeliveryChunk) -> PermissionAnswer {
    let title = question.text.lines().next().unwrap_or_default();
    let call = ToolCall::new(question.id.to_string(), title);
    let call = call.content(vec![question.text.as_str().into()]);
    let options = question.choices.iter().enumerate().map(|(place, Choice { label, says })| {
        let is_answer = says.starts_with("/answer") && !says.ends_with(" decline");
        let kind = if is_answer || says.starts_with("/retry") {
            PermissionOptionKind::AllowOnce
        } else {
            PermissionOptionKind::RejectOnce
        };
        PermissionOption::new(place.to_string(), label.clone(), kind)
    });
    let options = options.collect();
    request(editor, call.into(), options).await
}

/// The text that an answer of [`ask_choice`] sends; `None` if the editor made no choice.
pub(crate) fn choice_says(
    outcome: &RequestPermissionOutcome,
    choices: &[Choice],
) -> Option<String> {
    let RequestPermissionOutcome::Selected(selected) = outcome else { return None };
    let place: usize = selected.option_id.0.parse().ok()?;
    choices.get(place).map(|choice| choice.says.clone())
}

async fn request(
    editor: Editor,
    call: ToolCallUpdate,
    options: Vec<PermissionOption>,
) -> PermissionAnswer {
    let request = RequestPermissionRequest::new(editor.id.clone(), call, options);
    let answer = editor.connection.send_request(request).block_task().await?;
    Ok(answer.outcome)
}
