//! Reads what the search for circles needs from a file: its modules, its imports, the paths in its
//! code, and the names that it defines.

use std::collections::BTreeSet;

/// The imports and paths of one module.
#[derive(Debug, Default)]
pub(crate) struct ModuleText {
    /// Imported paths, and the names that they have here.
    pub(crate) uses: Vec<(Vec<String>, String)>,
    /// Paths in the code: `module::function`.
    pub(crate) paths: Vec<Vec<String>>,
    pub(crate) defined: BTreeSet<String>,
    /// Modules in files of their own, with their `#[path]`.
    pub(crate) declared: Vec<(String, Option<String>)>,
    /// Modules in braces.
    pub(crate) inline: Vec<(String, Self)>,
}

const ITEMS: [&str; 8] =
    ["fn", "struct", "enum", "trait", "const", "type", "static", "macro_rules"];

impl ModuleText {
    /// Reads the tokens of a module. Modules for tests are left out.
    pub(crate) fn read(tokens: &[String]) -> Self {
        let mut text = Self::default();
        let (mut at, mut is_test, mut path) = (0, false, None);
        while let Some(token) = tokens.get(at) {
            let next = tokens.get(at + 1).map_or("", String::as_str);
            match token.as_str() {
                "#" if next == "[" => {
                    let end = closing(tokens, at + 1);
                    let attribute = &tokens[at + 2..end];
                    is_test |= attribute.join("") == "cfg(test)";
                    if let [name, _, value, ..] = attribute
                        && name == "path"
                    {
                        path = Some(value.trim_matches('"').to_owned());
                    }
                    at = end + 1;
                    continue;
                }
                "pub" => {
                    at = if next == "(" { closing(tokens, at + 1) + 1 } else { at + 1 };
                    continue;
                }
                "mod" if is_word(next) => at = text.read_module(tokens, at, is_test, path.take()),
                _ if is_test => at = item_end(tokens, at),
                "use" => {
                    let end = tokens[at..].iter().position(|token| token == ";");
                    let end = at + end.unwrap_or(tokens.len() - at - 1);
                    read_tree(&tokens[at + 1..end], &mut 0, &mut Vec::new(), &mut text.uses);
                    at = end;
                }
                word if is_word(word) && next == "::" => at = text.read_path(tokens, at),
                word if ITEMS.contains(&word) => {
                    text.defined.insert(next.trim_start_matches('!').to_owned());
                }
                _ => {}
            }
            (is_test, path) = (false, None);
            at += 1;
        }
        text
    }

    /// Reads `mod name;` or `mod name { .. }`. Returns the place of its last token.
    fn read_module(
        &mut self,
        tokens: &[String],
        at: usize,
        is_test: bool,
        path: Option<String>,
    ) -> usize {
        let name = tokens[at + 1].clone();
        if tokens[at + 2] == ";" {
            if !is_test {
                self.declared.push((name, path));
            }
            return at + 2;
        }
        let end = closing(tokens, at + 2);
        if !is_test {
            self.inline.push((name, Self::read(&tokens[at + 3..end])));
        }
        end
    }

    /// Reads a path in the code. Returns the place of its last token.
    fn read_path(&mut self, tokens: &[String], mut at: usize) -> usize {
        let mut path = vec![tokens[at].clone()];
        while tokens.get(at + 1).is_some_and(|token| token == "::")
            && let Some(name) = tokens.get(at + 2).filter(|name| is_word(name))
        {
            path.push(name.clone());
            at += 2;
        }
        self.paths.push(path);
        at
    }
}

