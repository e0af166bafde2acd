//! The tool `post`: sends a text to the test, which counts it.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use async_trait::async_trait;
use avocet_protocol::tool::{Description, Tool, ToolClass, ToolContext, ToolError, ToolOutcome};
use avocet_supervise::run_blocking;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// Sends a text to the test, which counts it.
#[derive(Debug)]
pub(crate) struct Post {
    pub(crate) sink: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Arguments {
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
        let posted = run_blocking(post).await.map_err(|error| error.to_string());
        match posted.and_then(|answer| answer.map_err(|error| error.to_string())) {
            Ok(answer) => Ok(json!(answer.trim()).into()),
            Err(error) => Err(ToolError::ExecutionFailed(error)),
        }
    }
}
