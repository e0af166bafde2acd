use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::answers::read_body;
use super::{TARGETS, read_endlessly};
use crate::endpoint::StreamedAnswer;
use crate::{anthropic, gemini, ollama, openai};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn corpus_file(path: &str) -> String {
    std::fs::read_to_string(root().join("tests/corpus").join(path)).unwrap()
}

/// The bodies of the cases in a corpus file.
fn bodies(path: &str) -> Vec<String> {
    let file = format!("\n{}", corpus_file(path));
    let cases = file.split("\n=== ").skip(1).map(|case| case.split_once('\n').unwrap().1);
    cases.map(|body| body.split("\n--- ").next().unwrap().to_owned()).collect()
}

fn corpus() -> Vec<String> {
    let folders = ["answers", "dialects"].into_iter().flat_map(|folder| {
        let files = std::fs::read_dir(root().join("tests/corpus").join(folder)).unwrap();
        files.map(move |file| format!("{folder}/{}", file.unwrap().file_name().display()))
    });
    let mut files: Vec<String> = folders.filter(|file| file.ends_with(".txt")).collect();
    files.sort();
    files.iter().flat_map(|file| bodies(file)).collect()
}

fn is_read<A: StreamedAnswer>(file: &str) {
    for body in bodies(file) {
        let said =
            read_body::<A>(&body).unwrap_or_else(|fault| panic!("{file}: {fault:?}\n{body}"));
        assert!(!said.text.is_empty() || !said.calls.is_empty(), "{file}: {body}");
    }
}

#[test]
fn fuzzing_corpus_answers_parse_as_answers() {
    is_read::<openai::answer::OpenAiChatAnswer>("answers/openai_chat.txt");
    is_read::<openai::responses::ResponsesAnswer>("answers/openai_responses.txt");
    is_read::<anthropic::answer::AnthropicAnswer>("answers/anthropic.txt");
    is_read::<gemini::answer::GeminiAnswer>("answers/gemini.txt");
    is_read::<ollama::answer::OllamaAnswer>("answers/ollama.txt");
}

#[test]
fn fuzzing_entry_points_each_have_a_fuzz_target() {
    let folder = root().join("fuzz/fuzz_targets");
    let manifest = std::fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
    for (name, _) in TARGETS {
        let target = std::fs::read_to_string(folder.join(format!("{name}.rs"))).unwrap();
        assert!(target.contains(&format!("avocet_llm::fuzzing::fuzz_{name}(")), "{target}");
        assert!(manifest.contains(&format!("\nname = \"{name}\"\n")), "{name} is in no [[bin]]");
    }
    let targets = std::fs::read_dir(folder).unwrap();
    let targets = targets.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    assert_eq!(targets.filter(|it| it.contains("avocet_llm::")).count(), TARGETS.len());
}

/// Runs all entry points except `endless`, for inputs that are too long to repeat.
fn run_all(data: &[u8]) {
    TARGETS.into_iter().filter(|(name, _)| *name != "endless").for_each(|(_, run)| run(data));
}

#[test]
fn fuzzing_entry_points_accept_the_corpus() {
    corpus().iter().for_each(|body| run_all(body.as_bytes()));
}

#[test]
fn fuzzing_entry_points_accept_inputs_that_a_fuzzer_found() {
    run_all("```bash\ns\u{fffd}\rearch =tc\n```\n".as_bytes());
    run_all(format!("Sure: [memory{}read()]\u{fffd}a", "_".repeat(112)).as_bytes());
}

/// A change that a fuzzer makes to an input.
#[derive(Debug, Clone)]
enum InputChange {
    Cut(Index, Index),
    Repeat(Index, Index),
    Insert(Index, Vec<u8>),
    Flip(Index, u8),
}

fn change() -> impl Strategy<Value = InputChange> {
    let (place, words) =
        (any::<Index>, vec!["<", "</", "|>", "[", "{\"", "}", "`", "```\n", "\n\n", "\\u", "<|"]);
    prop_oneof![
        (place(), place()).prop_map(|(from, to)| InputChange::Cut(from, to)),
        (place(), place()).prop_map(|(from, to)| InputChange::Repeat(from, to)),
        (place(), select(words)).prop_map(|(at, word)| InputChange::Insert(at, word.into())),
        (place(), prop::collection::vec(any::<u8>(), 1..5))
            .prop_map(|(at, bytes)| InputChange::Insert(at, bytes)),
        (place(), any::<u8>()).prop_map(|(at, bits)| InputChange::Flip(at, bits)),
    ]
}

fn changed(mut input: Vec<u8>, change: &InputChange) -> Vec<u8> {
    let bytes = input.len();
    let range = |from: &Index, to: &Index| {
        let (from, to) = (from.index(bytes + 1), to.index(bytes + 1));
        from.min(to)..from.max(to)
    };
    match change {
        InputChange::Cut(from, to) => drop(input.drain(range(from, to))),
        InputChange::Repeat(from, to) => input.extend_from_within(range(from, to)),
        InputChange::Insert(at, more) => {
            let at = at.index(bytes + 1);
            drop(input.splice(at..at, more.iter().copied()));
        }
        InputChange::Flip(at, bits) if bytes > 0 => input[at.index(bytes)] ^= bits,
        InputChange::Flip(..) => {}
    }
    input
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn fuzzing_entry_points_accept_any_bytes(data in prop::collection::vec(any::<u8>(), 0..200)) {
        run_all(&data);
    }

    #[test]
    fn fuzzing_entry_points_accept_changed_inputs_of_the_corpus(
        input in select(corpus()),
        changes in prop::collection::vec(change(), 1..5),
    ) {
        let data = changes.iter().fold(input.into_bytes(), changed);
        run_all(&data);
    }

    #[test]
    fn fuzzing_endlessly_accepts_any_changed_input(input in select(corpus()), change in change()) {
        let data = changed(input.into_bytes(), &change);
        read_endlessly(&data[..data.len().min(40)], 2000);
    }
}