/// Reads a tree of imports.
fn read_tree(
    tokens: &[String],
    at: &mut usize,
    above: &mut Vec<String>,
    uses: &mut Vec<(Vec<String>, String)>,
) {
    let depth = above.len();
    while let Some(token) = tokens.get(*at) {
        *at += 1;
        match token.as_str() {
            "::" => {}
            "{" => {
                while tokens.get(*at).is_some_and(|token| token != "}") {
                    read_tree(tokens, at, above, uses);
                }
                *at += 1;
                skip_comma(tokens, at);
                above.truncate(depth);
                return;
            }
            "," | "}" => {
                *at -= usize::from(token == "}");
                break;
            }
            "as" => {
                uses.push((above.clone(), tokens[*at].clone()));
                *at += 1;
                skip_comma(tokens, at);
                above.truncate(depth);
                return;
            }
            name => above.push(name.to_owned()),
        }
    }
    if above.last().is_some_and(|last| last == "self") && above.len() > 1 {
        above.pop();
    }
    if let Some(last) = above.last() {
        uses.push((above.clone(), last.clone()));
    }
    above.truncate(depth);
}

fn skip_comma(tokens: &[String], at: &mut usize) {
    *at += usize::from(tokens.get(*at).is_some_and(|token| token == ","));
}

/// Returns the place of the bracket that closes the one at `at`.
fn closing(tokens: &[String], at: usize) -> usize {
    let mut depth = 0_usize;
    for (place, token) in tokens.iter().enumerate().skip(at) {
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return place;
        }
    }
    tokens.len() - 1
}

/// Returns the place of the last token of an item.
fn item_end(tokens: &[String], mut at: usize) -> usize {
    while at < tokens.len() {
        match tokens[at].as_str() {
            ";" => return at,
            "{" => return closing(tokens, at),
            "(" | "[" => at = closing(tokens, at),
            _ => {}
        }
        at += 1;
    }
    tokens.len()
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
}

/// Splits a text into words, `::` and single signs, without comments. Texts in quotes stay whole.
pub(crate) fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let bytes = token_bytes(rest, first);
        let (token, after) = rest.split_at(bytes);
        if !first.is_whitespace() && !token.starts_with("//") && !token.starts_with("/*") {
            tokens.push(token.to_owned());
        }
        rest = after;
    }
    tokens
}

/// Returns the length of the token at the start of a text.
fn token_bytes(text: &str, first: char) -> usize {
    let until = |end: &str, from: usize| {
        text[from..].find(end).map_or(text.len(), |place| from + place + end.len())
    };
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return until("*/", 2);
    }
    if text.starts_with("::") {
        return 2;
    }
    let marks = text.strip_prefix('r').map(|raw| raw.len() - raw.trim_start_matches('#').len());
    if let Some(marks) = marks
        && text[1 + marks..].starts_with('"')
    {
        return until(&format!("\"{}", "#".repeat(marks)), 2 + marks);
    }
    if is_word(text) || first.is_ascii_digit() {
        let end = text.find(|c: char| c != '_' && !c.is_alphanumeric());
        return end.unwrap_or(text.len());
    }
    match first {
        '"' => quoted_bytes(text, '"').unwrap_or(text.len()),
        // Another quote begins a lifetime.
        '\'' => quoted_bytes(text, '\'').filter(|bytes| *bytes <= 12).unwrap_or(1),
        _ => first.len_utf8(),
    }
}

/// Returns the length of a quoted text at the start of a text; `None` if it does not end, or if a
/// single quote has more than one character.
fn quoted_bytes(text: &str, quote: char) -> Option<usize> {
    let mut characters = text.char_indices().skip(1);
    let mut count = 0;
    while let Some((place, character)) = characters.next() {
        match character {
            '\\' => {
                let (_, escaped) = characters.next()?;
                if escaped == 'u' && quote == '\'' {
                    return text.find('}').map(|end| end + 2);
                }
                if escaped == 'x' && quote == '\'' {
                    return Some(place + 5);
                }
            }
            end if end == quote && (count > 0 || quote == '"') => {
                return Some(place + 1);
            }
            _ => {}
        }
        count += 1;
        if count > 1 && quote == '\'' {
            return None;
        }
    }
    None
}
