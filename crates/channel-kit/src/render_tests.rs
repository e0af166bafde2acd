use proptest::prelude::*;

use super::*;
use crate::testing::{assert_valid, corpus, soup, visible};
use avocet_protocol::chat::StyleRange;

/// Formats styled text for the expectations of tests: `{b:bold}`.
fn shown(styled: &Styled) -> String {
    let mut edges: Vec<(usize, bool, usize, String)> = Vec::new();
    for (index, range) in styled.styles.iter().enumerate() {
        edges.push((range.start, true, index, format!("{{{}:", name(range))));
        edges.push((range.end, false, usize::MAX - index, "}".to_owned()));
    }
    edges.sort();
    let mut shown = String::new();
    let mut at = 0;
    for (position, _, _, mark) in edges {
        shown.push_str(&styled.text[at..position]);
        shown.push_str(&mark);
        at = position;
    }
    shown + &styled.text[at..]
}

fn name(range: &StyleRange) -> String {
    match &range.style {
        Style::Bold => "b".to_owned(),
        Style::Heading { level } => format!("h{level}"),
        Style::Small => "small".to_owned(),
        Style::Italic => "i".to_owned(),
        Style::Strike => "s".to_owned(),
        Style::Spoiler => "hidden".to_owned(),
        Style::Code => "code".to_owned(),
        Style::Pre { language } => format!("pre {}", language.as_deref().unwrap_or("-")),
        Style::Quote => "quote".to_owned(),
        Style::Link { url } => url.clone(),
    }
}

#[track_caller]
fn check(markdown: &str, expected: &str) {
    let styled = render(markdown);
    assert_eq!(shown(&styled), expected);
    assert_valid(&styled);
}

#[test]
fn render_keeps_the_lines_and_paragraphs_of_plain_text() {
    check("", "");
    check(" \n\n ", "");
    check("a\nb", "a\nb");
    check("a  \nb\\\nc", "a\nb\nc");
    check("a\r\n\r\nb\rc", "a\n\nb\nc");
    check("\n\na\n\n\n\nb\n", "a\n\nb");
    check("1 < 2 && 3 > 2", "1 < 2 && 3 > 2");
    check("&lt;&copy;&#65;", "<©A");
    check("a&nbsp;\nb", "a\nb");
}

#[test]
fn render_styles_emphasis() {
    check("**a** *b* ~~c~~ _d_ __e__ ~f~", "{b:a} {i:b} {s:c} {i:d} {b:e} {s:f}");
    check("**a *b* c**", "{b:a {i:b} c}");
    check("***a***", "{b:{i:a}}");
    check("**a __b__ c**", "{b:a b c}");
    check("**a\nb**", "{b:a\nb}");
    check("snake_case_name 2*3*4", "snake_case_name 2{i:3}4");
    check(r"\*a\* \_b\_", "*a* _b_");
}

#[test]
fn render_hides_spoilers() {
    check("the killer is ||the **butler**||!", "the killer is {hidden:the {b:butler}}!");
    check("**||a||**", "{hidden:{b:a}}");
    check("||a|| and ||b||", "{hidden:a} and {hidden:b}");
    check("||a\nb||", "{hidden:a\nb}");
    check("||`x`||", "{hidden:{code:x}}");
    check("||[a](http://x.org)||", "{http://x.org:{hidden:a}}");
}

#[test]
fn render_keeps_bars_that_enclose_no_spoiler() {
    check("if a || b || c", "if a || b || c");
    check("||a", "||a");
    check("||||", "||||");
    check("||a **b|| c**", "||a {b:b|| c}");
    check(r"\||a|| and ||b\||", "||a|| and ||b||");
    check("`||a||`", "{code:||a||}");
    check("||a\n\nb||", "||a\n\nb||");
    check("    ||a||", "{pre -:||a||}");
}

#[test]
fn render_makes_headings_bold_lines() {
    check("# A\ntext", "{b:A}\n\ntext");
    check("A\n===\nB\n---\nc", "{b:A}\n\n{b:B}\n\nc");
    check("### a **b** `c` #", "{b:a b {code:c}}");
}

