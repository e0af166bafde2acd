use std::time::Duration;

use avocet_protocol::access::Trust;
use avocet_protocol::model::Arguments;
use avocet_protocol::tool::ToolClass;
use avocet_testkit::{ManualClock, private_place, tool_context};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::*;

#[derive(Debug)]
struct Sample {
    name: &'static str,
    text: &'static str,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct SampleArguments {
    /// Where.
    path: String,
    /// How often.
    #[schemars(range(min = 1))]
    times: Option<u32>,
}

#[async_trait]
impl Tool for Sample {
    type Arguments = SampleArguments;

    fn describe(&self) -> Description {
        let time_limit = Duration::from_secs(30);
        let output = match self.name {
            "list" => 2000,
            "read" => usize::MAX,
            _ => 0,
        };
        let described = Description::new(self.name, ToolClass::Pure, self.text);
        Description { time_limit, ..described.at_most(output) }
    }

    async fn execute(
        &self,
        arguments: SampleArguments,
        _context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        match arguments.path.as_str() {
            "hang" => std::future::pending().await,
            "panic" => panic!("a bug"),
            path => Ok(json!([self.text, path, arguments.times]).into()),
        }
    }

    async fn verify(&self, _: &Evidence) -> Verdict {
        Verdict::DidNotHappen
    }
}

fn registry(clock: Arc<ManualClock>) -> ToolRegistry {
    let mut registry = ToolRegistry::new(clock);
    for name in ["write", "read", "list"] {
        registry.add_tool(Sample { name, text: name }).unwrap();
    }
    registry
}

fn context() -> ToolContext {
    tool_context()
}

fn call(name: &str, arguments: &str) -> ToolCall {
    ToolCall { name: name.to_owned(), arguments: Arguments::parse(arguments) }
}

async fn run(registry: &ToolRegistry, call: ToolCall) -> Result<ToolOutcome, ToolError> {
    registry.prepare(&call, None, &context()).await?;
    registry.execute(&call, &context()).await
}

#[test]
fn specs_are_sorted_by_name() {
    let registry = registry(Arc::default());
    let specs = registry.specs(Role::Owner, &private_place());
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["list", "read", "write"]);
    assert_eq!(
        specs[0].parameters,
        json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "Where.",
                    "x-aliases": [
                        "dir", "directory", "file", "file_name", "file_path", "filename", "filepath",
                    ],
                },
                "times": { "type": "integer", "description": "How often." },
            },
            "required": ["path"],
        })
    );
}

