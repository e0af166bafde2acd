use super::*;

#[test]
fn plain_reads_only_the_text_of_a_page() {
    let table = [
        ("a  b\n\nc", "a b c"),
        ("<p>a<p>b<br>c", "a\nb\nc"),
        ("<b>a</b>b<i> c</i>", "ab c"),
        (
            "a &amp; b &lt;p&gt; &#233;&#xE9; &unknown; & &#0xyz;",
            "a & b <p> éé &unknown; & &#0xyz;",
        ),
        (
            "&Uuml;&rarr;&nbsp;&nbsp;&NotEqualTilde;&#;&#x110000;&amp",
            "Ü→ ≂\u{338}&#;&#x110000;&amp",
        ),
        ("a<!-- b -->c<!DOCTYPE x><?php d ?>e", "ace"),
        ("a<!-- b", "a"),
        ("1 < 2 <> 3 </ 4", "1 < 2 <> 3 </ 4"),
        ("<script>a</scrip>b</SCRIPT >c", "c"),
        ("a<style>b", "a"),
        ("<div title='a>b' x=\"'>\">c</div>", "c"),
        ("<p it's>a", "a"),
        ("<div hidden>a<div>b</div>c</div>d", "d"),
        ("<div HIDDEN=''>a</div>b", "b"),
        ("<i style='x:y; Display : NONE !important'>a</i>b", "b"),
        ("<i style=font-size:0px>a</i>b", "b"),
        ("<i style='opacity: 0.0'>a</i><i style='opacity:0.5'>b</i>", "b"),
        ("<i aria-hidden=true>a</i><i aria-hidden=false>b</i>", "b"),
        ("<i data-hidden title=hidden x='hidden'>a</i>", "a"),
        ("<dialog>a</dialog><dialog open>b</dialog>", "b"),
        ("<template>a</template><noscript>b</noscript><svg><text>c</text></svg>d", "d"),
        ("<input hidden>a<svg/>b", "a\nb"),
        ("<template/>a</template><svg/>b", "b"),
        ("<a", ""),
        ("<a href='", ""),
    ];
    for (html, text) in table {
        assert_eq!(plain_page(html).text, text, "{html}");
    }
    let page =
        plain_page("<html><head><title>A &amp;\n B</title></head><body><h1>c</h1><title>d</title>");
    assert_eq!(page, PlainPage { title: "A & B".to_owned(), text: "c".to_owned() });
}

#[test]
fn plain_reads_a_hostile_page_in_one_pass() {
    // Each of these takes minutes if the reader searches any part repeatedly.
    let pieces = [
        "<div>",
        "<script>",
        "</script>",
        "<!--",
        "<a ",
        "<a b=\"",
        "<a b c=d ",
        "&",
        "&amp",
        "&#x1",
        "<",
        "</",
        "<title>",
        " a",
    ];
    for piece in pieces {
        let html = piece.repeat(2_000_000 / piece.len());
        assert!(plain_page(&html).text.len() <= html.len(), "{piece}");
    }
}
