use proptest::prelude::*;

use super::*;

const MAX_RESULT_BYTES: usize = avocet_protocol::tool::Description::MOST_OUTPUT;

fn size(value: &Value) -> usize {
    value.as_str().map_or_else(|| value.to_string().len(), str::len)
}

#[test]
fn cut_leaves_a_value_that_fits_unchanged() {
    for value in [
        json!("x".repeat(MAX_RESULT_BYTES)),
        json!(["a", 1, null]),
        json!({"a": "b"}),
        json!(17),
        json!("é".repeat(MAX_RESULT_BYTES / 2)),
    ] {
        assert_eq!(
            cut_result(value.clone(), "t1s0c0", MAX_RESULT_BYTES),
            CutResult { value, kept: None }
        );
    }
}

#[test]
fn cut_adds_a_suffix_to_a_long_text() {
    let text = "é".repeat(MAX_RESULT_BYTES);
    let cut = cut_result(json!(text), "t1s0c0", MAX_RESULT_BYTES);
    let shown = cut.value.as_str().unwrap();
    let suffix = "of 131072 bytes shown; the whole result: read_result with handle \"t1s0c0\"]";
    assert!(shown.ends_with(suffix), "{}", &shown[shown.len() - 200..]);
    assert!(size(&cut.value) <= MAX_RESULT_BYTES && size(&cut.value) > MAX_RESULT_BYTES - 10);
    assert_eq!(cut.kept, Some(json!(text).to_string()));
}

#[test]
fn cut_adds_a_last_element_to_a_long_list() {
    let list: Vec<u32> = (0..100_000).collect();
    let cut = cut_result(json!(list), "t1s0c0", MAX_RESULT_BYTES);
    let shown = cut.value.as_array().unwrap();
    let (sentinel, elements) = shown.split_last().unwrap();
    assert_eq!(elements[10], json!(10));
    assert_eq!(
        sentinel.as_str().unwrap(),
        format!(
            "[truncated: {} of 100000 elements shown; the whole result: read_result with handle \
             \"t1s0c0\"]",
            elements.len()
        )
    );
    assert!(size(&cut.value) <= MAX_RESULT_BYTES && size(&cut.value) > MAX_RESULT_BYTES - 20);
}

#[test]
fn cut_of_a_list_with_a_too_large_first_element_shows_no_element() {
    let cut =
        cut_result(json!(["x".repeat(MAX_RESULT_BYTES), "small"]), "t1s0c0", MAX_RESULT_BYTES);
    let shown = cut.value.as_array().unwrap();
    assert_eq!(shown.len(), 1);
    assert!(shown[0].as_str().unwrap().starts_with("[truncated: 0 of 2 elements shown"));
}

#[test]
fn cut_puts_a_large_object_into_an_envelope() {
    let object = json!({ "stdout": "\"quoted\"\n".repeat(20_000) });
    let cut = cut_result(object.clone(), "t1s0c0", MAX_RESULT_BYTES);
    let start = cut.value["_truncated_json"].as_str().unwrap();
    assert!(object.to_string().starts_with(start));
    assert!(cut.value["_note"].as_str().unwrap().contains("read_result"));
    assert!(size(&cut.value) <= MAX_RESULT_BYTES && size(&cut.value) > MAX_RESULT_BYTES * 9 / 10);
}

fn large() -> impl Strategy<Value = Value> {
    let text = ("\\PC{1,8}|\"|\\\\|\n|\u{1}|😀", 1_usize..40_000)
        .prop_map(|(piece, times)| piece.repeat(times));
    let text = text.prop_map(Value::String).boxed();
    prop_oneof![
        text.clone(),
        prop::collection::vec(text.clone(), 0..6).prop_map(Value::Array),
        prop::collection::vec(("[a-z]{1,5}", text), 0..6)
            .prop_map(|fields| { Value::Object(fields.into_iter().collect()) }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn cut_returns_a_value_within_the_limit(
        value in large(),
        most in avocet_protocol::tool::Description::LEAST_OUTPUT..=MAX_RESULT_BYTES,
    ) {
        let whole = value.to_string();
        let cut = cut_result(value, "t123456789s99c99", most);
        prop_assert!(size(&cut.value) <= most);
        if let Some(kept) = cut.kept {
            prop_assert_eq!(kept, whole);
        }
    }
}