#[tokio::test]
async fn add_refuses_a_second_tool_of_the_same_name() {
    let mut registry = registry(Arc::default());
    let refused = registry.add_tool(Sample { name: "read", text: "mine" }).unwrap_err();
    assert_eq!(refused.to_string(), "a tool named read is registered already");
    let as_before = run(&registry, call("read", r#"{"path": "a"}"#)).await;
    assert_eq!(as_before, Ok(json!(["read", "a", null]).into()));
    assert_eq!(registry.specs(Role::Owner, &private_place()).len(), 3);
}

#[tokio::test]
async fn prepare_explains_how_to_correct_an_invalid_call() {
    let registry = registry(Arc::default());
    let expected = r#"Expected: {"path": string, "times": integer (optional)}"#;
    let table = [
        (
            call("reed", "{}"),
            "tool not found: reed; did you mean read? The tools are: list, read, write".to_owned(),
        ),
        (call("zzz", "{}"), "tool not found: zzz; The tools are: list, read, write".to_owned()),
        (
            call("read", "{}"),
            format!("invalid arguments: \"path\" is a required property. {expected}"),
        ),
        (
            call("read", r#"{"path": {"a": 7}}"#),
            format!("invalid arguments: path: {{\"a\":7}} is not of type \"string\". {expected}"),
        ),
        (
            call("read", r#"{"path": "a", "times": 0}"#),
            format!("invalid arguments: times: 0 is less than the minimum of 1. {expected}"),
        ),
        (
            call("read", r#"{"path": "a", "colour": "b"}"#),
            format!(
                "invalid arguments: Additional properties are not allowed ('colour' was \
                 unexpected). {expected}"
            ),
        ),
        (
            call("read", r#"{"pathh": "a", "tmes": 2, "colour": 1}"#),
            format!(
                "invalid arguments: Additional properties are not allowed ('pathh', 'tmes', \
                 'colour' were unexpected); \"path\" is a required property. By pathh, did you mean \
                 path? By tmes, did you mean times? {expected}"
            ),
        ),
        (
            call("read", r#"{"path": "a", "file": "b"}"#),
            "invalid arguments: path and file are the same argument: give only path".to_owned(),
        ),
        (
            call("read", r#"{"path": "a"#),
            format!("invalid arguments: they cannot be read: {{\"path\": \"a. {expected}"),
        ),
        (
            call("read", r#"{"path": "a", "times": 99999999999}"#),
            "invalid arguments: invalid value: integer `99999999999`, expected u32".to_owned(),
        ),
    ];
    for (call, error) in table {
        assert_eq!(run(&registry, call).await.unwrap_err().to_string(), error);
    }
}

#[tokio::test]
async fn execute_reads_arguments_in_the_types_of_the_schema() {
    let registry = registry(Arc::default());
    let given = r#"{"path": "a", "times": "2"}"#;
    assert_eq!(run(&registry, call("read", given)).await, Ok(json!(["read", "a", 2]).into()));
    let given = r#"{"path": 7, "times": null}"#;
    assert_eq!(run(&registry, call("read", given)).await, Ok(json!(["read", "7", null]).into()));
}

#[tokio::test]
async fn f13_owner_tools_are_hidden_from_users_and_refused() {
    let mut registry = registry(Arc::default());
    let names = |registry: &ToolRegistry, role| {
        registry
            .specs(role, &private_place())
            .iter()
            .map(|spec| spec.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&registry, Role::User), Vec::<String>::new());
    let context = ToolContext { role: Role::User, ..context() };
    let read = call("read", r#"{"path": "a"}"#);
    let refusal = ToolError::PermissionDenied("read is for owners".to_owned());
    assert_eq!(registry.prepare(&read, Some("anything"), &context).await, Err(refusal.clone()));
    assert_eq!(registry.execute(&read, &context).await, Err(refusal));

    let unknown = registry.prepare(&call("zzz", "{}"), None, &context).await.unwrap_err();
    let none = "tool not found: zzz; There are no tools: answer without calls";
    assert_eq!(unknown.to_string(), none);

    assert_eq!(registry.open_to_users("re*"), 1);
    assert_eq!(registry.open_to_users("delete"), 0);
    assert_eq!(names(&registry, Role::User), ["read"]);
    assert_eq!(names(&registry, Role::Owner), ["list", "read", "write"]);
    assert!(registry.execute(&read, &context).await.is_ok());
    let unknown = registry.prepare(&call("zzz", "{}"), None, &context).await.unwrap_err();
    assert_eq!(unknown.to_string(), "tool not found: zzz; The tools are: read");
}

fn with_tools(names: &[&'static str]) -> ToolRegistry {
    let mut registry = ToolRegistry::new(Arc::new(ManualClock::default()));
    for name in names {
        registry.add_tool(Sample { name, text: name }).unwrap();
    }
    registry
}

#[tokio::test]
async fn alias_of_another_agent_runs_our_tool() {
    let registry = with_tools(&["exec_shell", "list_directory", "read_file", "run_tests"]);
    for (name, tool) in [
        ("show", "read_file"),
        ("file", "read_file"),
        ("bash", "exec_shell"),
        ("Bash", "exec_shell"),
        ("navigate", "list_directory"),
        ("test", "run_tests"),
    ] {
        let done = run(&registry, call(name, r#"{"file_path": "a"}"#)).await;
        assert_eq!(done, Ok(json!([tool, "a", null]).into()), "{name}");
    }
    let error = run(&registry, call("search", r#"{"path": "a"}"#)).await.unwrap_err().to_string();
    assert!(error.starts_with("tool not found: search; "), "{error}");
}

#[tokio::test]
async fn alias_yields_to_a_tool_of_that_name() {
    let registry = with_tools(&["read_file", "show"]);
    for name in ["show", "Show"] {
        let done = run(&registry, call(name, r#"{"path": "a"}"#)).await;
        assert_eq!(done, Ok(json!(["show", "a", null]).into()), "{name}");
    }
    let specs = registry.specs(Role::Owner, &private_place());
    assert!(specs[0].aliases.contains(&"cat".to_owned()), "{specs:?}");
    assert!(!specs[0].aliases.contains(&"show".to_owned()), "{specs:?}");
    assert_eq!(specs[1].aliases, [""; 0]);
}

#[tokio::test]
async fn alias_call_error_names_the_tool() {
    let clock = Arc::new(ManualClock::default());
    let mut registry = ToolRegistry::new(clock.clone());
    registry.add_tool(Sample { name: "read_file", text: "" }).unwrap();
    let named = "read_file (called as show): ";
    for (arguments, error) in [
        ("{}", "\"path\" is a required property."),
        (r#"{"path": [7]}"#, "path: [7] is not of type \"string\"."),
        ("[1]", "they cannot be read: [1]."),
        (r#"{"file": "a", "path": "a"}"#, "file and path are the same argument: give only path"),
    ] {
        let found = run(&registry, call("show", arguments)).await.unwrap_err().to_string();
        assert!(found.starts_with(&format!("invalid arguments: {named}{error}")), "{found}");
    }
    let panicked = run(&registry, call("show", r#"{"file": "panic"}"#)).await;
    let text = format!("{named}internal error: a bug");
    assert_eq!(panicked, Err(ToolError::ExecutionFailed(text)));
}

#[tokio::test]
async fn f13_alias_call_has_the_permissions_of_its_tool() {
    let mut registry = with_tools(&["read_file"]);
    let context = ToolContext { role: Role::User, ..context() };
    let show = call("show", r#"{"path": "a"}"#);
    let refusal = "read_file (called as show) is for owners".to_owned();
    let refused = registry.prepare(&show, Some("anything"), &context).await;
    assert_eq!(refused, Err(ToolError::PermissionDenied(refusal.clone())));
    let refused = registry.execute(&show, &context).await;
    assert_eq!(refused, Err(ToolError::PermissionDenied(refusal)));
    assert_eq!((registry.open_to_users("show"), registry.open_to_users("read_*")), (0, 1));
    assert!(registry.execute(&show, &context).await.is_ok());
}

#[tokio::test]
async fn verify_resolves_an_alias_to_its_tool() {
    let registry = with_tools(&["read_file"]);
    let evidence = Evidence { subject: "a".to_owned(), before: None, after: "b".to_owned() };
    let verdict = registry.verify(&call("show", "{}"), &evidence).await;
    assert_eq!(verdict, Verdict::DidNotHappen);
    assert_eq!(registry.verify(&call("dance", "{}"), &evidence).await, Verdict::Unknown);
}

#[tokio::test]
async fn interrupted_shows_the_call_redacted_and_cut() {
    let secret = avocet_text::Secret::new("correct horse".to_owned());
    let redactor = Arc::new(Redactor::new([secret]));
    let registry = registry(Arc::default()).with_secrets(redactor);
    for (arguments, expected) in [
        (json!({ "path": "a", "times": 2 }), "path: a\ntimes: 2"),
        (json!({ "path": "with correct horse" }), "path: with [secret]"),
        (json!({ "path": "```\nend" }), "````\npath: ```\nend\n````"),
        (json!({ "path": "x".repeat(9000) }), "(6506 more characters; SHA-256 of all: "),
    ] {
        let arguments = Arguments::Object(arguments.as_object().unwrap().clone());
        for name in ["write", "not there"] {
            let call = ToolCall { name: name.to_owned(), arguments: arguments.clone() };
            let asked = registry.interrupted(&call, &context()).await;
            assert!(asked.text.contains(expected), "{}", asked.text);
            assert!(asked.text.starts_with(&format!("I was interrupted while running `{name}`")));
            let says: Vec<&str> = asked.choices.iter().map(|one| one.says.as_str()).collect();
            assert_eq!(says, ["/retry {wait}", "/skip {wait}"]);
        }
    }
}

#[tokio::test]
async fn prepare_keeps_the_output_limit_of_a_tool_within_bounds() {
    let registry = registry(Arc::default());
    for (name, expected) in [("list", 2000), ("read", 65_536), ("write", 1024)] {
        let call = call(name, r#"{"path": "a"}"#);
        let prepared = registry.prepare(&call, None, &context()).await.unwrap();
        assert_eq!(prepared.output, expected, "{name}");
    }
}

#[tokio::test]
async fn execute_reports_a_timeout_or_a_panic_as_an_error() {
    let clock = Arc::new(ManualClock::default());
    let registry = registry(clock.clone());
    let half_minute = Duration::from_secs(30);
    let (hung, ()) = tokio::join!(run(&registry, call("read", r#"{"path": "hang"}"#)), async {
        clock.sleeper(half_minute).await;
        clock.advance(half_minute);
    });
    assert_eq!(hung, Err(ToolError::Timeout(30)));
    let panicked = run(&registry, call("read", r#"{"path": "panic"}"#)).await;
    assert_eq!(panicked, Err(ToolError::ExecutionFailed("internal error: a bug".to_owned())));
}

#[test]
fn hold_withholds_an_answer_after_less_trusted_content() {
    let registry = registry(Arc::default());
    let answer = "see https://elsewhere.dev/?d=4711";
    let held = |role, trust| {
        let context = ToolContext { role, trust, ..context() };
        registry.hold(answer, &context).is_some()
    };
    let table = [
        (Role::Owner, [false, true, true]),
        // If the requester is a user, words of users are trusted enough.
        (Role::User, [false, false, true]),
    ];
    for (role, expected) in table {
        let decided = [Trust::Full, Trust::User, Trust::Low].map(|trust| held(role, trust));
        assert_eq!(decided, expected, "{role:?}");
    }
}
