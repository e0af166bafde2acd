use std::sync::Arc;

use avocet_protocol::access::{Role, Trust};
use avocet_protocol::tool::Seen;
use avocet_testkit::tool_context;
use serde_json::json;

use super::*;

fn grant(tool: &str, scope: &str) -> Grant {
    Grant { tool: ToolName::parse(tool).unwrap(), scope: scope.to_owned() }
}

/// A call of a tool whose question has this scope and shape.
fn scoped(tool: &str, scope: &str, shape: Option<&str>) -> CallGrant {
    let (shown, scope, shape) = (String::new(), scope.to_owned(), shape.map(str::to_owned));
    let question = Question { shown, scope, shape };
    let tool = ToolName::parse(tool).unwrap();
    CallGrant::new(&tool, &question, &Map::new(), &Redactor::default())
}

/// A call of a tool whose question has no scope.
fn plain(arguments: &Value) -> CallGrant {
    let question = Question { shown: String::new(), scope: String::new(), shape: None };
    let arguments = arguments.as_object().unwrap();
    let tool = ToolName::parse("bank__send").unwrap();
    CallGrant::new(&tool, &question, arguments, &Redactor::default())
}

fn low(grants: &[Grant], people: &[&str]) -> ToolContext {
    let people = people.iter().map(|text| (*text).to_owned()).collect();
    let seen = Arc::new(Seen { people, ..Seen::default() });
    let grants = grants.to_vec().into();
    ToolContext { trust: Trust::Low, role: Role::Owner, grants, seen, ..tool_context() }
}

/// The new arguments of a call after untrusted text; `None` if no grant is for the tool.
fn new_arguments(call: &CallGrant, context: &ToolContext) -> Option<Vec<String>> {
    match call.check_coverage(context) {
        GrantCoverage::Covered => Some(Vec::new()),
        GrantCoverage::NewArguments(new) => Some(new.iter().map(NamedArgument::to_line).collect()),
        GrantCoverage::CoveredByShape | GrantCoverage::Uncovered => None,
    }
}

#[test]
fn coverage_by_scope_needs_the_same_tool_or_the_same_file() {
    let table = [
        (("edit_file", "a.md"), ("write_file", "a.md"), true),
        (("edit_file", "a.md"), ("review_changes", "b.md\na.md"), true),
        (("edit_file", "a.md"), ("write_file", "b.md"), false),
        (("edit_file", ""), ("write_file", ""), false),
        (("edit_file", ""), ("edit_file", ""), true),
        (("exec_shell", "ls"), ("write_file", "ls"), false),
        (("exec_shell", "ls"), ("exec_shell", "ls"), true),
    ];
    for ((tool, scope), (granted, file), covered) in table {
        let context = low(&[grant(granted, file)], &[]);
        let is_covered =
            scoped(tool, scope, None).check_coverage(&context) == GrantCoverage::Covered;
        assert_eq!(is_covered, covered, "{tool} {scope}");
    }
}

#[test]
fn coverage_by_shape_is_told_apart_from_an_exact_command() {
    let tested = |command: &str| scoped("exec_shell", command, Some("cargo test …"));
    let shape = tested("cargo test a").offered;
    let table = [
        (shape.clone(), tested("cargo test b"), GrantCoverage::CoveredByShape),
        (shape.clone(), scoped("exec_shell", "cargo test b", None), GrantCoverage::Uncovered),
        (
            shape.clone(),
            scoped("exec_shell", "cargo fmt", Some("cargo fmt …")),
            GrantCoverage::Uncovered,
        ),
        (grant("exec_shell", "cargo test a"), tested("cargo test a"), GrantCoverage::Covered),
        (grant("exec_shell", "cargo test a"), tested("cargo test b"), GrantCoverage::Uncovered),
        // A command that reads like a shape opens none.
        (grant("exec_shell", "cargo test …"), tested("cargo test b"), GrantCoverage::Uncovered),
        (shape, scoped("exec_shell", "cargo test …", None), GrantCoverage::Uncovered),
    ];
    for (granted, call, expected) in table {
        assert_eq!(
            call.check_coverage(&low(std::slice::from_ref(&granted), &[])),
            expected,
            "{granted:?}"
        );
    }
}

