//! `/openapi.json`: the OpenAPI 3.1 document.
//!
//! The document is a file, so that the program carries its text only. A test makes it from the handlers,
//! and fails if the file differs:
//!
//! ```text
//! utoipa::path on each handler -> from_handlers.rs -> openapi.json -> document()
//! types of the methods         -> method_schemas.rs --^
//! ```
//!
//! These attributes, and both modules, exist in tests only. `UPDATE_SCHEMAS=1 tests/run -p avocet-http openapi`
//! writes the file.

#[cfg(test)]
mod from_handlers;
#[cfg(test)]
mod method_schemas;

use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

#[cfg(test)]
pub(crate) use from_handlers::document_of_handlers;

/// The document as JSON: each operation and each schema has a line.
pub(crate) const DOCUMENT: &str = include_str!("openapi.json");

// The body stays a plain object: the OpenAPI specification describes it.
/// Show this document.
#[cfg_attr(test, utoipa::path(
    get, path = "/openapi.json", tag = "operation",
    responses((status = 200, description = "The OpenAPI document", body = Object), crate::problem::Problem),
))]
pub(crate) async fn document() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], DOCUMENT)
}
