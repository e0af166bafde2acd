//! Treats the ranges of styles as intervals: joins equal styles, cuts them around others, nests
//! them.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

use avocet_protocol::chat::{Style, StyleRange};

/// Returns the same styles at the same places as sorted, properly nested ranges. All ranges are
/// non-empty and outside of ranges of their own style. Equal styles that touch are joined, except
/// links. Where two ranges overlap, the inner (later) one is cut.
pub(crate) fn nest_styles(styles: Vec<StyleRange>) -> Vec<StyleRange> {
    if is_nested(&styles) {
        return styles;
    }
    let mut rest = join_styles(styles);
    rest.sort_by_key(by_place);
    let mut stack: Vec<StyleRange> = Vec::new();
    let mut found = Vec::new();
    for range in rest {
        close(&mut stack, &mut found, range.start);
        stack.push(range);
    }
    close(&mut stack, &mut found, usize::MAX);
    found.sort_by_key(by_place);
    found
}

fn by_place(range: &StyleRange) -> (usize, Reverse<usize>, usize) {
    (range.start, Reverse(range.end), nesting_depth(&range.style))
}

/// The nesting order of styles at the same place, the outermost first.
fn nesting_depth(style: &Style) -> usize {
    match style {
        Style::Quote => 0,
        Style::Heading { .. } => 1,
        Style::Small => 2,
        Style::Link { .. } => 3,
        Style::Spoiler => 4,
        Style::Bold => 5,
        Style::Italic => 6,
        Style::Strike => 7,
        Style::Code => 8,
        Style::Pre { .. } => 9,
    }
}

/// Closes the ranges that end by `until`. An inner range that ends later continues as a new range.
fn close(stack: &mut Vec<StyleRange>, found: &mut Vec<StyleRange>, until: usize) {
    loop {
        let ends = stack.iter().map(|range| range.end).min().unwrap_or(usize::MAX);
        if stack.is_empty() || ends > until {
            return;
        }
        let first = stack.iter().position(|range| range.end == ends).unwrap_or(0);
        let above = stack.split_off(first);
        for range in above {
            let StyleRange { start, end, style } = range;
            if start < ends {
                found.push(StyleRange { start, end: ends, style: style.clone() });
            }
            if end > ends {
                stack.push(StyleRange { start: ends, end, style });
            }
        }
    }
}

/// Returns `true` if the ranges are sorted and nested already.
fn is_nested(styles: &[StyleRange]) -> bool {
    let mut stack: Vec<&StyleRange> = Vec::new();
    let mut last_ends: HashMap<&Style, usize> = HashMap::new();
    let is_sorted = styles.is_sorted_by_key(by_place);
    is_sorted
        && styles.iter().all(|range| {
            stack.retain(|outer| outer.end > range.start);
            let fits = stack.iter().all(|outer| outer.end >= range.end);
            let touches = last_ends.insert(&range.style, range.end);
            stack.push(range);
            !range.is_empty()
                && fits
                && touches.is_none_or(|end| !can_join(&range.style, end, range.start))
        })
}

/// Returns `true` if a range from `start` belongs to one of its style up to `end`. Two adjacent
/// links stay apart.
fn can_join(style: &Style, end: usize, start: usize) -> bool {
    end > start || (end == start && !matches!(style, Style::Link { .. }))
}

/// Joins ranges of one style that overlap or touch.
fn join_styles(mut styles: Vec<StyleRange>) -> Vec<StyleRange> {
    styles.retain(|range| !range.is_empty());
    styles.sort_by_key(by_place);
    let mut last: HashMap<Style, usize> = HashMap::new();
    let mut joined: Vec<StyleRange> = Vec::new();
    for range in styles {
        let before = last.get(&range.style).map(|&index| &mut joined[index]);
        match before {
            Some(before) if can_join(&range.style, before.end, range.start) => {
                before.end = before.end.max(range.end);
            }
            _ => {
                last.insert(range.style.clone(), joined.len());
                joined.push(range);
            }
        }
    }
    joined
}

/// Returns `range` without `holes`, which are sorted and apart from each other.
pub(crate) fn remove_holes(range: Range<usize>, holes: &[Range<usize>]) -> Vec<Range<usize>> {
    let first = holes.partition_point(|hole| hole.end <= range.start);
    let (mut parts, mut start) = (Vec::new(), range.start);
    for hole in holes[first..].iter().take_while(|hole| hole.start < range.end) {
        if hole.start > start {
            parts.push(start..hole.start);
        }
        start = hole.end;
    }
    if start < range.end {
        parts.push(start..range.end);
    }
    parts
}

/// Returns the same places as ranges that are sorted and apart from each other.
pub(crate) fn merge_ranges(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    ranges.dedup_by(|later, earlier| {
        let joins = later.start <= earlier.end;
        if joins {
            earlier.end = earlier.end.max(later.end);
        }
        joins
    });
    ranges
}

/// Returns `true` if one of `ranges`, which are sorted and apart from each other, shares a byte
/// with `range`.
pub(crate) fn touches_any(ranges: &[Range<usize>], range: &Range<usize>) -> bool {
    let first = ranges.partition_point(|other| other.end <= range.start);
    ranges.get(first).is_some_and(|other| other.start < range.end)
}

#[cfg(test)]
#[path = "ranges_tests.rs"]
mod tests;
