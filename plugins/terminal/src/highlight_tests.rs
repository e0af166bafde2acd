use super::*;
use crate::styled::Look;

/// Returns the lines with the coloured parts in marks.
fn marked(language: &str, code: &str) -> String {
    let mut highlighter = Highlighter::new(language);
    let lines = code.lines().map(|line| highlighter.highlight_line(line).paint_row(Look::Styled));
    let marks = [
        ("\u{1b}[90m", "⟨c:"),
        ("\u{1b}[32m", "⟨t:"),
        ("\u{1b}[35m", "⟨k:"),
        ("\u{1b}[36m", "⟨n:"),
        ("\u{1b}[33m", "⟨y:"),
        ("\u{1b}[31m", "⟨r:"),
        ("\u{1b}[0m", "⟩"),
    ];
    let text = lines.collect::<Vec<_>>().join("\n");
    marks.iter().fold(text, |text, (code, mark)| text.replace(code, mark))
}

#[test]
fn line_marks_keywords_texts_numbers_and_comments() {
    let table = [
        (
            "rust",
            "let a: &'a str = \"x\\\"y\"; // 1",
            "⟨k:let⟩ a: &'a str = ⟨t:\"x\\\"y\"⟩; ⟨c:// 1⟩",
        ),
        ("rs", "fn f() -> Vec<u8> { 0xFF }", "⟨k:fn⟩ f() -> ⟨y:Vec⟩<u8> { ⟨n:0xFF⟩ }"),
        ("Rust,no_run", "use a;", "⟨k:use⟩ a;"),
        ("python", "def f(): return 'é'  # no", "⟨k:def⟩ f(): ⟨k:return⟩ ⟨t:'é'⟩  ⟨c:# no⟩"),
        ("sql", "SELECT a FROM b -- c", "⟨k:SELECT⟩ a ⟨k:FROM⟩ b ⟨c:-- c⟩"),
        ("json", "{\"a\": [1, true]}", "{⟨t:\"a\"⟩: [⟨n:1⟩, ⟨k:true⟩]}"),
        ("toml", "name = \"x\" # y", "⟨y:name⟩ = ⟨t:\"x\"⟩ ⟨c:# y⟩"),
        ("sh", "echo $#; ls # all", "⟨k:echo⟩ $#; ls ⟨c:# all⟩"),
        ("diff", "+a\n-b\n@@ 1 @@\n c", "⟨t:+a⟩\n⟨r:-b⟩\n⟨n:@@ 1 @@⟩\n c"),
        ("", "let a = 1;", "let a = 1;"),
        ("unknown", "let", "let"),
    ];
    for (language, code, expected) in table {
        assert_eq!(marked(language, code), expected, "{language}");
    }
}

#[test]
fn line_continues_comments_and_texts_of_several_lines() {
    assert_eq!(marked("c", "a /* b\nc */ d"), "a ⟨c:/* b⟩\n⟨c:c */⟩ d");
    assert_eq!(marked("py", "x = \"\"\"a\nb\"\"\" + y"), "x = ⟨t:\"\"\"a⟩\n⟨t:b\"\"\"⟩ + y");
}
