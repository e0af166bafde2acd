//! Parsers for git's machine-readable output. Standard error is mixed into the same stream, so text
//! that is no record is skipped.

use serde_json::{Value, json};

/// `FIELD` ends each field of a record and `RECORD` begins each record, in the formats below.
pub(super) const FIELD: char = '\u{1f}';
pub(super) const RECORD: char = '\u{1e}';

/// The format of `git log` that [`parse_log`] reads.
pub(super) const LOG_FORMAT: &str = "--format=%x1e%H%x1f%an <%ae>%x1f%aI%x1f%D%x1f%s%x1f%b%x1f";
/// The format of `git for-each-ref` that [`parse_branches`] reads.
pub(super) const BRANCH_FORMAT: &str = "--format=%1e%(HEAD)%1f%(refname)%1f%(objectname:short)%1f\
    %(upstream:short)%1f%(upstream:track,nobracket)%1f%(committerdate:iso-strict)%1f%(subject)%1f";

/// Changes that a status lists; the rest are only counted.
const MOST_CHANGES: usize = 300;

/// Parses `git status --porcelain=v2 --branch -z`.
pub(super) fn parse_status(text: &str) -> Value {
    let mut branch = json!({ "branch": null });
    let (mut changes, mut untracked, mut conflicts) = (Vec::new(), Vec::new(), Vec::new());
    let mut records = text.split('\0');
    while let Some(record) = records.next() {
        let record = from_its_beginning(record);
        let (kind, rest) = record.split_once(' ').unwrap_or((record, ""));
        match kind {
            "#" => parse_header(rest, &mut branch),
            "1" => changes.extend(parse_change(rest, 8, None)),
            // For a renamed or copied file, the next record is the old name.
            "2" => changes.extend(parse_change(rest, 9, records.next())),
            "u" => conflicts.extend(rest.splitn(10, ' ').nth(9).map(str::to_owned)),
            "?" => untracked.push(rest.to_owned()),
            _ => {}
        }
    }
    let all = changes.len() + untracked.len() + conflicts.len();
    branch["clean"] = (all == 0).into();
    let mut room = MOST_CHANGES;
    let mut shorten = |list: usize| {
        let shown = list.min(room);
        room -= shown;
        shown
    };
    conflicts.truncate(shorten(conflicts.len()));
    changes.truncate(shorten(changes.len()));
    untracked.truncate(shorten(untracked.len()));
    let left_out = all - conflicts.len() - changes.len() - untracked.len();
    for (key, empty, list) in [
        ("conflicts", conflicts.is_empty(), json!(conflicts)),
        ("changes", changes.is_empty(), json!(changes)),
        ("untracked", untracked.is_empty(), json!(untracked)),
        ("left_out", left_out == 0, json!(left_out)),
    ] {
        if !empty {
            branch[key] = list;
        }
    }
    branch
}

/// Strips a warning that precedes a record.
fn from_its_beginning(record: &str) -> &str {
    let is_record =
        |text: &str| ["# ", "1 ", "2 ", "u ", "? ", "! "].iter().any(|kind| text.starts_with(kind));
    if is_record(record) {
        return record;
    }
    let behind = record.match_indices('\n').map(|(at, _)| &record[at + 1..]);
    behind.into_iter().find(|text| is_record(text)).unwrap_or(record)
}

fn parse_header(rest: &str, branch: &mut Value) {
    match rest.split_once(' ') {
        Some(("branch.head", "(detached)")) => branch["detached"] = true.into(),
        Some(("branch.head", name)) => branch["branch"] = name.into(),
        Some(("branch.oid", "(initial)")) => branch["commit"] = Value::Null,
        Some(("branch.oid", id)) => branch["commit"] = id.into(),
        Some(("branch.upstream", name)) => branch["upstream"] = name.into(),
        Some(("branch.ab", both)) => {
            let number = |text: &str| text.trim_start_matches(['+', '-']).parse::<u64>().ok();
            if let Some((ahead, behind)) = both.split_once(' ') {
                branch["ahead"] = json!(number(ahead));
                branch["behind"] = json!(number(behind));
            }
        }
        _ => {}
    }
}

