//! Words for the full-text search, of texts and of queries, in languages with and without spaces.
//!
//! A text and a query pass through the same steps, so that FTS5 compares equal forms: NFKC, lower
//! case, without accents. A run of a script without spaces becomes overlapping pairs of characters
//! and the single characters.

use std::collections::HashSet;

use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};
use unicode_script::{Script, UnicodeScript};

/// Longer words are cut to this number of characters: they are keys and encoded data.
const MAX_WORD_CHARS: usize = 64;
/// A query has at most this number of terms; the rest of a long text adds little.
const MAX_TERMS: usize = 64;
/// Shorter words match only as a whole: too many words begin with them.
const MIN_PREFIX_CHARS: usize = 4;
/// The article that Arabic writes as part of a word.
const ARABIC_ARTICLE: &str = "ال";

/// Returns the words of a text for an index, separated by spaces.
///
/// The index has the tokenizer `unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'`.
#[must_use]
pub fn index_text(text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for run in runs(text) {
        match run {
            Run::Word(word) => {
                words.extend(without_article(&word));
                words.push(word);
            }
            Run::Unspaced(chars) => {
                words.extend(pairs(&chars));
                words.extend(singles(&chars));
            }
        }
    }
    words.join(" ")
}

/// Returns an FTS5 expression that matches any word of the query, in another inflection too. `None`
/// if the query contains no word.
///
/// The terms hold letters, numbers and marks only, in quotation marks, so a query cannot contain
/// syntax of FTS5. Texts with several of the terms, and with the same inflection, rank higher.
#[must_use]
pub fn match_query(query: &str) -> Option<String> {
    let mut seen = HashSet::new();
    let terms = runs(query).into_iter().flat_map(|run| match run {
        Run::Word(word) => word_terms(&word),
        Run::Unspaced(chars) => unspaced_terms(&chars),
    });
    let terms: Vec<String> =
        terms.filter(|term| seen.insert(term.clone())).take(MAX_TERMS).collect();
    (!terms.is_empty()).then(|| terms.join(" OR "))
}

/// A part of a text without separators.
enum Run {
    /// A word of a script that separates words.
    Word(String),
    /// Characters of a script that does not, or of one with short words and many endings (Hangul).
    Unspaced(Vec<char>),
}

/// Splits a text into words and runs of scripts without spaces.
fn runs(text: &str) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut after_separator = true;
    for c in normalised(text) {
        if !is_word_character(c) {
            after_separator = true;
            continue;
        }
        let continues = !after_separator;
        after_separator = false;
        match (runs.last_mut(), kind(c)) {
            (Some(Run::Word(word)), CharacterKind::Spaced | CharacterKind::Any) if continues => {
                word.push(c);
            }
            (Some(Run::Unspaced(run)), CharacterKind::Unspaced | CharacterKind::Any)
                if continues =>
            {
                run.push(c);
            }
            (_, CharacterKind::Unspaced) => runs.push(Run::Unspaced(vec![c])),
            (_, CharacterKind::Spaced | CharacterKind::Any) => {
                runs.push(Run::Word(c.to_string()));
            }
        }
    }
    for run in &mut runs {
        if let Run::Word(word) = run
            && let Some((end, _)) = word.char_indices().nth(MAX_WORD_CHARS)
        {
            word.truncate(end);
        }
    }
    runs
}

/// Lower case, NFKC, without the accents that Latin, Greek and Cyrillic letters carry.
fn normalised(text: &str) -> impl Iterator<Item = char> {
    text.nfkd()
        .filter(|c| !('\u{300}'..='\u{36f}').contains(c))
        .flat_map(char::to_lowercase)
        .flat_map(|c| match c {
            'ß' => ['s', 's'].into_iter().take(2),
            'ς' => ['σ', ' '].into_iter().take(1),
            other => [other, ' '].into_iter().take(1),
        })
        .filter(|c| !('\u{300}'..='\u{36f}').contains(c))
        .nfc()
}

fn is_word_character(c: char) -> bool {
    matches!(
        c.general_category_group(),
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number
    ) || is_mark(c)
}

fn is_mark(c: char) -> bool {
    matches!(c.general_category(), GeneralCategory::NonspacingMark | GeneralCategory::SpacingMark)
}

/// The way in which a character joins its neighbours.
enum CharacterKind {
    Spaced,
    Unspaced,
    /// It belongs to the run before it, like the Japanese sign for a long vowel.
    Any,
}

fn kind(c: char) -> CharacterKind {
    match c.script() {
        Script::Han
        | Script::Hiragana
        | Script::Katakana
        | Script::Bopomofo
        | Script::Hangul
        | Script::Thai
        | Script::Lao
        | Script::Khmer
        | Script::Myanmar
        | Script::Yi => CharacterKind::Unspaced,
        Script::Common | Script::Inherited
            if c.general_category_group() != GeneralCategoryGroup::Number =>
        {
            CharacterKind::Any
        }
        _ => CharacterKind::Spaced,
    }
}

fn pairs(chars: &[char]) -> impl Iterator<Item = String> {
    chars.windows(2).map(|pair| pair.iter().collect())
}

/// Single characters. A mark alone says nothing.
fn singles(chars: &[char]) -> impl Iterator<Item = String> {
    chars.iter().filter(|c| !is_mark(**c)).map(char::to_string)
}

/// Returns an Arabic word without its article.
fn without_article(word: &str) -> Option<String> {
    let rest = word.strip_prefix(ARABIC_ARTICLE)?;
    (rest.chars().count() >= 2).then(|| rest.to_owned())
}

fn unspaced_terms(chars: &[char]) -> Vec<String> {
    match chars {
        [_] => singles(chars).map(|single| whole(&single)).collect(),
        _ => pairs(chars).map(|pair| whole(&pair)).collect(),
    }
}

/// The terms that a word of a query looks for: the word, the words that begin with it or with its
/// stem, and the shorter forms as whole words.
fn word_terms(word: &str) -> Vec<String> {
    let word = without_article(word).unwrap_or_else(|| word.to_owned());
    let chars: Vec<char> = word.chars().collect();
    let cut = |ending: usize| chars[..chars.len() - ending].iter().collect::<String>();
    let number = chars.iter().all(|c| c.is_numeric());
    match chars.len() {
        ..MIN_PREFIX_CHARS => vec![whole(&word)],
        _ if number => vec![prefix(&word)],
        MIN_PREFIX_CHARS if chars.last() == Some(&'s') => vec![prefix(&word), whole(&cut(1))],
        MIN_PREFIX_CHARS => vec![prefix(&word)],
        5 => vec![prefix(&word), whole(&cut(1))],
        6 | 7 => vec![whole(&word), prefix(&cut(1)), whole(&cut(2))],
        8..=10 => vec![whole(&word), prefix(&cut(2))],
        _ => vec![whole(&word), prefix(&cut(3))],
    }
}

fn whole(word: &str) -> String {
    format!("\"{word}\"")
}

fn prefix(word: &str) -> String {
    format!("\"{word}\"*")
}

#[cfg(test)]
#[path = "search_words_tests.rs"]
mod tests;
