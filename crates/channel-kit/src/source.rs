//! Prepares Markdown as models write it: formulas and addresses stay as they are written, and emphasis
//! works between letters of languages without spaces.

use crate::fences::fenced_blocks;

/// Marks an edge of emphasis. Sanitised text has no such character, and `pieces` removes it.
pub(crate) const EDGE: char = '\u{2060}';

/// Returns Markdown whose formulas and addresses are escaped, and whose emphasis is recognised next to punctuation.
pub(crate) fn prepare_source(markdown: &str) -> String {
    with_edges(&with_formulas(markdown))
}

/// Returns Markdown as [`prepare_source`] does, but leaves formulas alone: their punctuation is escaped
/// already.
pub(crate) fn prepare_escaped(markdown: &str) -> String {
    with_edges(markdown)
}

/// Escapes the punctuation of formulas in `\(…\)`, `\[…\]`, `$$…$$` and `$…$`, and the marks of emphasis
/// in addresses, outside of code.
fn with_formulas(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for block in fenced_blocks(text) {
        escape_formulas(&text[at..block.start], &mut out);
        out.push_str(&text[block.clone()]);
        at = block.end;
    }
    escape_formulas(&text[at..], &mut out);
    out
}

/// Escapes the punctuation of formulas in a text without fenced code.
fn escape_formulas(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find(['`', '\\', '$', 'h']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let taken = if from.starts_with('`') {
            let code = code_length(from);
            out.push_str(&from[..code]);
            code
        } else if from.starts_with('h') {
            let address = address_length(from, out.chars().next_back());
            escape_address(&from[..address], out);
            address.max(1)
        } else if let Some(formula) = formula_length(from, out.chars().next_back()) {
            escape_formula(&from[..formula], out);
            formula
        } else {
            // An escaped character begins nothing.
            let first = from.char_indices().nth(if from.starts_with('\\') { 2 } else { 1 });
            let taken = first.map_or(from.len(), |(at, _)| at);
            out.push_str(&from[..taken]);
            taken
        };
        rest = &from[taken..];
    }
    out.push_str(rest);
}

/// Returns the bytes of the code that begins here; those of the backticks alone if it has no end.
fn code_length(from: &str) -> usize {
    let ticks = from.len() - from.trim_start_matches('`').len();
    let mut at = ticks;
    while let Some(found) = from[at..].find('`') {
        let start = at + found;
        let length = from[start..].len() - from[start..].trim_start_matches('`').len();
        at = start + length;
        if length == ticks {
            return at;
        }
    }
    ticks
}

/// Returns the bytes of the address that begins with this `h`, without marks of emphasis and punctuation
/// at its end; 1 if none begins here. In angle brackets, Markdown reads an address as it is.
fn address_length(from: &str, before: Option<char>) -> usize {
    const ENDS: [char; 8] = ['<', '>', '"', '\'', '`', '|', ']', '\\'];
    let is_address = from.starts_with("https://") || from.starts_with("http://");
    if !is_address || before.is_some_and(|c| c.is_alphanumeric() || "<\"'=".contains(c)) {
        return 1;
    }
    let mut depth = 0_u32;
    let end = from.find(|c: char| {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return true,
            ')' => depth -= 1,
            _ => {}
        }
        c.is_whitespace() || ENDS.contains(&c)
    });
    let address = &from[..end.unwrap_or(from.len())];
    address.trim_end_matches(['*', '_', '~', '.', ',', ';', ':', '!', '?']).len().max(1)
}

fn escape_address(address: &str, out: &mut String) {
    for c in address.chars() {
        if matches!(c, '*' | '_' | '~') {
            out.push('\\');
        }
        out.push(c);
    }
}

/// Returns the bytes of the formula that begins here.
fn formula_length(from: &str, before: Option<char>) -> Option<usize> {
    const PAIRS: [(&str, &str); 4] = [("\\(", "\\)"), ("\\[", "\\]"), ("$$", "$$"), ("$", "$")];
    let (open, close) = PAIRS.into_iter().find(|(open, _)| from.starts_with(open))?;
    let inner = &from[open.len()..];
    let inner = &inner[..inner.find(close)?];
    let is_mathematics = match open {
        "\\(" => true,
        "$" => {
            let after = from[open.len() + inner.len() + close.len()..].chars().next();
            inner.trim() == inner
                && !inner.contains('\n')
                && !before.is_some_and(char::is_alphanumeric)
                && !after.is_some_and(char::is_alphanumeric)
                && has_command(inner)
        }
        // A link or a remark in brackets may be escaped, too.
        "\\[" => {
            let is_link = from[open.len() + inner.len() + close.len()..].starts_with('(');
            has_command(inner) || (!is_link && inner.contains(['=', '^', '_']))
        }
        _ => has_command(inner),
    };
    let fits = is_mathematics && !inner.trim().is_empty() && !inner.contains("\n\n");
    fits.then(|| open.len() + inner.len() + close.len())
}

