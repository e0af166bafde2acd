//! Extra directories beside the workspace: one writable, one read-only, by absolute paths.

use std::fs;
use std::path::PathBuf;

use avocet_protocol::access::{LeastTrust, Role, Trust};
use avocet_protocol::chat::AttachmentSource;
use avocet_protocol::tool::{LogWrite, ToolContext, Toolbox, Verdict};
use avocet_sandbox::{RootAccess, Workspace};
use avocet_testkit::private_place;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::world::{World, call, context};

struct ExtraDirectories {
    world: World,
    directory: TempDir,
}

impl ExtraDirectories {
    /// `notes` is writable, `docs` is read-only; both contain `a.txt` and `.env`.
    async fn new() -> Self {
        let directory = TempDir::new().unwrap();
        for name in ["notes", "docs"] {
            let place = directory.path().join(name);
            fs::create_dir(&place).unwrap();
            fs::write(place.join("a.txt"), format!("of {name}\n")).unwrap();
            fs::write(place.join(".env"), "KEY=1\n").unwrap();
        }
        let open =
            |name, access| Workspace::open_beside(&directory.path().join(name), access).unwrap();
        let beside = vec![open("notes", RootAccess::Change), open("docs", RootAccess::Read)];
        let world = World::beside(beside).await;
        world.put("a.txt", "of workspace\n");
        Self { world, directory }
    }

    fn place(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    /// Replaces `$` by the path of the directories.
    fn filled(&self, arguments: &Value) -> Value {
        let filled = arguments.to_string().replace('$', &self.place().display().to_string());
        serde_json::from_str(&filled).unwrap()
    }

    /// Prepares and runs a call, as after an approval. Returns the result, with `$` for the path.
    async fn run(&self, context: &ToolContext, name: &str, arguments: &Value) -> String {
        let call = call(name, &self.filled(arguments));
        let said = match self.world.registry.prepare(&call, None, context).await {
            Ok(_) => match self.world.registry.execute(&call, context).await {
                Ok(avocet_protocol::tool::ToolOutcome::Finished(output)) => {
                    output.value.to_string()
                }
                other => format!("{other:?}"),
            },
            Err(error) => format!("not prepared: {error}"),
        };
        said.replace(&self.place().display().to_string(), "$")
    }

    fn get(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.place().join(path)).ok()
    }
}