/// Parses `XY sub mH mI mW hH hI [Xscore] path`; the path is word number `words`.
fn parse_change(rest: &str, words: usize, from: Option<&str>) -> Option<Value> {
    let path = rest.splitn(words, ' ').nth(words - 1)?;
    let mut letters = rest.chars();
    let (staged, unstaged) = (letters.next()?, letters.next()?);
    let mut change = json!({ "path": path });
    for (key, letter) in [("staged", staged), ("unstaged", unstaged)] {
        if let Some(word) = word_for_letter(letter) {
            change[key] = word.into();
        }
    }
    if let Some(from) = from {
        change["from"] = from.into();
    }
    Some(change)
}

fn word_for_letter(letter: char) -> Option<&'static str> {
    Some(match letter {
        'M' => "modified",
        'T' => "type changed",
        'A' => "added",
        'D' => "deleted",
        'R' => "renamed",
        'C' => "copied",
        _ => return None,
    })
}

/// Parses `git log` in [`LOG_FORMAT`].
pub(super) fn parse_log(text: &str) -> Vec<Value> {
    split_records(text)
        .filter_map(|record| {
            let [commit, author, date, refs, subject, body] = split_fields(record)?;
            let mut entry =
                json!({ "commit": commit, "author": author, "date": date, "subject": subject });
            for (key, text) in [("refs", refs), ("body", body.trim())] {
                if !text.is_empty() {
                    entry[key] = text.into();
                }
            }
            Some(entry)
        })
        .collect()
}

/// Parses `git for-each-ref` in [`BRANCH_FORMAT`].
pub(super) fn parse_branches(text: &str) -> Value {
    let mut current = None;
    let branches: Vec<Value> = split_records(text)
        .filter_map(|record| {
            let [head, name, commit, upstream, track, date, subject] = split_fields(record)?;
            let local = name.strip_prefix("refs/heads/");
            let name = local.or_else(|| name.strip_prefix("refs/remotes/"))?;
            if head == "*" {
                current = Some(name.to_owned());
            }
            let mut branch =
                json!({ "name": name, "commit": commit, "date": date, "subject": subject });
            if local.is_none() {
                branch["remote"] = true.into();
            }
            for (key, text) in [("upstream", upstream), ("track", track)] {
                if !text.is_empty() {
                    branch[key] = text.into();
                }
            }
            Some(branch)
        })
        .collect();
    json!({ "current": current, "branches": branches })
}

fn split_records(text: &str) -> impl Iterator<Item = &str> {
    text.split(RECORD).skip(1)
}

/// Splits a record into exactly `N` fields, each of which ends with a [`FIELD`].
fn split_fields<const N: usize>(record: &str) -> Option<[&str; N]> {
    let fields: Vec<&str> = record.split(FIELD).collect();
    fields.get(..N)?.try_into().ok().filter(|_| fields.len() == N + 1)
}

/// Splits `git diff --stat --patch` into the stat and the diff.
pub(super) fn split_diff(text: &str) -> (&str, &str) {
    let starts = ["diff --git ", "diff --cc ", "diff --combined "];
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if starts.iter().any(|start| line.starts_with(start)) {
            return (text[..at].trim_end(), &text[at..]);
        }
        at += line.len();
    }
    (text.trim_end(), "")
}

/// The result of a push of one branch, from `git push --porcelain`.
pub(super) fn parse_push(text: &str) -> Option<&str> {
    let flags = [' ', '+', '-', '*', '!', '='];
    let line = text.lines().find(|line| {
        line.starts_with(flags) && line[1..].starts_with('\t') && line.matches('\t').count() >= 2
    })?;
    line.splitn(3, '\t').nth(2).map(str::trim)
}

/// A URL without its credentials. `None` if parsers could disagree about its host.
pub(super) fn without_credentials(url: &str) -> Option<String> {
    let Some((scheme, rest)) = url.split_once("://") else { return Some(url.to_owned()) };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    if host.contains(['?', '#', '\\']) {
        return None;
    }
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    Some(format!("{scheme}://{host}{path}"))
}

/// Returns `true` if a URL leads to another machine (git-fetch(1), GIT URLS). A doubtful URL counts
/// as local.
pub(super) fn is_elsewhere(url: &str) -> bool {
    match url.split_once("://") {
        Some((scheme, _)) => ["http", "https", "ssh"].contains(&scheme),
        None => url.split('/').next().is_some_and(|host| host.contains(':')),
    }
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
