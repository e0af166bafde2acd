use serde_json::json;

use super::*;

const TEXT: &str = "@everyone <@1> <@!2> <@&3> <@1> <@x> <@4";

#[test]
fn mentions_finds_each_mention_of_every_kind_once() {
    let all = vec![Mention::Everyone, Mention::User(1), Mention::User(2), Mention::Role(3)];
    assert_eq!(mentions(TEXT), all);
    assert_eq!(mentions("@here"), [Mention::Everyone]);
    assert_eq!(mentions("nobody @ home <@>"), []);
}

#[test]
fn allowed_mentions_select_the_notified_users() {
    let cases = [
        (json!({ "parse": [] }), vec![]),
        (json!({}), vec![]),
        (json!({ "parse": ["everyone"] }), vec![Mention::Everyone]),
        (json!({ "parse": ["users"] }), vec![Mention::User(1), Mention::User(2)]),
        (json!({ "parse": ["roles"] }), vec![Mention::Role(3)]),
        (json!({ "users": ["2"], "roles": ["3"] }), vec![Mention::User(2), Mention::Role(3)]),
    ];
    for (allowed, expected) in cases {
        assert_eq!(told(mentions(TEXT), Some(&allowed)), expected, "{allowed}");
    }
    assert_eq!(told(mentions(TEXT), None), mentions(TEXT));
}
