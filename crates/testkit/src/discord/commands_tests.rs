use serde_json::json;

use super::super::client::known;
use super::*;

const INVALID: &str = "0.name APPLICATION_COMMAND_INVALID_NAME: Command name is invalid";

const BAD_NAME: &str = "0.name BASE_TYPE_BAD_LENGTH: Must be between 1 and 32 in length.";

const BAD_TEXT: &str = "0.description BASE_TYPE_BAD_LENGTH: Must be between 1 and 100 in length.";

fn command(name: &str, description: &str) -> Value {
    json!({ "name": name, "description": description })
}

fn with_options(options: &Value) -> Value {
    json!([{ "name": "a", "description": "b", "options": options }])
}

fn option(name: &str, required: bool) -> Value {
    json!({ "name": name, "description": "b", "type": 3, "required": required })
}

#[tokio::test]
async fn commands_refuse_invalid_definitions() {
    let known = known().await;
    let path = format!("/applications/{}/commands", known.fake.bot());
    let cases: Vec<(Value, &[&str])> = vec![
        (json!({}), &["_ LIST_TYPE_CONVERT: Only iterables may be used in a ListType"]),
        (json!([command("Help", "x")]), &[INVALID]),
        (json!([command("/help", "x")]), &[INVALID]),
        (json!([command("he lp", "x")]), &[INVALID]),
        (json!([command("", "x")]), &[BAD_NAME]),
        (json!([command(&"a".repeat(33), "x")]), &[BAD_NAME]),
        (json!([command("a", "")]), &[BAD_TEXT]),
        (json!([command("a", &"a".repeat(101))]), &[BAD_TEXT]),
        (
            json!([{}]),
            &[
                "0.name BASE_TYPE_REQUIRED: This field is required",
                "0.description BASE_TYPE_REQUIRED: This field is required",
            ],
        ),
        (
            json!([command("a", "x"), command("a", "y")]),
            &["1 APPLICATION_COMMANDS_DUPLICATE_NAME: Application command names must be unique"],
        ),
        (
            with_options(&json!(
                (0..26).map(|name| option(&name.to_string(), false)).collect::<Vec<_>>()
            )),
            &["0.options BASE_TYPE_MAX_LENGTH: Must be 25 or fewer in length."],
        ),
        (
            with_options(&json!([option("A", false)])),
            &["0.options.0.name APPLICATION_COMMAND_INVALID_NAME: Command name is invalid"],
        ),
        (
            with_options(&json!([{ "name": "a", "description": "b", "type": 12 }])),
            &["0.options.0.type BASE_TYPE_CHOICES: \
               Value must be one of {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}."],
        ),
        (
            with_options(&json!([option("a", false), option("a", false)])),
            &[
                "0.options.1 APPLICATION_COMMAND_OPTIONS_NAME_DUPLICATED: Option names must be unique",
            ],
        ),
        (
            with_options(&json!([option("a", false), option("b", true)])),
            &["0.options.1 APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID: \
               Required options must be placed before non-required options"],
        ),
    ];
    for (body, reasons) in cases {
        assert_eq!(known.ask("PUT", &path, &body).await.errors(), reasons, "{body}");
    }
    let many: Vec<Value> = (0..101).map(|name| command(&name.to_string(), "x")).collect();
    let refusal = known.ask("PUT", &path, &many.into()).await.refusal();
    let why = "Maximum number of application commands reached (100)";
    assert_eq!(refusal, (400, 30032, why.to_owned()));
    let refusal = known.ask("PUT", "/applications/1/commands", &json!([])).await.refusal();
    assert_eq!(refusal, (404, 10002, "Unknown Application".to_owned()));
    assert_eq!(known.fake.commands(), Vec::<Value>::new());
}

#[tokio::test]
async fn commands_replace_all_earlier_ones() {
    let known = known().await;
    let path = format!("/applications/{}/commands", known.fake.bot());
    let first = json!([command("help", "x"), command("ä-1_2", &"a".repeat(100))]);
    let result = known.ask("PUT", &path, &first).await.result();
    assert_eq!(result.as_array().unwrap().len(), 2);
    let second = with_options(&json!([option("a", true), option("b", false)]));
    known.ask("PUT", &path, &second).await.result();
    let names: Vec<Value> =
        known.fake.commands().iter().map(|command| command["name"].clone()).collect();
    assert_eq!(names, ["a"]);
    assert_eq!(known.get(&path).await.result()[0]["options"][1]["name"], "b");
}
