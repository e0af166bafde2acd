//! Tools that one session has beside those of all, such as the tools of an editor's MCP servers.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use avocet_protocol::access::Role;
use avocet_protocol::chat::SessionId;
use avocet_protocol::session::SESSION_SERVER_PREFIX;
use avocet_protocol::tool::{Place, ToolSource, ToolSpec, Toolbox};
use parking_lot::{Mutex, RwLock};

use super::ToolRegistry;
use crate::outside::{OutsideSource, OutsideTools};
use crate::policy::PolicyCase;
use crate::registered::RegisteredTool;

/// The sources of the tools of single sessions.
#[derive(Debug, Default)]
pub struct SessionSources {
    entries: RwLock<BTreeMap<SessionId, Arc<SessionEntry>>>,
}

/// The tools of a session.
#[derive(Debug)]
struct SessionEntry {
    source: Arc<dyn ToolSource>,
    /// The source with the checks of the registry. All registries have the same tools of ours.
    outside: OnceLock<OutsideSource>,
    /// The last list, so that a model gets the identical one until something changes.
    merged: Mutex<Option<MergedSpecs>>,
}

/// A list of all tools of a session, and the parts that it was made of.
#[derive(Debug)]
struct MergedSpecs {
    base: Arc<[ToolSpec]>,
    version: u64,
    specs: Arc<[ToolSpec]>,
}

/// Offers the tools of a source in a session until it is dropped.
#[derive(Debug)]
pub struct SessionOffer {
    sources: Arc<SessionSources>,
    session: SessionId,
    entry: Arc<SessionEntry>,
}

impl SessionSources {
    /// Offers the tools of a source in a session, instead of those that it has had.
    #[must_use]
    pub fn offer_tools(
        self: &Arc<Self>,
        session: SessionId,
        source: Arc<dyn ToolSource>,
    ) -> SessionOffer {
        let (outside, merged) = (OnceLock::new(), Mutex::default());
        let entry = Arc::new(SessionEntry { source, outside, merged });
        let mut entries = self.entries.write();
        entries.insert(session.clone(), entry.clone());
        SessionOffer { sources: self.clone(), session, entry }
    }

    fn find_entry(&self, session: &SessionId) -> Option<Arc<SessionEntry>> {
        self.entries.read().get(session).cloned()
    }
}

impl Drop for SessionOffer {
    fn drop(&mut self) {
        let mut entries = self.sources.entries.write();
        // A later offer of the session stays.
        if entries.get(&self.session).is_some_and(|now| Arc::ptr_eq(now, &self.entry)) {
            entries.remove(&self.session);
        }
    }
}

impl SessionEntry {
    fn session_tools(&self, registry: &ToolRegistry) -> OutsideTools {
        let outside = self.outside.get_or_init(|| match &registry.outside {
            Some(outside) => outside.with_other_source(self.source.clone()),
            None => OutsideSource::new(self.source.clone(), Vec::new(), Vec::new(), Vec::new()),
        });
        outside.current_tools()
    }
}

impl ToolRegistry {
    /// Adds the tools that single sessions have. A tool with the name of another tool is left out.
    #[must_use]
    pub fn with_sessions(self, sessions: Arc<SessionSources>) -> Self {
        Self { sessions, ..self }
    }

    /// Finds a tool by its name, also among those of a session.
    pub(super) fn named_in(
        &self,
        name: &str,
        session: Option<&SessionId>,
    ) -> Option<Arc<RegisteredTool>> {
        self.find_named(name).or_else(|| {
            let tools = self.sessions.find_entry(session?)?.session_tools(self);
            let alike = || tools.values().find(|one| one.name().eq_ignore_ascii_case(name));
            tools.get(name).or_else(alike).cloned()
        })
    }

    /// The reason why a tool, by the name of a call, is refused even to an owner in a place.
    pub(super) fn why_refused_in(
        &self,
        tool: &str,
        session: &SessionId,
        place: &Place,
    ) -> Option<String> {
        let registered = self.named_in(tool, Some(session))?;
        self.why_refused(&registered, PolicyCase::of_offer(Role::Owner, place))
    }

    /// Returns the reason why a session lacks a tool of its servers; `None` for other tools.
    pub(super) fn describe_missing(
        &self,
        name: &str,
        session: Option<&SessionId>,
    ) -> Option<String> {
        let has_entry = session.is_some_and(|session| self.sessions.find_entry(session).is_some());
        let is_configured = self.outside.as_ref().is_some_and(|outside| outside.may_have(name));
        let is_missing = name.starts_with(SESSION_SERVER_PREFIX) && !has_entry && !is_configured;
        is_missing.then(|| {
            format!(
                "{name}; its MCP server belongs to an editor, which is not connected to this \
                 session now. Go on without it, or ask the person to open the session in the \
                 editor again"
            )
        })
    }

    /// Returns the tools that are offered in a session, sorted by name.
    pub(super) fn specs_with_session(
        &self,
        session: &SessionId,
        role: Role,
        place: &Place,
    ) -> Arc<[ToolSpec]> {
        let base = self.specs(role, place);
        let Some(entry) = self.sessions.find_entry(session) else { return base };
        let version = entry.source.version();
        let mut merged = entry.merged.lock();
        if let Some(known) = &*merged
            && known.version == version
            && Arc::ptr_eq(&known.base, &base)
        {
            return known.specs.clone();
        }
        let case = PolicyCase::of_offer(role, place);
        let tools = entry.session_tools(self);
        let own = tools.values().filter(|one| {
            self.find_named(one.name()).is_none() && self.why_refused(one, case).is_none()
        });
        let mut specs: Vec<ToolSpec> = own.map(|one| self.tool_spec(one)).collect();
        specs.extend(base.iter().cloned());
        specs.sort_by(|one, other| one.name.cmp(&other.name));
        let specs: Arc<[ToolSpec]> = specs.into();
        *merged = Some(MergedSpecs { base, version, specs: specs.clone() });
        specs
    }
}

/// Returns `true` if a tool of a session can have a name that matches the pattern.
pub(super) fn may_match(pattern: &str) -> bool {
    let (fixed, has_star) = match pattern.split_once('*') {
        Some((fixed, _)) => (fixed, true),
        None => (pattern, false),
    };
    fixed.starts_with(SESSION_SERVER_PREFIX)
        || (has_star && SESSION_SERVER_PREFIX.starts_with(fixed))
}

#[cfg(test)]
#[path = "session_tools_tests.rs"]
mod tests;
