//! The schema of an answer, in `output_config.format`.

use serde_json::Value;

use super::{AnthropicRefusal, invalid};
use crate::model_fake::unknown_field;

/// Keys of a schema that the API refuses.
const REFUSED: [&str; 9] = [
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
    "maxLength",
    "maximum",
    "minLength",
    "minimum",
    "multipleOf",
    "uniqueItems",
];

/// Checks the field `output_config`.
pub(super) fn check(config: &Value) -> Result<(), AnthropicRefusal> {
    if let Some(other) = unknown_field(config, &["effort", "format"]) {
        return Err(invalid(format!("output_config.{other}: Extra inputs are not permitted")));
    }
    let format = &config["format"];
    if format.is_null() {
        return Ok(());
    }
    if let Some(other) = unknown_field(format, &["type", "schema"]) {
        return Err(invalid(format!(
            "output_config.format.{other}: Extra inputs are not permitted"
        )));
    }
    if format["type"] != "json_schema" {
        return Err(invalid("output_config.format.type: Input should be 'json_schema'"));
    }
    if !format["schema"].is_object() {
        return Err(invalid("output_config.format.schema: Field required"));
    }
    check_schema(&format["schema"])
}

fn check_schema(schema: &Value) -> Result<(), AnthropicRefusal> {
    if schema["type"] == "object" && schema["additionalProperties"] != false {
        return Err(invalid(
            "output_config.format.schema: For 'object' type, 'additionalProperties' must be \
             explicitly set to false",
        ));
    }
    let kind = schema["type"].as_str().unwrap_or("any");
    if let Some(key) = REFUSED.iter().find(|key| schema.get(**key).is_some()) {
        return Err(invalid(format!(
            "output_config.format.schema: For '{kind}' type, property '{key}' is not supported"
        )));
    }
    let properties = schema["properties"].as_object().into_iter().flatten().map(|(_, one)| one);
    properties.chain(schema.get("items")).try_for_each(check_schema)
}
