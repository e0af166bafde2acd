//! `avocet people erase` after everything has come in from outside: through the platforms, the socket,
//! the console and the model. No marker of the person is left in any file of the data directory, and
//! every marker of another person is.

mod people;
mod planting;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use regex::bytes::Regex;

use crate::support::{printed, printed_json, stop};
use people::{ANN, BOB, STRANGER};
use planting::{AGENT_FILE, Planting};

/// The least number of different markers of the person.
const LEAST_MARKERS: usize = 50;

/// Returns the markers with this word in all files below a directory, with the paths of the files. The
/// indices of the log hold them in lower case.
fn find_markers(directory: &Path, word: &str) -> BTreeMap<String, Vec<String>> {
    let pattern = Regex::new(&format!("(?i){word}[a-z]+")).unwrap();
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap().map(Result::unwrap) {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                directories.push(entry.path());
            } else if kind.is_file() {
                let path = entry.path().display().to_string();
                let bytes = [path.as_bytes(), b"\n", &fs::read(entry.path()).unwrap()].concat();
                for marker in pattern.find_iter(&bytes) {
                    let marker = String::from_utf8_lossy(marker.as_bytes()).into_owned();
                    let paths = found.entry(marker).or_default();
                    if !paths.contains(&path) {
                        paths.push(path.clone());
                    }
                }
            }
        }
    }
    found
}

/// Returns `true` if a marker was found. The next column of the log may follow it.
fn has(found: &BTreeMap<String, Vec<String>>, marker: &str) -> bool {
    found.keys().any(|one| one.starts_with(marker))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_erase_leaves_no_marker_that_came_in_from_outside() {
    let mut planting = Planting::start().await;
    planting.plant_everything().await;
    let (home, others) = planting.stop();
    let data = home.data_dir();
    let before = find_markers(&data, ANN.word);
    let missing: Vec<String> =
        planting::markers_of_ann().into_iter().filter(|marker| !has(&before, marker)).collect();
    assert_eq!(missing, [""; 0], "planted, but in no file: {before:#?}");
    assert!(planting::markers_of_ann().len() >= LEAST_MARKERS);
    let mut stays = Vec::new();
    for person in [ANN.on_telegram(), STRANGER.on_telegram()].into_iter().chain(others) {
        let erased = printed_json(&home, &["people", "erase", &person, "--yes"]);
        stays.extend(erased["stays"].as_array().unwrap().iter().cloned());
    }
    // The agent wrote this file, and the command says so.
    let own_file = home.workspace().join(AGENT_FILE);
    assert_eq!(stays, [own_file.display().to_string()]);
    assert!(fs::read_to_string(&own_file).unwrap().contains(&ANN.mark("written")));
    fs::remove_file(own_file).unwrap();
    assert_eq!(find_markers(&data, ANN.word), BTreeMap::new());
    let left = find_markers(&data, BOB.word);
    let lost: Vec<String> =
        planting::markers_of_bob().into_iter().filter(|marker| !has(&left, marker)).collect();
    assert_eq!(lost, [""; 0], "markers of the other person");
    let verified = printed(&home, &["audit", "verify"]);
    assert!(verified.contains("all unchanged"), "{verified}");

    let again = planting.start_again();
    let answer = printed(&home, &["ask", "me", "say hello", "--wait"]);
    assert_eq!(answer, "hello\n");
    stop(again);
    assert_eq!(find_markers(&data, ANN.word), BTreeMap::new(), "after a start");
}
