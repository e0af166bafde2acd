#[path = "server_tests/files.rs"]
mod files;
#[path = "server_tests/forged.rs"]
mod forged;
#[path = "server_tests/health.rs"]
mod health;
#[path = "server_tests/hooks.rs"]
mod hooks;
#[path = "server_tests/limits.rs"]
mod limits;
#[path = "server_tests/mcp.rs"]
mod mcp;
#[path = "server_tests/messages.rs"]
mod messages;
#[path = "server_tests/openai.rs"]
mod openai;
#[path = "server_tests/openai_files.rs"]
mod openai_files;
#[path = "server_tests/openai_programs.rs"]
mod openai_programs;
#[path = "server_tests/rights.rs"]
mod rights;
#[path = "server_tests/routes.rs"]
mod routes;
#[path = "server_tests/streams.rs"]
mod streams;
#[path = "server_tests/web.rs"]
mod web;
#[path = "server_tests/webhooks.rs"]
mod webhooks;
#[path = "server_tests/world.rs"]
mod world;
