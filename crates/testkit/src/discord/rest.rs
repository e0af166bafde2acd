//! Parses REST requests: their routes and contents.

use std::collections::BTreeMap;

use serde_json::Value;

use super::error::ApiError;
use super::form::FormErrors;
use crate::http::HttpRequest;
use crate::multipart::{self, Upload};

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is the request beside it in `routes`")]
pub enum Route {
    Gateway,
    GatewayBot,
    Me,
    Application,
    MyGuilds,
    OpenDm,
    Channel,
    History,
    CreateMessage,
    GetMessage,
    EditMessage,
    DeleteMessage,
    Typing,
    CreateThread,
    CreatePost,
    ArchivedThreads,
    AddReaction,
    RemoveReaction,
    GuildChannels,
    ActiveThreads,
    GetMember,
    SetCommands,
    GetCommands,
    Respond,
    FollowUp,
    GetResponse,
    EditResponse,
    DeleteResponse,
    Download,
}

/// Returns the routes of a path, by method.
fn routes(path: &[&str]) -> &'static [(&'static str, Route)] {
    match path {
        ["gateway"] => &[("GET", Route::Gateway)],
        ["gateway", "bot"] => &[("GET", Route::GatewayBot)],
        ["users", "@me"] => &[("GET", Route::Me)],
        ["users", "@me", "guilds"] => &[("GET", Route::MyGuilds)],
        ["users", "@me", "channels"] => &[("POST", Route::OpenDm)],
        ["oauth2", "applications", "@me"] | ["applications", "@me"] => {
            &[("GET", Route::Application)]
        }
        ["applications", _, "commands"] => {
            &[("PUT", Route::SetCommands), ("GET", Route::GetCommands)]
        }
        ["channels", _] => &[("GET", Route::Channel)],
        ["channels", _, "messages"] => &[("GET", Route::History), ("POST", Route::CreateMessage)],
        ["channels", _, "messages", _] => &[
            ("GET", Route::GetMessage),
            ("PATCH", Route::EditMessage),
            ("DELETE", Route::DeleteMessage),
        ],
        ["channels", _, "threads"] => &[("POST", Route::CreatePost)],
        ["channels", _, "threads", "archived", "public"] => &[("GET", Route::ArchivedThreads)],
        ["channels", _, "messages", _, "threads"] => &[("POST", Route::CreateThread)],
        ["channels", _, "messages", _, "reactions", _, "@me"] => {
            &[("PUT", Route::AddReaction), ("DELETE", Route::RemoveReaction)]
        }
        ["channels", _, "typing"] => &[("POST", Route::Typing)],
        ["guilds", _, "channels"] => &[("GET", Route::GuildChannels)],
        ["guilds", _, "members", _] => &[("GET", Route::GetMember)],
        ["guilds", _, "threads", "active"] => &[("GET", Route::ActiveThreads)],
        ["interactions", _, _, "callback"] => &[("POST", Route::Respond)],
        ["webhooks", _, _] => &[("POST", Route::FollowUp)],
        ["webhooks", _, _, "messages", _] => &[
            ("GET", Route::GetResponse),
            ("PATCH", Route::EditResponse),
            ("DELETE", Route::DeleteResponse),
        ],
        _ => &[],
    }
}

impl Route {
    /// Returns `true` if the route needs no bot token: the answer is public, or the path contains a
    /// token.
    pub(super) fn is_open(self) -> bool {
        self == Self::Gateway || self == Self::Download || self.is_of_interaction()
    }

    /// Returns `true` for routes below `/interactions` and `/webhooks`.
    pub(super) fn is_of_interaction(self) -> bool {
        matches!(
            self,
            Self::Respond
                | Self::FollowUp
                | Self::GetResponse
                | Self::EditResponse
                | Self::DeleteResponse
        )
    }
}

/// A parsed request.
#[derive(Debug)]
pub(super) struct ParsedRequest {
    pub(super) route: Route,
    /// The first id in the path: of a channel, guild, application or interaction.
    pub(super) major: u64,
    /// The message in the path. `None` for `@original`.
    pub(super) message: Option<u64>,
    /// The token of an interaction, or the path of a file.
    pub(super) token: String,
    /// The user in the path.
    pub(super) user: Option<u64>,
    /// The emoji in the path.
    pub(super) emoji: String,
    pub(super) query: BTreeMap<String, String>,
    /// The JSON body, `null` without one.
    pub(super) body: Value,
    pub(super) files: BTreeMap<String, Upload>,
}

