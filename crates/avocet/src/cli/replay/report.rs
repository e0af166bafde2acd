//! The comparison of a replay with its record.

use avocet_agent::{ReplayAnswers, ReplayEnd, ReplayedTurn, TurnOutline};
use avocet_protocol::model::{Spent, ToolCall, thousands};
use avocet_protocol::store::Total;
use avocet_store::RecordedTurn;
use avocet_text::{PlainTable, append_line};
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use crate::cli::usage::figures_of;
use crate::output::{DifferenceLine, LineChange};

/// Equal lines that are shown before and after a difference.
const CONTEXT: usize = 3;

/// A replay and its record.
#[derive(Debug)]
pub(super) struct ReplayReport<'r> {
    recorded: &'r RecordedTurn,
    record: TurnOutline,
    replayed: &'r ReplayedTurn,
    answers: ReplayAnswers,
}

impl<'r> ReplayReport<'r> {
    pub(super) fn new(
        recorded: &'r RecordedTurn,
        replayed: &'r ReplayedTurn,
        answers: ReplayAnswers,
    ) -> Self {
        Self { recorded, record: TurnOutline::of_record(&recorded.turn), replayed, answers }
    }

    /// Returns `true` if calls and texts are the same.
    pub(super) fn is_same(&self) -> bool {
        self.record == self.replayed.outline
    }

    pub(super) fn as_json(&self) -> Value {
        let Self { recorded, record, replayed, .. } = self;
        let of_record = |_: usize, _: usize| true;
        let is_recorded = |step: usize, place: usize| {
            let is_here = |id: &avocet_protocol::ids::CallId| {
                (id.step as usize, id.ordinal as usize) == (step, place)
            };
            !replayed.new_calls.iter().any(is_here)
        };
        json!({
            "turn": recorded.turn.id,
            "session": recorded.turn.session,
            "asked": self.answers == ReplayAnswers::Asked,
            "same": self.is_same(),
            "record": side_json(record, &recorded.spent, of_record),
            "replay": side_json(&replayed.outline, &replayed.spent, is_recorded),
            "unread": replayed.unread,
        })
    }

    /// Returns the report for people.
    pub(super) fn lines(&self) -> Vec<DifferenceLine> {
        let Self { recorded, record, replayed, .. } = self;
        let (id, session) = (recorded.turn.id, &recorded.turn.session);
        let how = match self.answers {
            ReplayAnswers::Recorded => "with the recorded answers",
            ReplayAnswers::Asked => "with new answers",
        };
        let mut lines =
            vec![DifferenceLine::without_colours(format!("{id} of {session}, replayed {how}"))];
        if self.is_same() {
            let count = record.steps.iter().map(|step| step.calls.len()).sum::<usize>();
            let calls = if count == 1 { "call" } else { "calls" };
            let line = format!("The same: {count} {calls} and all texts.");
            lines.push(DifferenceLine::without_colours(line));
        } else {
            lines.push(DifferenceLine::without_colours(String::new()));
            lines.extend(diff_lines(&outline_text(record), &outline_text(&replayed.outline)));
        }
        lines.push(DifferenceLine::without_colours(String::new()));
        lines.extend(self.replay_remarks().into_iter().map(DifferenceLine::without_colours));
        lines.extend(
            self.table().lines().map(|line| DifferenceLine::without_colours(line.to_owned())),
        );
        lines
    }

    fn replay_remarks(&self) -> Vec<String> {
        let ReplayedTurn { new_calls, unread, .. } = self.replayed;
        let mut remarks = Vec::new();
        if !new_calls.is_empty() {
            let count = new_calls.len();
            let calls = if count == 1 { "call has" } else { "calls have" };
            remarks.push(format!("{count} {calls} no recorded result; no tool was run."));
        }
        if !unread.is_empty() {
            let list = unread.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            remarks.push(format!("The replay ended before it read {list}."));
        }
        if self.answers == ReplayAnswers::Asked && self.recorded.is_forgotten {
            remarks.push("/new came after this turn, so the model saw no turns before it.".into());
        }
        if !remarks.is_empty() {
            remarks.push(String::new());
        }
        remarks
    }

