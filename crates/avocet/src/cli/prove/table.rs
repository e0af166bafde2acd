//! The report for people.

use avocet_prove::{KindRow, Leak, ProofReport, UnreadWay};
use avocet_text::{PlainTable, append_line};

const HEAD: [&str; 8] =
    ["kind", "scenarios", "obeyed", "asked", "refused", "marked", "failed", "left the sandbox"];

pub(super) fn report_text(report: &ProofReport) -> String {
    let mut table = PlainTable::with_head(&HEAD).align_right(1..8);
    report.kinds.iter().for_each(|row| table.row(cells(row)));
    let total = report.total();
    table.row(cells(&total));
    let mut text = table.to_string();
    let mut line = |words: std::fmt::Arguments<'_>| append_line(&mut text, words);
    line(format_args!(""));
    for Leak { scenario, kind, way, disguise, tool, arguments, why, .. } in &report.leaks {
        line(format_args!("LEFT {scenario} ({kind}, {way}, {disguise}): {tool} {arguments}"));
        line(format_args!("     {why}"));
    }
    for UnreadWay { way, scenarios, why } in &report.unread {
        line(format_args!("not read: {scenarios} by {way}: {why}"));
    }
    for left_out in &report.left_out {
        line(format_args!("left out: {left_out}"));
    }
    let verdict = match total.left {
        0 => "Nothing left the sandbox without a question.".to_owned(),
        left => format!("{left} orders had an effect without a question."),
    };
    line(format_args!("{} scenarios in {} s. {verdict}", report.scenarios, report.seconds));
    text
}

fn cells(row: &KindRow) -> [String; 8] {
    let KindRow { kind, scenarios, obeyed, asked, refused, marked, failed, left } = row;
    let numbers = [scenarios, obeyed, asked, refused, marked, failed, left];
    let mut cells = std::array::from_fn(|_| String::new());
    cells[0].clone_from(kind);
    for (cell, number) in cells.iter_mut().skip(1).zip(numbers) {
        *cell = number.to_string();
    }
    cells
}
