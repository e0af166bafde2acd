//! The program under test: the shipped one, which also dies where it is told to, and has a tool
//! whose effect the test can count.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::ExitCode;

use async_trait::async_trait;
use avocet_protocol::{Description, Tool, ToolClass, ToolContext, ToolError, ToolOutcome};
use avocet_supervise::{blocking, fail_point};
use avocet_tests::{FAIL_POINT, SINK};
use avocet_tools::{AlreadyRegistered, Origin, Registry};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

fn main() -> ExitCode {
    if let Some(point) = environment(FAIL_POINT)
        && let Err(error) = fail_point::arm(&point)
    {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    avocet::main(add_tools)
}

fn add_tools(registry: &mut Registry) -> Result<(), AlreadyRegistered> {
    match environment(SINK) {
        Some(sink) => registry.add(Post { sink }, Origin::BuiltIn),
        None => Ok(()),
    }
}

#[expect(clippy::disallowed_methods, reason = "this is how the test speaks to its program")]
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Posts a text to the test, which counts it.
#[derive(Debug)]
struct Post {
    sink: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// What to post.
    text: String,
}

#[async_trait]
impl Tool for Post {
    type Arguments = Arguments;

    fn describe(&self) -> Description {
        Description::new("post", ToolClass::Effect, "Post a text to the outside world.")
    }

    async fn execute(
        &self,
        arguments: Arguments,
        context: &ToolContext,
    ) -> Result<ToolOutcome, ToolError> {
        let (sink, call) = (self.sink.clone(), context.call);
        let post = move || {
            let mut stream = TcpStream::connect(sink)?;
            writeln!(stream, "{} {call}", arguments.text)?;
            let mut answer = String::new();
            BufReader::new(stream).read_line(&mut answer)?;
            Ok::<_, std::io::Error>(answer)
        };
        let posted = blocking(post).await.map_err(|error| error.to_string());
        match posted.and_then(|answer| answer.map_err(|error| error.to_string())) {
            Ok(answer) => Ok(json!(answer.trim()).into()),
            Err(error) => Err(ToolError::ExecutionFailed(error)),
        }
    }
}
