use avocet_testkit::private_place;

use super::*;

fn tool(name: &str, class: ToolClass) -> Description {
    Description::new(name, class, "")
}

fn group() -> Place {
    Place { chat: ChatKind::Group, ..private_place() }
}

/// A policy with these rules, by pattern.
fn policy(rules: &[(&str, ToolPolicy)]) -> AgentPolicy {
    let rules = rules.iter().map(|(pattern, said)| ((*pattern).to_owned(), *said)).collect();
    AgentPolicy { rules, lists: Vec::new() }
}

fn word(rule: Rule) -> ToolPolicy {
    ToolPolicy { default: Some(rule), ..ToolPolicy::default() }
}

#[test]
fn decide_asks_for_changes_after_untrusted_content() {
    use Caution::{Always, ByTrust, Never};
    use Rule::{Allow, Ask};
    use ToolClass::{Effect, InLog, Pure, Verifiable};
    let table = [
        (Pure, ByTrust, [Allow, Allow, Allow]),
        (InLog, ByTrust, [Allow, Ask, Ask]),
        (Verifiable, ByTrust, [Allow, Ask, Ask]),
        (Effect, ByTrust, [Allow, Ask, Ask]),
        (Effect, Never, [Allow, Allow, Allow]),
        (Effect, Always, [Ask, Ask, Ask]),
    ];
    for (class, caution, expected) in table {
        let place = private_place();
        let decided = [Trust::Full, Trust::User, Trust::Low].map(|trust| {
            let case = PolicyCase {
                role: Role::Owner,
                place: &place,
                trust,
                mode: PermissionMode::Default,
                can_undo: false,
            };
            AgentPolicy::default().decide_call(&tool("x", class), &caution, case).rule
        });
        assert_eq!(decided, expected, "{class:?} {caution:?}");
    }
    let open = tool("x", Effect).for_everyone();
    let decided = [Trust::User, Trust::Low].map(|trust| {
        let case = PolicyCase {
            role: Role::User,
            place: &private_place(),
            trust,
            mode: PermissionMode::Default,
            can_undo: false,
        };
        AgentPolicy::default().decide_call(&open, &ByTrust, case).rule
    });
    assert_eq!(decided, [Allow, Ask], "who may use it may ask for it");
}

#[test]
fn decide_follows_the_strictest_rule_of_the_operator() {
    use Rule::{Allow, Ask, Deny};
    let shell = tool("exec_shell", ToolClass::Effect);
    let (private, group) = (private_place(), group());
    let trusted = PolicyCase {
        role: Role::Owner,
        place: &private,
        trust: Trust::Full,
        mode: PermissionMode::Default,
        can_undo: false,
    };
    let low = PolicyCase { trust: Trust::Low, ..trusted };
    let user = PolicyCase { role: Role::User, ..trusted };
    let in_group = PolicyCase { place: &group, ..trusted };
    let cases = ToolPolicy {
        default: Some(Ask),
        users: Some(Deny),
        groups: Some(Allow),
        low_trust: Some(Deny),
    };
    let table = [
        (word(Ask), trusted, Ask),
        (word(Deny), trusted, Deny),
        (word(Allow), trusted, Allow),
        (word(Allow), low, Ask),
        (ToolPolicy { low_trust: Some(Allow), ..word(Ask) }, low, Allow),
        (cases, trusted, Ask),
        (cases, user, Deny),
        (cases, in_group, Allow),
        (cases, PolicyCase { trust: Trust::Low, ..in_group }, Deny),
    ];
    for (said, case, expected) in table {
        let policy = policy(&[("*", word(Deny)), ("exec_*", said)]);
        assert_eq!(
            policy.decide_call(&shell, &Caution::ByTrust, case).rule,
            expected,
            "{said:?} {case:?}"
        );
    }
    let named = policy(&[("exec_*", word(Deny)), ("exec_shell", word(Allow))]);
    assert_eq!(
        named.decide_call(&shell, &Caution::Always, trusted).rule,
        Allow,
        "the name says most"
    );
    assert_eq!(named.decide_call(&shell, &Caution::Always, low).rule, Ask);
    let why = policy(&[("exec_*", cases)]).decide_call(&shell, &Caution::ByTrust, low).why;
    assert_eq!(why, "[tools.policy] \"exec_*\".low_trust = \"deny\"");
}

