//! HTML as Markdown: the readable part of a page, without hidden content. A hostile page is
//! rejected before it reaches code whose time grows with the square of its size.

use std::cell::Cell;

use avocet_net::Url;
use dom_query::{Document, NodeId, NodeRef};
use dom_smoothie::{Config, Readability};
use html5ever::TokenizerResult;
use html5ever::tokenizer::{
    BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts, TreeSink};

/// Bytes between two checks of the tree.
const PIECE: usize = 1024;
/// Nodes of a tree. A long article has some ten thousand.
const MAX_NODES: usize = 100_000;
/// Nesting depth of elements. Pages that people write stay below fifty.
const MAX_DEPTH: usize = 200;
/// Attributes of a tag. An open formatting element is repeated with all its attributes in every
/// block.
const MAX_ATTRIBUTES: usize = 40;
/// Bytes of all links of a page. A short relative link becomes as long as the page's URL when
/// resolved.
const MAX_LINKS: usize = 1024 * 1024;
/// Bytes of a link. Longer ones carry data.
const MAX_LINK: usize = 2000;

/// Elements that are invisible or contain no text.
const UNSEEN: [&str; 13] = [
    "canvas", "iframe", "math", "noembed", "noframes", "noscript", "object", "script", "select",
    "style", "svg", "template", "textarea",
];
/// Elements around the text of every page of a site.
const AROUND: [&str; 3] = ["nav", "footer", "aside"];
/// Style declarations that hide an element, without spaces.
const HIDING: [&str; 6] = [
    "display:none",
    "visibility:hidden",
    "visibility:collapse",
    "content-visibility:hidden",
    "opacity:0",
    "font-size:0",
];

/// The readable part of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadablePage {
    pub(crate) title: String,
    pub(crate) markdown: String,
}

/// The readable part of a page from this URL. `None` if it is nested deeper or larger than people
/// write, or if the work was cancelled.
pub(crate) fn read_page(
    html: &str,
    url: &Url,
    is_stopped: &dyn Fn() -> bool,
) -> Option<ReadablePage> {
    let page = parse_tree(html, is_stopped)?;
    let base = page.base_uri().and_then(|base| url.join(&base).ok());
    let base = base.unwrap_or_else(|| url.clone());
    remove_nodes(&page.root(), &is_hidden);
    let config = Config { disable_json_ld: true, ..Config::default() };
    let mut readability = Readability::with_document(page.clone(), None, Some(config)).ok()?;
    let title = readability.get_article_title().to_string();
    let article = readability.is_probably_readable() && readability.parse().is_ok();
    let article = article.then(|| readability.doc.select_single("#readability-page-1"));
    let article = article.as_ref().and_then(|found| found.nodes().first());
    let markdown = match article {
        Some(article) => to_markdown(article, &base),
        None => {
            let body = page.body().unwrap_or_else(|| page.root());
            let whole = |node: &NodeRef<'_>| AROUND.iter().any(|name| node.has_name(name));
            remove_nodes(&body, &whole);
            to_markdown(&body, &base)
        }
    };
    Some(ReadablePage { title, markdown })
}

/// Parses a page. `None` if it is nested deeper or larger than people write, or if cancelled.
pub(crate) fn parse_tree(html: &str, is_stopped: &dyn Fn() -> bool) -> Option<Document> {
    let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let builder = TreeBuilder::new(Document::default(), tree_builder);
    let watched = LimitedTreeBuilder { builder, is_overloaded: Cell::new(false) };
    let tokenizer = Tokenizer::new(watched, TokenizerOpts::default());
    let watched = &tokenizer.sink;
    let document = &watched.builder.sink;
    let input = BufferQueue::default();
    let mut rest = html;
    while !rest.is_empty() {
        let (piece, more) = rest.split_at(rest.ceil_char_boundary(PIECE.min(rest.len())));
        input.push_back(piece.into());
        // The tokenizer also stops after each script; scripts are skipped.
        while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
        let is_large = document.tree.len() > MAX_NODES || depth_at_end(document) > MAX_DEPTH;
        if is_stopped() || is_large || watched.is_overloaded.get() {
            return None;
        }
        rest = more;
    }
    tokenizer.end();
    let document = tokenizer.sink.builder.sink.finish();
    is_shallow(&document).then_some(document)
}

/// Builds the tree, and notes a tag with too many attributes.
struct LimitedTreeBuilder {
    builder: TreeBuilder<NodeId, Document>,
    is_overloaded: Cell<bool>,
}

impl TokenSink for LimitedTreeBuilder {
    type Handle = NodeId;

