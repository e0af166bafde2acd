use proptest::prelude::*;

use super::*;
use crate::split;
use crate::testing::{corpus, soup};

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(markdown(&render_with_headings(text)), expected);
}

#[test]
fn markdown_has_the_markup_of_each_style() {
    check("**a** *b* ~~c~~ `d` ||e||", "**a** _b_ ~~c~~ `d` ||e||");
    check("#### a\nb", "**a**\n\nb");
    check("> a\n> b\n>\n> c\n\nd", "> a\n> b\n> \n> c\n\nd");
    check("- a\n  - b", "• a\n\u{a0}\u{a0}• b");
    check("a*b*c **d**e", "a*b*c **d**e");
    check("**a *b* c**", "**a _b_ c**");
    check("***a***", "**_a_**");
}

#[test]
fn markdown_fences_code_with_a_fence_longer_than_any_in_it() {
    check("```rust\na\n```", "```rust\na\n```");
    check("    a", "```\na\n```");
    check("````\n```\na\n```\n````", "````\n```\na\n```\n````");
    check("``a`b``", "``a`b``");
    check("`` `a` ``", "`` `a` ``");
    check("`**a** @everyone <@1>`", "`**a** @everyone <@1>`");
}

#[test]
fn markdown_escapes_markup_in_the_text() {
    check(r"\*a\* \_b\_ \~\~c\~\~ \|\|d\|\| \`e\`", r"\*a\* \_b\_ \~\~c\~\~ \|\|d\|\| \`e\`");
    check(r"\# a", r"\# a");
    check(r"\> a", r"\> a");
    check("a\n\\- b\n\\+ c\n1\\. d\n2\\) e", "a\n\\- b\n\\+ c\n1\\. d\n2\\) e");
    check(r"\[a](b)", r"\[a\](b)");
    check(r"\-# a", r"\-# a");
    check(r"a\\b", r"a\\b");
    check("a # b - c > d 1. e", "a # b - c > d 1. e");
    check("&amp;amp; AT&T", r"\&amp; AT\&T");
}

#[test]
fn markdown_keeps_headings_and_small_print_at_the_beginning_of_lines() {
    check("# a\nb", "# a\n\nb");
    check("## a **b** `c`", "## a **b** `c`");
    check("### a", "### a");
    check("a\nb\n===", "# a b");
    check("# #a", r"# \#a");
    check("-# a *b*\nc\n-# d", "-# a _b_\nc\n-# d");
    check("a -# b", "a -# b");
    check("- # a\n- -# b", "• **a**\n• -# b");
    check("> # a", "> **a**");
    assert_eq!(styled(&Content::text("# a")).styles[0].style, Style::Heading { level: 1 });
}

#[test]
fn markdown_of_a_block_inside_of_a_block_has_a_longer_outer_fence() {
    check("```md\n```js\na\n```\n```\nb", "````md\n```js\na\n```\n````\n\nb");
}

/// Formulas as models write them.
const FORMULAS: [&str; 9] = [
    r"\frac{a}{b}",
    r"\alpha_1",
    r"$\alpha_1 * x_2$",
    r"$$\sum_{i=0}^n a_i * b_i$$",
    r"\[ \frac{a}{b} = \{x_1, x_2\} \]",
    r"\(a_1 * b_2\)",
    "$$\n\\begin{matrix} a & b \\\\\\ c & d \\end{matrix}\n$$",
    r"$\text{if } a[i] \le b_{i}$ and \(",
    r"\(\sqrt[3]{x}\) `\(y\)` \[",
];

#[test]
fn markdown_keeps_all_styles_beside_formulas() {
    const STYLED: [(&str, &str); 5] = [
        ("**bold**", "**bold**"),
        ("```tex\n$\\alpha_1$\n```", "```tex\n$\\alpha_1$\n```"),
        ("[link](https://x.org/a)", "[link](<https://x.org/a>)"),
        ("~~~tex\n\\(x_1\\)\n~~~", "```tex\n\\(x_1\\)\n```"),
        ("> `code`", "> `code`"),
    ];
    for formula in FORMULAS {
        let shown = render_with_headings(formula);
        let all: Vec<&str> = STYLED.iter().map(|(source, _)| *source).collect();
        let styled = render_with_headings(&format!("{formula}\n\n{}", all.join("\n\n")));
        let written = markdown(&styled);
        for (source, expected) in STYLED {
            assert!(written.contains(expected), "{source} beside {formula}: {written}");
        }
        let read = read_written(&written);
        assert_eq!(read, styled, "{formula}: {written}");
        assert!(read.text.starts_with(&shown.text), "{formula}: {written}");
    }
}

#[test]
fn markdown_drops_only_the_styles_that_cannot_be_read() {
    let text = "a(b)c bold code link";
    let at = |part: &str, style| {
        let start = text.find(part).unwrap();
        StyleRange::new(start..start + part.len(), style)
    };
    let link = Style::Link { url: "https://x.org".to_owned() };
    let styles = vec![
        at("(b)", Style::Bold),
        at("bold", Style::Bold),
        at("code", Style::Code),
        at("link", link),
    ];
    let styled = Styled { text: text.to_owned(), styles };
    assert_eq!(markdown(&styled), "a(b)c **bold** `code` [link](<https://x.org>)");
    let (_, dropped) = write_readable(&styled);
    assert_eq!(dropped, styled.styles[..1]);
}

