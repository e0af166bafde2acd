//! Makes the OpenAPI document from the handlers, for the test of the file.

use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ContentBuilder, RefOr, ResponseBuilder};
use utoipa::{IntoResponses, Modify, OpenApi, ToSchema};

use super::method_schemas::add_method_schemas;
use crate::hooks;
use crate::openai::error::OpenAiError;
use crate::openai::files::FileOrder;
use crate::openai::{chat, files as uploaded, models, responses, stored};
use crate::openapi;
use crate::problem::Problem;
use crate::routes::{
    approvals, config, dead_letters, events, files, health, jobs, memories, messages, schedules,
    sessions, status, web,
};

#[derive(OpenApi)]
#[openapi(
    info(title = "Avocet", description = "The methods of the daemon for programs that speak HTTP."),
    paths(
        approvals::decide,
        approvals::list,
        chat::complete,
        config::check,
        config::form,
        config::save,
        config::show,
        dead_letters::discard,
        dead_letters::list,
        dead_letters::retry,
        dead_letters::show,
        openapi::document,
        events::list,
        events::stream,
        events::trace,
        uploaded::read_content,
        uploaded::list_files,
        uploaded::remove_file,
        uploaded::show_file,
        files::of_message,
        files::of_reply,
        files::upload,
        health::healthz,
        hooks::receive,
        health::metrics,
        health::readyz,
        jobs::cancel,
        jobs::list,
        jobs::show,
        jobs::submit,
        memories::add,
        memories::changes,
        memories::forget,
        memories::list,
        memories::show,
        memories::undo,
        models::list,
        models::show,
        messages::publish,
        messages::send,
        messages::show,
        responses::create,
        schedules::add,
        schedules::list,
        schedules::pause,
        schedules::remove,
        schedules::resume,
        schedules::run,
        schedules::show,
        sessions::branch,
        sessions::change,
        sessions::list,
        sessions::options,
        sessions::remove,
        sessions::search,
        sessions::set_option,
        sessions::sent,
        sessions::show,
        sessions::stream,
        status::status,
        status::usage,
        stored::remove_response,
        stored::show_response,
        web::login,
        web::list_browsers,
        web::sign_out,
    ),
    components(schemas(Problem, ErrorBody, ErrorObject, FileOrder)),
    security(("token" = [])),
    modifiers(&TokenScheme, &OperationNames),
)]
struct ApiDocument;

struct TokenScheme;

impl Modify for TokenScheme {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("A token of [http.tokens.NAME], or of the web console"))
            .build();
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(scheme));
    }
}

/// Makes the names of operations unique: a handler's name is unique within its tag only.
struct OperationNames;

impl Modify for OperationNames {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        for item in openapi.paths.paths.values_mut() {
            let operations = [&mut item.get, &mut item.post, &mut item.put, &mut item.delete];
            for operation in operations.into_iter().flatten() {
                let tag = operation.tags.iter().flatten().next().cloned().unwrap_or_default();
                let name = operation.operation_id.take().unwrap_or_default();
                operation.operation_id = Some(format!("{}_{name}", tag.replace(' ', "_")));
            }
        }
    }
}

impl IntoResponses for Problem {
    /// Any other status is an error.
    fn responses() -> BTreeMap<String, RefOr<utoipa::openapi::Response>> {
        let schema = utoipa::openapi::Ref::from_schema_name(Self::name());
        let content = ContentBuilder::new().schema(Some(schema)).build();
        let response = ResponseBuilder::new()
            .description("An error (RFC 9457)")
            .content("application/problem+json", content)
            .build();
        [("default".to_owned(), response.into())].into()
    }
}

/// The body of an error, as OpenAI's clients read it.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "only its schema is used; the body is made from a problem")]
struct ErrorBody {
    error: ErrorObject,
}

/// An error, as OpenAI's clients read it.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "only its schema is used; the object is made from a problem")]
struct ErrorObject {
    /// The fault of this request, and its correction.
    message: String,
    /// The kind of error, such as `invalid_request_error`.
    #[schema(rename = "type")]
    kind: String,
    /// The parameter at fault.
    #[schema(required)]
    param: Option<String>,
    /// The error as a stable name.
    code: String,
}

impl IntoResponses for OpenAiError {
    /// Any other status is an error. The checks in front of all paths answer with a [`Problem`].
    fn responses() -> BTreeMap<String, RefOr<utoipa::openapi::Response>> {
        let problem = utoipa::openapi::Ref::from_schema_name(Problem::name());
        let problem = ContentBuilder::new().schema(Some(problem)).build();
        let error = utoipa::openapi::Ref::from_schema_name(ErrorBody::name());
        let error = ContentBuilder::new().schema(Some(error)).build();
        let response = ResponseBuilder::new()
            .description("An object with the key `error`, or a problem (RFC 9457)")
            .content("application/json", error)
            .content("application/problem+json", problem)
            .build();
        [("default".to_owned(), response.into())].into()
    }
}

/// Makes the document.
pub(crate) fn document_of_handlers() -> Value {
    let mut document = serde_json::to_value(ApiDocument::openapi()).unwrap();
    add_method_schemas(&mut document);
    document
}