#[test]
fn render_gives_lists_bullets_numbers_and_indentation() {
    check("- a\n- b\n", "• a\n• b");
    check("a\n- b\n\nc", "a\n\n• b\n\nc");
    check("- a\n  - b\n    - c\n- d", "• a\n  • b\n    • c\n• d");
    check("9. a\n10. b\n    - c", "9. a\n10. b\n    • c");
    check("1. a\n\n   b\n\n2. c", "1. a\n\n   b\n2. c");
    check("- a\n  b", "• a\n  b");
    check("- - a\n  - b", "• • a\n  • b");
    check("-\n- a", "•\n• a");
    check("- **a\n  b**", "• {b:a\n  b}");
    check("- [ ] a\n- [x] b", "• ☐ a\n• ☑ b");
    check("- # a\n- b", "• {b:a}\n• b");
    check("0. a", "0. a");
}

#[test]
fn render_makes_a_quote_only_at_the_top_level() {
    check("> a\n> b\n\nc", "{quote:a\nb}\n\nc");
    check("> a\n>\n> b", "{quote:a\n\nb}");
    check("> a\n\n> b", "{quote:a}\n\n{quote:b}");
    check("> a\n> > b\n> > c\n>\n> d", "{quote:a\n\n> b\n> c\n\nd}");
    check("- > a\n  > b", "• > a\n  > b");
    check("> - a\n>   - b", "{quote:• a\n  • b}");
    check("> **a**", "{quote:{b:a}}");
}

#[test]
fn render_keeps_code_unchanged() {
    check("`a  b` ``c`d``", "{code:a  b} {code:c`d}");
    check("` `` ` `  `", "{code:``}");
    check("```rust\nfn a() {\n    b();\n\n\n}\n```", "{pre rust:fn a() {\n    b();\n\n\n}}");
    check("a\n```\n    b\n```\nc", "a\n\n{pre -:    b}\n\nc");
    check("    a\n      b\n", "{pre -:a\n  b}");
    check("```\n\n\n  a  \n\n```", "{pre -:  a}");
    check("```rust,ignore\na\n```", "{pre rust:a}");
    check("```c++ x\na\n```", "{pre c++:a}");
    check("```{.x}\na\n```", "{pre -:a}");
    check("~~~\n```\n~~~", "{pre -:```}");
    check("**a `b` c**", "{b:a {code:b} c}");
}

#[test]
fn render_separates_code_in_lists_and_quotes() {
    check("1. a\n   ```sh\n   ls\n     -l\n   ```\n2. b", "1. a\n\n{pre sh:ls\n  -l}\n\n2. b");
    check("- ```\n  a\n  ```", "•\n\n{pre -:a}");
    check("> a\n> ```\n> b\n> ```\n> c", "{quote:a}\n\n{pre -:b}\n\n{quote:c}");
    check("> ```\n> b\n> ```", "{pre -:b}");
}

#[test]
fn render_links_only_known_schemes() {
    check(
        "[a](http://x.org) [b](HTTPS://x.org/?q=1#f)",
        "{http://x.org:a} {HTTPS://x.org/?q=1#f:b}",
    );
    check("[a](tg://resolve?domain=b)", "{tg://resolve?domain=b:a}");
    check("[a](tg://user?id=1)", "a (tg://user?id=1)");
    check("[a](javascript:alert(1))", "a (javascript:alert(1))");
    check("[a](docs/b.md) [c](#d) [e]()", "a (docs/b.md) c e");
    check("[docs/b.md](docs/b.md)", "docs/b.md");
    check("[a](data:text/html,x)", "a (data:text/html,x)");
    check("[a](http://)", "a (http://)");
    check("[](http://x.org)", "{http://x.org:http://x.org}");
    check("[a](<http://x.org/b c>)", "a (http://x.org/b c)");
    check("<http://x.org/a_b_c>", "{http://x.org/a_b_c:http://x.org/a_b_c}");
    check("[a][b]\n\n[b]: http://x.org 'title'", "{http://x.org:a}");
    check("[**a** `b`](http://x.org)", "{http://x.org:{b:a} {code:b}}");
    let long = format!("http://x.org/{}", "a".repeat(MAX));
    check(&format!("[a]({long})"), &format!("a ({long})"));
}

