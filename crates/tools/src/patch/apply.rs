//! Applies hunks to a text: at the given line, or at the only other place that matches.

use super::PatchHunk;

/// Characters of a line that an error shows.
const SHOWN: usize = 160;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AppliedHunks {
    pub(crate) text: String,
    /// Hunks that matched elsewhere: their number, from 1, and the offset in lines (positive:
    /// further down).
    pub(crate) moved: Vec<(usize, isize)>,
}

/// Applies hunks to a text. All lines get the line end of the text's first line.
///
/// # Errors
/// If a hunk matches at no place or at several: its number, with the lines or the places found.
pub(crate) fn apply_hunks(text: &str, hunks: &[PatchHunk]) -> Result<AppliedHunks, String> {
    let end = if text.split_inclusive('\n').next().is_some_and(|line| line.ends_with("\r\n")) {
        "\r\n"
    } else {
        "\n"
    };
    let lines: Vec<&str> =
        text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    // `split` yields an empty piece after the last line end.
    let lines =
        if text.is_empty() || text.ends_with('\n') { &lines[..lines.len() - 1] } else { &lines };
    let mut is_open = !text.is_empty() && !text.ends_with('\n');
    let (mut new, mut done, mut moved) = (Vec::new(), 0, Vec::new());
    for (number, hunk) in (1..).zip(hunks) {
        let at = find_place(lines, hunk, number, done)?;
        let offset = at.cast_signed() - expected_start(hunk).cast_signed();
        if offset != 0 {
            moved.push((number, offset));
        }
        new.extend(lines[done..at].iter().map(|line| (*line).to_owned()));
        new.extend(hunk.new_lines().map(|line| line.strip_suffix('\r').unwrap_or(line).to_owned()));
        done = at + hunk.old_lines().count();
        if done == lines.len() {
            is_open = hunk.is_open.1 || (is_open && !hunk.is_open.0);
        }
    }
    new.extend(lines[done..].iter().map(|line| (*line).to_owned()));
    let mut text = new.join(end);
    if !new.is_empty() && !is_open {
        text.push_str(end);
    }
    Ok(AppliedHunks { text, moved })
}

/// The start of a hunk by its header, from 0. A hunk without old lines goes after its line.
fn expected_start(hunk: &PatchHunk) -> usize {
    if hunk.old_lines().next().is_none() { hunk.start } else { hunk.start.saturating_sub(1) }
}

/// The line, from 0, at which a hunk matches, past the lines that are done already.
fn find_place(
    lines: &[&str],
    hunk: &PatchHunk,
    number: usize,
    done: usize,
) -> Result<usize, String> {
    let old: Vec<&str> =
        hunk.old_lines().map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    let fits = |at: usize| {
        let there = lines.get(at..at.saturating_add(old.len()));
        at >= done && there.is_some_and(|there| there == old)
    };
    let expected = expected_start(hunk);
    if fits(expected) {
        return Ok(expected);
    }
    let places: Vec<usize> = if old.is_empty() {
        Vec::new()
    } else {
        (done..lines.len()).filter(|at| fits(*at)).collect()
    };
    match places[..] {
        [only] => Ok(only),
        [] => Err(format!("hunk {number}: {}", describe_mismatch(lines, &old, expected))),
        _ => Err(format!(
            "hunk {number}: its lines are not at line {}, and at several others ({}); correct the @@ \
             line, or give more lines around it",
            expected + 1,
            places.iter().take(5).map(|at| (at + 1).to_string()).collect::<Vec<_>>().join(", ")
        )),
    }
}

/// Describes the first line that differs from the hunk.
fn describe_mismatch(lines: &[&str], old: &[&str], at: usize) -> String {
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
