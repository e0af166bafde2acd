//! Outlines of files without a known grammar, line by line: Markdown headings, sections and keys of
//! configuration files, and lines that look like definitions or imports.

use regex::Regex;

use super::OutlineEntry;
use crate::builtin::languages::definition_pattern;

/// Matches any name.
const NAME: &str = r"[\p{L}_$][\w$]*";
/// First words of lines that only look like definitions.
const CONTROL: [&str; 9] =
    ["catch", "do", "else", "for", "if", "return", "switch", "throw", "while"];
/// Matches lines that import.
const IMPORT: &str = r"^\s*(?:import|from|use|using|require|require_once|require_relative|include|package|#\s*include|source)\b\s*\S+";

/// The entries of a text. `extension` is in lower case.
pub(super) fn plain_entries(extension: &str, text: &str) -> Vec<OutlineEntry> {
    match extension {
        "md" | "markdown" | "mdx" => markdown_headings(text),
        "toml" | "ini" | "cfg" | "conf" => by_line(text, r"^\s*\[.*\]\s*$"),
        "yaml" | "yml" => by_line(text, r#"^["\w][^:#]*:"#),
        "css" | "scss" | "less" => by_line(text, r"^[^\s{}/*][^{}]*\{"),
        "txt" | "csv" | "tsv" | "json" | "jsonl" | "log" | "xml" | "html" | "svg" | "" => {
            Vec::new()
        }
        _ => by_line(text, &format!("{}|{IMPORT}", definition_pattern(extension, NAME))),
    }
}

/// ATX headings, except inside fenced code blocks.
fn markdown_headings(text: &str) -> Vec<OutlineEntry> {
    let (mut fence, mut headings) = (None, Vec::new());
    for (number, line) in text.lines().enumerate() {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        let is_heading = (1..=6).contains(&level) && line[level..].starts_with([' ', '\t']);
        if is_heading && fence.is_none() {
            let text = line.trim().to_owned();
            headings.push(OutlineEntry { line: number + 1, depth: level - 1, text });
        }
    }
    headings
}

/// The lines that match the pattern; their depth is their indentation.
fn by_line(text: &str, pattern: &str) -> Vec<OutlineEntry> {
    let Ok(pattern) = Regex::new(pattern) else { return Vec::new() };
    let lines = text.lines().enumerate().filter(|(_, line)| {
        let first = line.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
        pattern.is_match(line) && !first.is_some_and(|word| CONTROL.contains(&word))
    });
    let entries = lines.map(|(number, line)| {
        let text = line.trim().trim_end_matches(['{', ':', ' ']).to_owned();
        let indent = line.len() - line.trim_start().len();
        let step = if line.starts_with('\t') { 1 } else { 4 };
        OutlineEntry { line: number + 1, depth: (indent / step).min(8), text }
    });
    entries.collect()
}