const MAX: usize = crate::MAX_URL_CHARS;

#[test]
fn render_shows_mail_addresses() {
    check("<a@b.org>", "{mailto:a@b.org:a@b.org}");
    check("[write](mailto:a@b.org)", "write ({mailto:a@b.org:a@b.org})");
    check("[a@b.org](mailto:a@b.org)", "a@b.org");
    check("[a](mailto:a@b.org?subject=x)", "a (a@b.org?subject=x)");
}

#[test]
fn render_makes_images_links() {
    check("![alt](http://x.org/i.png)", "{http://x.org/i.png:alt}");
    check("![](http://x.org/i.png)", "{http://x.org/i.png:http://x.org/i.png}");
    check("[![alt](http://x.org/i.png)](http://y.org)", "{http://y.org:alt}");
    check("[![](http://x.org/i.png)](http://y.org)", "{http://y.org:http://y.org}");
    check("![alt](i.png)", "alt (i.png)");
}

#[test]
fn render_aligns_tables_in_code() {
    check(
        "| name | n |\n|:--|--:|\n| a | 1 |\n| long **name** | 200 |",
        "{pre -:name      |   n\n----------+----\na         |   1\nlong name | 200}",
    );
    check("a|b\n-|-\n漢字|x\né|y", "{pre -:a    | b\n-----+--\n漢字 | x\né    | y}");
    check("a|b|c\n:-:|-|-\nxxx|1\n", "{pre -: a  | b | c\n----+---+--\nxxx | 1 |}");
    check(
        r"a|b
-|-
\|x|`y\|z`",
        "{pre -:a  | b\n---+----\n|x | y|z}",
    );
    check(
        "a|b\n-|-\n[x](http://y.org)|![i](j.png)",
        "{pre -:a                | b\n-----------------+----------\nx (http://y.org) | i (j.png)}",
    );
    check("> a|b\n> -|-\n> c|d", "{pre -:a | b\n--+--\nc | d}");
}

#[test]
fn render_does_not_widen_all_rows_for_a_long_cell() {
    let long = "x".repeat(5000);
    let rows = "a|b\n".repeat(1000);
    let styled = render(&format!("a|b\n-|-\n{long}|b\n{rows}"));
    assert!(styled.text.len() < 60_000);
    assert!(styled.text.starts_with(&format!("• a: {long}\n  b: b\n• a: a\n  b: b")));
}

#[test]
fn render_shows_a_wide_table_as_a_list() {
    check(
        "| name | purpose | owner |\n|-|-|-|\n| alpha | keeps the notes of every meeting | Ann |\n| beta | | Bob |\n\nend",
        "• name: {b:alpha}\n  purpose: keeps the notes of every meeting\n  owner: Ann\n• name: {b:beta}\n  owner: Bob\n\nend",
    );
    check(
        "| | purpose |\n|-|-|\n| alpha | keeps the notes of every meeting of the year |",
        "• {b:alpha}\n  purpose: keeps the notes of every meeting of the year",
    );
}

#[test]
fn render_shows_html_as_text() {
    check("a <b>c</b>", "a <b>c</b>");
    check("<div>\n  *a*\n</div>\n\nb", "<div>\n  *a*\n</div>\n\nb");
    check("<!-- a -->", "<!-- a -->");
    check("a<br>b", "a<br>b");
}

#[test]
fn render_draws_rules_and_keeps_footnotes_in_place() {
    check("a\n\n---\n\nb", "a\n\n──────────\n\nb");
    check("a[^1]\n\n[^1]: one\n[^2]: **two**\n", "a[1]\n\n[1] one\n\n[2] {b:two}");
    check("a[^x]", "a[^x]");
}