impl ParsedRequest {
    /// Parses path and query. The body is parsed after the token was checked.
    pub(super) fn read(request: &HttpRequest) -> Result<Self, ApiError> {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let path = multipart::percent_decoded(path);
        if path.starts_with("/attachments/") {
            return Self::download(request, path, query);
        }
        let below = path.strip_prefix("/api/v10/").ok_or_else(not_found)?;
        let steps: Vec<&str> = below.split('/').collect();
        let found = routes(&steps);
        if found.is_empty() {
            return Err(not_found());
        }
        let route = found.iter().find(|(method, _)| *method == request.method);
        let (_, route) = route.ok_or_else(not_allowed)?;
        let mut call = Self::new(*route, query);
        match steps[..] {
            ["channels", channel, ..] => call.major = snowflake("channel_id", channel)?,
            ["guilds", guild, ..] => call.major = snowflake("guild_id", guild)?,
            ["applications", "@me"] => {}
            ["applications" | "webhooks", application, ..] => {
                call.major = snowflake("application_id", application)?;
            }
            ["interactions", id, ..] => call.major = snowflake("interaction_id", id)?,
            _ => {}
        }
        if let ["interactions" | "webhooks", _, token, ..] = steps[..] {
            token.clone_into(&mut call.token);
        }
        if let [.., "messages", message] = steps[..]
            && message != "@original"
        {
            call.message = Some(snowflake("message_id", message)?);
        }
        if let ["channels", _, "messages", message, "threads" | "reactions", ..] = steps[..] {
            call.message = Some(snowflake("message_id", message)?);
        }
        if let ["guilds", _, "members", user] = steps[..] {
            call.user = Some(snowflake("user_id", user)?);
        }
        if let [.., "reactions", emoji, _] = steps[..] {
            emoji.clone_into(&mut call.emoji);
        }
        Ok(call)
    }

    fn download(request: &HttpRequest, path: String, query: &str) -> Result<Self, ApiError> {
        if request.method != "GET" {
            return Err(not_allowed());
        }
        Ok(Self { token: path, ..Self::new(Route::Download, query) })
    }

    fn new(route: Route, query: &str) -> Self {
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=')?;
            Some((name.to_owned(), multipart::percent_decoded(value)))
        };
        let query = query.split('&').filter_map(pair).collect();
        let (token, files) = (String::new(), BTreeMap::new());
        let (emoji, body) = (String::new(), Value::Null);
        Self { route, major: 0, message: None, token, user: None, emoji, query, body, files }
    }

    /// Parses the body: JSON, or a form with `payload_json` and files.
    pub(super) fn read_body(&mut self, request: &HttpRequest) -> Result<(), ApiError> {
        let media_type = request.header("content-type").unwrap_or_default();
        if let Some(boundary) = multipart::boundary(media_type) {
            let (fields, files) =
                multipart::read(&request.body, boundary).ok_or_else(invalid_json)?;
            self.files = files;
            if let Some(Value::String(json)) = fields.get("payload_json") {
                self.body = serde_json::from_str(json).map_err(|_| invalid_json())?;
            }
        } else if !request.body.is_empty() {
            if !media_type.starts_with("application/json") {
                let why = "Expected \"Content-Type\" header to be one of {'application/json'}.";
                let mut errors = FormErrors::default();
                errors.add("_", "CONTENT_TYPE_INVALID", why);
                return errors.finish();
            }
            self.body = serde_json::from_slice(&request.body).map_err(|_| invalid_json())?;
        }
        Ok(())
    }

    /// Returns the channel in the path.
    pub(super) fn channel(&self) -> Option<u64> {
        let is_of_channel = matches!(
            self.route,
            Route::Channel
                | Route::History
                | Route::CreateMessage
                | Route::GetMessage
                | Route::EditMessage
                | Route::DeleteMessage
                | Route::Typing
                | Route::CreateThread
                | Route::CreatePost
                | Route::ArchivedThreads
                | Route::AddReaction
                | Route::RemoveReaction
        );
        is_of_channel.then_some(self.major)
    }

    /// Returns a number of the query, or the error of the form.
    pub(super) fn number(&self, name: &str, kind: &str) -> Result<Option<u64>, ApiError> {
        self.query.get(name).map(|value| coerced(name, value, kind)).transpose()
    }
}

/// Parses an id from a path or a body.
pub(super) fn snowflake(name: &str, text: &str) -> Result<u64, ApiError> {
    coerced(name, text, "snowflake")
}

fn coerced(name: &str, text: &str, kind: &str) -> Result<u64, ApiError> {
    text.parse().map_err(|_| {
        let mut errors = FormErrors::default();
        errors.add(name, "NUMBER_TYPE_COERCE", &format!("Value \"{text}\" is not {kind}."));
        errors.finish().unwrap_err()
    })
}

fn not_found() -> ApiError {
    ApiError::new(404, 0, "404: Not Found")
}

fn not_allowed() -> ApiError {
    ApiError::new(405, 0, "405: Method Not Allowed")
}

fn invalid_json() -> ApiError {
    ApiError::new(400, 50109, "The request body contains invalid JSON.")
}
