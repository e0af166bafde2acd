//! Decides if calls in a reply's text are meant as calls. If a model with native tool calls
//! writes a call as text, it made a mistake, shows an example, or asks if it should make the call.

use super::Dialect;
use super::read::ParsedReply;

/// Beginnings of words, in lower case, that introduce an example, a format or a possibility. The
/// list may be incomplete, because a call with an effect always needs an approval.
const FRAMES: &[&str] = &[
    "assum",
    "beispiel",
    "bijv.",
    "bijvoorbeeld",
    "bspw",
    "contoh",
    "could",
    "demonstrat",
    "e.g",
    "eg.",
    "ejemplo",
    "eksempel",
    "esemp",
    "esimerk",
    "example",
    "exempel",
    "exempl",
    "explain",
    "f.eks",
    "format",
    "hypothet",
    "illustrat",
    "instance",
    "könnte",
    "like:",
    "misalnya",
    "muster",
    "napr.",
    "např",
    "np.",
    "pattern",
    "placeholder",
    "poderia",
    "podría",
    "potrebbe",
    "pourrai",
    "przykład",
    "příklad",
    "sample",
    "sarebbe",
    "schema",
    "serait",
    "sería",
    "sintass",
    "sintax",
    "składni",
    "snippet",
    "suppos",
    "syntax",
    "template",
    "voorbeeld",
    "vorlage",
    "would",
    "würde",
    "z.b",
    "örne",
    "παράδειγμα",
    "пример",
    "приклад",
];

/// The same as parts of a text: expressions of several words, and words in scripts that write words
/// without blanks or attach prefixes to them.
const EXPRESSIONS: &[&str] = &[
    "as follows",
    "comme ceci",
    "como esto",
    "like so",
    "like this",
    "looks like",
    "so aus",
    "so sieht",
    "such as",
    "ví dụ",
    "z. b.",
    "выглядит",
    "например",
    // Hebrew, Arabic and Persian, Arabic, Hindi, Thai: "example", "for example".
    "\u{5d3}\u{5d5}\u{5d2}\u{5de}",
    "\u{645}\u{62b}\u{627}\u{644}",
    "\u{645}\u{62b}\u{644}\u{627}",
    "\u{909}\u{926}\u{93e}\u{939}\u{930}\u{923}",
    "\u{e15}\u{e31}\u{e27}\u{e2d}\u{e22}\u{e48}\u{e32}\u{e07}",
    "フォーマット",
    "例",
    "形式",
    "格式",
    "比如",
    "语法",
    "예를",
    "예시",
    "예제",
    "형식",
];

/// The question mark, and those of Chinese and Japanese, Arabic and Greek.
const QUESTION_MARKS: [char; 4] = ['?', '？', '؟', '\u{37e}'];

/// Returns `true` if a model with native calls meant its text calls as calls: the calls end the
/// reply, and the text before them suggests no quote, example or question.
pub(crate) fn is_meant(read: &ParsedReply) -> bool {
    !read.is_followed && is_unframed(read)
}

/// Returns `true` if a model that is known to write calls as text meant them as calls. Its text may
/// then also stand between the calls, and behind calls in control tokens.
pub(crate) fn is_meant_between_texts(read: &ParsedReply) -> bool {
    (read.ends_in_call || has_control_words(read)) && is_unframed(read)
}

fn is_unframed(read: &ParsedReply) -> bool {
    // An example can have a result, too. Control tokens appear in examples only inside of code.
    let has_result = read.has_invented_result && !has_control_words(read);
    !has_result && !read.is_quoted && !is_frame(&read.text)
}

fn has_control_words(read: &ParsedReply) -> bool {
    read.dialect.is_some_and(Dialect::has_control_words)
}

/// Returns `true` if a text presents the call after it as an example, or asks something.
fn is_frame(lead: &str) -> bool {
    let lower = lead.to_lowercase();
    let mut words = lower.split_whitespace();
    words.any(|word| ends_question(word) || introduces_list(word))
        || EXPRESSIONS.iter().any(|expression| lower.contains(expression))
        || lower.contains(&QUESTION_MARKS[1..])
}

/// Returns `true` if a word ends a question. A question mark inside of a URL is ignored.
fn ends_question(word: &str) -> bool {
    word[word.trim_end_matches(is_mark).len()..].contains(QUESTION_MARKS)
}

fn introduces_list(word: &str) -> bool {
    let word = word.trim_start_matches(is_mark);
    !is_name(word) && FRAMES.iter().any(|frame| word.starts_with(frame))
}

/// Quotes, brackets and Markdown markers around a word.
fn is_mark(c: char) -> bool {
    !c.is_alphanumeric()
}

/// Returns `true` if a word is a file or host name, such as `example.com`.
fn is_name(word: &str) -> bool {
    let mut parts = word.trim_end_matches(is_mark).split(['.', '/', '_']);
    parts.next().is_some_and(|first| first.chars().count() > 1)
        && parts.next().is_some_and(|second| second.chars().count() > 1)
}

#[cfg(test)]
#[path = "intent_tests.rs"]
mod tests;
