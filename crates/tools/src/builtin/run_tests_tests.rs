use super::*;

/// Outputs of test frameworks with the expected reports.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TestOutputCorpus {
    case: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    output: String,
    report: TestReport,
}

const CORPUS: [(TestFramework, &str); 4] = [
    (TestFramework::Cargo, include_str!("../../../../tests/corpus/test-output/cargo.toml")),
    (TestFramework::Go, include_str!("../../../../tests/corpus/test-output/go.toml")),
    (TestFramework::Npm, include_str!("../../../../tests/corpus/test-output/javascript.toml")),
    (TestFramework::Pytest, include_str!("../../../../tests/corpus/test-output/pytest.toml")),
];

fn cases() -> impl Iterator<Item = (TestFramework, Case)> {
    CORPUS.into_iter().flat_map(|(framework, text)| {
        let corpus: TestOutputCorpus = toml::from_str(text).unwrap();
        assert!(corpus.case.len() >= 8, "{framework:?} has too few");
        corpus.case.into_iter().map(move |case| (framework, case))
    })
}

#[test]
fn parse_reads_the_output_of_each_framework() {
    let wrong: Vec<String> = cases()
        .filter_map(|(framework, Case { name, output, report })| {
            let read = parse(framework, &report::strip_escapes(&output)).limit_failures();
            (read != report).then(|| format!("{framework:?}, {name}: {read:#?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn parse_accepts_output_cut_at_any_character() {
    for (_, Case { output, .. }) in cases() {
        for (end, _) in output.char_indices() {
            read_as_tests(&output[..end]);
        }
    }
}

#[test]
fn end_of_keeps_the_last_lines_of_a_long_output() {
    assert_eq!(end_of("a\nb"), "a\nb");
    let text = format!("{}\nlast\n", "ä".repeat(MOST_READ));
    assert_eq!(end_of(&text), "last\n");
}

#[test]
fn parse_counts_all_failures_and_keeps_the_first() {
    let lines: String = (0..5000).map(|n| format!("test t{n} ... FAILED\n")).collect();
    let blocks: String = (0..5000).map(|n| format!("---- t{n} stdout ----\nwhy {n}\n")).collect();
    let report = parse(TestFramework::Cargo, &format!("{lines}{blocks}"));
    assert_eq!((report.failed, report.failures.len()), (5000, report::MOST_KEPT));
    assert!(report.failures.iter().all(|one| one.message == format!("why {}", &one.name[1..])));
}

#[test]
fn limited_cuts_the_failures_and_their_messages() {
    let failure = |name: String| report::TestFailure {
        message: "ä".repeat(5000),
        ..report::TestFailure::with_name(name)
    };
    let failures = (0..100).map(|number| failure(number.to_string())).collect();
    let limited = TestReport { failures, ..TestReport::default() }.limit_failures();
    assert_eq!((limited.failures.len(), limited.failures[0].message.chars().count()), (30, 1201));
}

#[test]
fn hint_names_a_missing_network_or_dependency() {
    for (output, hint) in [
        (
            "error: failed to download from `https://x`\n[6] Could not resolve hostname",
            "no network",
        ),
        ("go: m: Get \"https://proxy\": dial tcp: lookup proxy on x: no", "no network"),
        ("npm error code EAI_AGAIN getaddrinfo registry", "no network"),
        ("error: rustup could not choose a version of cargo to run", "[sandbox] read"),
        ("/usr/bin/python3: No module named pytest", "pytest is not installed"),
        ("sh: 1: jest: not found", "node_modules"),
    ] {
        let found = framework::hint_for_missing(output).unwrap_or_default();
        assert!(found.contains(hint), "{output}: {found}");
    }
    assert_eq!(framework::hint_for_missing("assertion failed"), None);
}
