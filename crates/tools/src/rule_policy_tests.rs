use avocet_protocol::access::RuleScope;
use avocet_protocol::model::Arguments;
use serde_json::json;

use super::*;

fn rule(name: &str, text: &str) -> OwnerRule {
    let (name, text, by) = (name.parse().unwrap(), text.to_owned(), "host".to_owned());
    OwnerRule { name, text, scope: RuleScope::Everyone, by, at: None }
}

fn decide(rule: Rule, why: &str) -> PolicyDecision {
    PolicyDecision::new(rule, why.to_owned(), false)
}

/// Returns the decision about a call that was allowed before.
fn decided(text: &str, tool: &str, class: ToolClass, about: &str) -> Rule {
    let arguments = Arguments::parse(&json!({ "about": about }).to_string());
    let call = ToolCall { name: tool.to_owned(), arguments };
    let is_url = about.contains("://");
    let leaving = if is_url { vec![Leaving::Url(about.to_owned())] } else { Vec::new() };
    let is_file = tool.ends_with("_file");
    let paths = if is_file { vec![about.to_owned()] } else { Vec::new() };
    let ruled = RuledCall::new(tool, class, &call, paths, &leaving);
    narrow_by_rules(decide(Rule::Allow, ""), &[rule("r1", text)], &ruled).rule
}

#[test]
fn narrow_by_rules_decides_by_tool_class_path_and_host() {
    use ToolClass::{Effect, Pure, Verifiable};
    let table = [
        ("never use exec_shell", "exec_shell", Effect, "ls", Rule::Deny),
        ("never use exec_shell", "read_file", Pure, "exec_shell", Rule::Allow),
        ("ask before files__*", "files__move", Effect, "a", Rule::Ask),
        ("never delete mail without asking", "gmail__delete", Effect, "1", Rule::Ask),
        ("never delete mail without asking", "gmail__send", Effect, "1", Rule::Ask),
        ("never delete mail without asking", "gmail__list", Pure, "1", Rule::Allow),
        ("never delete mail", "gmail__delete", Effect, "1", Rule::Deny),
        ("never delete mail", "gmail__send", Effect, "1", Rule::Allow),
        ("never push", "git_push", Effect, "", Rule::Deny),
        ("never push", "exec_shell", Effect, "cd a && git -C b push", Rule::Deny),
        ("never push", "exec_shell", Effect, "echo push; git status", Rule::Allow),
        ("never push", "git_commit", Effect, "", Rule::Allow),
        ("never change notes/", "write_file", Verifiable, "notes/a.md", Rule::Deny),
        ("never change notes/", "write_file", Verifiable, "./notes", Rule::Deny),
        ("never change notes/", "write_file", Verifiable, "notes2/a.md", Rule::Allow),
        ("never change notes/", "read_file", Pure, "notes/a.md", Rule::Allow),
        ("never change notes/", "exec_shell", Effect, "rm -r notes", Rule::Deny),
        ("never change notes/a.md", "delete_file", Verifiable, "notes", Rule::Deny),
        ("never read notes/", "read_file", Pure, "/home/me/notes/a.md", Rule::Deny),
        ("never visit example.com", "web_fetch", Pure, "https://a.example.com/x", Rule::Deny),
        ("never visit example.com", "web_fetch", Pure, "https://notexample.com/x", Rule::Allow),
        ("never visit example.com", "exec_shell", Effect, "curl Example.com", Rule::Deny),
        ("be brief", "exec_shell", Effect, "ls", Rule::Allow),
    ];
    for (text, tool, class, about, expected) in table {
        assert_eq!(decided(text, tool, class, about), expected, "{text}: {tool} {about}");
    }
}

#[test]
fn narrow_by_rules_only_tightens_and_names_the_strictest_rule() {
    let call = ToolCall { name: "exec_shell".to_owned(), arguments: Arguments::parse("{}") };
    let ruled = RuledCall::new("exec_shell", ToolClass::Effect, &call, Vec::new(), &[]);
    let ask = rule("r1", "ask before\nexec_shell");
    let deny = rule("r2", "never use exec_shell");
    let narrow = |before: PolicyDecision, rules: &[OwnerRule]| {
        let decision = narrow_by_rules(before, rules, &ruled);
        (decision.rule, decision.why, decision.once_only)
    };
    let asks = "rule r1 says: ask before exec_shell".to_owned();
    assert_eq!(
        narrow(decide(Rule::Allow, ""), std::slice::from_ref(&ask)),
        (Rule::Ask, asks.clone(), true)
    );
    let both = format!("it is new; besides, {asks}");
    assert_eq!(
        narrow(decide(Rule::Ask, "it is new"), std::slice::from_ref(&ask)),
        (Rule::Ask, both, true)
    );
    let denies = "rule r2 says: never use exec_shell".to_owned();
    let rules = [ask.clone(), deny];
    assert_eq!(narrow(decide(Rule::Ask, "it is new"), &rules), (Rule::Deny, denies, true));
    let denied = (Rule::Deny, "[tools.policy]".to_owned(), false);
    assert_eq!(narrow(decide(Rule::Deny, "[tools.policy]"), &[ask]), denied);
}
