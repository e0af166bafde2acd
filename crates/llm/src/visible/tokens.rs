//! Compares a text with a control token, in all the spellings in which servers decode it: `｜` for
//! `|`, `▁` for `_`, any case, and a blank beside a bar or a bracket.

/// The result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenStart {
    /// The text begins with the token, which has this many bytes.
    Whole(usize),
    /// The text is a beginning of the token.
    Part,
    Nothing,
}

/// Compares the start of a text with a token, given in lower case with `|` and `_`.
pub(crate) fn match_token(text: &str, token: &str) -> TokenStart {
    let (mut rest, mut last) = (text, None);
    for wanted in token.chars() {
        if last.is_some_and(|last| is_bracket(last) || is_bracket(wanted)) {
            rest = rest.strip_prefix(' ').unwrap_or(rest);
        }
        match rest.chars().next() {
            None => return TokenStart::Part,
            Some(c) if fold_char(c) == wanted => rest = &rest[c.len_utf8()..],
            Some(_) => return TokenStart::Nothing,
        }
        last = Some(wanted);
    }
    TokenStart::Whole(text.len() - rest.len())
}

fn is_bracket(c: char) -> bool {
    matches!(c, '<' | '>' | '|' | '/' | '[' | ']')
}

fn fold_char(c: char) -> char {
    match c {
        '｜' => '|',
        '▁' => '_',
        c => c.to_ascii_lowercase(),
    }
}
