use super::*;

fn ranges(ranges: &[(usize, usize, Style)]) -> Vec<StyleRange> {
    let range =
        |(start, end, style): &(usize, usize, Style)| StyleRange::new(*start..*end, style.clone());
    ranges.iter().map(range).collect()
}

#[track_caller]
fn check(given: &[(usize, usize, Style)], expected: &[(usize, usize, Style)]) {
    assert_eq!(nest_styles(ranges(given)), ranges(expected));
}

use Style::{Bold, Italic, Strike};

#[test]
fn nested_keeps_nested_ranges() {
    let given = [(0, 9, Bold), (0, 4, Italic), (2, 4, Strike), (5, 9, Italic)];
    check(&given, &given);
    check(&[], &[]);
}

#[test]
fn nested_sorts_ranges_and_drops_empty_ones() {
    check(&[(5, 6, Bold), (3, 3, Strike), (1, 2, Bold)], &[(1, 2, Bold), (5, 6, Bold)]);
    check(&[(0, 1, Italic), (0, 1, Bold)], &[(0, 1, Bold), (0, 1, Italic)]);
}

#[test]
fn nested_joins_equal_styles_that_touch() {
    check(&[(0, 2, Bold), (2, 4, Bold)], &[(0, 4, Bold)]);
    check(&[(0, 9, Bold), (2, 4, Bold)], &[(0, 9, Bold)]);
    check(&[(0, 2, Bold), (3, 4, Bold)], &[(0, 2, Bold), (3, 4, Bold)]);
}

#[test]
fn nested_cuts_the_inner_of_two_overlapping_ranges() {
    check(&[(0, 4, Bold), (2, 6, Italic)], &[(0, 4, Bold), (2, 4, Italic), (4, 6, Italic)]);
    check(
        &[(0, 4, Bold), (1, 6, Italic), (2, 8, Strike)],
        &[
            (0, 4, Bold),
            (1, 4, Italic),
            (2, 4, Strike),
            (4, 6, Italic),
            (4, 6, Strike),
            (6, 8, Strike),
        ],
    );
}

#[test]
fn without_cuts_out_holes() {
    assert_eq!(remove_holes(0..10, &[2..4, 6..7]), [0..2, 4..6, 7..10]);
    assert_eq!(remove_holes(3..13, &[2..4, 9..12]), [4..9, 12..13]);
    assert!(remove_holes(3..4, &[2..5, 7..8]).is_empty());
    assert_eq!(remove_holes(3..7, &[1..2, 5..5]), [3..5, 5..7]);
}

#[test]
fn union_is_sorted_and_disjoint() {
    assert_eq!(merge_ranges(vec![5..6, 0..2, 1..3, 3..4]), [0..4, 5..6]);
    assert!(touches_any(&[0..4, 5..6], &(3..5)));
    assert!(!touches_any(&[0..4, 5..6], &(4..5)));
}
