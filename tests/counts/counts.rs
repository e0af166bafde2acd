//! Counts by name: read from a file, written to it, and compared with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const HEAD: &str = "\
# The work of one turn, and the packages and the weight of the program, counted by
# `tests/run -p avocet-tests --test counts`. The test fails if a count of a turn differs by more than a
# tenth, the size or the packages of a program by more than a fiftieth, or its instructions or resident
# text by more than a twentieth. `UPDATE_COUNTS=1` before this command writes the file anew. The release
# program is counted if AVOCET_RELEASE_PROGRAM names it: target/release/avocet after
# `cargo build --release`.
";
const ACCEPT: &str = "UPDATE_COUNTS=1 tests/run -p avocet-tests --test counts";

/// Counts by the kind of work and their name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Counts(BTreeMap<CountName, u64>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct CountName {
    work: String,
    count: String,
}

impl std::fmt::Display for CountName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.work, self.count)
    }
}

impl Counts {
    /// Reads the text of a file: a table for each kind of work.
    pub(crate) fn parse(text: &str) -> Result<Self, toml::de::Error> {
        let works: BTreeMap<String, BTreeMap<String, u64>> = toml::from_str(text)?;
        let mut counts = Self::default();
        for (work, named) in works {
            for (count, value) in named {
                counts.add(&work, &count, value);
            }
        }
        Ok(counts)
    }

    pub(crate) fn add(&mut self, work: &str, count: &str, value: u64) {
        let name = CountName { work: work.to_owned(), count: count.to_owned() };
        assert_eq!(self.0.insert(name, value), None, "{work}.{count} is counted twice");
    }

    pub(crate) fn extend(&mut self, other: Self) {
        for (CountName { work, count }, value) in other.0 {
            self.add(&work, &count, value);
        }
    }

    /// Returns the counts of one kind of work.
    pub(crate) fn of_work(&self, work: &str) -> Self {
        let counts = self.0.iter().filter(|(name, _)| name.work == work);
        Self(counts.map(|(name, value)| (name.clone(), *value)).collect())
    }

    /// Returns the text of a file.
    pub(crate) fn to_toml(&self) -> String {
        let mut text = HEAD.to_owned();
        let mut last = None;
        for (CountName { work, count }, value) in &self.0 {
            if last.replace(work) != Some(work) {
                write!(text, "\n[{work}]\n").unwrap();
            }
            writeln!(text, "{count} = {value}").unwrap();
        }
        text
    }

    /// Returns a table of these counts beside those of the file.
    pub(crate) fn table(&self, recorded: &Self) -> String {
        let mut table = format!("{:36}{:>10}{:>10}\n", "count", "file", "now");
        for (name, value) in &self.0 {
            let was = recorded.0.get(name).map_or("-".to_owned(), u64::to_string);
            writeln!(table, "{:36}{was:>10}{value:>10}", name.to_string()).unwrap();
        }
        table
    }

    /// Returns the differences from the file that fail the test, one text each.
    pub(crate) fn compare(&self, recorded: &Self) -> Vec<String> {
        let names: BTreeSet<&CountName> = self.0.keys().chain(recorded.0.keys()).collect();
        let faults =
            names.into_iter().filter_map(|name| match (recorded.0.get(name), self.0.get(name)) {
                (Some(was), Some(is)) => fault(name, *was, *is),
                (None, _) => Some(format!("{name} is not in counts.toml; to add it: {ACCEPT}")),
                (_, None) => Some(format!(
                    "{name} is in counts.toml, but not counted; to remove it: {ACCEPT}"
                )),
            });
        faults.collect()
    }
}

/// Returns the fault of a count that differs too much. A lower count is a fault as well: the file has to
/// follow it, so that the gain cannot be lost again.
fn fault(name: &CountName, was: u64, is: u64) -> Option<String> {
    let (parts, part) = allowed_part(name);
    let (grew, advice) = if is * parts > was * (parts + 1) {
        ("grew", "find the cause; if the growth is intended, accept it")
    } else if is * parts < was * (parts - 1) {
        ("fell", "keep the gain")
    } else {
        return None;
    };
    Some(format!("{name} {grew} from {was} to {is}, by more than {part}; {advice}: {ACCEPT}"))
}

/// Returns the part by which a count may differ. A file has the same size in each run. Its instructions and
/// its text in memory repeat within a hundredth on one machine; another processor copies memory in another
/// way.
fn allowed_part(name: &CountName) -> (u64, &'static str) {
    match (name.work.ends_with("program"), name.count.as_str()) {
        (true, "bytes" | "packages") => (50, "a fiftieth"),
        (true, _) => (20, "a twentieth"),
        (false, _) => (10, "a tenth"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(value: u64) -> Counts {
        let mut counts = Counts::default();
        counts.add("text_turn", "statements", value);
        counts
    }

    #[test]
    fn compare_allows_a_tenth_and_refuses_more() {
        let cases = [
            (100, 100, ""),
            (100, 110, ""),
            (100, 111, "grew from 100 to 111"),
            (100, 90, ""),
            (100, 89, "fell from 100 to 89"),
            (5, 5, ""),
            (5, 6, "grew from 5 to 6"),
            (5, 4, "fell from 5 to 4"),
            (0, 0, ""),
            (0, 1, "grew from 0 to 1"),
        ];
        for (was, is, expected) in cases {
            let faults = counts(is).compare(&counts(was));
            assert_eq!(faults.is_empty(), expected.is_empty(), "{was} {is}: {faults:?}");
            let faults = faults.concat();
            assert!(faults.contains(expected), "{was} {is}: {faults}");
            let names = ["text_turn.statements", "UPDATE_COUNTS=1"];
            assert!(faults.is_empty() || names.iter().all(|one| faults.contains(one)), "{faults}");
        }
    }

    #[test]
    fn compare_allows_a_program_less() {
        let program = |count, value| {
            let mut counts = Counts::default();
            counts.add("program", count, value);
            counts
        };
        for (count, is, expected) in [
            ("packages", 392, true),
            ("packages", 408, true),
            ("packages", 391, false),
            ("packages", 409, false),
            ("text_turn_instructions", 420, true),
            ("text_turn_instructions", 421, false),
            ("text_turn_instructions", 379, false),
        ] {
            let faults = program(count, is).compare(&program(count, 400));
            assert_eq!(faults.is_empty(), expected, "{count} {is}: {faults:?}");
        }
    }

    #[test]
    fn compare_refuses_a_count_that_only_one_side_has() {
        let [missing] = &counts(1).compare(&Counts::default())[..] else { panic!("one fault") };
        assert!(missing.starts_with("text_turn.statements is not in counts.toml"), "{missing}");
        let [unknown] = &Counts::default().compare(&counts(1))[..] else { panic!("one fault") };
        assert!(unknown.contains("is in counts.toml, but not counted"), "{unknown}");
    }

    #[test]
    fn to_toml_is_read_back_by_parse() {
        let mut counts = counts(69);
        counts.add("text_turn", "file_opens", 3);
        counts.add("request_for_hi", "bytes", 3945);
        let text = counts.to_toml();
        assert_eq!(Counts::parse(&text).unwrap(), counts, "{text}");
        assert!(text.ends_with("[text_turn]\nfile_opens = 3\nstatements = 69\n"), "{text}");
    }

    #[test]
    fn parse_refuses_a_negative_and_a_bare_count() {
        assert!(Counts::parse("[text_turn]\nstatements = -1\n").is_err());
        assert!(Counts::parse("statements = 1\n").is_err());
    }
}
