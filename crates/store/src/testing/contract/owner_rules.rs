//! Rules of the owners' rules: they stay until an owner removes them.

use avocet_protocol::access::{NewRule, RuleScope};
use avocet_protocol::chat::SessionId;
use avocet_protocol::ids::RuleId;
use avocet_protocol::store::{Actor, AuditFilter, CommandAction, CommandEffect, CommandReply};

use super::Backend;
use super::world::{World, session};

fn person() -> Actor {
    Actor::Person("terminal:local:u1".parse().unwrap())
}

fn new_rule(id: i64, text: &str, scope: &str) -> NewRule {
    let scope: RuleScope = scope.parse().unwrap();
    NewRule { id: RuleId(id), text: text.to_owned(), scope, by: person() }
}

fn in_force(world: &World<'_>) -> Vec<(String, String, String)> {
    let list = world.ports.rules.current_rules();
    let rules = list.rules.iter();
    rules.map(|rule| (rule.name.to_string(), rule.text.clone(), rule.scope.to_string())).collect()
}

fn row(name: &str, text: &str, scope: &str) -> (String, String, String) {
    (name.to_owned(), text.to_owned(), scope.to_owned())
}

/// A rule keeps its bytes over a restart, and its id is never given again.
pub async fn rules_stay_byte_for_byte_until_they_are_removed(backend: &impl Backend) {
    let world = World::new(backend).await;
    let odd = "  never  delete\n\tmail \u{1F4E7}, \"{rule}\" ";
    let rules = world.ports.rules.clone();
    assert_eq!(rules.current_rules().next, RuleId(1));
    let added = rules.add_rule(&new_rule(1, odd, "everyone")).await.unwrap().unwrap();
    assert_eq!((added.text.as_str(), added.by.as_str()), (odd, "terminal:local:u1"));
    assert_eq!(rules.add_rule(&new_rule(1, "other", "everyone")).await, Ok(None), "taken");
    rules.add_rule(&new_rule(2, "be brief", "agent coder")).await.unwrap().unwrap();
    let both = [row("r1", odd, "everyone"), row("r2", "be brief", "agent coder")];
    assert_eq!(in_force(&world), both);
    drop(rules);

    let world = world.restart().await;
    assert_eq!(in_force(&world), both);
    assert_eq!(world.ports.rules.current_rules().rules[0], added);
    for (id, expected) in [(2, true), (2, false), (9, false)] {
        let removed = world.ports.rules.remove_rule(RuleId(id), &Actor::Host).await;
        assert_eq!(removed, Ok(expected), "{id}");
    }
    assert_eq!(in_force(&world), both[..1]);
    let world = world.restart().await;
    assert_eq!(
        (in_force(&world), world.ports.rules.current_rules().next),
        (both[..1].into(), RuleId(3))
    );
    let rows = AuditFilter { limit: 9, ..AuditFilter::default() };
    let rows = world.ports.audit.audit_rows(&rows).await.unwrap();
    let lines: Vec<String> =
        rows.iter().map(|row| format!("{} {} {}", row.kind, row.actor, row.summary)).collect();
    let by = "terminal:local:u1";
    let expected = [
        format!("rule-added {by} r1"),
        format!("rule-added {by} r2"),
        "rule-removed host r2".to_owned(),
    ];
    assert_eq!(lines, expected);
}

/// A command adds and removes a rule in the transaction of its reply, once. `/new` leaves it.
pub async fn rules_of_commands_survive_new(backend: &impl Backend) {
    let world = World::new(backend).await;
    let a: SessionId = session("a");
    let settle = async |text: &str, action: CommandAction| {
        let command = world.command(&a, text).await;
        world.ports.inbox.settle_command(command, &action, &CommandReply::default()).await.unwrap()
    };
    let add = || CommandAction::AddRule(new_rule(1, "be brief", "chat terminal:local:a"));
    assert_eq!(settle("/rule add be brief", add()).await, CommandEffect::Done);
    assert_eq!(settle("/rule add be brief, again", add()).await, CommandEffect::Nothing);
    settle("/new", CommandAction::Forget).await;
    assert_eq!(in_force(&world), [row("r1", "be brief", "chat terminal:local:a")]);
    let by = "terminal:local:u1".parse().unwrap();
    let remove = CommandAction::RemoveRule { id: RuleId(1), by };
    assert_eq!(settle("/rule remove r1", remove.clone()).await, CommandEffect::Done);
    assert_eq!(settle("/rule remove r1, again", remove).await, CommandEffect::Nothing);
    assert_eq!(in_force(&world), []);
}
