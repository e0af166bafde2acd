//! Repairs fences inside of fences. Some models write the same fence for a block of Markdown and
//! for the blocks of code in it. CommonMark then ends the outer block at the first inner end.

use std::borrow::Cow;
use std::ops::Range;

/// The shortest fence.
const SHORTEST: usize = 3;

/// A line that can begin or end a block of code.
#[derive(Debug, Clone, Copy)]
struct FenceLine<'a> {
    mark: char,
    length: usize,
    /// The text behind the fence; an end has none.
    info: &'a str,
}

/// Lengthens the fence of each block that contains a complete block with the same fence. Other text
/// stays as it is.
pub(crate) fn lengthen_outer(markdown: &str) -> Cow<'_, str> {
    if markdown.matches("```").count() < 4 && markdown.matches("~~~").count() < 4 {
        return Cow::Borrowed(markdown);
    }
    let lines: Vec<&str> = markdown.split_inclusive('\n').collect();
    let mut longer = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let Some(opening) = FenceLine::read(lines[at]) else {
            at += 1;
            continue;
        };
        let block = OuterBlock::find_block(&lines, at, opening);
        // Fences without a balance are no nested blocks. Another scan could read all lines again.
        if block.is_unbalanced {
            break;
        }
        if let Some(fence) = block.fence {
            longer.push((at, fence));
            longer.push((block.end, fence));
        }
        at = block.end + 1;
    }
    if longer.is_empty() {
        return Cow::Borrowed(markdown);
    }
    let mut repaired = String::with_capacity(markdown.len() + 2 * longer.len());
    let mut longer = longer.into_iter().peekable();
    for (number, line) in lines.iter().enumerate() {
        match longer.next_if(|(changed, _)| *changed == number) {
            Some((_, fence)) => repaired.push_str(&with_fence(line, fence)),
            None => repaired.push_str(line),
        }
    }
    Cow::Owned(repaired)
}

/// Returns the bytes of each fenced block of code, also of one in a list or a quote. A block without
/// an end reaches to the end of the text.
pub(crate) fn fenced_blocks(markdown: &str) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    if !markdown.contains("```") && !markdown.contains("~~~") {
        return blocks;
    }
    let mut open: Option<OpenBlock<'_>> = None;
    let mut at = 0;
    for line in markdown.split_inclusive('\n') {
        let is_quoted = line.trim_start().starts_with('>');
        // The end of a quote ends the code in it.
        if let Some(block) = open.take_if(|block| block.is_quoted && !is_quoted) {
            blocks.push(block.start..at);
        }
        let (start, end) = (at, at + line.len());
        at = end;
        let fence = FenceLine::read(line.trim_start_matches([' ', '\t', '>']));
        let Some(fence) = fence else { continue };
        match open.take_if(|block| fence.ends(block.opening)) {
            Some(block) => blocks.push(block.start..end),
            None => open = open.or(Some(OpenBlock { start, opening: fence, is_quoted })),
        }
    }
    blocks.extend(open.map(|block| block.start..at));
    blocks
}

/// A block of code whose end is still to be found.
#[derive(Debug, Clone, Copy)]
struct OpenBlock<'a> {
    start: usize,
    opening: FenceLine<'a>,
    is_quoted: bool,
}

/// A block of code, and its new fence.
#[derive(Debug, Clone, Copy)]
struct OuterBlock {
    /// The line of its end.
    end: usize,
    /// `true` if no line ends both it and its inner blocks.
    is_unbalanced: bool,
    /// The fence that it needs; `None` if its own is right.
    fence: Option<usize>,
}

impl OuterBlock {
    /// Finds the end of the block that begins at a line. A fence with an info string opens an inner
    /// block; the block needs a longer fence only if each inner block ends before it.
    fn find_block(lines: &[&str], start: usize, opening: FenceLine<'_>) -> Self {
        let mut depth = 0_usize;
        let mut longest = 0;
        for (number, line) in lines.iter().enumerate().skip(start + 1) {
            let Some(fence) = FenceLine::read(line).filter(|fence| fence.is_as_strong_as(opening))
            else {
                continue;
            };
            if !fence.info.is_empty() {
                depth += 1;
                longest = longest.max(fence.length);
                continue;
            }
            if depth > 0 {
                depth -= 1;
                longest = longest.max(fence.length);
                continue;
            }
            let needs = (longest >= opening.length).then_some(longest + 1);
            return Self { end: number, is_unbalanced: false, fence: needs };
        }
        Self { end: lines.len(), is_unbalanced: true, fence: None }
    }
}

impl<'a> FenceLine<'a> {
    /// Reads a line. Indented code and inline code are no fences (CommonMark, "Fenced code
    /// blocks").
    fn read(line: &'a str) -> Option<Self> {
        #[cfg(test)]
        tests::READ.with(|read| read.set(read.get() + 1));
        let text = line.trim_end();
        let fence = text.trim_start_matches(' ');
        if text.len() - fence.len() >= 4 {
            return None;
        }
        let mark = fence.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let info = fence.trim_start_matches(mark);
        let length = fence.len() - info.len();
        (length >= SHORTEST && !info.contains('`')).then(|| Self {
            mark,
            length,
            info: info.trim(),
        })
    }

    /// Returns `true` if the fence can end a block, or nest in one. A shorter fence is text of the
    /// block (CommonMark, "Fenced code blocks").
    fn is_as_strong_as(self, opening: FenceLine<'_>) -> bool {
        self.mark == opening.mark && self.length >= opening.length
    }

    fn ends(self, opening: FenceLine<'_>) -> bool {
        self.is_as_strong_as(opening) && self.info.is_empty()
    }
}

/// Returns the line with a fence of this length.
fn with_fence(line: &str, length: usize) -> String {
    let fence = line.trim_start_matches(' ');
    let indentation = &line[..line.len() - fence.len()];
    let mark = fence.chars().next().unwrap_or('`');
    let info = fence.trim_start_matches(mark);
    format!("{indentation}{}{info}", mark.to_string().repeat(length))
}

#[cfg(test)]
#[path = "fences_tests.rs"]
mod tests;
