use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::TARGETS;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the quoted texts in the corpus of escapes: URLs, addresses and rules.
fn corpus() -> Vec<String> {
    let files = ["addresses.toml", "names.toml"].map(|file| {
        std::fs::read_to_string(root().join("tests/corpus/escapes").join(file)).unwrap()
    });
    let quoted = |file: &String| -> Vec<String> {
        file.lines()
            .flat_map(|line| line.split('"').skip(1).step_by(2))
            .map(str::to_owned)
            .collect()
    };
    files.iter().flat_map(quoted).collect()
}

/// Lines that readers of a head may understand differently.
const LINES: [&str; 13] = [
    "Host: a.example",
    "host:b.example",
    "Content-Length: 3",
    "content-length:04",
    "Content-Length: 3, 4",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding : x",
    "Connection: content-length, x-one",
    "Proxy-Connection: keep-alive",
    "Close: a",
    " Content-Length: 9",
    "X-One: \u{e4}\tx",
    "",
];

fn run_all(data: &[u8]) {
    TARGETS.into_iter().for_each(|(_, run)| run(data));
}

#[test]
fn fuzzing_entry_points_each_have_a_fuzz_target() {
    let folder = root().join("fuzz/fuzz_targets");
    let manifest = std::fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
    for (name, _) in TARGETS {
        let target = std::fs::read_to_string(folder.join(format!("{name}.rs"))).unwrap();
        assert!(target.contains(&format!("avocet_net::fuzzing::fuzz_{name}(")), "{target}");
        assert!(manifest.contains(&format!("\nname = \"{name}\"\n")), "{name} is in no [[bin]]");
    }
    let targets = std::fs::read_dir(folder).unwrap();
    let targets = targets.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    assert_eq!(targets.filter(|it| it.contains("avocet_net::")).count(), TARGETS.len());
}

#[test]
fn fuzzing_entry_points_accept_the_corpus() {
    corpus().iter().for_each(|text| run_all(text.as_bytes()));
}

proptest! {
    #[test]
    fn fuzzing_entry_points_accept_any_bytes(data in prop::collection::vec(any::<u8>(), 0..100)) {
        run_all(&data);
    }

    #[test]
    fn fuzzing_entry_points_accept_any_host(host in r"[0-9a-fxX.:@\[\]%/\\\t。①lo-]{1,20}") {
        run_all(format!("http://{host}/").as_bytes());
        run_all(format!("//{host}").as_bytes());
    }

    #[test]
    fn fuzzing_entry_points_accept_changed_urls_of_the_corpus(
        text in select(corpus()),
        more in select(corpus()),
        (at, from) in any::<(Index, Index)>(),
    ) {
        let (text, more) = (text.into_bytes(), more.into_bytes());
        let (at, from) = (at.index(text.len() + 1), from.index(more.len() + 1));
        run_all(&[&text[..at], &more[from..]].concat());
        run_all(&[&text[..at], &more[from..], &text[at..]].concat());
    }

    #[test]
    fn fuzzing_entry_points_accept_any_head(
        target in r"(http://)?[a-f0-9.:\[\]@/?#%\\]{0,12}",
        lines in prop::collection::vec(select(LINES.to_vec()), 0..6),
        ends in select(vec!["\r\n", "\n", "\r"]),
    ) {
        for method in ["CONNECT", "GET"] {
            let head = format!("{method} {target} HTTP/1.1\r\n{}{ends}\r\n", lines.join(ends));
            run_all(head.as_bytes());
            run_all(format!("GET http://a.example/ HTTP/1.0\r\n{}\r\n\r\n", lines.join("\r\n")).as_bytes());
        }
    }
}

#[test]
fn fuzzing_entry_points_accept_inputs_that_a_fuzzer_found() {
    super::fuzz_proxy(b"GET http://a.org/ HTTP/1.1\r\nclose: x\r\n\r\n");
}
