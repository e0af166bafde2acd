//! Suggestions for misspelled words.

/// The least similarity of two words, from 0 to 1 (Jaro-Winkler).
const ALIKE: f64 = 0.8;

/// Returns the word of `known` that is most similar to `word`; `None` if all of them are too
/// different.
#[must_use]
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let word = word.to_lowercase();
    let rated = known.into_iter().map(|one| (strsim::jaro_winkler(one, &word), one));
    let alike = rated.filter(|(likeness, _)| *likeness > ALIKE);
    alike.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, one)| one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_a_misspelt_word_and_no_unrelated_word() {
        let known = ["exec_shell", "read_file", "write_file"];
        let table = [
            ("exec_shel", Some("exec_shell")),
            ("Exec_Shell", Some("exec_shell")),
            ("readfile", Some("read_file")),
            ("wirte_file", Some("write_file")),
            ("bananas", None),
            ("", None),
        ];
        for (word, expected) in table {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
    }
}