    fn process_token(&self, mut token: Token, line: u64) -> TokenSinkResult<NodeId> {
        if let Token::TagToken(tag) = &mut token
            && tag.attrs.len() > MAX_ATTRIBUTES
        {
            self.is_overloaded.set(true);
            tag.attrs.clear();
        }
        self.builder.process_token(token, line)
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

/// The depth of the last element. During parsing, new content goes there.
fn depth_at_end(document: &Document) -> usize {
    std::iter::successors(Some(document.root()), NodeRef::last_child).take(MAX_DEPTH + 2).count()
}

/// Returns `true` if every element is shallow enough. The last one does not show this: misplaced
/// content of a table is moved before the table.
fn is_shallow(document: &Document) -> bool {
    let mut open = vec![(document.root(), 0)];
    while let Some((node, depth)) = open.pop() {
        if depth > MAX_DEPTH {
            return false;
        }
        open.extend(node.children_it(false).map(|child| (child, depth + 1)));
    }
    true
}

fn remove_nodes(root: &NodeRef<'_>, is_meant: &dyn Fn(&NodeRef<'_>) -> bool) {
    let mut open = vec![*root];
    while let Some(node) = open.pop() {
        for child in node.children() {
            if is_meant(&child) { child.remove_from_parent() } else { open.push(child) }
        }
    }
}

/// Returns `true` if a person would not see a node. Style sheets are ignored.
fn is_hidden(node: &NodeRef<'_>) -> bool {
    if !node.is_element() {
        return !node.is_text();
    }
    // Some pages hide the whole body until a script shows it.
    if node.has_name("html") || node.has_name("body") {
        return false;
    }
    let attribute = |name: &str| node.attr(name).map(|value| value.to_string());
    UNSEEN.iter().any(|name| node.has_name(name))
        || hides_element(node.has_name("dialog") && !node.has_attr("open"), &attribute)
}

/// Returns `true` if the attributes of an element hide it.
pub(crate) fn hides_element(is_closed: bool, attribute: &dyn Fn(&str) -> Option<String>) -> bool {
    is_closed
        || attribute("hidden").is_some()
        || attribute("aria-hidden").is_some_and(|value| value.trim().eq_ignore_ascii_case("true"))
        || attribute("style").is_some_and(|style| is_hiding(&style))
}

/// Returns `true` if a `style` attribute hides its element.
fn is_hiding(style: &str) -> bool {
    style.split(';').any(|declaration| {
        let dense: String = declaration.chars().filter(|c| !c.is_whitespace()).collect();
        let dense = dense.to_ascii_lowercase();
        let dense = dense.strip_suffix("!important").unwrap_or(&dense);
        // Treats 0, 0px and 0.0 alike, but not 0.5.
        let plain = dense.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
        let zero = plain.strip_suffix(".0").unwrap_or(plain);
        HIDING.iter().any(|hiding| [dense, zero].contains(hiding))
    })
}

/// Converts elements to Markdown; links lead only to the web.
fn to_markdown(root: &NodeRef<'_>, base: &Url) -> String {
    let mut room = MAX_LINKS;
    for node in root.descendants() {
        // Markdown would join these with the words before or after them.
        if ["dd", "dt", "figcaption"].iter().any(|name| node.has_name(name)) {
            node.rename("p");
        }
        if node.has_name("td") || node.has_name("th") {
            node.append_child(&node.tree.new_text(" "));
        }
        if node.has_name("a") {
            make_link_absolute(&node, "href", base, &mut room);
        }
        if node.has_name("img") && !make_link_absolute(&node, "src", base, &mut room) {
            node.remove_from_parent();
        }
    }
    root.md(None).trim().to_owned()
}

/// Makes a link absolute. Removes it if it does not lead to a page, or if the space for links is
/// used up.
fn make_link_absolute(node: &NodeRef<'_>, attribute: &str, base: &Url, room: &mut usize) -> bool {
    let Some(given) = node.attr(attribute) else { return false };
    let target = base.join(given.trim()).ok().filter(|url| {
        matches!(url.scheme(), "http" | "https" | "mailto")
            && url.as_str().len() <= MAX_LINK.min(*room)
    });
    match target {
        Some(url) => {
            *room -= url.as_str().len();
            node.set_attr(attribute, url.as_str());
        }
        None => node.remove_attr(attribute),
    }
    node.has_attr(attribute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readable_is_none_if_stopped_too_deep_or_too_large() {
        let fits = "<div>".repeat(MAX_DEPTH - 10);
        let deep = "<div>".repeat(MAX_DEPTH);
        // Misplaced content of a table is moved before it: the deepest element is not the last.
        let moved = format!("<table>{deep}");
        let large = "<i></i>".repeat(MAX_NODES);
        // Each paragraph repeats all open elements.
        let formats: String = (0..100).map(|n| format!("<b id={n}>")).collect();
        let multiplied = format!("<p>{formats}{}", "<p>a".repeat(10_000));
        let tag = |attributes: usize| -> String {
            let attributes: String = (0..attributes).map(|n| format!(" a{n}")).collect();
            format!("<p>{}<b{attributes}>{}", "text ".repeat(20), "<p>a".repeat(5))
        };
        let table = [
            (fits, true),
            (deep, false),
            (moved, false),
            (large, false),
            (multiplied, false),
            (tag(MAX_ATTRIBUTES), true),
            (tag(MAX_ATTRIBUTES + 1), false),
        ];
        for (html, is_read) in table {
            assert_eq!(parse_tree(&html, &|| false).is_some(), is_read, "{}", &html[..50]);
            assert!(parse_tree(&html, &|| true).is_none());
        }
    }
    #[test]
    fn readable_limits_the_total_length_of_links() {
        let url = Url::parse(&format!("https://a.dev/{}/", "x".repeat(MAX_LINK / 2))).unwrap();
        let page = format!("<p>{}", "<a href=y>z</a> ".repeat(5000));
        let markdown = read_page(&page, &url, &|| false).unwrap().markdown;
        assert!(
            (MAX_LINKS / 2..MAX_LINKS + 100_000).contains(&markdown.len()),
            "{}",
            markdown.len()
        );
        assert_eq!(markdown.matches('z').count(), 5000);
    }
}
