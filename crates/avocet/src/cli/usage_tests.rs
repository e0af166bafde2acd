use avocet_protocol::model::{Money, Usage};

use super::*;

fn row(of: &str, answers: u64, usage: Usage, dollars: Option<f64>) -> UsageRow {
    let cost = dollars.map_or(Money::default(), Money::dollars);
    let unpriced = if dollars.is_none() { usage.total() } else { 0 };
    UsageRow { of: of.to_owned(), answers, total: Total { usage, cost, unpriced } }
}

fn rows() -> Vec<UsageRow> {
    let cached = Usage { cached: 1_024_690, ..Usage::new(1_234_567, 45_678) };
    vec![
        row("claude/sonnet", 1200, cached, Some(9.0)),
        row("openai/gpt", 7, Usage::new(9_000, 100), Some(0.0042)),
        row("local/qwen3", 3, Usage::new(12_000, 400), None),
    ]
}

#[test]
fn table_shows_usage_with_sums() {
    insta::assert_snapshot!(usage_table(
        UsageBy::Model,
        &Listed::of(&rows(), 50, 0),
        Bars::LeftOut
    ));
}

#[test]
fn table_on_a_terminal_shows_the_shares_as_bars() {
    insta::assert_snapshot!(usage_table(UsageBy::Model, &Listed::of(&rows(), 50, 0), Bars::Shown));
    let table_of =
        |rows: &[UsageRow]| usage_table(UsageBy::Session, &Listed::of(rows, 50, 0), Bars::Shown);
    let of_tokens = table_of(&[
        row("terminal:local:a", 1, Usage::new(300, 0), None),
        row("terminal:local:b", 1, Usage::new(100, 0), None),
    ]);
    insta::assert_snapshot!(of_tokens);
}

#[test]
fn table_of_one_row_has_no_sum() {
    let table = usage_table(UsageBy::Day, &Listed::of(&rows()[..1], 50, 0), Bars::LeftOut);
    assert_eq!(table.lines().count(), 2, "{table}");
    assert!(table.starts_with("day "), "{table}");
}

#[test]
fn to_json_has_dollars_and_null_for_an_unknown_price() {
    let found = to_json(UsageBy::Model, Timestamp(5), &Listed::of(&rows(), 50, 0));
    assert_eq!((&found["since"], &found["rows"][0]["model"]), (&json!(5), &json!("claude/sonnet")));
    let costs: Vec<&Value> = (0..3).map(|row| &found["rows"][row]["cost_usd"]).collect();
    assert_eq!(costs, [&json!(9.0), &json!(0.0042), &Value::Null]);
    let total = json!({
        "answers": 1210, "input": 1_255_567, "cached": 1_024_690, "cache_written": 0,
        "output": 46_178, "cost_usd": 9.0042, "unpriced_tokens": 12_400,
    });
    assert_eq!(found["total"], total);
    assert_eq!(
        to_json(UsageBy::Day, Timestamp(5), &Listed::of(&[], 50, 0))["total"]["cost_usd"],
        json!(0.0)
    );
}

#[test]
fn table_adds_up_the_rows_that_it_does_not_show() {
    let table = usage_table(UsageBy::Model, &Listed::of(&rows(), 1, 1), Bars::LeftOut);
    let firsts: Vec<&str> = table.lines().map(|line| line.split("  ").next().unwrap()).collect();
    assert_eq!(firsts, ["model", "openai/gpt", "2 others", "all"], "{table}");
    let found = to_json(UsageBy::Model, Timestamp(5), &Listed::of(&rows(), 1, 0));
    assert_eq!(found["rows"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&found["others"]["answers"], &found["total"]["answers"]),
        (&json!(10), &json!(1210))
    );
}