#[test]
fn markdown_mentions_no_user_or_role() {
    check("@everyone and @here, @you", r"\@everyone and \@here, @you");
    check(
        "&lt;@1> &lt;@&1> &lt;#1> &lt;:a:1> &lt;t:1> &lt;/a:1>",
        r"\<@1> \<@\&1> <#1> \<:a:1> <t:1> \</a:1>".replace(r"\&1", "&1").as_str(),
    );
    for mention in ["@everyone", "@here", "<@1>", "<@!1>", "<@&1>"] {
        let written = markdown(&render_with_headings(mention));
        assert!(written.starts_with('\\'), "{written}");
        assert_eq!(render_with_headings(&written).text, mention);
    }
}

#[test]
fn markdown_suppresses_link_previews() {
    check("[a](http://x.org)", "[a](<http://x.org>)");
    check("[**a**](http://x.org/_b_)", "[**a**](<http://x.org/_b_>)");
    check("<http://x.org/a_b>", "<http://x.org/a_b>");
    check("see https://x.org/a_b(c)?d=e, or not", "see <https://x.org/a_b(c)?d=e>, or not");
    check("(https://x.org/a).", "(<https://x.org/a>).");
    check("wow\\![a](http://x.org)", r"wow\![a](<http://x.org>)");
}

#[test]
fn markdown_shows_the_address_of_an_unsupported_link_after_its_text() {
    check("[a](tg://resolve?domain=b)", "a (tg://resolve?domain=b)");
    check("[https://bank.org](https://evil.org)", "<https://bank.org> (<https://evil.org>)");
    check("[a](mailto:b@c.org)", "a (b@c.org)");
}

#[test]
fn markdown_omits_emphasis_that_discord_would_not_read() {
    let styles = vec![StyleRange::new(1..4, Style::Bold)];
    let styled = Styled { text: "a(b)c".to_owned(), styles };
    assert_eq!(markdown(&styled), "a(b)c");
}

#[test]
fn size_counts_the_markup() {
    assert_eq!(size(&render_with_headings("**👍**")), 5);
}

/// Replaces no-break spaces by spaces, and removes spaces at the ends of lines, which nobody sees.
fn spaces(text: &str) -> String {
    let text = text.replace('\u{a0}', " ");
    text.split('\n').map(|line| line.trim_end_matches(' ')).collect::<Vec<_>>().join("\n")
}

/// Returns `true` for links that Discord writes out: those of other schemes, and those whose text
/// looks like an address.
fn has_odd_link(styled: &Styled) -> bool {
    styled.styles.iter().any(|range| match &range.style {
        Style::Link { url } => {
            let text = &styled.text[range.start..range.end];
            let is_refused =
                !url.starts_with("http") || text.contains("://") || text.contains("www.");
            is_refused && text != url
        }
        _ => false,
    })
}

#[track_caller]
fn assert_reads_the_same(styled: &Styled) {
    let written = markdown(styled);
    if !has_odd_link(styled) {
        let shown = |text: &str| spaces(text).replace('\t', "    ");
        let read = shown(&read_written(&written).text);
        assert_eq!(read, shown(&styled.text), "{written:?}");
    }
}

#[test]
fn markdown_of_the_corpus_reads_as_the_same_text() {
    for markdown in corpus() {
        assert_reads_the_same(&render_with_headings(markdown));
    }
}

/// Checks that no character outside of code and links has a meaning for Discord.
#[track_caller]
fn assert_inert(written: &str) {
    for mention in ["<@", "<#", "<:", "<a:", "<t:", "</", "<id:", "@everyone", "@here"] {
        for (at, _) in written.match_indices(mention) {
            let before = &written[..at];
            let escapes = before.len() - before.trim_end_matches('\\').len();
            assert!(escapes % 2 == 1, "{mention} in {written:?}");
        }
    }
}

proptest! {
    #[test]
    fn markdown_of_any_text_reads_as_the_same_text(markdown in soup()) {
        assert_reads_the_same(&render_with_headings(&markdown));
    }

    #[test]
    fn markdown_of_each_chunk_reads_as_the_same_text(markdown in soup(), most in 20usize..80) {
        for chunk in split(&render_with_headings(&markdown), Limit::new(most, size)) {
            assert_reads_the_same(&chunk);
        }
    }

    #[test]
    fn markdown_keeps_the_styles_of_plain_words(
        words in prop::collection::vec(("[a-z]{1,5}", 0usize..6), 1..12),
    ) {
        let marks = [("", ""), ("**", "**"), ("_", "_"), ("~~", "~~"), ("||", "||"), ("`", "`")];
        let words = words.iter().map(|(word, style)| {
            let (before, after) = marks[*style];
            format!("{before}{word}{after}")
        });
        let styled = render_with_headings(&words.collect::<Vec<_>>().join(" "));
        prop_assert_eq!(render_with_headings(&markdown(&styled)), styled);
    }

    #[test]
    fn markdown_of_any_text_mentions_nothing(markdown in soup()) {
        let mut styled = render_with_headings(&markdown);
        // In code, Discord reads no mentions.
        styled.styles.clear();
        assert_inert(&super::markdown(&styled));
    }
}

#[test]
fn split_drops_a_link_before_it_breaks_a_character() {
    let family = "👨\u{200d}👩\u{200d}👧";
    let chunks =
        split(&render_with_headings(&format!("**[{family}](http://x.org)")), Limit::new(20, size));
    let texts: Vec<&str> = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
    assert_eq!(texts, ["**", family]);
    chunks.iter().for_each(assert_reads_the_same);
}
