use super::counts_by_namespace;

#[test]
fn counts_by_namespace_holds_from_linux_6_14() {
    for (release, counts) in [
        ("6.14.0", true),
        ("6.18.44-generic", true),
        ("7.0.0-rc1", true),
        ("6.13.12", false),
        ("6.8.0-60-generic", false),
        ("5.15.0", false),
        ("unknown", false),
    ] {
        assert_eq!(counts_by_namespace(release), counts, "{release}");
    }
}