/// Returns `true` for a text with a command of TeX, such as `\frac`.
fn has_command(text: &str) -> bool {
    text.split('\\').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
}

fn escape_formula(formula: &str, out: &mut String) {
    for c in formula.chars() {
        if c.is_ascii_punctuation() {
            out.push('\\');
        }
        out.push(c);
    }
}

/// Puts an [`EDGE`] between asterisks and punctuation whose other side is a letter of a language
/// without spaces: CommonMark sees no emphasis there.
fn with_edges(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('*') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let after = from.trim_start_matches('*');
        let (left, right) = (out.chars().next_back(), after.chars().next());
        let stars = &from[..from.len() - after.len()];
        if left.is_some_and(is_mark) && right.is_some_and(is_without_spaces) {
            out.push(EDGE);
            out.push_str(stars);
        } else {
            out.push_str(stars);
            if left.is_some_and(is_without_spaces) && right.is_some_and(is_mark) {
                out.push(EDGE);
            }
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

fn is_mark(c: char) -> bool {
    !c.is_alphanumeric() && !c.is_whitespace() && c != '\\'
}

/// Returns `true` for letters of Chinese, Japanese and Korean.
fn is_without_spaces(c: char) -> bool {
    c.is_alphanumeric() && ('\u{2e80}'..='\u{3ffff}').contains(&c)
}

#[cfg(test)]
mod tests {
    use avocet_protocol::chat::Style;

    use super::*;
    use crate::render;

    #[test]
    fn render_keeps_the_backslashes_of_formulas() {
        for formula in [
            r"So \(a_1 * b_2 * c\) holds.",
            r"\[ \frac{a}{b} = \{x_1, x_2\} \]",
            r"$$\sum_{i=0}^n a_i * b_i * c$$",
            r"With $\alpha_1 * x_2 * y$ it ends.",
            r"So \[ x^2 * y * z = 1 \] holds.",
        ] {
            assert_eq!(render(formula).text, formula);
        }
        for (markdown, text) in [
            (r"It costs $5 and *not* $6.", "It costs $5 and not $6."),
            (r"\[not a link\](x)", "[not a link](x)"),
            (r"\[a_b\](x) and \[see below\]", "[a_b](x) and [see below]"),
            (r"`\(code\)` and \*", r"\(code\) and *"),
            ("a \\", "a \\"),
        ] {
            assert_eq!(render(markdown).text, text);
        }
    }

    #[test]
    fn render_keeps_the_marks_of_addresses() {
        for address in [
            "https://a.example/*x*/__init__.py",
            "http://a.example/~ann~~/_x_(*y*)",
            "https://a.example/?q=*&r=_b_#_c_",
        ] {
            assert_eq!(render(address).text, address);
            assert_eq!(
                render(&format!("(see {address}), *now*")).text,
                format!("(see {address}), now")
            );
            assert_eq!(render(&format!("**{address}**")).text, address);
            assert_eq!(render(&format!("`{address}`")).text, address);
            assert_eq!(render(&format!("<{address}>")).text, address);
        }
        let link = render("[a](https://a.example/*x*_y_) *b*");
        assert_eq!(link.text, "a b");
        let url = Style::Link { url: "https://a.example/*x*_y_".to_owned() };
        assert_eq!(link.styles[0].style, url);
        let emphasis = render("*https://a.example/b* and _http://c.example/_, the *hat*");
        assert_eq!(emphasis.text, "https://a.example/b and http://c.example/, the hat");
        assert_eq!(emphasis.styles.len(), 3);
    }

    #[test]
    fn render_finds_emphasis_between_letters_without_spaces() {
        for markdown in ["これは**「重要」**です。", "请看**“说明”**一节", "中文**`code`**中文"]
        {
            let styled = render(markdown);
            assert!(!styled.text.contains(['*', EDGE]), "{}", styled.text);
            assert!(!styled.styles.is_empty(), "{markdown}");
        }
        assert_eq!(render("`字**「x」**字`").text, "字**「x」**字");
    }
}
