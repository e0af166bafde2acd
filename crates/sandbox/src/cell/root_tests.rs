use super::counts_by_namespace;

#[test]
fn the_limit_of_processes_is_not_written_where_it_is_that_of_the_host() {
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
