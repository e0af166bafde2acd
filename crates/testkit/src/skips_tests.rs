use super::*;

#[test]
fn may_skip_permits_everything_without_a_list_and_else_only_what_it_names() {
    for (listed, expected) in [
        (None, true),
        (Some(""), false),
        (Some("git"), true),
        (Some("root, git"), true),
        (Some("root,git-lfs"), false),
    ] {
        assert_eq!(may_skip(SystemPart::Git, listed), expected, "{listed:?}");
    }
}
