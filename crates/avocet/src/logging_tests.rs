use std::collections::BTreeSet;
use std::path::Path;

use avocet_testkit::ManualClock;

use super::*;

#[test]
fn level_takes_levels_and_levels_of_parts() {
    let good = [
        "info",
        "WARN",
        "off",
        "info,avocet_agent=debug",
        "warn, avocet_llm::openai = trace",
        "info,rustls=error",
    ];
    for text in good {
        assert_eq!(parse_level(text), Ok(text.to_owned()));
    }
}

#[test]
fn level_refuses_unknown_words_and_suggests_the_nearest() {
    let table = [
        ("loud", "\"loud\" is not a level; did you mean debug?"),
        ("verbose", "\"verbose\" is not a level; did you mean debug?"),
        ("warning", "\"warning\" is not a level; did you mean warn?"),
        ("inof", "\"inof\" is not a level; did you mean info?"),
        ("bananas", "\"bananas\" is not a level; the levels are"),
        ("", "\"\" is not a level; the levels are"),
        ("info,", "\"\" is not a level"),
        ("info,avocet_agent", "\"avocet_agent\" is not a level"),
        ("info,avocet_agent=loud", "\"loud\" is not a level; did you mean debug?"),
        (
            "info,avocet_agnet=debug",
            "\"avocet_agnet\" is not a part of the program; did you mean avocet_agent?",
        ),
        ("info,agent=debug", "\"agent\" is not a part of the program; did you mean avocet_agent?"),
        ("info,=debug", "\"\" is not a part of the program"),
        ("loud==", "\"=\" is not a level"),
        ("info,a[b]=debug", "\"a[b]\" is not a part of the program"),
    ];
    for (text, expected) in table {
        let error = parse_level(text).unwrap_err();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

#[test]
fn levels_are_all_accepted_by_the_filter() {
    for level in LEVELS {
        assert!(EnvFilter::try_new(level).is_ok(), "{level}");
    }
}

#[test]
fn parts_are_the_crates_of_the_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().parent().unwrap();
    let mut crates = BTreeSet::new();
    for directory in ["crates", "plugins"] {
        let found = std::fs::read_dir(root.join(directory)).unwrap();
        // A channel in Python is no crate.
        let found = found.map(Result::unwrap).filter(|one| one.path().join("Cargo.toml").exists());
        let names = found.map(|entry| entry.file_name().into_string().unwrap());
        crates.extend(names.filter(|name| !["bench", "testkit"].contains(&name.as_str())).map(
            |name| match name.as_str() {
                "avocet" => name,
                name => format!("avocet_{}", name.replace('-', "_")),
            },
        ));
    }
    assert_eq!(log_targets(), crates);
}

#[test]
fn crate_in_reads_both_forms_of_a_manifest() {
    let table = [
        ("avocet-llm.workspace = true", Some("avocet-llm")),
        ("avocet-web = { path = \"../../plugins/web\" }", Some("avocet-web")),
        ("[dependencies.avocet-mcp-server]", Some("avocet-mcp-server")),
        ("name = \"avocet\"", None),
        ("[dev-dependencies.avocet-store]", None),
        ("", None),
    ];
    for (line, expected) in table {
        assert_eq!(crate_in(line), expected, "{line}");
    }
}

#[test]
fn dropped_is_a_line_in_the_format_of_the_log() {
    let clock = ManualClock::default();
    let text = dropped_line(LogFormat::Text, &clock, 312);
    assert!(
        text.ends_with("  WARN avocet::stderr: dropped 312 log lines: stderr is not read\n"),
        "{text}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&dropped_line(LogFormat::Json, &clock, 3)).unwrap();
    assert_eq!((json["level"].as_str(), json["lines"].as_u64()), (Some("WARN"), Some(3)));
}