#[test]
fn decide_lets_a_mode_narrow_calls_with_an_effect() {
    use Caution::{ByTrust, Never};
    use PermissionMode::{Ask, Default, Read};
    use ToolClass::{Effect, InLog, Pure, Verifiable};
    let each_time = Caution::EachTime("it sends a secret".to_owned());
    let table = [
        ("read_file", Pure, ByTrust, word(Rule::Allow), [Rule::Allow; 3]),
        (
            "write_file",
            Verifiable,
            ByTrust,
            word(Rule::Allow),
            [Rule::Allow, Rule::Ask, Rule::Deny],
        ),
        ("exec_shell", Effect, ByTrust, word(Rule::Ask), [Rule::Ask, Rule::Ask, Rule::Deny]),
        ("exec_shell", Effect, ByTrust, word(Rule::Deny), [Rule::Deny; 3]),
        ("git_push", Effect, each_time, word(Rule::Allow), [Rule::Ask, Rule::Ask, Rule::Deny]),
        ("memory_write", InLog, ByTrust, word(Rule::Allow), [Rule::Allow, Rule::Ask, Rule::Deny]),
        // A question to the person, and a text to the own chat.
        ("ask_user", InLog, Never, ToolPolicy::default(), [Rule::Allow; 3]),
        // The sub-agent has the same mode.
        ("spawn", InLog, ByTrust, word(Rule::Allow), [Rule::Allow; 3]),
    ];
    let place = private_place();
    for (name, class, caution, said, expected) in table {
        let decided = [Default, Ask, Read].map(|mode| {
            let case = PolicyCase { mode, ..PolicyCase::of_offer(Role::Owner, &place) };
            policy(&[(name, said)]).decide_call(&tool(name, class), &caution, case)
        });
        assert_eq!(decided.clone().map(|one| one.rule), expected, "{name} {said:?}");
        assert_eq!(decided[1].once_only, decided[0].once_only, "{name}: grants stay as they are");
    }
}

#[test]
fn left_out_checks_every_list_that_applies_to_a_call() {
    let list =
        |table: &str, channel: Option<&str>, role, allow: &[&str], deny: &[&str]| ListedTools {
            table: table.to_owned(),
            above: None,
            channel: channel.map(str::to_owned),
            role,
            tools: ToolList {
                allow: allow.iter().map(|one| (*one).to_owned()).collect(),
                deny: deny.iter().map(|one| (*one).to_owned()).collect(),
            },
        };
    let policy = AgentPolicy {
        rules: Vec::new(),
        lists: vec![
            list("agent", None, None, &["*"], &["git_*"]),
            list("telegram", Some("telegram"), None, &["read_*"], &[]),
            list("user", None, Some(Role::User), &["*"], &["read_file"]),
            ListedTools {
                above: Some("reviewer".to_owned()),
                ..list("above", None, None, &["read_*"], &[])
            },
        ],
    };
    let (terminal, telegram) =
        (private_place(), Place { channel: Some("telegram".parse().unwrap()), ..private_place() });
    let owner = PolicyCase {
        role: Role::Owner,
        place: &terminal,
        trust: Trust::Full,
        mode: PermissionMode::Default,
        can_undo: false,
    };
    let there = PolicyCase { place: &telegram, ..owner };
    let user = PolicyCase { role: Role::User, ..there };
    let nowhere = Place { channel: None, ..private_place() };
    let within = vec!["builder".to_owned(), "reviewer".to_owned()];
    let below = Place { within, ..private_place() };
    let table = [
        ("read_file", owner, None),
        ("git_push", owner, Some("agent")),
        ("write_file", owner, None),
        ("write_file", there, Some("telegram")),
        ("read_file", there, None),
        ("read_file", user, Some("user")),
        ("write_file", PolicyCase { place: &nowhere, ..owner }, None),
        ("write_file", PolicyCase { place: &below, ..owner }, Some("above")),
        ("read_file", PolicyCase { place: &below, ..owner }, None),
    ];
    for (name, case, expected) in table {
        let name = ToolName::parse(name).unwrap();
        assert_eq!(policy.left_out(&name, case), expected, "{name} {case:?}");
    }
}
