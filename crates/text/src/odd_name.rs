//! Names that could be read as instructions. An ordinary name lowers no trust where it is shown.
//!
//! A name says something by its words. `delete_all_mails`, `delete-all-mails` and `deleteAllMails` have
//! the same ones, so a name is split at everything that is no letter or digit, and where the case
//! changes. Three things make a name odd:
//!
//! ```text
//! it can hide something     control and invisible characters, more than 100 characters
//! it can say much           more than five words
//! it says an order          what to do, and to whom or to what: `ignore_previous_instructions`
//! ```
//!
//! An order can be split over the components of a path, or over several names of a list. There the
//! words of all names that are phrases count together. Source trees are full of names such as
//! `password-reset-form.ts`, so a name without a space is a phrase only with a word of prose, which
//! names of files rarely have.
//!
//! # What was tried
//!
//! - **Counting the words of all names of three words** calls most listings of source code odd.
//! - **Verbs alone** say little: `send-email.ts`, `delete_user.py` and `run-tests.sh` are in every
//!   project.
//! - **A list without spaces is judged by twelve names at a time**, because in a directory of a thousand
//!   packages a few names always have such words, and never beside each other.
//!
//! The words are those of six languages. An order in short words of another one, without spaces, is an
//! ordinary name; so is one whose words are not separated at all.

use crate::printable;

/// Characters of a longest ordinary name.
const LONGEST: usize = 100;
/// Words of a longest ordinary name. A sentence that orders something has more.
const MOST_WORDS: usize = 5;
/// Bytes of the longest end that tells a type.
const LONGEST_TYPE: usize = 8;
/// Names of a list that are judged together.
const WINDOW: usize = 12;
/// Words of all phrases among the names that are judged together.
const MOST_LIST_WORDS: usize = 10;
/// Names with a word of prose among the names that are judged together.
const MOST_PROSE_NAMES: usize = 3;

/// Verbs of orders that cause an effect outside of a file.
const ORDERS: &[&str] = &[
    "approve",
    "allow",
    "buy",
    "bypass",
    "curl",
    "delete",
    "disregard",
    "download",
    "email",
    "erase",
    "execute",
    "exfiltrate",
    "fetch",
    "forget",
    "forward",
    "grant",
    "ignore",
    "install",
    "invite",
    "leak",
    "mail",
    "obey",
    "override",
    "pay",
    "post",
    "print",
    "publish",
    "push",
    "remove",
    "reveal",
    "run",
    "send",
    "share",
    "tell",
    "transfer",
    "upload",
    "visit",
    "wget",
    // German, French, Spanish, Italian, Portuguese.
    "ignoriere",
    "ignorieren",
    "lösche",
    "loesche",
    "sende",
    "schicke",
    "führe",
    "vergiss",
    "ignorez",
    "supprime",
    "supprimez",
    "envoie",
    "envoyez",
    "exécute",
    "exécutez",
    "oublie",
    "ignora",
    "borra",
    "elimina",
    "envía",
    "envia",
    "ejecuta",
    "olvida",
    "cancella",
    "invia",
    "esegui",
    "dimentica",
    "apague",
    "envie",
    "esqueça",
];

/// Words of prose that names of files rarely have.
const PROSE: &[&str] = &[
    "and",
    "anything",
    "asking",
    "before",
    "beforehand",
    "earlier",
    "every",
    "everything",
    "immediately",
    "instead",
    "instruction",
    "instructions",
    "me",
    "must",
    "my",
    "now",
    "please",
    "previous",
    "previously",
    "rules",
    "secrets",
    "the",
    "then",
    "these",
    "this",
    "those",
    "without",
    "you",
    "your",
    // German, French, Spanish, Italian, Portuguese.
    "alle",
    "alles",
    "anweisungen",
    "bitte",
    "danach",
    "dann",
    "deine",
    "diese",
    "geheimnisse",
    "jetzt",
    "meine",
    "ohne",
    "regeln",
    "sofort",
    "und",
    "vorherigen",
    "consignes",
    "ensuite",
    "maintenant",
    "mes",
    "précédentes",
    "puis",
    "sans",
    "tes",
    "toutes",
    "votre",
    "vos",
    "ahora",
    "anteriores",
    "instrucciones",
    "luego",
    "mis",
    "todas",
    "todos",
    "tus",
    "adesso",
    "istruzioni",
    "poi",
    "precedenti",
    "tutte",
    "tutti",
    "agora",
    "depois",
    "instruções",
    "meus",
    "seus",
];

/// Ends of the names of hosts that are no types of files in common use.
const HOST_ENDS: &[&str] = &["app", "cn", "com", "dev", "info", "io", "net", "org", "ru", "xyz"];

/// Returns `true` for a name with control or invisible characters, with more than 100 characters, with
/// more than five words, or with the words of an order.
#[must_use]
pub fn is_odd_name(name: &str) -> bool {
    name.chars().any(char::is_control)
        || printable(name) != name
        || name.chars().count() > LONGEST
        || count_words(name) > MOST_WORDS
        || says_order(name)
}

/// Counts the words of a name. The type of a file is none, except behind a sentence with spaces.
fn count_words(name: &str) -> usize {
    let has_spaces = name.contains(char::is_whitespace);
    NameWords::new(if has_spaces { name } else { without_type(name) }).count()
}