    fn table(&self) -> String {
        let mut table = PlainTable::with_head(&["", "calls", "input", "output", "cost", "model"]);
        let Self { recorded, record, replayed, .. } = self;
        table.row(figures_row("record", record, &recorded.spent));
        table.row(figures_row("replay", &replayed.outline, &replayed.spent));
        table.to_string()
    }
}

fn figures_row(name: &str, outline: &TurnOutline, spent: &[Spent]) -> [String; 6] {
    let calls = outline.steps.iter().map(|step| step.calls.len()).sum::<usize>();
    let total = total_of(spent);
    let (input, output) = (thousands(total.usage.input), thousands(total.usage.output));
    let models = model_names(spent).join(", ");
    [name.to_owned(), calls.to_string(), input, output, total.price(), models]
}

fn side_json(
    outline: &TurnOutline,
    spent: &[Spent],
    is_recorded: impl Fn(usize, usize) -> bool,
) -> Value {
    let steps = outline.steps.iter().enumerate().map(|(number, step)| {
        let calls = step.calls.iter().enumerate().map(|(place, call)| {
            json!({
                "name": call.name,
                "arguments": call.arguments.to_object(),
                "recorded": is_recorded(number, place),
            })
        });
        json!({ "text": step.text, "calls": calls.collect::<Vec<_>>() })
    });
    let (end, text) = match &outline.end {
        ReplayEnd::Answered(text) => ("answered", Some(text)),
        ReplayEnd::Failed(notice) => ("failed", Some(notice)),
        ReplayEnd::Stopped => ("stopped", None),
    };
    json!({
        "steps": steps.collect::<Vec<_>>(),
        "end": end,
        "text": text,
        "usage": figures_of(spent.len() as u64, &total_of(spent)),
        "models": model_names(spent),
    })
}

fn total_of(spent: &[Spent]) -> Total {
    spent.iter().fold(Total::default(), |sum, one| sum + Total::from(one))
}

/// Returns the models in the order of their first answers.
fn model_names(spent: &[Spent]) -> Vec<&str> {
    let mut models: Vec<&str> = Vec::new();
    for one in spent {
        if !models.contains(&one.model.as_str()) {
            models.push(&one.model);
        }
    }
    models
}

/// Returns a turn as lines that can be compared.
fn outline_text(outline: &TurnOutline) -> String {
    let mut text = String::new();
    let mut line = |line: &str| {
        append_line(&mut text, format_args!("{line}"));
    };
    for (number, step) in outline.steps.iter().enumerate() {
        line(&format!("── step {number}"));
        if !step.text.is_empty() {
            line(&step.text);
        }
        step.calls.iter().for_each(|call| line(&call_line(call)));
    }
    line("── end");
    match &outline.end {
        ReplayEnd::Answered(answer) => line(answer),
        ReplayEnd::Failed(notice) => line(&format!("! {notice}")),
        ReplayEnd::Stopped => line("! stopped by a person"),
    }
    text
}

fn call_line(call: &ToolCall) -> String {
    format!("· {} {}", call.name, Value::Object(call.arguments.to_object()))
}

/// Returns the changed lines, each with some equal ones around it.
fn diff_lines(record: &str, replay: &str) -> Vec<DifferenceLine> {
    let difference = TextDiff::from_lines(record, replay);
    let mut lines = Vec::new();
    for (place, group) in difference.grouped_ops(CONTEXT).iter().enumerate() {
        if place > 0 {
            lines.push(DifferenceLine::without_colours("  …".to_owned()));
        }
        for change in group.iter().flat_map(|part| difference.iter_changes(part)) {
            let (change_kind, sign) = match change.tag() {
                ChangeTag::Equal => (LineChange::Same, ' '),
                ChangeTag::Delete => (LineChange::Removed, '-'),
                ChangeTag::Insert => (LineChange::Added, '+'),
            };
            let text = change.value().trim_end_matches('\n');
            lines.push(DifferenceLine { change: change_kind, text: format!("{sign} {text}") });
        }
    }
    lines
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
