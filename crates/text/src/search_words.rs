//! Words for the full-text search, of texts and of queries, in languages with and without spaces.
//!
//! A text and a query pass through the same steps, so that FTS5 compares equal forms: NFKC, lower
//! case, without accents. A run of a script without spaces becomes overlapping pairs of characters
//! and the single characters.

use std::collections::HashSet;
use std::fmt;

use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};
use unicode_script::{Script, UnicodeScript};

/// Longer words are cut to this number of characters: they are keys and encoded data.
const MAX_WORD_CHARS: usize = 64;
/// A query has at most this number of terms; the rest of a long text adds little.
const MAX_TERMS: usize = 64;
/// Shorter words match only as a whole: too many words begin with them.
const MIN_PREFIX_CHARS: usize = 4;
/// A snippet considers at most this number of hits, since a long text may repeat a word.
const MAX_HITS: usize = 200;
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
    let terms: Vec<String> = terms(query).iter().map(Term::to_string).collect();
    (!terms.is_empty()).then(|| terms.join(" OR "))
}

/// Returns the part of a text with the most terms of a query, at most `most` characters long, and
/// `…` where text is left out. Without a term it is the beginning of the text.
#[must_use]
pub fn snippet(text: &str, query: &str, most: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= most {
        return text;
    }
    let most = most.saturating_sub(2).max(1);
    let hits = hits(&chars, &terms(query));
    let lead = most / 5;
    let start_of = |hit: &Hit| hit.at.saturating_sub(lead).min(chars.len() - most);
    let found = |start: usize| {
        let inside = hits.iter().filter(|hit| (start..start + most).contains(&hit.at));
        inside.map(|hit| hit.term).collect::<HashSet<_>>().len()
    };
    // `max_by_key` returns the last maximum; the first one reads better.
    let start = hits.iter().map(start_of).rev().max_by_key(|start| found(*start)).unwrap_or(0);
    let end = start + most;
    let before = if start > 0 { "…" } else { "" };
    let after = if end < chars.len() { "…" } else { "" };
    let part: String = chars[start..end].iter().collect();
    format!("{before}{}{after}", part.trim())
}

/// A place in a text that matches a term.
struct Hit {
    /// The position of its first character.
    at: usize,
    /// The index of the term in the list.
    term: usize,
}

/// Returns the hits of these terms, at most [`MAX_HITS`].
fn hits(chars: &[char], terms: &[Term]) -> Vec<Hit> {
    let mut hits = Vec::new();
    let mut at = 0;
    while at < chars.len() && hits.len() < MAX_HITS {
        let end = end_of_word(chars, at);
        let word: String = chars[at..end].iter().collect();
        for found in index_text(&word).split(' ') {
            let matching = terms.iter().position(|term| !found.is_empty() && term.matches(found));
            hits.extend(matching.map(|term| Hit { at, term }));
        }
        at = if matches!(kind(chars[at]), CharacterKind::Unspaced) {
            at + 1
        } else {
            end.max(at + 1)
        };
    }
    hits
}

/// Returns the end of the word at a position, or of the pair in a script without spaces.
fn end_of_word(chars: &[char], start: usize) -> usize {
    if matches!(kind(chars[start]), CharacterKind::Unspaced) {
        return (start + 2).min(chars.len());
    }
    let continues =
        |c: &&char| is_word_character(**c) && !matches!(kind(**c), CharacterKind::Unspaced);
    start + chars[start..].iter().take_while(continues).count()
}

/// A part of a text without separators.
enum Run {
    /// A word of a script that separates words.
    Word(String),
    /// Characters of a script without spaces, or of Hangul, which has short words and many endings.
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

/// Returns a text in lower case and NFKC, without the accents of Latin, Greek and Cyrillic letters.
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

/// The rule by which a character joins its neighbours.
enum CharacterKind {
    Spaced,
    Unspaced,
    /// The character belongs to the run before it, like the Japanese sign for a long vowel.
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

/// Returns the single characters, without marks.
fn singles(chars: &[char]) -> impl Iterator<Item = String> {
    chars.iter().filter(|c| !is_mark(**c)).map(char::to_string)
}

/// Returns an Arabic word without its article.
fn without_article(word: &str) -> Option<String> {
    let rest = word.strip_prefix(ARABIC_ARTICLE)?;
    (rest.chars().count() >= 2).then(|| rest.to_owned())
}

/// A term of a query.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Term {
    /// Matches this word.
    Whole(String),
    /// Matches words that begin like this.
    Prefix(String),
}

impl Term {
    fn matches(&self, word: &str) -> bool {
        match self {
            Self::Whole(whole) => word == whole,
            Self::Prefix(start) => word.starts_with(start.as_str()),
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(word) => write!(f, "\"{word}\""),
            Self::Prefix(word) => write!(f, "\"{word}\"*"),
        }
    }
}

/// Returns the different terms of a query, at most [`MAX_TERMS`].
fn terms(query: &str) -> Vec<Term> {
    let mut seen = HashSet::new();
    let terms = runs(query).into_iter().flat_map(|run| match run {
        Run::Word(word) => word_terms(&word),
        Run::Unspaced(chars) => unspaced_terms(&chars),
    });
    terms.filter(|term| seen.insert(term.clone())).take(MAX_TERMS).collect()
}

fn unspaced_terms(chars: &[char]) -> Vec<Term> {
    match chars {
        [_] => singles(chars).map(Term::Whole).collect(),
        _ => pairs(chars).chain(lone_han(chars)).map(Term::Whole).collect(),
    }
}

/// Returns the Han characters between characters of other scripts: Japanese words of one character.
fn lone_han(chars: &[char]) -> impl Iterator<Item = String> {
    let is_han = |place: usize| chars.get(place).is_some_and(|c| c.script() == Script::Han);
    let lone = move |place: &usize| {
        is_han(*place) && !is_han(place + 1) && !place.checked_sub(1).is_some_and(is_han)
    };
    (0..chars.len()).filter(lone).map(|place| chars[place].to_string())
}

/// Returns the terms for a word of a query: the word, words that begin with it or with its stem,
/// and the shorter forms as whole words.
fn word_terms(word: &str) -> Vec<Term> {
    use Term::{Prefix, Whole};
    let word = without_article(word).unwrap_or_else(|| word.to_owned());
    let chars: Vec<char> = word.chars().collect();
    let cut = |ending: usize| chars[..chars.len() - ending].iter().collect::<String>();
    let number = chars.iter().all(|c| c.is_numeric());
    match chars.len() {
        ..MIN_PREFIX_CHARS => vec![Whole(word)],
        _ if number => vec![Prefix(word)],
        MIN_PREFIX_CHARS if chars.last() == Some(&'s') => vec![Prefix(word), Whole(cut(1))],
        MIN_PREFIX_CHARS => vec![Prefix(word)],
        5 => vec![Prefix(word), Whole(cut(1))],
        6 | 7 => vec![Whole(word), Prefix(cut(1)), Whole(cut(2))],
        8..=10 => vec![Whole(word), Prefix(cut(2))],
        _ => vec![Whole(word), Prefix(cut(3))],
    }
}

#[cfg(test)]
#[path = "search_words_tests.rs"]
mod tests;
