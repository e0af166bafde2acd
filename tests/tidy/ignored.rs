//! Only `ignore_result` throws a result away, because it asks for a reason.

use regex::Regex;

use super::program;

/// Returns the code with blanks in place of the contents of string and character literals.
fn without_literals(code: &str) -> String {
    let literal = Regex::new(r#"(?s)'(?:\\.|[^\\'])'|"(?:[^"\\]|\\.)*""#).unwrap();
    literal.replace_all(code, |found: &regex::Captures<'_>| " ".repeat(found[0].len())).into_owned()
}

/// Returns `true` if the text behind a block belongs to the statement of the block.
fn goes_on(behind: &str) -> bool {
    let next = behind.trim_start();
    next.is_empty() || next.starts_with(['.', '?', '='])
}

/// Returns the beginning of the statement that goes on at `end`.
fn statement_before(code: &str, end: usize) -> &str {
    let mut depth = 0;
    for (at, character) in code[..end].char_indices().rev() {
        let behind = &code[at + character.len_utf8()..end];
        match character {
            '}' if depth == 0 && !goes_on(behind) => return behind,
            ';' | '{' | '(' | '[' if depth == 0 => return behind,
            ')' | ']' | '}' => depth += 1,
            '(' | '[' | '{' => depth -= 1,
            _ => {}
        }
    }
    &code[..end]
}

/// Returns the statements that end in `.unwrap_or_default();` or `.ok();` and leave the value unused.
fn unexplained_statements(code: &str) -> Vec<String> {
    let end = Regex::new(r"\.(?:unwrap_or_default|ok)\(\);").unwrap();
    let use_of_value =
        Regex::new(r"^(?:let|return|break|static|const|pub)\b|^[^=!<>]* (?:\+|-|\|)?= ").unwrap();
    let plain = without_literals(code);
    let statements = end.find_iter(&plain).filter_map(|found| {
        let statement = statement_before(&plain, found.start());
        let is_used = use_of_value.is_match(statement.trim_start());
        (!is_used).then(|| code[found.start() - statement.len()..found.end()].trim().to_owned())
    });
    statements.collect()
}

#[test]
fn ignored_results_have_a_reason() {
    let mut found = Vec::new();
    for (path, code) in program() {
        for statement in unexplained_statements(&code) {
            found.push(format!("{}: {statement}", path.display()));
        }
    }
    let found = found.join("\n");
    assert!(found.is_empty(), "handle the error, or give `ignore_result` the reason:\n{found}");
}

#[test]
fn unexplained_statements_are_those_without_use_of_the_value() {
    let code = r#"
        let first = read("a;{").ok();
        self.rest = rest.map(|it| { it.len(); it }).unwrap_or_default();
        sum += parse(text).unwrap_or_default();
        let Entry { key, .. } = entries.pop().unwrap_or_default();
        let last = match text { "}" => one(), _ => two() }.ok();
        for one in list { sender.send(one).ok(); }
        if is_open { close() }
        fs::remove_file(format!("{name};"))
            .unwrap_or_default();
    "#;
    let found = unexplained_statements(code);
    let [send, remove] = &found[..] else { panic!("{found:?}") };
    assert_eq!(send, "sender.send(one).ok();");
    assert!(remove.starts_with("fs::remove_file(") && remove.ends_with("unwrap_or_default();"));
}
