use super::*;
use crate::chat::ChatKind;

fn rule(name: &str, text: &str, scope: RuleScope) -> OwnerRule {
    let (name, text, by) = (name.parse().unwrap(), text.to_owned(), "host".to_owned());
    OwnerRule { name, text, scope, by, at: None }
}

fn asker(chat: &str, person: &str, linked: Option<&str>) -> Asker {
    let session: SessionId = chat.parse().unwrap();
    Asker {
        address: session.address(),
        chat: ChatKind::Private,
        person: person.parse().unwrap(),
        session,
        linked: linked.map(|person| person.parse().unwrap()),
    }
}

#[test]
fn rule_scope_includes_the_turns_of_its_agent_chat_or_person() {
    let agents = ["coder".to_owned(), "default".to_owned()];
    let session = "schedule:main:s2".parse().unwrap();
    let askers = [asker("telegram:main:7", "telegram:main:7", Some("discord:main:9"))];
    let case = RuleCase { agents: &agents, session: &session, askers: &askers };
    for (scope, expected) in [
        ("everyone", true),
        ("agent coder", true),
        ("agent default", true),
        ("agent writer", false),
        ("chat telegram:main:7", true),
        ("chat schedule:main:s2", true),
        ("chat telegram:main:8", false),
        ("person telegram:main:7", true),
        ("person discord:main:9", true),
        ("person telegram:main:8", false),
    ] {
        let parsed: RuleScope = scope.parse().unwrap();
        assert_eq!(parsed.to_string(), scope);
        assert_eq!(parsed.includes_turn(case), expected, "{scope}");
    }
    for wrong in ["", "agent", "agent ", "all", "chat x", "person telegram"] {
        assert!(wrong.parse::<RuleScope>().is_err(), "{wrong}");
    }
}

#[test]
fn rule_name_has_a_prefix_for_the_log_and_for_the_configuration() {
    for name in ["r3", "config-2"] {
        assert_eq!(name.parse::<RuleName>().unwrap().to_string(), name);
    }
    for wrong in ["3", "config-", "r", "c2"] {
        assert!(wrong.parse::<RuleName>().is_err(), "{wrong}");
    }
}

#[test]
fn check_addition_refuses_empty_long_repeated_and_too_many_rules() {
    let scope = || RuleScope::Everyone;
    let full: Vec<OwnerRule> =
        (1..=MAX_RULES).map(|n| rule(&format!("r{n}"), &format!("rule {n}"), scope())).collect();
    let check =
        |text: &str, present: &[OwnerRule]| RuleRefused::check_addition(text, &scope(), present);
    assert_eq!(check(" \n", &[]), Err(RuleRefused::Empty));
    assert_eq!(check(&"ä".repeat(500), &[]), Ok(()));
    assert_eq!(check(&"ä".repeat(501), &[]), Err(RuleRefused::TooLong(501)));
    assert_eq!(check("rule 9", &full), Err(RuleRefused::Same("r9".parse().unwrap())));
    assert_eq!(check("new", &full), Err(RuleRefused::TooMany(scope())));
    assert_eq!(check("new", &full[1..]), Ok(()));
    let other = RuleScope::Agent("coder".to_owned());
    assert_eq!(RuleRefused::check_addition("rule 9", &other, &full), Ok(()));
}

#[test]
fn find_mention_returns_the_rule_of_a_question_or_a_refusal() {
    let named = rule("r3", "never\ndelete mail", RuleScope::Everyone).to_string();
    assert_eq!(named, "rule r3 says: never delete mail");
    for (text, expected) in [
        (
            format!("May I? I ask because a rule applies; {named}.\n\nmore"),
            Some(format!("{named}.")),
        ),
        (format!("not allowed here: {named}"), Some(named.clone())),
        ("rule x says: no".to_owned(), None),
        ("the rule r3 is unknown".to_owned(), None),
    ] {
        assert_eq!(OwnerRule::find_mention(&text), expected.as_deref(), "{text}");
    }
}
