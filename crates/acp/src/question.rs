//! Questions of `ask_user` as forms of the editor.

use agent_client_protocol::v1::schema::{
    CreateElicitationRequest, ElicitationAction, ElicitationContentValue, ElicitationFormMode,
    ElicitationSchema, ElicitationSessionScope, EnumOption, StringPropertySchema,
};
use avocet_gateway::DeliveryChunk;

use crate::editor::Editor;

/// The only field of the form.
const FIELD: &str = "answer";
/// The answer to the agent if the person declines.
const DECLINED: &str = "I do not want to answer this.";

/// Asks a question with a form. Returns the answer; `None` if the person closed the form.
pub(crate) async fn ask(
    editor: Editor,
    question: DeliveryChunk,
) -> Result<Option<String>, agent_client_protocol::Error> {
    let options = question.choices.iter();
    let options = options.map(|choice| EnumOption::new(choice.says.clone(), choice.label.clone()));
    let options: Vec<EnumOption> = options.collect();
    let field = StringPropertySchema::new().title("Answer".to_owned());
    let field = if options.is_empty() { field } else { field.one_of(options) };
    let schema = ElicitationSchema::new().property(FIELD, field, true);
    let scope = ElicitationSessionScope::new(editor.id.clone());
    let form = ElicitationFormMode::new(scope, schema);
    let request = CreateElicitationRequest::new(form, question.text);
    let answer = editor.connection.send_request(request).block_task().await?;
    Ok(match answer.action {
        ElicitationAction::Accept(accepted) => {
            let mut content = accepted.content.unwrap_or_default();
            match content.remove(FIELD) {
                Some(ElicitationContentValue::String(text)) => Some(text),
                _ => None,
            }
        }
        ElicitationAction::Decline => Some(DECLINED.to_owned()),
        _ => None,
    })
}
