//! Outlines of languages with a known grammar, from the syntax tree.

use std::ops::ControlFlow;

use tree_sitter::{Language, Node, ParseOptions, ParseState, Parser};

use super::OutlineEntry;
use super::plain::plain_entries;

/// Levels of a syntax tree that are searched.
const MAX_LEVELS: usize = 48;

/// A language, and the kinds of its syntax nodes that matter.
pub(super) struct OutlineGrammar {
    extensions: &'static [&'static str],
    language: fn() -> Language,
    /// Nodes shown with all of their text.
    imports: &'static [&'static str],
    /// Nodes shown up to their body.
    items: &'static [&'static str],
    /// Those `items` whose body is searched for entries.
    containers: &'static [&'static str],
    /// Hidden nodes that are searched for entries.
    through: &'static [&'static str],
    /// The extensions of files that may have forms which the grammar lacks. Such a file is read line by line.
    incomplete_for: &'static [&'static str],
}

const GRAMMARS: [OutlineGrammar; 4] = [
    OutlineGrammar {
        extensions: &["go"],
        language: || tree_sitter_go::LANGUAGE.into(),
        imports: &["import_spec"],
        items: &[
            "const_spec",
            "function_declaration",
            "method_declaration",
            "type_alias",
            "type_spec",
            "var_spec",
        ],
        containers: &[],
        through: &[
            "const_declaration",
            "import_declaration",
            "import_spec_list",
            "type_declaration",
            "var_declaration",
            "var_spec_list",
        ],
        incomplete_for: &[],
    },
    OutlineGrammar {
        extensions: &["py", "pyi"],
        language: || tree_sitter_python::LANGUAGE.into(),
        imports: &["future_import_statement", "import_from_statement", "import_statement"],
        items: &["class_definition", "function_definition"],
        containers: &["class_definition"],
        through: &["block", "decorated_definition", "if_statement", "try_statement"],
        incomplete_for: &[],
    },
    OutlineGrammar {
        extensions: &["rs"],
        language: || tree_sitter_rust::LANGUAGE.into(),
        imports: &["extern_crate_declaration", "use_declaration"],
        items: &[
            "const_item",
            "enum_item",
            "function_item",
            "function_signature_item",
            "impl_item",
            "macro_definition",
            "mod_item",
            "static_item",
            "struct_item",
            "trait_item",
            "type_item",
            "union_item",
        ],
        containers: &["impl_item", "mod_item", "trait_item"],
        through: &["foreign_mod_item"],
        incomplete_for: &[],
    },
    // TypeScript without JSX has a grammar of its own, which adds 1.4 MB and one form: `<Type>value`. The
    // grammar with JSX reads that as an element, and all up to the end of the file may belong to it.
    OutlineGrammar {
        extensions: &["cjs", "cts", "js", "jsx", "mjs", "mts", "ts", "tsx"],
        language: || tree_sitter_typescript::LANGUAGE_TSX.into(),
        imports: &["import_statement"],
        items: &[
            "abstract_class_declaration",
            "abstract_method_signature",
            "class_declaration",
            "enum_declaration",
            "function_declaration",
            "function_signature",
            "generator_function_declaration",
            "interface_declaration",
            "internal_module",
            "lexical_declaration",
            "method_definition",
            "module",
            "type_alias_declaration",
        ],
        containers: &[
            "abstract_class_declaration",
            "class_declaration",
            "internal_module",
            "module",
        ],
        through: &["ambient_declaration", "export_statement", "expression_statement"],
        incomplete_for: &["cts", "mts", "ts"],
    },
];

/// The grammar for a file extension in lower case.
pub(super) fn grammar_for(extension: &str) -> Option<&'static OutlineGrammar> {
    const { &GRAMMARS }.iter().find(|grammar| grammar.extensions.contains(&extension))
}

impl OutlineGrammar {
    /// The entries of a text; `None` if parsing was cancelled. Syntax errors are skipped.
    pub(super) fn parse_entries(
        &self,
        extension: &str,
        text: &str,
        is_stopped: &dyn Fn() -> bool,
    ) -> Option<Vec<OutlineEntry>> {
        let mut parser = Parser::new();
        parser.set_language(&(self.language)()).ok()?;
        let mut goes_on = |_: &ParseState| {
            if is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut goes_on);
        let mut read = |at: usize, _| text.as_bytes().get(at..).unwrap_or_default();
        let tree = parser.parse_with_options(&mut read, None, Some(options))?;
        if tree.root_node().has_error() && self.incomplete_for.contains(&extension) {
            return Some(plain_entries(extension, text));
        }
        let mut entries = Vec::new();
        self.walk_node(tree.root_node(), text, OutlinePlace::default(), &mut entries);
        Some(entries)
    }

    /// Searches a node for entries.
    fn walk_node(
        &self,
        within: Node<'_>,
        text: &str,
        place: OutlinePlace,
        entries: &mut Vec<OutlineEntry>,
    ) {
        let OutlinePlace { level, depth } = place;
        if level == MAX_LEVELS {
            return;
        }
        for node in within.named_children(&mut within.walk()) {
            let kind = node.kind();
            if node.is_error() || self.through.contains(&kind) {
                self.walk_node(node, text, OutlinePlace { level: level + 1, depth }, entries);
            } else if self.imports.contains(&kind) {
                entries.push(entry_for_node(node, node.end_byte(), text, depth));
            } else if self.items.contains(&kind) {
                let body = node.child_by_field_name("body");
                let end = body.map_or_else(|| first_line(node, text), |body| body.start_byte());
                entries.push(entry_for_node(node, end, text, depth));
                if let Some(body) = body.filter(|_| self.containers.contains(&kind)) {
                    let place = OutlinePlace { level: level + 1, depth: depth + 1 };
                    self.walk_node(body, text, place, entries);
                }
            }
        }
    }
}

/// The place of a node.
#[derive(Clone, Copy, Default)]
struct OutlinePlace {
    /// Levels of the tree above the node.
    level: usize,
    /// Entries that contain the node.
    depth: usize,
}

/// The offset at which the first line of a node ends.
fn first_line(node: Node<'_>, text: &str) -> usize {
    let rest = &text[node.start_byte()..node.end_byte()];
    node.start_byte() + rest.find('\n').unwrap_or(rest.len())
}

/// Bytes of the line before a node that are shown, such as `pub` and `export`.
const MAX_BEFORE: usize = 100;
/// Approximate bytes of a node that are shown.
const MAX_READ: usize = 400;

/// Makes one line from the start of the node's line to the offset `end`.
fn entry_for_node(node: Node<'_>, end: usize, text: &str, depth: usize) -> OutlineEntry {
    let near = text.floor_char_boundary(node.start_byte().saturating_sub(MAX_BEFORE));
    let start = text[near..node.start_byte()].rfind('\n').map_or(near, |at| near + at + 1);
    let end = text.floor_char_boundary(end.min(start + MAX_BEFORE + MAX_READ));
    let words: Vec<&str> = text[start..end].split_whitespace().collect();
    let text = words.join(" ");
    let text = text.trim_end_matches(['{', ':', ';', ' ']);
    let text = text.strip_suffix("=>").unwrap_or(text).trim_end().to_owned();
    OutlineEntry { line: node.start_position().row + 1, depth, text }
}