#[test]
fn offered_scope_lists_names_addresses_and_numbers() {
    let table = [
        (
            json!({"to": "bob@example.org", "subject": "Hi", "body": "Dear Bob"}),
            "to: bob@example.org",
        ),
        (
            json!({"recipients": ["a@b.dev", "c@d.dev", "a@b.dev"]}),
            "recipients: a@b.dev\nrecipients: c@d.dev",
        ),
        (json!({"hotel": " Riverside View "}), "hotel: Riverside View"),
        (json!({"amount": 50, "iban": "DE 12"}), "amount: 50\niban: DE 12"),
        (json!({"public": true, "cc": null, "bcc": [], "label": ""}), "public: true"),
        (
            json!({"file": {"id": "7", "title": "x"}, "at": [{"host": "a"}]}),
            "file.id: 7\nat.host: a",
        ),
        (json!({"emailBody": "x", "new_content": "y", "query": "z", "texts": ["a"]}), ""),
        (
            json!({"date": "2024-05-15", "start": "2024-05-15 10:30", "end": "2024-05-15T10:30:00Z"}),
            "",
        ),
        // An account may look like a date without dashes.
        (json!({"account": "20240515"}), "account: 20240515"),
        // These are in no scope, and so asked about each time.
        (json!({"to": "a\nb", "patch": "x".repeat(201)}), ""),
        (json!({"a\nto": "x"}), ""),
    ];
    for (arguments, scope) in table {
        let offered = plain(&arguments).offered;
        assert_eq!(offered, grant("bank__send", scope), "{arguments}");
    }
}

#[test]
fn grant_without_scope_covers_all_calls_until_untrusted_text_is_read() {
    let call = plain(&json!({"to": "mark@evil.dev", "amount": 7}));
    let granted = grant("bank__send", "to: bob@example.org");
    let trusted = ToolContext { trust: Trust::Full, ..low(std::slice::from_ref(&granted), &[]) };
    assert_eq!(call.check_coverage(&trusted), GrantCoverage::Covered);
    let other = ToolContext { grants: [grant("bank__pay", "")].into(), ..trusted };
    assert_eq!(call.check_coverage(&other), GrantCoverage::Uncovered);
    assert_eq!(
        call.check_coverage(&low(&[grant("bank__pay", "to: mark@evil.dev")], &[])),
        GrantCoverage::Uncovered
    );
    let new = new_arguments(&call, &low(&[granted], &[])).unwrap();
    assert_eq!(new, ["to: mark@evil.dev", "amount: 7"]);
}

#[test]
fn after_untrusted_text_each_named_argument_was_allowed_or_typed() {
    let granted =
        [grant("bank__send", "amount: 50\nto: bob@example.org"), grant("bank__send", "to: carol")];
    let people = ["Pay 60.5 to dave@example.org, please. Then write to (eve), and to Frank Best."];
    let context = low(&granted, &people);
    let none: [&str; 0] = [];
    let table: [(Value, &[&str]); 16] = [
        (json!({"to": "bob@example.org", "amount": 50, "text": "anything"}), &none),
        (json!({"to": ["bob@example.org", "carol"], "date": "2024-05-15"}), &none),
        (json!({"to": "dave@example.org", "amount": 60.5}), &none),
        (json!({"to": "EVE"}), &none),
        (json!({"to": "frank best"}), &none),
        (json!({"text": "only words"}), &none),
        (json!({"to": ["bob@example.org", "mark@evil.dev"]}), &["to: mark@evil.dev"]),
        (json!({"cc": "bob@example.org"}), &["cc: bob@example.org"]),
        (json!({"amount": 5}), &["amount: 5"]),
        (json!({"amount": 60}), &["amount: 60"]),
        // Parts of what a person typed.
        (json!({"to": "ave@example.org"}), &["to: ave@example.org"]),
        (json!({"to": "example.org"}), &["to: example.org"]),
        (json!({"to": "dave"}), &["to: dave"]),
        (json!({"to": "bob@example.org mark@evil.dev"}), &["to: bob@example.org mark@evil.dev"]),
        (json!({"to": "bob@example.org\nx"}), &["to: bob@example.org\nx"]),
        (json!({"x\nto": "carol"}), &["x\nto: carol"]),
    ];
    for (arguments, expected) in table {
        let new = new_arguments(&plain(&arguments), &context).unwrap();
        assert_eq!(new, expected, "{arguments}");
    }
}

#[test]
fn grant_of_an_earlier_version_covers_no_named_argument_after_untrusted_text() {
    let context = low(&[grant("bank__send", "")], &[]);
    let new = |arguments: Value| new_arguments(&plain(&arguments), &context).unwrap();
    assert_eq!(new(json!({"text": "x"})), [""; 0]);
    assert_eq!(new(json!({"to": "bob", "text": "x"})), ["to: bob"]);
}

#[test]
fn scope_has_no_secret_and_twenty_lines_at_most() {
    let token = ["ghp", "_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    assert_eq!(plain(&json!({"key": token, "to": "a"})).offered.scope, "to: a");
    let many: Vec<u32> = (0..30).collect();
    let call = plain(&json!({"ids": many}));
    assert_eq!(call.offered.scope.lines().count(), MOST_ARGUMENTS);
    let context = low(std::slice::from_ref(&call.offered), &[]);
    assert_eq!(new_arguments(&call, &context).unwrap().len(), 30 - MOST_ARGUMENTS);
}
