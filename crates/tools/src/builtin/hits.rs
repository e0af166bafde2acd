//! Search matches in ripgrep's format, limited to the amount that a model can read.

use std::io;

use avocet_text::append_text;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

const MAX_MATCHES: usize = 200;
const MAX_BYTES: usize = 64 * 1024;
/// Characters of a line that are shown.
const MAX_LINE: usize = 400;

/// The matching lines with their context lines.
#[derive(Debug, Default)]
pub(super) struct SearchHits {
    text: String,
    matches: usize,
    is_full: bool,
}

/// Collects the matches of one file.
#[derive(Debug)]
pub(super) struct HitsInFile<'h> {
    hits: &'h mut SearchHits,
    path: String,
    is_first: bool,
}

impl SearchHits {
    pub(super) fn hits_in_file(&mut self, path: String) -> HitsInFile<'_> {
        HitsInFile { hits: self, path, is_first: true }
    }

    /// Bytes collected so far.
    pub(super) fn collected_bytes(&self) -> usize {
        self.text.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// The report for the model. `passed_over` lists numbers of unsearched files, with the reason
    /// for each.
    pub(super) fn write_report(self, searched: usize, passed_over: &[(usize, &str)]) -> String {
        let Self { mut text, matches, is_full } = self;
        let plural = |count: usize| if count == 1 { "file" } else { "files" };
        if matches == 0 {
            append_text(&mut text, format_args!("no match in {searched} {}", plural(searched)));
        } else if is_full {
            append_text(
                &mut text,
                format_args!(
                    "[only the first {matches} matches are shown; narrow the pattern, the path or the glob]"
                ),
            );
        }
        for (count, why) in passed_over.iter().filter(|(count, _)| *count > 0) {
            let line = format!("\n[{count} {} not searched: {why}]", plural(*count));
            text.push_str(if text.ends_with('\n') { line.trim_start() } else { &line });
        }
        text.truncate(text.trim_end().len());
        text
    }

    /// Adds a line. Returns `false` if the limit of bytes is reached.
    fn push(&mut self, path: &str, mark: char, number: Option<u64>, bytes: &[u8]) -> bool {
        let line = String::from_utf8_lossy(bytes);
        let line = line.trim_end_matches(['\n', '\r']);
        let shown = line.char_indices().nth(MAX_LINE).map_or(line, |(at, _)| &line[..at]);
        let cut = if shown.len() < line.len() { "…" } else { "" };
        let line = format!("{path}{mark}{}{mark} {shown}{cut}\n", number.unwrap_or_default());
        if self.text.len() + line.len() > MAX_BYTES {
            self.is_full = true;
            return false;
        }
        self.text.push_str(&line);
        true
    }
}

impl Sink for HitsInFile<'_> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.hits.matches == MAX_MATCHES {
            self.hits.is_full = true;
            return Ok(false);
        }
        self.add_separator(searcher);
        let goes_on = self.hits.push(&self.path, ':', found.line_number(), found.bytes());
        self.hits.matches += usize::from(goes_on);
        Ok(goes_on)
    }

    fn context(&mut self, searcher: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        if self.hits.matches == MAX_MATCHES && self.is_first {
            return Ok(true);
        }
        self.add_separator(searcher);
        Ok(self.hits.push(&self.path, '-', context.line_number(), context.bytes()))
    }

    fn context_break(&mut self, _searcher: &Searcher) -> io::Result<bool> {
        self.hits.text.push_str("--\n");
        Ok(true)
    }
}

impl HitsInFile<'_> {
    /// Puts a separator before each further file if context lines are shown.
    fn add_separator(&mut self, searcher: &Searcher) {
        let has_context = searcher.before_context() + searcher.after_context() > 0;
        if std::mem::take(&mut self.is_first) && has_context && !self.hits.text.is_empty() {
            self.hits.text.push_str("--\n");
        }
    }
}