#[tokio::test]
async fn file_tools_work_beside_the_workspace() {
    let table = [
        ("read_file", json!({"path": "$/docs/a.txt"}), "1\\tof docs"),
        ("read_file", json!({"path": "$/notes/a.txt"}), "1\\tof notes"),
        ("list_directory", json!({"path": "$/docs"}), r#"{"name":"a.txt","type":"file","size":8}"#),
        ("list_directory", json!({"path": "$/docs/"}), r#"{"name":".env","type":"secret"}"#),
        ("outline", json!({"path": "$/docs/a.txt"}), "$/docs/a.txt has 1 lines"),
        ("search_files", json!({"pattern": "of", "path": "$/docs"}), "$/docs/a.txt:1: of docs"),
        (
            "search_files",
            json!({"pattern": "of", "path": "$/docs", "glob": "/a.txt"}),
            "$/docs/a.txt:1",
        ),
        ("search_files", json!({"pattern": "of", "path": "$/notes/a.txt"}), "$/notes/a.txt:1: of"),
        ("search_files", json!({"pattern": "of"}), "\"a.txt:1: of workspace"),
        (
            "write_file",
            json!({"path": "$/notes/b/c.txt", "content": "x"}),
            "wrote 1 bytes to $/notes/b/c.txt",
        ),
        (
            "edit_file",
            json!({"path": "$/notes/a.txt", "find": "of", "replace": "by"}),
            "1 occurrence in $/notes/a.txt",
        ),
        ("create_directory", json!({"path": "$/notes/d"}), "made $/notes/d"),
        ("delete_file", json!({"path": "$/notes/a.txt"}), "deleted $/notes/a.txt"),
        // Missing files and secret ones.
        ("read_file", json!({"path": "$/docs/b/a.txt"}), "did you mean $/docs/a.txt?"),
        ("read_file", json!({"path": "$/docs/.env"}), "by its name it holds a password"),
        (
            "write_file",
            json!({"path": "$/notes/.env", "content": ""}),
            "by its name it holds a password",
        ),
        ("delete_file", json!({"path": "$/notes/.env"}), "by its name it holds a password"),
        (
            "read_file",
            json!({"path": "$/notes/../docs/../x"}),
            "the directories beside it ($/notes, $/docs: read only)",
        ),
        ("search_files", json!({"pattern": "x", "path": "/"}), "the directories beside it"),
        (
            "apply_patch",
            json!({"patch": "--- a/$/notes/a.txt\n+++ b/$/notes/a.txt\n@@ -1 +1 @@\n-of notes\n+x\n"}),
            "outside the workspace",
        ),
        (
            "exec_shell",
            json!({"command": "true", "working_dir": "$/notes"}),
            "outside the workspace; ",
        ),
    ];
    for (tool, arguments, expected) in table {
        let beside = ExtraDirectories::new().await;
        let said = beside.run(&context(), tool, &arguments).await;
        assert!(said.contains(expected), "{tool} {arguments}: {said}");
    }
}

#[tokio::test]
async fn file_tools_refuse_a_read_only_directory_before_asking() {
    let beside = ExtraDirectories::new().await;
    let table = [
        ("write_file", json!({"path": "$/docs/a.txt", "content": "x"})),
        ("write_file", json!({"path": "$/docs/new/a.txt", "content": "x"})),
        ("edit_file", json!({"path": "$/docs/a.txt", "find": "of", "replace": "by"})),
        ("create_directory", json!({"path": "$/docs/d"})),
        ("delete_file", json!({"path": "$/docs/a.txt"})),
        ("delete_file", json!({"path": "$/docs", "recursive": true})),
    ];
    for (tool, arguments) in table {
        let said = beside.run(&context(), tool, &arguments).await;
        assert!(said.starts_with("not prepared: "), "{tool}: {said}");
        let expected = "$/docs is read only, by [tools] read in the configuration";
        assert!(said.contains(expected), "{tool}: {said}");
    }
    assert_eq!(fs::read_dir(beside.place().join("docs")).unwrap().count(), 2);
    assert_eq!(beside.get("docs/a.txt").unwrap(), "of docs\n");
}

#[tokio::test]
async fn approval_shows_the_path_of_a_change_beside_the_workspace() {
    let beside = ExtraDirectories::new().await;
    let low = ToolContext { trust: Trust::Low, ..context() };
    for (tool, arguments) in [
        ("edit_file", json!({"path": "$/notes/a.txt", "find": "of", "replace": "by"})),
        ("write_file", json!({"path": "$/notes/a.txt", "content": "by notes\n"})),
    ] {
        let call = call(tool, &beside.filled(&arguments));
        let prepared = beside.world.registry.prepare(&call, None, &low).await.unwrap();
        let text = prepared.approval.unwrap().prompt.unwrap().text;
        let name = beside.place().join("notes/a.txt").display().to_string();
        assert!(text.contains(&format!("--- {name}\n")), "{text}");
        assert!(text.contains("-of notes\n+by notes\n"), "{text}");
    }
}

#[tokio::test]
async fn verify_recognises_an_interrupted_change_beside_the_workspace() {
    for (tool, arguments) in [
        ("write_file", json!({"path": "$/notes/b.txt", "content": "x"})),
        ("edit_file", json!({"path": "$/notes/a.txt", "find": "of", "replace": "by"})),
        ("create_directory", json!({"path": "$/notes/d"})),
        ("delete_file", json!({"path": "$/notes/a.txt"})),
    ] {
        let beside = ExtraDirectories::new().await;
        let registry = &beside.world.registry;
        let call = call(tool, &beside.filled(&arguments));
        let evidence = registry.prepare(&call, None, &context()).await.unwrap().evidence.unwrap();
        assert!(evidence.subject.starts_with('/'), "{}", evidence.subject);
        assert_eq!(registry.verify(&call, &evidence).await, Verdict::DidNotHappen, "{tool}");
        registry.execute(&call, &context()).await.unwrap();
        let verdict = registry.verify(&call, &evidence).await;
        assert!(matches!(verdict, Verdict::Happened(_)), "{tool}: {verdict:?}");
    }
}

#[tokio::test]
async fn file_tools_read_untrusted_content_beside_the_workspace() {
    let beside = ExtraDirectories::new().await;
    let own = json!({"path": "$/notes/own.txt", "content": "of\n"});
    beside.run(&context(), "write_file", &own).await;
    let table = [
        ("read_file", json!({"path": "$/notes/own.txt"}), Trust::Low),
        ("read_file", json!({"path": "$/docs/a.txt"}), Trust::Low),
        ("list_directory", json!({"path": "$/docs"}), Trust::Full),
        ("outline", json!({"path": "$/docs/a.txt"}), Trust::Low),
        ("search_files", json!({"pattern": "of", "path": "$/docs"}), Trust::Low),
        ("read_file", json!({"path": "$/docs/b.txt"}), Trust::Full),
        ("edit_file", json!({"path": "$/notes/own.txt", "find": "of", "replace": "x"}), Trust::Low),
        // A write shows nothing of the old content, and a search shows only its matches.
        ("write_file", json!({"path": "$/notes/new.txt", "content": "x"}), Trust::Full),
        ("search_files", json!({"pattern": "none", "path": "$/docs"}), Trust::Full),
        ("read_file", json!({"path": "a.txt"}), Trust::Full),
    ];
    for (tool, arguments, expected) in table {
        let context = ToolContext { read: LeastTrust::default(), ..context() };
        let said = beside.run(&context, tool, &arguments).await;
        assert_eq!(context.read.get(), expected, "{tool} {arguments}: {said}");
    }
}

#[tokio::test]
async fn message_attaches_files_beside_the_workspace() {
    let beside = ExtraDirectories::new().await;
    let arguments =
        beside.filled(&json!({"text": "here", "files": ["$/docs/../docs/a.txt", "a.txt"]}));
    let output = beside.world.run("message", arguments).await.unwrap();
    let [LogWrite::Message(planned)] = &output.writes[..] else { panic!("{output:?}") };
    let sources: Vec<_> = planned
        .chunks
        .iter()
        .flat_map(|chunk| &chunk.attachments)
        .map(|attachment| attachment.source.clone())
        .collect();
    let path = beside.place().join("docs/a.txt").display().to_string();
    assert_eq!(sources, [path, "a.txt".to_owned()].map(AttachmentSource::Workspace));
    let secret = beside.filled(&json!({"files": ["$/docs/.env"]}));
    let error = beside.world.error("message", secret).await;
    assert!(error.contains("by its name it holds a password"), "{error}");
}

#[tokio::test]
async fn tool_descriptions_name_the_directories_beside_the_workspace() {
    let beside = ExtraDirectories::new().await;
    let specs = beside.world.registry.specs(Role::Owner, &private_place());
    let place = beside.place().display().to_string();
    let end = |name: &str| {
        let spec = specs.iter().find(|spec| spec.name == name).unwrap();
        let description = spec.description.replace(&place, "$");
        description.split_once(" Also in these").map(|(_, end)| end.to_owned())
    };
    let read = Some(" directories, by absolute paths: $/notes, $/docs (read only).".to_owned());
    for tool in ["list_directory", "outline", "read_file", "search_files"] {
        assert_eq!(end(tool), read, "{tool}");
    }
    let changed = Some(" directories, by absolute paths: $/notes.".to_owned());
    for tool in ["create_directory", "delete_file", "edit_file", "write_file"] {
        assert_eq!(end(tool), changed, "{tool}");
    }
    for tool in ["apply_patch", "exec_shell", "git_status", "message", "run_tests"] {
        assert_eq!(end(tool), None, "{tool}");
    }
    // Users learn nothing of these directories.
    for spec in beside.world.registry.specs(Role::User, &private_place()).iter() {
        assert!(!spec.description.contains(&place), "{}", spec.name);
    }
}
