//! A channel in Python with its fake platform, which `tests/contract.py` of its folder starts and
//! controls: each line that it reads is a request, and each line that it writes is the response.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use async_trait::async_trait;
use avocet_tests::Home;
use serde_json::{Value, json};

use super::{FakePlatformSide, Repetition};

pub(super) struct PythonSide {
    folder: &'static str,
    /// The name of the account, which the program knows.
    account: &'static str,
    repetition: Repetition,
    platform: Option<RunningPlatform>,
}

impl PythonSide {
    /// The channel in this folder of `plugins`.
    pub(super) fn new(folder: &'static str, account: &'static str, repetition: Repetition) -> Self {
        Self { folder, account, repetition, platform: None }
    }

    fn ask(&mut self, request: &Value) -> Value {
        self.platform.as_mut().unwrap().ask(request)
    }
}

/// The process of the fake platform, which is killed when this is dropped.
struct RunningPlatform {
    process: Child,
    requests: ChildStdin,
    responses: BufReader<ChildStdout>,
}

impl RunningPlatform {
    fn start(folder: &str, home: &Home) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let script = root.join("plugins").join(folder).join("tests/contract.py");
        let mut python = Command::new("python3");
        python.arg("-B").arg(script).arg(home.path(""));
        python.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = python.spawn().unwrap();
        let requests = process.stdin.take().unwrap();
        let responses = BufReader::new(process.stdout.take().unwrap());
        Self { process, requests, responses }
    }

    fn ask(&mut self, request: &Value) -> Value {
        writeln!(self.requests, "{request}").unwrap();
        let mut response = String::new();
        self.responses.read_line(&mut response).unwrap();
        serde_json::from_str(&response).unwrap()
    }
}

impl Drop for RunningPlatform {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

#[async_trait(?Send)]
impl FakePlatformSide for PythonSide {
    fn account(&self) -> String {
        format!("external:{}", self.account)
    }

    fn table(&mut self, home: &Home) -> String {
        self.platform = Some(RunningPlatform::start(self.folder, home));
        self.ask(&json!("table")).as_str().unwrap().to_owned()
    }

    async fn begin(&mut self, _home: &Home) {
        self.ask(&json!("ready"));
    }

    async fn say(&mut self, text: &str) {
        self.ask(&json!({ "say": text }));
    }

    async fn choose(&mut self, choice: &str) {
        self.ask(&json!({ "choose": choice }));
    }

    fn typings(&mut self) -> Option<usize> {
        serde_json::from_value(self.ask(&json!("typings"))).unwrap()
    }

    async fn repeat_event(&mut self) {
        self.ask(&json!("again"));
    }

    async fn lose_answer(&mut self) -> Repetition {
        self.ask(&json!("lose"));
        self.repetition
    }

    async fn texts(&mut self) -> Vec<String> {
        serde_json::from_value(self.ask(&json!("told"))).unwrap()
    }
}
