//! The methods that list something. Each returns a page of bounded size and takes the position at
//! which the list continues. Text of models and tools is shown without secrets.

use avocet_methods::{ListSent, ListSessions, ListUsage, ShowSession, SocketMethod};
use avocet_protocol::store::TranscriptPage;

use crate::MAX_LINE_BYTES;
use crate::run::{Answered, MethodCall, Reply, RunMethod};
use crate::values::{check_limit, unavailable};

/// Bytes of a page of turns after which no further turn is added.
const PAGE_BYTES: usize = MAX_LINE_BYTES / 2;

impl RunMethod for ListSessions {
    type Ports<'a> = MethodCall<'a>;

    async fn run(call: Self::Ports<'_>, Self { limit, after, only }: Self) -> Answered<Self> {
        check_limit(Self::NAME, "limit", limit)?;
        let parts = call.parts;
        let sessions = parts.query.sessions_of(only, limit, after.as_ref()).await;
        let sessions = sessions.map_err(unavailable)?;
        let rows = sessions.into_iter().map(|row| row.with_presentable_title(&parts.redactor));
        Reply::with_whole(&rows.collect())
    }
}

impl RunMethod for ListSent {
    type Ports<'a> = MethodCall<'a>;

    async fn run(call: Self::Ports<'_>, Self { session, limit, before }: Self) -> Answered<Self> {
        check_limit(Self::NAME, "limit", limit)?;
        let sent = call.parts.query.sent(&session, limit, before).await.map_err(unavailable)?;
        Reply::without_secrets(&sent, &call.parts.redactor)
    }
}

impl RunMethod for ShowSession {
    type Ports<'a> = MethodCall<'a>;

    async fn run(call: Self::Ports<'_>, Self { session, turns, before }: Self) -> Answered<Self> {
        check_limit(Self::NAME, "turns", turns)?;
        let page = TranscriptPage { turns, before, bytes: PAGE_BYTES };
        let shown = call.parts.query.transcript_page(&session, page).await.map_err(unavailable)?;
        Reply::without_secrets(&shown, &call.parts.redactor)
    }
}

impl RunMethod for ListUsage {
    type Ports<'a> = MethodCall<'a>;

    async fn run(call: Self::Ports<'_>, Self { by, since, limit, skip }: Self) -> Answered<Self> {
        check_limit(Self::NAME, "limit", limit)?;
        let rows = call.parts.query.usage_page(by, since, limit, skip).await;
        Reply::with_whole(&rows.map_err(unavailable)?)
    }
}