/// Returns `true` for a path whose components are ordinary, but read as instructions together. Only
/// phrases count: a deep path of single words is ordinary.
#[must_use]
pub fn is_odd_path(path: &str) -> bool {
    path.split('/').any(is_odd_name) || count_phrase_words(path.split('/')) > MOST_WORDS
}

/// Returns `true` for a list of ordinary names that read as instructions together, in their order.
#[must_use]
pub fn is_odd_list(names: &[&str]) -> bool {
    let spaced = names.iter().filter(|name| without_type(name).contains(char::is_whitespace));
    if count_phrase_words(spaced.copied()) > MOST_LIST_WORDS {
        return true;
    }
    let judged: Vec<(usize, bool)> =
        names.iter().map(|name| (phrase_words(name), has_prose(name))).collect();
    let mut windows = judged.windows(judged.len().clamp(1, WINDOW));
    windows.any(|window| {
        let words: usize = window.iter().map(|(words, _)| words).sum();
        let prose = window.iter().filter(|(_, has_prose)| *has_prose).count();
        words > MOST_LIST_WORDS || prose > MOST_PROSE_NAMES
    })
}

/// Returns `true` for a name that can be a part of an order: a phrase, or a name with a word of prose.
#[must_use]
pub fn is_part_of_order(name: &str) -> bool {
    phrase_words(name) > 0 || has_prose(name)
}

/// Returns `true` for texts of which each line has the names of a list: `(line, name)`. Only names that
/// [can be a part of an order](is_part_of_order) are needed.
#[must_use]
pub fn is_odd_output(mut names: Vec<(usize, &str)>) -> bool {
    names.sort_unstable();
    let (mut list, mut last) = (Vec::new(), 0);
    for (line, name) in names {
        // Lines with other names keep their places.
        list.extend(std::iter::repeat_n("", (line - last).saturating_sub(1).min(WINDOW)));
        list.push(name);
        last = line;
    }
    is_odd_list(&list)
}

/// Counts the words of the names that are phrases. The end of a name, which tells the type of the file,
/// is no word.
fn count_phrase_words<'n>(names: impl IntoIterator<Item = &'n str>) -> usize {
    names.into_iter().map(phrase_words).sum()
}

/// The words of a name that is a phrase: of two words, with a space between them or a word of prose
/// among them, or of three words in letters beyond ASCII. 0 for other names.
fn phrase_words(name: &str) -> usize {
    let stem = without_type(name);
    let words = NameWords::new(stem);
    let count = words.count();
    let is_phrase = match count {
        0 | 1 => false,
        2 => stem.contains(char::is_whitespace) || words.has_one_of(PROSE),
        _ => stem.contains(char::is_whitespace) || words.has_one_of(PROSE) || !stem.is_ascii(),
    };
    if is_phrase { count } else { 0 }
}

fn has_prose(name: &str) -> bool {
    NameWords::new(without_type(name)).has_one_of(PROSE)
}

/// Returns `true` for a name of at least three words that says what to do, with two more words of an
/// order or of prose; or that sends something to a host.
fn says_order(name: &str) -> bool {
    let stem = without_type(name);
    let words = NameWords::new(stem);
    let (orders, prose) = (words.count_of(ORDERS), words.count_of(PROSE));
    let end = name.rsplit_once('.').map(|(_, end)| end.to_lowercase());
    let is_host = end.is_some_and(|end| HOST_ENDS.contains(&&*end));
    words.count() >= 3 && orders > 0 && (prose > 1 || (orders > 1 && prose > 0) || is_host)
}

/// Returns a name without the end that tells its type.
fn without_type(name: &str) -> &str {
    let is_type = |end: &str| end.len() <= LONGEST_TYPE && !end.contains(char::is_whitespace);
    name.rsplit_once('.').filter(|(_, end)| is_type(end)).map_or(name, |(stem, _)| stem)
}

/// The words of a name, in small letters. `camelCase` is two words, and so are four characters of a
/// script without spaces. A single letter is none.
#[derive(Debug)]
struct NameWords {
    words: Vec<String>,
    /// Characters of scripts without spaces.
    unspaced: usize,
}

impl NameWords {
    fn new(name: &str) -> Self {
        let (mut words, mut word, mut unspaced) = (Vec::new(), String::new(), 0);
        let mut last = ' ';
        for c in name.chars() {
            let is_letter = c.is_alphanumeric() || c == '\'';
            unspaced += usize::from(is_unspaced(c));
            let begins = !is_letter || is_unspaced(c) || (last.is_lowercase() && c.is_uppercase());
            if begins {
                words.push(std::mem::take(&mut word));
            }
            if c.is_alphabetic() && !is_unspaced(c) {
                word.extend(c.to_lowercase());
            }
            last = c;
        }
        words.push(word);
        words.retain(|word| word.chars().count() > 1);
        Self { words, unspaced }
    }

    fn count(&self) -> usize {
        self.words.len() + self.unspaced / 2
    }

    fn count_of(&self, list: &[&str]) -> usize {
        self.words.iter().filter(|word| list.contains(&word.as_str())).count()
    }

    fn has_one_of(&self, list: &[&str]) -> bool {
        self.count_of(list) > 0
    }
}

/// Returns `true` for a character of a script that writes no spaces between words (Unicode blocks
/// Thai, Lao, Myanmar, Khmer, Hiragana, Katakana and the ideographs).
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3134f}')
}

#[cfg(test)]
#[path = "odd_name_tests.rs"]
mod tests;
