use std::cell::Cell;

use super::*;

thread_local! {
    /// Lines that this test has read.
    pub(super) static READ: Cell<usize> = const { Cell::new(0) };
}

#[track_caller]
fn check(markdown: &str, expected: &str) {
    assert_eq!(lengthen_outer(markdown), expected);
}

#[test]
fn lengthen_outer_gives_a_block_with_an_inner_block_a_longer_fence() {
    check(
        "```markdown\n# A\n```js\na\n```\nend\n```\nbehind\n",
        "````markdown\n# A\n```js\na\n```\nend\n````\nbehind\n",
    );
    check("~~~md\n~~~js\na\n~~~\n~~~py\nb\n~~~\n~~~", "~~~~md\n~~~js\na\n~~~\n~~~py\nb\n~~~\n~~~~");
    check("  ```md\n  ```js\n  ```\n  ```\n", "  ````md\n  ```js\n  ```\n  ````\n");
}

#[test]
fn lengthen_outer_keeps_text_that_commonmark_reads_correctly() {
    for markdown in [
        "```js\na\n```\n\n```py\nb\n```\n",
        "```\na\n```\ntext\n```\nb\n```",
        "````md\n```js\na\n```\n````\n",
        // The inner block has no end of its own.
        "```md\n```js\na\n```\ntext\n```py\nb\n```\n",
        "```md\n~~~js\na\n~~~\n```\n~~~\n~~~\n",
        "````\n``` a ``` b\n```js\n````",
        // A shorter fence is text of the block.
        "````md\n```js\na\n````\n\ntext\n\n````\nb\n````\n",
        "``` ``` ``` ```",
        "",
    ] {
        check(markdown, markdown);
    }
}

#[test]
fn fenced_blocks_end_at_a_fence_that_is_long_enough() {
    for (markdown, block) in [
        ("a\n```\nb\n```\nc", "```\nb\n```\n"),
        ("~~~\n```\n~~~\n", "~~~\n```\n~~~\n"),
        ("````\n```\n`````\nc", "````\n```\n`````\n"),
        ("```\nb", "```\nb"),
        ("> ```\n> a\n\nb", "> ```\n> a\n"),
        ("1. a\n\n    ```\n    b\n    ```\n", "    ```\n    b\n    ```\n"),
        ("a ``` b", ""),
    ] {
        let blocks = fenced_blocks(markdown).into_iter().map(|block| &markdown[block]);
        assert_eq!(blocks.collect::<String>(), block, "{markdown:?}");
    }
}

#[test]
fn lengthen_outer_reads_each_line_at_most_twice() {
    for repeated in ["```js\n```js\n```\n", "```js\n```\n", "```a\n", "~~~\n```\n"] {
        let markdown = repeated.repeat(10_000);
        READ.set(0);
        lengthen_outer(&markdown);
        let lines = markdown.lines().count();
        assert!(READ.get() <= 2 * lines + 2, "{repeated:?}: {} of {lines}", READ.get());
    }
}
