use super::*;

#[test]
fn spoken_leaves_out_markdown_code_and_addresses() {
    let cases = [
        ("It **is** _fine_, ~~not~~ `ok`.", "It is fine, not ok."),
        ("# Plan\n\nFirst *this*\nthen that", "Plan.\nFirst this\nthen that."),
        ("- bread\n- milk!\n  - whole\n1. one\n2. two", "bread.\nmilk!\nwhole.\none.\ntwo."),
        ("- [x] done\n- [ ] open", "done.\nopen."),
        ("Run this:\n\n```sh\nrm -rf /\n```\n\nThen wait.", "Run this:\nThen wait."),
        ("Run this:\n\n    rm -rf /\n\nThen wait.", "Run this:\nThen wait."),
        ("See [the page](https://a.example/x_y) now.", "See the page now."),
        ("See https://a.example/x_y?b=c&d=e, or (www.b.example).", "See, or."),
        ("See <https://a.example>.", "See."),
        ("![a cat](cat.png) sleeps", "a cat sleeps."),
        ("> He said “yes”\n\nWell", "He said “yes”.\nWell."),
        ("<b>Bold</b> claim\n\n<div>\nhidden\n</div>\n\nEnd", "Bold claim.\nEnd."),
        (
            "| city | rain |\n|---|---|\n| Oslo | no |\n| Bergen | yes |",
            "city, rain.\nOslo, no.\nBergen, yes.",
        ),
        ("True[^1]\n\n[^1]: a source", "True."),
        ("One\n\n---\n\nTwo", "One.\nTwo."),
        ("買い物。パン", "買い物。パン."),
    ];
    for (markdown, expected) in cases {
        assert_eq!(spoken_text(markdown, 1000).as_deref(), Some(expected), "{markdown:?}");
    }
    for markdown in ["", "```\ncode\n```", "https://a.example/", "---", "👍"] {
        assert_eq!(spoken_text(markdown, 1000), None, "{markdown:?}");
    }
}

#[test]
fn spoken_ends_after_the_last_whole_sentence_within_the_limit() {
    let cases = [
        ("One. Two. Three.", 16, "One. Two. Three."),
        ("One. Two. Three.", 15, "One. Two."),
        ("One. Two. Three.", 9, "One. Two."),
        ("One. Two. Three.", 8, "One."),
        ("Version 1.25 is out today", 11, "Version"),
        ("Versions", 3, "Ver"),
        ("Is it? Yes! No", 12, "Is it? Yes!"),
        ("パンです。牛乳です。", 7, "パンです。"),
        ("ÄÖÜ. ÄÖÜ.", 6, "ÄÖÜ."),
    ];
    for (text, most, expected) in cases {
        assert_eq!(spoken_text(text, most).as_deref(), Some(expected), "{text:?} {most}");
    }
}
