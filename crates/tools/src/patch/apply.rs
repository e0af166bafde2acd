//! Hunks, applied to the text of a file: exactly where they say, or at the one other place that fits.

use super::Hunk;

/// Characters of a line that are shown in an error.
const SHOWN: usize = 160;

/// A text after a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Applied {
    pub(crate) text: String,
    /// Hunks that fit elsewhere, by their numbers from 1, and how many lines further down that is.
    pub(crate) moved: Vec<(usize, isize)>,
}

/// Applies hunks to a text. Its lines go on to end as the first one does.
///
/// # Errors
/// Which hunk fits nowhere, or at several places; what was expected, and what stands there.
pub(crate) fn apply(text: &str, hunks: &[Hunk]) -> Result<Applied, String> {
    let end = if text.split_inclusive('\n').next().is_some_and(|line| line.ends_with("\r\n")) {
        "\r\n"
    } else {
        "\n"
    };
    let lines: Vec<&str> =
        text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    // Behind the last line end there is no line.
    let lines =
        if text.is_empty() || text.ends_with('\n') { &lines[..lines.len() - 1] } else { &lines };
    let mut is_open = !text.is_empty() && !text.ends_with('\n');
    let (mut new, mut done, mut moved) = (Vec::new(), 0, Vec::new());
    for (number, hunk) in (1..).zip(hunks) {
        let at = place(lines, hunk, number, done)?;
        let offset = at.cast_signed() - expected(hunk).cast_signed();
        if offset != 0 {
            moved.push((number, offset));
        }
        new.extend(lines[done..at].iter().map(|line| (*line).to_owned()));
        new.extend(hunk.new_lines().map(|line| line.strip_suffix('\r').unwrap_or(line).to_owned()));
        done = at + hunk.old().count();
        if done == lines.len() {
            is_open = hunk.is_open.1 || (is_open && !hunk.is_open.0);
        }
    }
    new.extend(lines[done..].iter().map(|line| (*line).to_owned()));
    let mut text = new.join(end);
    if !new.is_empty() && !is_open {
        text.push_str(end);
    }
    Ok(Applied { text, moved })
}

/// Where a hunk says that it begins, from 0. One without old lines stands behind its line.
fn expected(hunk: &Hunk) -> usize {
    if hunk.old().next().is_none() { hunk.start } else { hunk.start.saturating_sub(1) }
}

/// Where a hunk fits, from 0, behind what is done already.
fn place(lines: &[&str], hunk: &Hunk, number: usize, done: usize) -> Result<usize, String> {
    let old: Vec<&str> = hunk.old().map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    let fits = |at: usize| {
        let there = lines.get(at..at.saturating_add(old.len()));
        at >= done && there.is_some_and(|there| there == old)
    };
    let expected = expected(hunk);
    if fits(expected) {
        return Ok(expected);
    }
    let places: Vec<usize> = match old.is_empty() {
        true => Vec::new(),
        false => (done..lines.len()).filter(|at| fits(*at)).collect(),
    };
    match places[..] {
        [only] => Ok(only),
        [] => Err(format!("hunk {number}: {}", mismatch(lines, &old, expected))),
        _ => Err(format!(
            "hunk {number}: its lines are not at line {}, and at several others ({}); correct the @@ \
             line, or give more lines around it",
            expected + 1,
            places.iter().take(5).map(|at| (at + 1).to_string()).collect::<Vec<_>>().join(", ")
        )),
    }
}

/// The first line that is not as expected.
fn mismatch(lines: &[&str], old: &[&str], at: usize) -> String {
    let wrong = old.iter().zip(at..).find(|(old, at)| lines.get(*at) != Some(old));
    let Some((wanted, at)) = wrong else {
        return format!("line {} is not behind the hunk before it, or not in the file", at + 1);
    };
    let shown = |line: &str| format!("{:?}", line.chars().take(SHOWN).collect::<String>());
    let there = lines.get(at).map_or_else(
        || format!("the file has {} lines", lines.len()),
        |there| format!("there stands {}", shown(there)),
    );
    format!("at line {}, expected {}, but {there}", at + 1, shown(wanted))
}
