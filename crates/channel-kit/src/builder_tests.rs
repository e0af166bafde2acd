use super::*;

#[test]
fn builder_writes_an_item_marker_once_and_indents_its_other_lines() {
    let mut builder = StyledBuilder::default();
    builder.begin_item("10. ".to_owned());
    builder.push("a\nb");
    builder.end_margin();
    builder.begin_block();
    builder.push("c");
    assert_eq!(builder.finish().text, "10. a\n    b\n\nc");
}

#[test]
fn builder_omits_a_style_without_text() {
    let mut builder = StyledBuilder::default();
    builder.push("a ");
    assert!(builder.open(Style::Bold));
    assert!(!builder.open(Style::Bold));
    assert!(!builder.close(&Style::Bold));
    assert!(!builder.close(&Style::Bold));
    assert_eq!(builder.finish(), Styled::plain("a"));
}

#[test]
fn builder_push_lines_closes_and_reopens_the_styles_around_code() {
    let mut builder = StyledBuilder::default();
    builder.open(Style::Quote);
    builder.push("a");
    builder.push_lines("b", Style::Pre { language: None });
    builder.push("c");
    let styled = builder.finish();
    assert_eq!(styled.text, "a\n\nb\n\nc");
    let expected =
        [(0..1, Style::Quote), (3..4, Style::Pre { language: None }), (6..7, Style::Quote)];
    assert_eq!(styled.styles, expected.map(|(range, style)| StyleRange::new(range, style)));
}
