//! Measures the speed of reading replies: complete ones in megabytes per second, streamed ones per
//! delta. Prints figures only. Run with `cargo bench -p avocet-llm --bench dialects`.

use avocet_llm::benching::{
    bench_tools, count_events, count_streamed_bytes, count_visible_bytes, read,
};
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

const TOLD: [&str; 11] = [
    "native", "deepseek", "glm", "harmony", "hermes", "json", "llama", "mistral", "react", "shell",
    "xml",
];
/// Deltas of a streamed answer.
const DELTAS: usize = 1000;
/// Bytes of the long answers.
const LONG: usize = 256 * 1024;

fn instructed(name: &str) -> Option<&str> {
    Some(name).filter(|name| *name != "native")
}

/// All replies of a corpus file.
fn corpus(name: &str) -> Vec<String> {
    let name = if name == "native" { "json" } else { name };
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/dialects");
    let file =
        std::fs::read_to_string(format!("{folder}/{name}.txt")).expect("a file of the corpus");
    let replies =
        file.split("\n=== ").filter_map(|case| case.split_once('\n')?.1.split("\n---").next());
    replies.map(str::to_owned).collect()
}

/// An answer without a call, with typical content: paragraphs, lists, code, a few tags.
fn plain(bytes: usize) -> String {
    const PART: &str = "## Findings\n\nThe function `parse` takes a `Vec<u8>` and returns early [1]; \
        that is *not* what the caller wants, because a < b does not hold there.\n\n- first, the \
        loop {0..n} is off by one\n- second, see <https://example.com/a>\n\n```rust\nfn main() {\n    \
        let a: Vec<u8> = vec![1, 2];\n}\n```\n\n";
    let mut text = PART.repeat(bytes / PART.len() + 1);
    text.truncate(bytes);
    text
}

fn pieces(text: &str, count: usize) -> Vec<&str> {
    let length = text.len().div_ceil(count);
    (0..text.len()).step_by(length).map(|at| &text[at..text.len().min(at + length)]).collect()
}

/// Every reply of a dialect's corpus, each by itself.
#[divan::bench(args = TOLD)]
fn replies_with_calls(bencher: Bencher<'_, '_>, name: &str) {
    let tools = bench_tools();
    let corpus = corpus(name);
    let bytes: usize = corpus.iter().map(String::len).sum();
    bencher.counter(BytesCount::new(bytes)).bench(|| {
        corpus.iter().map(|reply| read(instructed(name), &tools, black_box(reply))).sum::<usize>()
    });
}

#[divan::bench(args = TOLD)]
fn a_long_answer(bencher: Bencher<'_, '_>, name: &str) {
    let tools = bench_tools();
    let text = plain(LONG);
    bencher
        .counter(BytesCount::new(text.len()))
        .bench(|| read(instructed(name), &tools, black_box(&text)));
}

/// Detects costs that grow faster than the text: with four times the text, the megabytes per second
/// must stay the same.
#[divan::bench(args = ["<", "[", "{", "`", "a", "<a", "<tool_call>a", "```json\n{"], consts = [4096, 16384, 65536], max_time = 2)]
fn the_same_over_and_over<const BYTES: usize>(bencher: Bencher<'_, '_>, piece: &str) {
    let tools = bench_tools();
    let text = piece.repeat(BYTES / piece.len());
    bencher.counter(BytesCount::new(text.len())).bench(|| read(None, &tools, black_box(&text)));
}

#[divan::bench(args = ["plain", "<", "[", "`", "<think>"], consts = [4096, 16384, 65536], max_time = 2)]
fn hidden_parts<const BYTES: usize>(bencher: Bencher<'_, '_>, piece: &str) {
    let text = if piece == "plain" { plain(BYTES) } else { piece.repeat(BYTES / piece.len()) };
    bencher.counter(BytesCount::new(text.len())).bench(|| count_visible_bytes(black_box(&text)));
}

/// 4 KB in a thousand deltas; items are deltas.
#[divan::bench(args = TOLD)]
fn streaming_an_answer(bencher: Bencher<'_, '_>, name: &str) {
    let tools = bench_tools();
    let text = plain(4096);
    let pieces = pieces(&text, DELTAS);
    bencher
        .counter(ItemsCount::new(pieces.len()))
        .bench(|| count_streamed_bytes(instructed(name), &tools, black_box(&pieces)));
}

/// 4 KB in one line that could become a call until its end, in a thousand deltas.
#[divan::bench(args = TOLD)]
fn streaming_a_call(bencher: Bencher<'_, '_>, name: &str) {
    let tools = bench_tools();
    let text = format!(
        "```json\n{{\"tool\": \"write_file\", \"content\": \"{}\"}}\n```",
        "x ".repeat(2000)
    );
    let pieces = pieces(&text, DELTAS);
    bencher
        .counter(ItemsCount::new(pieces.len()))
        .bench(|| count_streamed_bytes(instructed(name), &tools, black_box(&pieces)));
}

/// Server-sent events in typical sizes, and one event in many pieces.
#[divan::bench(args = ["small", "one, whole", "one, in pieces of 1 KB"])]
fn events_of_a_stream(bencher: Bencher<'_, '_>, kind: &str) {
    const EVENT: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"word \"}}]}\n\n";
    let body = match kind {
        "small" => EVENT.repeat(LONG / EVENT.len()),
        _ => format!("data: {}\n\n", "x".repeat(LONG)),
    };
    let pieces: Vec<&[u8]> = match kind {
        "one, whole" => vec![body.as_bytes()],
        _ => body.as_bytes().chunks(1024).collect(),
    };
    bencher.counter(BytesCount::new(body.len())).bench(|| count_events(black_box(&pieces)));
}
