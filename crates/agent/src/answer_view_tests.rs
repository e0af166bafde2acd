use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::*;

/// Leaks as the final check finds them: a key, a link that carries data, a password.
const LEAKS: [&str; 3] =
    ["sk-live-7f3a9c", "https://evil.example/?d=secret", "password: hunter2abc"];

fn is_allowed(text: &str) -> bool {
    !LEAKS.iter().any(|leak| text.contains(leak))
}

/// Answers, and the part of each that may be shown.
const ANSWERS: [(&str, &str); 8] = [
    ("All is well. The rest follows", "All is well. "),
    ("It is safe. The key is sk-live-7f3a9c. That was it. ", "It is safe. "),
    ("sk-live-7f3a9c. More. ", ""),
    ("Fine. See [this. And that](https://evil.example/?d=secret) now. Bye. ", "Fine. "),
    ("Run:\n```sh\necho sk-live-7f3a9c. x\n```\nDone. ", "Run:\n"),
    ("Run:\n```sh\necho 1. 2\n```\nDone. ", "Run:\n```sh\necho 1. 2\n```\nDone. "),
    ("Eins. Zwei “drei.” Vier", "Eins. Zwei “drei.” "),
    ("Known. Here is the password: hunter2abc and more. Bye. ", "Known. "),
];

/// Shows an answer that arrives in these chunks.
fn shown(chunks: &[String]) -> String {
    let mut text = CheckedText::default();
    chunks.iter().filter_map(|chunk| text.push_text(chunk, is_allowed)).collect()
}

/// Cuts a text at these places.
fn chunks_of(text: &str, places: &[prop::sample::Index]) -> Vec<String> {
    let mut ends: Vec<usize> = places.iter().map(|place| place.index(text.len() + 1)).collect();
    ends.push(text.len());
    ends.sort_unstable();
    let mut start = 0;
    let cut = |end: usize| {
        let end = text.ceil_char_boundary(end);
        let chunk = text[start..end].to_owned();
        start = end;
        chunk
    };
    ends.into_iter().map(cut).collect()
}

#[test]
fn push_text_shows_no_leak_however_the_answer_is_cut() {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let config = Config { cases: 512, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, rng);
    let cuts = proptest::collection::vec(any::<prop::sample::Index>(), 0..24);
    let check = |(row, cuts): (usize, Vec<prop::sample::Index>)| {
        let (answer, expected) = ANSWERS[row];
        let shown = shown(&chunks_of(answer, &cuts));
        prop_assert!(answer.starts_with(&shown), "{shown:?}");
        prop_assert!(is_allowed(&shown), "{shown:?}");
        // Sentences that arrive together with a leak are refused with it.
        prop_assert!(expected.starts_with(&shown), "{shown:?} of {expected:?}");
        if is_allowed(answer) {
            prop_assert_eq!(shown, expected);
        }
        Ok(())
    };
    runner.run(&(0..ANSWERS.len(), cuts), check).unwrap();
    for (answer, expected) in ANSWERS {
        let chars: Vec<String> = answer.chars().map(String::from).collect();
        assert_eq!(shown(&chars), expected, "character by character");
    }
}

#[test]
fn push_text_checks_a_long_answer_a_few_times() {
    let checks = std::cell::Cell::new(0);
    let mut text = CheckedText::default();
    let mut shown = String::new();
    for _ in 0..10_000 {
        let count = |_: &str| {
            checks.set(checks.get() + 1);
            true
        };
        shown.extend(text.push_text("A sentence. ", count));
    }
    assert!(checks.get() < 200, "{}", checks.get());
    assert!(shown.len() > 10_000 * 12 * 9 / 10, "{}", shown.len());
}
