//! Tests of the rendering of answers and tools, at three widths, with a fake model.

use std::fs;
use std::sync::Arc;

use avocet_testkit::http::Piece;
use avocet_testkit::openai::{
    ModelAnswer, OpenAiFake, delta_event, event, last_results, stream_head,
};
use avocet_tests::{Home, program};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::CTRL_D;
use super::pty::{Terminal, TerminalOptions};

pub(super) const WIDTHS: [u16; 3] = [50, 80, 120];

/// The answer up to the point at which the model pauses.
const BEGINNING: &str = "## Two faults in `report.rs`

The total is wrong for **empty** reports, and the 日本語 title is cut in the middle of a character 👍. Both \
are in one function:

```rust
// Sums all lines.
fn total(lines: &[Line]) -> u64 {
    let first = lines[0].amount; // panics
";
const REST: &str = "    lines.iter().map(|line| line.amount).sum()
}
```

1. `lines[0]` fails:
   - for empty reports
   - for reports with *headers only*
2. See [the guide](https://docs.example/sums).

> Totals of empty reports are zero.

| Case | Before | After |
|:-----|-------:|------:|
| empty | panic | 0 |
| three lines, one of them with a negative amount | 12 | 12 |
| 合計 | 7 | 7 |
";
/// The cost of a million tokens, so that the price of the test is visible.
const PRICE: &str = "price = { input = 100.0, output = 1000.0 }";

/// Returns an answer that pauses in the middle until it gets a permit.
fn paused(permits: &Arc<Semaphore>) -> ModelAnswer {
    let words = |text: &str| {
        let words: Vec<String> = text.split_inclusive([' ', '\n']).map(str::to_owned).collect();
        words.into_iter().map(|word| delta(&word)).collect::<Vec<_>>()
    };
    let usage = json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
        "model": "fake", "choices": [], "usage": { "prompt_tokens": 1200, "completion_tokens": 34 } });
    let mut pieces = vec![stream_head()];
    pieces.extend(words(BEGINNING));
    pieces.push(Piece::Permit(permits.clone()));
    pieces.extend(words(REST));
    let end = [delta_event(&json!({}), Some("stop")), event(&usage.to_string()), event("[DONE]")];
    pieces.extend(end.iter().map(|event| Piece::chunk(event.as_bytes())));
    pieces.push(Piece::end());
    ModelAnswer::Raw(pieces)
}

fn delta(text: &str) -> Piece {
    Piece::chunk(delta_event(&json!({ "content": text }), None).as_bytes())
}

/// A home whose model looks at files, then explains.
pub(super) struct AnswerHarness {
    pub(super) home: Home,
    pub(super) fake: OpenAiFake,
    permits: Arc<Semaphore>,
}

impl AnswerHarness {
    pub(super) async fn new() -> Self {
        let permits = Arc::new(Semaphore::new(0));
        let for_model = permits.clone();
        let fake = OpenAiFake::start(move |request: &Value| match last_results(request).len() {
            0 => ModelAnswer::Calls(vec![
                ("list_directory".to_owned(), json!({ "path": "src" })),
                ("read_file".to_owned(), json!({ "path": "src/report.rs" })),
            ]),
            _ => paused(&for_model),
        })
        .await;
        let home = Home::new(program!()).with_config(&format!(
            "[models.\"fake/*\"]\ncontext = 65_536\n{PRICE}\n[providers.fake]\nkind = \"openai\"\n\
             base_url = \"{}\"\n[agents.defaults]\nmodel = \"fake/large\"\n",
            fake.base_url()
        ));
        fs::create_dir_all(home.workspace().join("src")).unwrap();
        fs::write(home.workspace().join("src/report.rs"), "fn total() {}\n").unwrap();
        Self { home, fake, permits }
    }

    /// Opens the chat and asks. The answer pauses in the middle of its code.
    pub(super) fn ask(&self, columns: u16) -> Terminal {
        let mut terminal = TerminalOptions::new(&self.home).size(columns, 50).open();
        terminal.wait_for_prompt();
        terminal.press("What is wrong in @src/report.rs?\r");
        terminal.wait_for("// panics");
        terminal
    }

    pub(super) fn go_on(&self) {
        self.permits.add_permits(1);
    }
}

/// Checks a screen against its snapshot. The version of the program may change.
macro_rules! assert_screen {
    ($name:expr, $shown:expr) => {
        let shown = $shown.replace(env!("CARGO_PKG_VERSION"), "VERSION");
        insta::assert_snapshot!($name, shown);
    };
}
pub(super) use assert_screen;

#[tokio::test(flavor = "multi_thread")]
async fn terminal_renders_markdown_while_it_streams_at_three_widths() {
    for columns in WIDTHS {
        let harness = AnswerHarness::new().await;
        let mut terminal = harness.ask(columns);
        assert_screen!(format!("terminal_streaming_{columns}"), terminal.cells());
        harness.go_on();
        terminal.wait_for_idle("tokens");
        assert_screen!(format!("terminal_answer_{columns}"), terminal.cells());
        let all = terminal.all();
        for once in ["Two faults", "Sums all lines", "negative", "合計", "✓ read_file"] {
            assert_eq!(all.matches(once).count(), 1, "{once}: {all}");
        }
        assert_eq!(terminal.leave(CTRL_D), Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn terminal_without_colour_shows_the_marks_of_markdown() {
    let harness = AnswerHarness::new().await;
    harness.go_on();
    let open = TerminalOptions::new(&harness.home).with_variable("NO_COLOR", "1").size(80, 50);
    let mut terminal = open.open();
    terminal.wait_for_prompt();
    terminal.press("What is wrong?\r");
    terminal.wait_for_idle("tokens");
    let cells = terminal.cells();
    assert_screen!("terminal_no_colour", cells);
    assert_eq!(terminal.leave(CTRL_D), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn terminal_lays_the_open_part_out_anew_after_a_resize() {
    let harness = AnswerHarness::new().await;
    let mut terminal = harness.ask(80);
    terminal.press("typed ahead");
    terminal.wait_for("> typed ahead");
    terminal.resize(120, 40);
    harness.go_on();
    terminal.wait_for_idle("tokens");
    terminal.wait_for("three lines, one of them with a negative amount │");
    let all = terminal.all();
    for once in ["Two faults", "Sums all lines", "negative", "> typed ahead"] {
        assert_eq!(all.matches(once).count(), 1, "{once}: {all}");
    }
    assert_eq!(terminal.leave("\u{15}\u{4}"), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn terminal_scrolls_a_long_answer_away_without_repeating_a_row() {
    let text: String =
        (0..60).map(|n| format!("Row {n} of the answer.\n\n- point {n}\n\n")).collect();
    let fake = OpenAiFake::start(move |_: &Value| ModelAnswer::says(text.clone())).await;
    let home = Home::new(program!()).with_config(&format!(
        "[models.\"fake/*\"]\ncontext = 65_536\n[providers.fake]\nkind = \"openai\"\nbase_url = \"{}\"\n\
         [agents.defaults]\nmodel = \"fake/large\"\n",
        fake.base_url()
    ));
    let mut terminal = TerminalOptions::new(&home).size(50, 12).open();
    terminal.wait_for_prompt();
    terminal.press("go\r");
    terminal.wait_for_idle("tokens");
    let all = terminal.all();
    let expected: String =
        (0..60).map(|n| format!("Row {n} of the answer.\n\n• point {n}\n\n")).collect();
    assert!(all.contains(expected.trim_end()), "{all}");
    assert_eq!(terminal.leave(CTRL_D), Some(0));
}
