//! Resources: the list of conversations, each conversation, and the memory.

use avocet_gateway::{ListMemories, ListSessions, RpcError, ShowSession, SocketMethod};
use avocet_protocol::chat::SessionId;
use avocet_protocol::store::{MemoryScope, SessionRow, SessionSummary};
use avocet_protocol::turn::TurnRecord;
use rmcp::ErrorData;
use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams, ReadResourceResult,
    Resource, ResourceContents, ResourceTemplate,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::host::{MethodError, SocketMethods};
use crate::rights::ClientRights;
use crate::transcript;

const SESSIONS: &str = "avocet://sessions";
const MEMORY: &str = "avocet://memory";
/// Conversations per page of the list.
const PAGE: u32 = 50;
/// The most turns of a conversation, and the most rows of a list.
const MOST_TURNS: u32 = 50;
const MOST_ROWS: u32 = 500;

/// A resource, by its URI.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ResourceKind {
    Sessions,
    Session(SessionId),
    /// `None` for all scopes.
    Memory(Option<MemoryScope>),
}

impl ResourceKind {
    pub(crate) fn parse_uri(uri: &str) -> Result<Self, ErrorData> {
        let unknown = || {
            let message = format!(
                "there is no resource {uri}; there are {SESSIONS}, {SESSIONS}/SESSION, {MEMORY} and \
                 {MEMORY}/SCOPE"
            );
            ErrorData::resource_not_found(message, Some(json!({ "uri": uri })))
        };
        if uri == SESSIONS {
            return Ok(Self::Sessions);
        }
        if uri == MEMORY {
            return Ok(Self::Memory(None));
        }
        let part = |start: &str| percent_decode(uri.strip_prefix(start)?.strip_prefix('/')?);
        if let Some(session) = part(SESSIONS) {
            return SessionId::parse(&session).map(Self::Session).map_err(|_| unknown());
        }
        let scope = part(MEMORY).ok_or_else(unknown)?;
        scope.parse().map(|scope| Self::Memory(Some(scope))).map_err(|_| unknown())
    }

    fn uri(&self) -> String {
        match self {
            Self::Sessions => SESSIONS.to_owned(),
            Self::Session(session) => format!("{SESSIONS}/{}", percent_encode(session.as_str())),
            Self::Memory(None) => MEMORY.to_owned(),
            Self::Memory(Some(scope)) => format!("{MEMORY}/{}", percent_encode(&scope.to_string())),
        }
    }
}

/// Lists the resources of a client, page by page.
pub(crate) async fn list_resources(
    methods: &dyn SocketMethods,
    rights: &ClientRights,
    page: Option<PaginatedRequestParams>,
) -> Result<ListResourcesResult, ErrorData> {
    let cursor = page.and_then(|page| page.cursor);
    let after: Option<SessionRow> = match &cursor {
        None => None,
        Some(cursor) => Some(serde_json::from_str(cursor).map_err(|_| {
            ErrorData::invalid_params(format!("the cursor {cursor:?} is not from this list"), None)
        })?),
    };
    let mut resources = Vec::new();
    if after.is_none() {
        resources.extend(fixed_resources(rights));
    }
    let mut result = ListResourcesResult::default();
    if rights.allow(ListSessions::NAME) {
        let params = json!({ "limit": PAGE, "after": after });
        let rows: Vec<SessionSummary> = call_method::<ListSessions, _>(methods, params).await?;
        if rows.len() == PAGE as usize
            && let Some(SessionSummary { used_at, session, .. }) = rows.last()
        {
            let last = SessionRow { used_at: *used_at, session: session.clone() };
            result.next_cursor = Some(json!(last).to_string());
        }
        resources.extend(rows.into_iter().map(session_resource));
    }
    result.resources = resources;
    Ok(result)
}

fn fixed_resources(rights: &ClientRights) -> impl Iterator<Item = Resource> {
    let sessions = Resource::new(SESSIONS, "sessions")
        .with_title("Conversations")
        .with_description("The conversations on all channels, the last used first.")
        .with_mime_type("application/json");
    let memory = Resource::new(MEMORY, "memory")
        .with_title("Memory")
        .with_description("The notes that the agent keeps for later conversations.")
        .with_mime_type("application/json");
    let sessions = rights.allow(ListSessions::NAME).then_some(sessions);
    sessions.into_iter().chain(rights.allow(ListMemories::NAME).then_some(memory))
}

fn session_resource(summary: SessionSummary) -> Resource {
    let SessionSummary { session, title, .. } = summary;
    let name = session.to_string();
    let resource =
        Resource::new(ResourceKind::Session(session).uri(), name).with_mime_type("text/markdown");
    match title {
        Some(title) if !title.is_empty() => resource.with_title(title),
        _ => resource,
    }
}

