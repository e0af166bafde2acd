use super::*;

fn asker(chat: ChatKind, linked: Option<&str>) -> Asker {
    Asker {
        address: "telegram:main:7".parse().unwrap(),
        chat,
        person: "telegram:main:7".parse().unwrap(),
        session: SessionId::parse("telegram:main:7").unwrap(),
        linked: linked.map(|linked| linked.parse().unwrap()),
    }
}

fn words(scopes: &[MemoryScope]) -> Vec<String> {
    scopes.iter().map(ToString::to_string).collect()
}

#[test]
fn readable_scopes_of_a_group_exclude_every_person() {
    let (person, chat) = ("person telegram:main:7", "chat telegram:main:7");
    let other = "person discord:main:9";
    let table: [(Option<Asker>, &[&str]); 5] = [
        (None, &["everyone"]),
        (Some(asker(ChatKind::Private, None)), &[person, chat, "everyone"]),
        (
            Some(asker(ChatKind::Private, Some("discord:main:9"))),
            &[person, other, chat, "everyone"],
        ),
        (Some(asker(ChatKind::Private, Some("telegram:main:7"))), &[person, chat, "everyone"]),
        (Some(asker(ChatKind::Group, Some("discord:main:9"))), &[chat, "everyone"]),
    ];
    for (asker, expected) in table {
        assert_eq!(words(&MemoryScope::readable(asker.as_ref())), expected, "{asker:?}");
    }
}

#[test]
fn writable_scope_depends_on_chat_and_role() {
    use ScopeKind::{Chat, Everyone, Person};
    let private = Some(asker(ChatKind::Private, None));
    let group = Some(asker(ChatKind::Group, None));
    let (person, chat) = (Ok("person telegram:main:7"), Ok("chat telegram:main:7"));
    let table = [
        (&None, Role::Owner, None, Err(ScopeRefused::NoAsker)),
        (&None, Role::Owner, Some(Everyone), Err(ScopeRefused::NoAsker)),
        (&private, Role::User, None, person),
        (&private, Role::User, Some(Person), person),
        (&private, Role::User, Some(Chat), chat),
        (&private, Role::User, Some(Everyone), Err(ScopeRefused::EveryoneByUser)),
        (&private, Role::Owner, Some(Everyone), Ok("everyone")),
        (&group, Role::User, None, chat),
        (&group, Role::Owner, Some(Person), Err(ScopeRefused::PersonInGroup)),
        (&group, Role::User, Some(Chat), chat),
        (&group, Role::User, Some(Everyone), Err(ScopeRefused::EveryoneByUser)),
        (&group, Role::Owner, Some(Everyone), Ok("everyone")),
    ];
    for (asker, role, wanted, expected) in table {
        let scope = MemoryScope::writable(asker.as_ref(), role, wanted);
        let expected = expected.map(str::to_owned);
        assert_eq!(scope.map(|scope| scope.to_string()), expected, "{asker:?} {role:?} {wanted:?}");
    }
}

#[test]
fn check_change_accepts_own_scopes_and_everyone_for_owners() {
    use ScopeRefused::{EveryoneByUser, NoAsker, OtherScope};
    let private = Some(asker(ChatKind::Private, None));
    let group = Some(asker(ChatKind::Group, None));
    let table = [
        ("everyone", &private, Role::Owner, Ok(())),
        ("everyone", &private, Role::User, Err(EveryoneByUser)),
        ("everyone", &None, Role::Owner, Err(NoAsker)),
        ("person telegram:main:7", &private, Role::User, Ok(())),
        ("person telegram:main:7", &group, Role::Owner, Err(OtherScope)),
        ("person telegram:main:8", &private, Role::Owner, Err(OtherScope)),
        ("chat telegram:main:7", &group, Role::User, Ok(())),
        ("chat telegram:main:8", &group, Role::Owner, Err(OtherScope)),
    ];
    for (scope, asker, role, expected) in table {
        let scope: MemoryScope = scope.parse().unwrap();
        assert_eq!(scope.check_change(asker.as_ref(), role), expected, "{scope} {asker:?}");
    }
}

#[test]
fn memory_scope_parses_its_own_words_only() {
    for good in ["person telegram:main:7", "person irc:main:a b", "chat t:m:7:topic", "everyone"] {
        assert_eq!(good.parse::<MemoryScope>().unwrap().to_string(), good);
    }
    let bad = ["", "person", "person ", "chat", "chat t:m", "everyone x", "Everyone", " everyone"];
    for bad in bad {
        bad.parse::<MemoryScope>().unwrap_err();
    }
}
