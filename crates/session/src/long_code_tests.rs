use super::*;

#[test]
fn blocks_finds_fences_and_their_languages() {
    let text = "a\n```rust\nlet x = 1;\n```\nb\n~~~~\n```\n~~~~\n`` ` ``\n```sh ignored\nls\n";
    let found: Vec<_> = find_blocks(text).iter().map(|one| (one.language, one.code)).collect();
    assert_eq!(found, [("rust", "let x = 1;\n"), ("", "```\n"), ("sh", "ls\n")]);
    let shown: Vec<_> = find_blocks(text).into_iter().map(|one| &text[one.range]).collect();
    assert_eq!(shown[0], "```rust\nlet x = 1;\n```\n");
    assert_eq!(find_blocks("    ```\nindented code\n"), []);
    assert_eq!(find_blocks("no code"), []);
}

#[test]
fn extension_is_that_of_the_language_or_txt() {
    let of = |language| CodeBlock { range: 0..0, language, code: "" }.file_extension();
    let table = [
        ("rust", "rs"),
        ("Python", "py"),
        ("c++", "cpp"),
        ("json", "json"),
        ("html", "html"),
        ("", "txt"),
        ("../etc", "txt"),
        ("assembly", "txt"),
    ];
    for (language, extension) in table {
        assert_eq!(of(language), extension, "{language}");
    }
}

#[test]
fn replace_keeps_the_text_around_long_code_and_short_code() {
    let long = "let x = 1;\n".repeat(400);
    let text = format!("Before.\n```rust\n{long}```\nBetween.\n```sh\nls\n```\nAfter.");
    let shown = without_long_code(&text, |text| text.len().div_ceil(1000));
    let expected = "Before.\n[code with 400 lines]\nBetween.\n```sh\nls\n```\nAfter.";
    assert_eq!(shown, expected);
    assert_eq!(without_long_code(&text, |_| MOST_CODE_MESSAGES), text);
}