/// Lists the forms of URIs.
pub(crate) fn list_templates(rights: &ClientRights) -> ListResourceTemplatesResult {
    let session = ResourceTemplate::new(format!("{SESSIONS}/{{session}}"), "session")
        .with_title("Conversation")
        .with_description("The last turns of a conversation, such as terminal:local:me.")
        .with_mime_type("text/markdown");
    let memory = ResourceTemplate::new(format!("{MEMORY}/{{scope}}"), "memory-scope")
        .with_title("Memory of a scope")
        .with_description("Notes of the scope `everyone`, `chat SESSION` or `person ID`.")
        .with_mime_type("application/json");
    let mut result = ListResourceTemplatesResult::default();
    result.resource_templates.extend(rights.allow(ShowSession::NAME).then_some(session));
    result.resource_templates.extend(rights.allow(ListMemories::NAME).then_some(memory));
    result
}

pub(crate) async fn read(
    methods: &dyn SocketMethods,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let (text, media_type) = match ResourceKind::parse_uri(uri)? {
        ResourceKind::Sessions => {
            let params = json!({ "limit": MOST_ROWS });
            (
                pretty_json(&call_method::<ListSessions, _>(methods, params).await?),
                "application/json",
            )
        }
        ResourceKind::Session(session) => {
            let params = json!({ "session": session, "turns": MOST_TURNS });
            let turns: Vec<TurnRecord> = call_method::<ShowSession, _>(methods, params).await?;
            if turns.is_empty() {
                let message = format!("{session} has no messages yet");
                return Err(ErrorData::resource_not_found(message, Some(json!({ "uri": uri }))));
            }
            (transcript::write_markdown(&turns), "text/markdown")
        }
        ResourceKind::Memory(scope) => {
            let params = json!({ "scope": scope, "limit": MOST_ROWS });
            (
                pretty_json(&call_method::<ListMemories, _>(methods, params).await?),
                "application/json",
            )
        }
    };
    let contents = ResourceContents::text(text, uri).with_mime_type(media_type);
    Ok(ReadResourceResult::new(vec![contents]))
}

fn pretty_json(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Calls a method for a request that is not a tool.
async fn call_method<M: SocketMethod, T: DeserializeOwned>(
    methods: &dyn SocketMethods,
    params: Value,
) -> Result<T, ErrorData> {
    let answer = methods.call::<M>(params).await.map_err(|error| protocol_error(&error))?;
    serde_json::from_value(answer)
        .map_err(|error| ErrorData::internal_error(format!("{}: {error}", M::NAME), None))
}

/// Returns the error of a request that is not a tool.
pub(crate) fn protocol_error(error: &MethodError) -> ErrorData {
    match error {
        MethodError::Refused(RpcError { code, message, .. }) => match *code {
            RpcError::NOT_FOUND => ErrorData::resource_not_found(message.clone(), None),
            RpcError::PARAMS | RpcError::NOT_ALLOWED => {
                ErrorData::invalid_params(message.clone(), None)
            }
            _ => ErrorData::internal_error(message.clone(), None),
        },
        MethodError::Lost(why) => ErrorData::internal_error(why.clone(), None),
    }
}

/// Encodes the characters that a part of a path may not have (RFC 3986).
fn percent_encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~:@!$'()*,;=+".contains(&byte);
        if is_plain {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// Decodes a part of a path; `None` if it is malformed.
fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_uri_is_parsed_back() {
        let chat = MemoryScope::Chat("terminal:local:a".parse().unwrap());
        let kinds = [
            ResourceKind::Sessions,
            ResourceKind::Session("terminal:local:ä b".parse().unwrap()),
            ResourceKind::Memory(None),
            ResourceKind::Memory(Some(MemoryScope::Everyone)),
            ResourceKind::Memory(Some(chat)),
        ];
        for kind in kinds {
            assert_eq!(ResourceKind::parse_uri(&kind.uri()).unwrap(), kind, "{}", kind.uri());
        }
        let simple = ResourceKind::parse_uri("avocet://sessions/terminal%3Alocal%3Aa").unwrap();
        assert_eq!(simple, ResourceKind::Session("terminal:local:a".parse().unwrap()));
    }

    #[test]
    fn resource_uri_of_another_form_is_refused() {
        for uri in [
            "",
            "avocet://",
            "avocet://session",
            "avocet://sessions/",
            "avocet://sessions/../memory",
            "avocet://sessions/a%2",
            "avocet://sessions/a%zz",
            "avocet://memory/nobody",
            "file:///etc/passwd",
        ] {
            assert!(ResourceKind::parse_uri(uri).is_err(), "{uri}");
        }
    }
}
