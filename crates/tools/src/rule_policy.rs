//! The part of the owners' rules that needs no model: a rule that names a tool, a class, a path or a
//! host makes the decision about a call stricter, and never weaker.

use avocet_protocol::access::{OwnerRule, Rule};
use avocet_protocol::model::ToolCall;
use avocet_protocol::tool::{Leaving, ToolClass};
use avocet_text::fits_pattern;

use crate::leaks;
use crate::policy::PolicyDecision;
use crate::rule_grammar::{RulePolicy, RuleTarget, parse_rule};

/// Tools that run programs, whose arguments are commands.
const PROGRAMS: [&str; 2] = ["exec_shell", "run_tests"];

/// The properties of a call that rules can name.
#[derive(Debug, Clone)]
pub(crate) struct RuledCall<'a> {
    pub(crate) tool: &'a str,
    pub(crate) class: ToolClass,
    /// The files and directories that the tool itself names.
    pub(crate) paths: Vec<String>,
    /// The hosts that the call contacts.
    hosts: Vec<String>,
    /// The arguments of a program, or of a tool of another program: what they do is in their text.
    text: String,
}

impl<'a> RuledCall<'a> {
    pub(crate) fn new(
        tool: &'a str,
        class: ToolClass,
        call: &ToolCall,
        paths: Vec<String>,
        leaving: &[Leaving],
    ) -> Self {
        let hosts = leaving.iter().filter_map(|one| match one {
            Leaving::Url(url) => leaks::host_of_link(url),
            Leaving::Data(_) | Leaving::Query(_) | Leaving::Text(_) => None,
        });
        let has_free_text = PROGRAMS.contains(&tool) || tool.contains("__");
        let text = if has_free_text {
            serde_json::Value::Object(call.arguments.to_object()).to_string()
        } else {
            String::new()
        };
        Self { tool, class, paths, hosts: hosts.collect(), text }
    }

    fn is_concerned(&self, target: &RuleTarget) -> bool {
        let changes = self.class != ToolClass::Pure;
        match target {
            RuleTarget::Tool(pattern) => fits_pattern(pattern, self.tool),
            RuleTarget::Mail(words) => {
                let name = self.tool.to_ascii_lowercase();
                let is_named = words.is_empty() || words.iter().any(|word| name.contains(word));
                changes && name.contains("mail") && is_named
            }
            RuleTarget::Git(subcommand) => {
                let is_tool = self.tool.strip_prefix("git_") == Some(*subcommand);
                is_tool || (PROGRAMS.contains(&self.tool) && runs_git(&self.text, subcommand))
            }
            RuleTarget::Path { path, reads } => {
                let is_named = self.paths.iter().any(|one| is_at_or_below(one, path, changes));
                (*reads || changes) && (is_named || self.text.contains(path.as_str()))
            }
            RuleTarget::Host(host) => {
                let is_host = |one: &String| {
                    one == host || one.strip_suffix(host.as_str()).is_some_and(|s| s.ends_with('.'))
                };
                self.hosts.iter().any(is_host) || self.text.to_lowercase().contains(host.as_str())
            }
        }
    }
}

/// Returns `true` if the text has the words `git` and, after it, the subcommand.
fn runs_git(text: &str, subcommand: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
    words.any(|word| word == "git") && words.any(|word| word == subcommand)
}

/// Returns `true` if a call's path is the path of a rule, or below it. A change of a directory also
/// changes what is below it.
fn is_at_or_below(called: &str, path: &str, changes: bool) -> bool {
    let called = called.trim_start_matches("./").trim_end_matches('/');
    let contains = |outer: &str, inner: &str| {
        inner == outer || inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
    };
    let relative = path.trim_start_matches('/');
    let in_workspace = called.starts_with('/')
        && (called.ends_with(&format!("/{relative}")) || called.contains(&format!("/{relative}/")));
    contains(path, called) || in_workspace || (changes && contains(called, path))
}

/// Makes a decision stricter by the rules of the owners. A refusal comes before a question, and the
/// first rule of its kind gives the reason.
pub(crate) fn narrow_by_rules(
    decision: PolicyDecision,
    rules: &[OwnerRule],
    call: &RuledCall<'_>,
) -> PolicyDecision {
    let concerned = rules.iter().filter_map(|rule| {
        let RulePolicy { rule: wanted, targets } = parse_rule(&rule.text)?;
        targets.iter().any(|target| call.is_concerned(target)).then_some((wanted, rule))
    });
    let mut strictest: Option<(Rule, &OwnerRule)> = None;
    for (wanted, rule) in concerned {
        if strictest.is_none_or(|(before, _)| before < wanted) {
            strictest = Some((wanted, rule));
        }
    }
    let Some((wanted, rule)) = strictest.filter(|(wanted, _)| *wanted >= decision.rule) else {
        return decision;
    };
    let said = rule.to_string();
    let why = match decision.rule {
        Rule::Ask if wanted == Rule::Ask => format!("{}; besides, {said}", decision.why),
        Rule::Deny => return decision,
        Rule::Ask | Rule::Allow => said,
    };
    PolicyDecision { rule: wanted, why, once_only: true, ..decision }
}

/// Describes what a rule enforces, after "It also"; `None` if it is text only.
#[must_use]
pub fn describe_rule(text: &str) -> Option<String> {
    let RulePolicy { rule, targets } = parse_rule(text)?;
    let verb = match rule {
        Rule::Deny => "refuses",
        Rule::Ask | Rule::Allow => "asks before",
    };
    let calls: Vec<String> = targets.iter().map(describe_target).collect();
    Some(format!("{verb} {}", calls.join(", and ")))
}

fn describe_target(target: &RuleTarget) -> String {
    match target {
        RuleTarget::Tool(pattern) => format!("each call of `{pattern}`"),
        RuleTarget::Mail([]) => {
            "each call of a tool with `mail` in its name that does more than read".to_owned()
        }
        RuleTarget::Mail(words) => {
            format!("each call of a tool with `mail` and one of {} in its name", words.join(", "))
        }
        RuleTarget::Git(subcommand) => {
            format!("each call of `git_{subcommand}`, and each program with `git {subcommand}`")
        }
        RuleTarget::Path { path, reads: true } => format!("each call that names `{path}`"),
        RuleTarget::Path { path, .. } => {
            format!("each call that changes `{path}`, and each program that names it")
        }
        RuleTarget::Host(host) => {
            format!("each call that contacts `{host}`, and each program that names it")
        }
    }
}

#[cfg(test)]
#[path = "rule_policy_tests.rs"]
mod tests;
