//! The tools for reading the corpus of replies.

use avocet_protocol::tool::ToolSpec;
use serde_json::{Value, json};

/// The tools that the replies of the corpus call.
pub(crate) fn corpus_tools() -> Vec<ToolSpec> {
    let aliases = |name: &str| match name {
        "edit_file" => &["code_edit", "edit"][..],
        "list_directory" => &["ls", "navigate"],
        "read_file" => &["cat", "file", "show"],
        "write_file" => &["write"],
        _ => &[],
    };
    let tool = |name: &str, description: &str, properties: Value, required: Value| ToolSpec {
        name: name.to_owned(),
        aliases: aliases(name).iter().map(|alias| (*alias).to_owned()).collect(),
        group: String::new(),
        description: description.to_owned(),
        parameters: json!({ "type": "object", "properties": properties, "required": required,
            "additionalProperties": false }),
    };
    let text = |about: &str| json!({ "type": "string", "description": about });
    let path = json!({ "type": "string", "description": "Path relative to the workspace root.",
        "x-aliases": ["file_path"] });
    vec![
        tool(
            "edit_file",
            "Replace a text in a file.",
            json!({ "path": path,
                "old_text": { "type": "string", "description": "What is there.",
                    "x-aliases": ["find_text", "old_string"] },
                "new_text": text("What comes in its place.") }),
            json!(["path", "old_text", "new_text"]),
        ),
        tool("list_directory", "List a directory.", json!({ "path": text("Which.") }), json!([])),
        tool("memory_read", "Recall every note.", json!({}), json!([])),
        tool(
            "read_file",
            "Read a text file, or some of its lines.",
            json!({
                "path": path,
                "start_line": { "type": "integer", "description": "The first line, from 1.",
                    "x-aliases": ["l"], "x-range": "end_line" },
                "end_line": { "type": "integer", "description": "The last line." },
            }),
            json!(["path"]),
        ),
        tool(
            "search",
            "Find lines in files.",
            json!({
                "pattern": { "type": "string", "description": "What to find.", "x-aliases": ["t"] },
                "path": text("Where to look."),
                "all": { "type": "boolean", "description": "Hidden files, too.", "x-aliases": ["a"] },
                "kinds": { "type": "array", "items": { "type": "string" }, "description": "Endings." },
            }),
            json!(["pattern"]),
        ),
        tool(
            "write_file",
            "Write a file.",
            json!({ "path": path,
                "content": text("The whole file.") }),
            json!(["path", "content"]),
        ),
    ]
}
