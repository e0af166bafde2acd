//! Checks the contents of a request as a conversation: the order of roles, and the results of
//! calls.

use serde_json::Value;

use super::{GeminiRefusal, check_fields, content, invalid};

/// Checks the conversation.
pub(super) fn check(contents: &Value) -> Result<(), GeminiRefusal> {
    let contents = contents.as_array().map_or(&[][..], Vec::as_slice);
    if contents.is_empty() {
        return Err(invalid("* GenerateContentRequest.contents: contents is not specified\n"));
    }
    for (place, content) in contents.iter().enumerate() {
        let here = format!("contents[{place}]");
        check_fields(content, &["role", "parts"], &here)?;
        check_role(content, place.checked_sub(1).map(|before| &contents[before]))?;
        content::check_parts(&content["parts"], &here)?;
        let before = place.checked_sub(1).map(|before| &contents[before]);
        check_calls(content, contents.get(place + 1))?;
        check_results(content, before)?;
    }
    let last = &contents[contents.len() - 1];
    if last["role"] == "model" {
        return Err(invalid(
            "Please ensure that multiturn requests end with a user role or a function response.",
        ));
    }
    check_signatures(contents)
}

fn check_role(content: &Value, before: Option<&Value>) -> Result<(), GeminiRefusal> {
    let role = content["role"].as_str().unwrap_or_default();
    match before {
        _ if role != "user" && role != "model" => {
            Err(invalid("Please use a valid role: user, model."))
        }
        None if role == "model" => Err(invalid(
            "Please ensure that the first content of a multiturn request has the user role.",
        )),
        Some(before) if before["role"] == role => {
            Err(invalid("Please ensure that multiturn requests alternate between user and model."))
        }
        _ => Ok(()),
    }
}

/// Returns the values of this field in the parts of a content.
fn of_kind<'c>(content: Option<&'c Value>, kind: &str) -> Vec<&'c Value> {
    let parts = content.and_then(|content| content["parts"].as_array()).into_iter().flatten();
    parts.filter_map(|part| part.get(kind)).collect()
}

/// Checks that only the model makes calls, and that the next content begins with as many results.
fn check_calls(content: &Value, next: Option<&Value>) -> Result<(), GeminiRefusal> {
    let calls = of_kind(Some(content), "functionCall");
    if calls.is_empty() {
        return Ok(());
    }
    if content["role"] != "model" {
        return Err(invalid("Function calls are only allowed in a content of the model role."));
    }
    let parts = next.and_then(|next| next["parts"].as_array()).into_iter().flatten();
    let leading = parts.take_while(|part| part.get("functionResponse").is_some()).count();
    if leading == calls.len() && of_kind(next, "functionResponse").len() == leading {
        return Ok(());
    }
    Err(invalid(
        "Please ensure that the number of function response parts is equal to the number of \
         function call parts of the function call turn.",
    ))
}

/// Checks that the results match the previous calls, in order.
fn check_results(content: &Value, before: Option<&Value>) -> Result<(), GeminiRefusal> {
    let results = of_kind(Some(content), "functionResponse");
    let calls = of_kind(before, "functionCall");
    if !results.is_empty() && calls.is_empty() {
        return Err(invalid(
            "Please ensure that function response turn comes immediately after a function call \
             turn.",
        ));
    }
    for (call, result) in calls.iter().zip(&results) {
        if call["name"] != result["name"] || call["id"] != result["id"] {
            return Err(invalid(
                "Please ensure that the function response parts match the function call parts of \
                 the function call turn by name and id.",
            ));
        }
    }
    Ok(())
}

/// Checks that the first call of each step since the last question is signed.
fn check_signatures(contents: &[Value]) -> Result<(), GeminiRefusal> {
    let asks = |content: &Value| {
        content["role"] == "user" && of_kind(Some(content), "functionResponse").is_empty()
    };
    let asked = contents.iter().rposition(asks).unwrap_or_default();
    for (place, content) in contents.iter().enumerate().skip(asked) {
        let parts = content["parts"].as_array().into_iter().flatten();
        let first = parts.into_iter().find(|part| part.get("functionCall").is_some());
        let Some(call) = first.filter(|call| call["thoughtSignature"].is_null()) else { continue };
        let name = call["functionCall"]["name"].as_str().unwrap_or_default();
        return Err(invalid(format!(
            "Function call is missing a thought_signature in functionCall parts. This is required \
             for tools to work correctly, and missing thought_signature may lead to degraded model \
             performance. Additional data, function call `default_api:{name}` , position {place}."
        )));
    }
    Ok(())
}
