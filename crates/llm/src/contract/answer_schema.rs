//! Answers by a JSON Schema.

use std::sync::Arc;

use avocet_protocol::model::{Message, ModelRequest};
use avocet_testkit::ModelAnswer;
use serde_json::{Value, json};

use super::server::WireModel;
use super::{ProviderWire, WireAbility, has_ability};

pub(super) async fn complete_sends_the_schema_of_an_answer_that_the_api_accepts<W: ProviderWire>() {
    if !has_ability::<W>(WireAbility::AnswerSchema) {
        return;
    }
    const TEXT: &str = r#"{"city":"Porto","name":"read_file","arguments":{"path":"a"}}"#;
    let schema = json!({
        "type": "object",
        "properties": { "city": { "type": "string", "description": "the city asked for" } },
        "required": ["city"],
        "additionalProperties": false,
    });
    let served = WireModel::<W>::new(vec![ModelAnswer::says(TEXT), ModelAnswer::says("ok")]).await;
    let messages =
        vec![Message::System { text: "be short".to_owned() }, Message::user("where?")].into();
    let request = ModelRequest { messages, ..ModelRequest::default() };
    let with_schema =
        ModelRequest { answer_schema: Some(Arc::new(schema.clone())), ..request.clone() };
    let reply = served.model.complete(&with_schema, &|_| ()).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.calls.len()), (TEXT, 0));
    served.model.complete(&request, &|_| ()).await.unwrap();
    assert_eq!(served.server.refusal_reasons(), [""; 0]);
    let sent = served.server.accepted_requests();
    assert!(contains_value(&sent[0], &schema), "{}", sent[0]);
    assert!(!contains_value(&sent[1], &schema));
}

/// Returns `true` if a value is `part`, or has it anywhere inside.
fn contains_value(value: &Value, part: &Value) -> bool {
    value == part
        || match value {
            Value::Object(object) => object.values().any(|one| contains_value(one, part)),
            Value::Array(array) => array.iter().any(|one| contains_value(one, part)),
            _ => false,
        }
}