#[test]
fn render_shows_markdown_that_would_be_empty_as_text() {
    for markdown in ["#", ">", "```\n```", "```a", "[a]: http://x.org", "~~~~"] {
        check(markdown, markdown);
    }
    check("-", "•");
    check("\u{200b}", "");
}

#[test]
fn render_removes_invisible_characters() {
    check("a\u{202e}b\u{200b}c\u{1b}[31m\0", "abc[31m");
    check("a&#x1b;b&#8203;c&#x202e;", "abc");
    check("[a](http://x.org/&#x202e;b)", "{http://x.org/b:a}");
}

#[test]
fn render_limits_the_depth_of_nesting() {
    const DEEP: usize = 10_000;
    let inputs = [
        format!("{}a", ">".repeat(DEEP)),
        format!("{}a\nb\n\nc", "> ".repeat(DEEP)),
        format!("{}a{}", "*".repeat(DEEP), "*".repeat(DEEP)),
        format!("{}a{}", "**a ".repeat(DEEP), "b**".repeat(DEEP)),
        format!("{}a{}", "_a ".repeat(DEEP), "b_".repeat(DEEP)),
        format!("{}a{}", "~".repeat(DEEP), "~".repeat(DEEP)),
        format!("{}a", "[".repeat(DEEP)),
        format!("{}a{}", "[".repeat(DEEP), "](http://x.org)".repeat(DEEP)),
        format!("{}a{}", "![".repeat(DEEP), "](x)".repeat(DEEP)),
        format!("{}a{}", "||".repeat(DEEP), "||".repeat(DEEP)),
        "||a **b ".repeat(DEEP),
        format!("{}a", "- ".repeat(DEEP)),
        format!("{}a", "1. ".repeat(DEEP)),
        "`".repeat(DEEP),
        "<".repeat(DEEP),
        "&".repeat(DEEP),
        "\\".repeat(DEEP),
        format!("{}\n", "|a".repeat(DEEP)) + &"|-".repeat(DEEP) + "\n" + &"b\n".repeat(100),
        "**a** ".repeat(DEEP),
        "a\n\n".repeat(DEEP),
    ];
    for input in inputs {
        let styled = render(&input);
        assert_valid(&styled);
        let most = 100 * input.len() + 3_000_000;
        assert!(styled.text.len() < most, "{} bytes of {}", styled.text.len(), &input[..8]);
    }
    check(&format!("{}a", "- ".repeat(DEEP)), "• • • • • • • • a");
    check(&format!("{}a", "> ".repeat(DEEP)), "{quote:> > > > > > > > a}");
}

#[test]
fn render_of_the_corpus_is_valid_and_tidy() {
    let corpus = corpus();
    assert!(corpus.len() > 100, "{}", corpus.len());
    for markdown in corpus {
        let styled = render(markdown);
        assert_valid(&styled);
        assert_tidy(&styled);
        assert!(!styled.text.is_empty(), "nothing left of {markdown:?}");
    }
}

#[track_caller]
fn assert_tidy(styled: &Styled) {
    let text = styled.text.as_str();
    assert_eq!(text.trim_end(), text);
    assert!(!text.starts_with('\n'), "{text:?}");
    let first_is_blank = text.lines().next().is_some_and(|line| line.trim().is_empty());
    assert!(!first_is_blank, "{text:?}");
}

proptest! {
    #[test]
    fn render_of_any_input_is_valid_and_tidy(markdown in soup()) {
        let styled = render(&markdown);
        assert_valid(&styled);
        assert_tidy(&styled);
    }

    #[test]
    fn render_neither_loses_nor_invents_letters(markdown in soup()) {
        let words = ["word", "Ünïcödé", "漢字", "everyone"];
        let text = visible(&render(&markdown).text);
        // Link targets, text behind a fence, and surplus cells are not shown.
        let loses = ["]: ", "```", "~~~", "|-|"].iter().any(|lost| markdown.contains(lost));
        for word in words {
            let (before, after) = (markdown.matches(word).count(), text.matches(word).count());
            prop_assert!(after == before || loses, "{word}: {markdown:?} {text:?}");
        }
    }
}
