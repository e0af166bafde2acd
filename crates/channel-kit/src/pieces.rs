//! Markdown as a flat list of parser events, with our one extension: `||spoiler||`.

use std::ops::Range;

use avocet_text::sanitise;
use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd};

use crate::source::EDGE;

/// A parser event, or the edge of a spoiler.
#[derive(Debug)]
pub(crate) enum MarkdownPiece<'a> {
    Event(Event<'a>),
    /// A `||` that begins a spoiler.
    SpoilerBegin,
    /// A `||` that ends a spoiler.
    SpoilerEnd,
}

/// Parses Markdown. The text of character references is sanitised too. The bars of a spoiler touch
/// its text, and both are in the same element: `a || b || c` has no spoiler.
pub(crate) fn split_pieces(markdown: &str) -> Vec<MarkdownPiece<'_>> {
    let options = Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_TASKLISTS;
    let mut pieces = Vec::new();
    let mut in_code = false;
    let has_edges = markdown.contains(EDGE);
    for (event, range) in Parser::new_ext(markdown, options).into_offset_iter() {
        match &event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            // An escaped mark begins no line of small print.
            Event::Text(text) if text.starts_with("-# ") && is_escaped(markdown, &range) => {
                pieces.push(MarkdownPiece::Event(Event::Text(CowStr::Borrowed(""))));
            }
            _ => {}
        }
        let event = if has_edges { without_edges(event) } else { event };
        match &event {
            Event::Text(text) if text.is_empty() => continue,
            Event::Text(text) if !in_code && text.contains(BAR) => {
                cut_at_bars(text, is_escaped(markdown, &range), &mut pieces);
                continue;
            }
            Event::Text(text) if !in_code && markdown[range].starts_with('&') => {
                push_text(&sanitise(text).text, &mut pieces);
                continue;
            }
            _ => {}
        }
        pieces.push(MarkdownPiece::Event(event));
    }
    pair_bars(&mut pieces);
    pieces
}

/// Removes each [`EDGE`] from an event.
fn without_edges(event: Event<'_>) -> Event<'_> {
    let clean = |text: CowStr<'_>| CowStr::from(text.replace(EDGE, ""));
    match event {
        Event::Text(text) => Event::Text(clean(text)),
        Event::Code(text) => Event::Code(clean(text)),
        Event::Html(text) => Event::Html(clean(text)),
        Event::InlineHtml(text) => Event::InlineHtml(clean(text)),
        Event::FootnoteReference(name) => Event::FootnoteReference(clean(name)),
        Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(clean(info))))
        }
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let (dest_url, title) = (clean(dest_url), clean(title));
            Event::Start(Tag::Link { link_type, dest_url, title, id })
        }
        Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
            let (dest_url, title) = (clean(dest_url), clean(title));
            Event::Start(Tag::Image { link_type, dest_url, title, id })
        }
        event => event,
    }
}

const BAR: &str = "||";

/// Returns `true` if a backslash escapes the first character of a text.
fn is_escaped(markdown: &str, range: &Range<usize>) -> bool {
    markdown.as_bytes()[..range.start].last() == Some(&b'\\')
}

/// Cuts a text so that each `||` in it becomes a separate text.
fn cut_at_bars(text: &str, first_is_escaped: bool, pieces: &mut Vec<MarkdownPiece<'_>>) {
    let mut push = |text: &str| push_text(text, pieces);
    let (first, mut rest) = text.split_at(usize::from(first_is_escaped && text.starts_with('|')));
    push(first);
    while let Some((before, after)) = rest.split_once(BAR) {
        push(before);
        push(BAR);
        rest = after;
    }
    push(rest);
}

fn push_text(text: &str, pieces: &mut Vec<MarkdownPiece<'_>>) {
    if !text.is_empty() {
        pieces.push(MarkdownPiece::Event(Event::Text(CowStr::from(text.to_owned()))));
    }
}

/// Finds the pairs of bars. The stack holds one entry for each open element: a bar that waits for
/// its other half.
fn pair_bars(pieces: &mut [MarkdownPiece<'_>]) {
    let mut waiting = vec![None];
    for index in 0..pieces.len() {
        match &pieces[index] {
            MarkdownPiece::Event(Event::Start(_)) => waiting.push(None),
            MarkdownPiece::Event(Event::End(_)) => {
                waiting.pop();
            }
            MarkdownPiece::Event(Event::Text(text)) if &**text == BAR => {
                let Some(begun) = waiting.last_mut() else { continue };
                if let Some(begin) = begun.filter(|begin| closes_spoiler(pieces, *begin, index)) {
                    *begun = None;
                    pieces[begin] = MarkdownPiece::SpoilerBegin;
                    pieces[index] = MarkdownPiece::SpoilerEnd;
                } else if opens_spoiler(pieces, index) {
                    *begun = Some(index);
                }
            }
            _ => {}
        }
    }
}

fn opens_spoiler(pieces: &[MarkdownPiece<'_>], index: usize) -> bool {
    match pieces.get(index + 1) {
        Some(MarkdownPiece::Event(Event::Text(text))) => !text.starts_with(char::is_whitespace),
        Some(MarkdownPiece::Event(Event::Start(_) | Event::Code(_) | Event::InlineHtml(_))) => true,
        _ => false,
    }
}

fn closes_spoiler(pieces: &[MarkdownPiece<'_>], begin: usize, index: usize) -> bool {
    begin + 1 < index
        && match &pieces[index - 1] {
            MarkdownPiece::Event(Event::Text(text)) => !text.ends_with(char::is_whitespace),
            MarkdownPiece::Event(Event::End(_) | Event::Code(_) | Event::InlineHtml(_)) => true,
            _ => false,
        }
}
