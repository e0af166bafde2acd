use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use avocet_protocol::model::{Arguments, ToolCall};
use avocet_protocol::tool::{
    Caution, Description, Leaving, OutsideTool, ToolClass, ToolContext, ToolError, ToolOutcome,
};
use avocet_testkit::{ManualClock, private_place, tool_context};
use serde_json::{Map, Value, json};

use super::*;

#[derive(Debug, Clone)]
struct NamedTool(&'static str);

#[async_trait]
impl OutsideTool for NamedTool {
    fn describe(&self) -> Description {
        Description::new(self.0, ToolClass::Effect, "Does something.").in_group("editor-a")
    }

    fn schema(&self) -> Value {
        json!({"type": "object"})
    }

    fn caution(&self) -> Caution {
        Caution::Always
    }

    fn leaving(&self, _: &Map<String, Value>) -> Vec<Leaving> {
        Vec::new()
    }

    async fn execute(
        &self,
        _: &Map<String, Value>,
        _: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        Ok(json!(format!("{} ran", self.0)).into())
    }
}

#[derive(Debug, Default)]
struct FixedSource {
    tools: Vec<NamedTool>,
    version: AtomicU64,
}

impl ToolSource for FixedSource {
    fn version(&self) -> u64 {
        self.version.load(Ordering::SeqCst)
    }

    fn tools(&self) -> Vec<Arc<dyn OutsideTool>> {
        let tools = self.tools.iter().cloned();
        tools.map(|tool| Arc::new(tool) as Arc<dyn OutsideTool>).collect()
    }

    fn may_have(&self, _: &str) -> bool {
        false
    }
}

fn source(tools: &[&'static str]) -> Arc<FixedSource> {
    let tools = tools.iter().map(|name| NamedTool(name)).collect();
    Arc::new(FixedSource { tools, ..FixedSource::default() })
}

fn registry(sessions: &Arc<SessionSources>) -> ToolRegistry {
    let registry = ToolRegistry::new(Arc::new(ManualClock::default()));
    let registry = registry.with_source(source(&["files__read"]), Vec::new());
    registry.with_sessions(sessions.clone()).with_same_tools()
}

fn specs(registry: &ToolRegistry, session: &str) -> Arc<[ToolSpec]> {
    registry.specs_in_session(&session.parse().unwrap(), Role::Owner, &private_place())
}

fn names(registry: &ToolRegistry, session: &str) -> Vec<String> {
    specs(registry, session).iter().map(|spec| spec.name.clone()).collect()
}

fn call(name: &str) -> ToolCall {
    ToolCall { name: name.to_owned(), arguments: Arguments::parse("{}") }
}

const MINE: &str = "terminal:local:a";
const OTHER: &str = "terminal:local:b";

#[tokio::test]
async fn session_tools_are_offered_and_called_in_their_session_only() {
    let sessions = Arc::new(SessionSources::default());
    let registry = registry(&sessions);
    let _offer =
        sessions.offer_tools(MINE.parse().unwrap(), source(&["editor-a__write", "files__read"]));
    assert_eq!(names(&registry, MINE), ["editor-a__write", "files__read"]);
    assert_eq!(names(&registry, OTHER), ["files__read"]);
    assert!(Arc::ptr_eq(&specs(&registry, MINE), &specs(&registry, MINE)));
    let context = tool_context();
    let prepared = registry.prepare(&call("editor-a__write"), None, &context).await.unwrap();
    assert!(prepared.approval.is_some(), "a new tool asks");
    let ran = registry.execute(&call("EDITOR-a__write"), &context).await;
    assert_eq!(ran, Ok(json!("editor-a__write ran").into()));
    let elsewhere = ToolContext { session: OTHER.parse().unwrap(), ..tool_context() };
    let refused = registry.execute(&call("editor-a__write"), &elsewhere).await.unwrap_err();
    assert!(matches!(&refused, ToolError::NotFound(_)), "{refused}");
}

#[tokio::test]
async fn session_tools_end_with_their_offer_and_a_later_offer_replaces_them() {
    let sessions = Arc::new(SessionSources::default());
    let registry = registry(&sessions);
    let first = sessions.offer_tools(MINE.parse().unwrap(), source(&["editor-a__one"]));
    let second = sessions.offer_tools(MINE.parse().unwrap(), source(&["editor-a__two"]));
    assert_eq!(names(&registry, MINE), ["editor-a__two", "files__read"]);
    drop(first);
    assert_eq!(names(&registry, MINE), ["editor-a__two", "files__read"]);
    drop(second);
    assert_eq!(names(&registry, MINE), ["files__read"]);
    for name in ["editor-a__two", "editor-b__x"] {
        let refused = registry.prepare(&call(name), None, &tool_context()).await.unwrap_err();
        assert!(refused.to_string().contains("not connected to this session now"), "{refused}");
    }
    let refused = registry.prepare(&call("files__x"), None, &tool_context()).await.unwrap_err();
    assert!(!refused.to_string().contains("editor"), "{refused}");
}

#[test]
fn session_tools_follow_the_version_of_their_source() {
    let sessions = Arc::new(SessionSources::default());
    let registry = registry(&sessions);
    let source = source(&["editor-a__one"]);
    let _offer = sessions.offer_tools(MINE.parse().unwrap(), source.clone());
    let before = specs(&registry, MINE);
    source.version.fetch_add(1, Ordering::SeqCst);
    assert!(!Arc::ptr_eq(&before, &specs(&registry, MINE)));
}

#[test]
fn has_accepts_patterns_of_session_tools() {
    let registry = registry(&Arc::default());
    for (pattern, expected) in [
        ("editor-a__*", true),
        ("editor-a__b", true),
        ("ed*", true),
        ("edit", false),
        ("b*", false),
    ] {
        assert_eq!(registry.has_match(pattern), expected, "{pattern}");
    }
}
