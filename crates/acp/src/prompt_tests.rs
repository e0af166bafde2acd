use serde_json::{Value, json};

use super::*;

fn place() -> SessionPlace {
    SessionPlace {
        session: "terminal:local:acp-default+k1".parse().unwrap(),
        workspace: "/code".into(),
        cwd: None,
        is_covered: true,
    }
}

fn read(blocks: Value) -> Result<PromptContent, String> {
    PromptContent::read(serde_json::from_value(blocks).unwrap(), &place())
}

#[test]
fn read_names_linked_files_as_tools_do() {
    let content = read(json!([
        { "type": "text", "text": "Compare " },
        { "type": "resource_link", "name": "a", "uri": "file:///code/src/a%20b.rs" },
        { "type": "text", "text": " with " },
        { "type": "resource_link", "name": "b", "uri": "file:///etc/hosts#L3" },
        { "type": "resource_link", "name": "c", "uri": "https://example.org/c" },
    ]));
    let text = content.unwrap().text;
    assert_eq!(text, "Compare `src/a b.rs` with `/etc/hosts``https://example.org/c`");
}

#[test]
fn read_makes_embedded_text_an_untrusted_part() {
    let resource = json!({ "uri": "file:///code/a.md", "text": "see\n```\nx\n```" });
    let content = read(json!([
        { "type": "resource", "resource": resource },
        { "type": "text", "text": ": what is it?" },
    ]));
    let PromptContent { text, untrusted, .. } = content.unwrap();
    assert_eq!(text, "`a.md`: what is it?");
    let from = Some("the content of `a.md`".to_owned());
    assert_eq!(untrusted, [UntrustedPart { from, text: "see\n```\nx\n```".to_owned() }]);
}

#[test]
fn read_turns_pictures_and_long_texts_into_files() {
    let long = "x".repeat(MAX_INLINE + 1);
    let content = read(json!([
        { "type": "image", "mimeType": "image/png", "data": "aGk=" },
        { "type": "resource", "resource": { "uri": "file:///code/long.txt", "text": long } },
        { "type": "resource", "resource": { "uri": "file:///code/b.bin", "blob": "aGk=" } },
    ]));
    let PromptContent { text, files, .. } = content.unwrap();
    assert_eq!(text, "`long.txt``b.bin`");
    let kinds: Vec<_> = files.iter().map(|file| file.published.kind).collect();
    assert_eq!(kinds, [AttachmentKind::Image, AttachmentKind::Document, AttachmentKind::Document]);
    assert_eq!((files[0].bytes.as_slice(), files[0].published.bytes), (&b"hi"[..], Some(2)));
    assert_eq!(files[1].published.name.as_deref(), Some("long.txt"));
}

#[test]
fn read_refuses_an_empty_prompt_and_broken_files() {
    assert!(read(json!([])).unwrap_err().contains("empty"));
    let broken = json!([{ "type": "image", "mimeType": "image/png", "data": "?" }]);
    assert!(read(broken).unwrap_err().contains("base64"));
    let long = json!([{ "type": "text", "text": "x".repeat(MAX_TEXT + 1) }]);
    assert!(read(long).unwrap_err().contains("save it as a file"));
}
