//! Holds the example of the book, chapter "Add a provider", equal to this provider.

use std::fs;
use std::path::Path;

use avocet_testkit::http::{HttpFake, whole};

use crate::acme::AcmeConfig;
use crate::testing::serve_model;
use crate::{ProbeResult, ProviderConfig, SourcedFacts};

const CHAPTER: &str = include_str!("../../../docs/src/build/provider.md");
const FILE: &str = include_str!("acme.rs");
const REGISTRY: &str = include_str!("../../avocet/src/registry.rs");
const WIRES: &str = include_str!("contract/wires.rs");
/// The line that the chapter adds to `PROVIDERS`.
const LINE: &str = "    ProviderKind::for_config::<avocet_llm::AcmeConfig>(),\n";

#[test]
fn acme_is_shown_in_its_chapter() {
    assert!(CHAPTER.contains(&format!("```rust\n{FILE}```\n")), "the file in the chapter differs");
    let listed = REGISTRY.contains(&LINE.replace("Acme", "Anthropic"));
    assert!(CHAPTER.contains(LINE) && listed, "the line in the chapter differs");
}

#[test]
fn every_wire_is_compiled() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/contract/wires");
    for file in fs::read_dir(folder).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let line = format!("\nmod {};", name.trim_end_matches(".rs"));
        assert!(WIRES.contains(&line), "contract/wires.rs lacks {line:?}");
    }
}

#[test]
fn acme_config_check_names_the_wrong_key() {
    assert_eq!(AcmeConfig::default().check_config(), Ok(()));
    let wrong = AcmeConfig { first_token_seconds: 0, ..AcmeConfig::default() };
    assert_eq!(wrong.check_config().unwrap_err().0, "first_token_seconds");
    let wrong = AcmeConfig { base_url: "acme".to_owned(), ..AcmeConfig::default() };
    assert_eq!(wrong.check_config().unwrap_err().0, "base_url");
}

#[tokio::test]
async fn acme_probe_looks_for_the_model_in_the_list() {
    let list = r#"[{ "name": "roadrunner" }, { "name": "coyote" }]"#;
    let fake = HttpFake::start(|_| whole(200, &[], list)).await;
    for (model, expected) in [
        ("roadrunner", ProbeResult::Works),
        ("roadruner", ProbeResult::NoModel { nearest: Some("roadrunner".to_owned()) }),
    ] {
        let base_url = format!("http://{}", fake.address());
        let config = AcmeConfig { base_url, ..AcmeConfig::default() };
        let model = serve_model(
            config,
            &format!("acme/{model}"),
            SourcedFacts::default(),
            Default::default(),
        );
        assert_eq!(model.probe_model().await.unwrap(), expected);
    }
}
