//! A person on the socket who gives the agent work: tasks, jobs and schedules.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use avocet_testkit::socket::{CallError, SocketClient};
use serde_json::{Value, json};

use crate::SharedOracle;
use crate::person::{LOOK_AGAIN, THINK, pause};
use crate::script::{is_about_open_question, is_choice_reply};
use crate::work::{WORK, WorkKind, count, parse_work, work_key};

/// Pieces of work that a planner has open at once.
const AHEAD: usize = 3;
/// The profile of the jobs.
pub(crate) const WORKER: &str = "worker";
/// The text of the recurring reminder.
pub(crate) const TICK: &str = "tick";

pub(crate) struct Planner {
    number: usize,
    socket: PathBuf,
    oracle: SharedOracle,
    asked: u32,
    /// Requests that the daemon has not confirmed.
    unconfirmed: VecDeque<PlannerCall>,
    /// Jobs asked for in the chat whose numbers are not known, in order.
    unnumbered: VecDeque<(String, WorkKind)>,
    /// The keys of these jobs, by their numbers.
    jobs: BTreeMap<u64, String>,
    /// Keys by the chats of submitted jobs. Each job has a separate chat.
    job_chats: BTreeMap<String, String>,
    /// The number of sent lines without a key of work.
    lines: u32,
}

#[derive(Debug, Clone)]
struct PlannerCall {
    method: &'static str,
    params: Value,
}

impl Planner {
    pub(crate) fn new(number: usize, socket: &Path, oracle: SharedOracle) -> Self {
        Self {
            number,
            socket: socket.to_owned(),
            oracle,
            asked: 0,
            unconfirmed: VecDeque::new(),
            unnumbered: VecDeque::new(),
            jobs: BTreeMap::new(),
            job_chats: BTreeMap::new(),
            lines: 0,
        }
    }

    fn chat(&self) -> String {
        format!("terminal:local:w{}", self.number)
    }

    /// Gives work until the run ends.
    pub(crate) async fn plan(mut self) {
        if self.number == 0 {
            self.say(&format!("{TICK} every minute"));
        }
        while !self.oracle.work.has_ended() {
            match SocketClient::connect(&self.socket).await {
                Ok(client) => drop(self.plan_over(&client).await),
                Err(_) => pause(LOOK_AGAIN).await,
            }
        }
    }

    /// Gives work until the connection breaks or the run ends.
    async fn plan_over(&mut self, client: &SocketClient) -> Result<(), CallError> {
        client.call("attach", json!({ "chat": self.chat() })).await?;
        for chat in self.job_chats.keys() {
            client.call("attach", json!({ "chat": chat })).await?;
        }
        while !self.oracle.work.has_ended() {
            self.ask_for_more();
            while let Some(PlannerCall { method, params }) = self.unconfirmed.front().cloned() {
                match client.call(method, params.clone()).await {
                    Err(CallError::Refused(error)) if error["code"] == -32003 => {
                        return Err(CallError::Lost);
                    }
                    Err(CallError::Refused(error)) => self.oracle.surprise(error.to_string()),
                    Err(lost) => return Err(lost),
                    Ok(submitted) if method == "job.submit" => {
                        let chat = submitted["session"].as_str().unwrap().to_owned();
                        client.call("attach", json!({ "chat": chat })).await?;
                        self.job_chats.insert(chat, params["key"].as_str().unwrap().to_owned());
                    }
                    Ok(_) => {}
                }
                self.unconfirmed.pop_front();
            }
            let read = tokio::select! {
                read = client.incoming.recv_async() => read.map_err(|_| CallError::Lost)?,
                // Other planners may have ended the run.
                () = pause(10 * LOOK_AGAIN) => continue,
            };
            if read["method"] == "deliver" {
                let decides = self.read(&read["params"]);
                client.respond(&read["id"]).await?;
                if decides {
                    pause(THINK).await;
                }
            }
        }
        Ok(())
    }

    fn ask_for_more(&mut self) {
        while !self.oracle.is_quiet() && self.open() < AHEAD {
            let kind = WORK[(self.asked as usize + self.number) % WORK.len()];
            let key = work_key(self.number, self.asked);
            self.asked += 1;
            self.oracle.work.asked(&key, kind);
            let task = format!("{key} {}", kind.as_str());
            if kind == WorkKind::SubmittedJob {
                let limits = json!({ "max_inference_runs": 20, "max_seconds": 3600 });
                let params = json!({
                    "task": task, "agent": WORKER, "workspace": null, "limits": limits, "key": key,
                });
                self.unconfirmed.push_back(PlannerCall { method: "job.submit", params });
                continue;
            }
            let text = if kind.is_job() {
                self.unnumbered.push_back((key.clone(), kind));
                format!("/job {WORKER} {task}")
            } else {
                task
            };
            self.ask(&key, &text);
        }
    }

    /// Returns the number of open pieces of work.
    fn open(&self) -> usize {
        let keys = (0..self.asked).map(|number| work_key(self.number, number));
        keys.filter(|key| self.oracle.work.with(key, |asked| !asked.is_over()) == Some(true))
            .count()
    }

    fn ask(&mut self, key: &str, text: &str) {
        let params = json!({ "session": self.chat(), "text": text, "key": key });
        self.unconfirmed.push_back(PlannerCall { method: "ask", params });
    }

    /// Sends a line that is no work.
    fn say(&mut self, text: &str) {
        let key = format!("line-{}-{}", self.number, self.lines);
        self.lines += 1;
        self.ask(&key, text);
    }

    /// Reads a chunk. Returns `true` if it is a choice.
    fn read(&mut self, chunk: &Value) -> bool {
        let text = chunk["text"].as_str().unwrap();
        let repeat = chunk["repeat"].as_bool().unwrap();
        // A report that the question may be lost quotes it, without the choices.
        if let Some(skip) = chunk["choices"].as_array().and_then(|choices| choices.last()) {
            self.skip(text, skip["says"].as_str().unwrap());
            return true;
        }
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let named: Vec<(&str, &str)> = words.filter_map(parse_work).collect();
        match (text, &named[..]) {
            (TICK, []) => self.oracle.work.tick(repeat),
            // Two kills during its sends leave its outcome unknown, which the daemon reports.
            (_, []) if is_unconfirmed_tick(text) => self.oracle.work.tick(true),
            _ if is_choice_reply(text)
                || text.starts_with(&format!("done {TICK}"))
                || is_late_cancel(text)
                // A planner asks for more work while a turn waits for its choice.
                || is_about_open_question(text) => {}
            (_, []) if text.contains(" is in the log: ") => self.number_job(text),
            (_, []) if text.contains(" is cancelled.") => self.end_cancelled(text),
            (_, [(key, part), ..]) => {
                let is_done = text.starts_with(&format!("done {key}{part}"));
                let is_end = text.starts_with("Task “") || text.starts_with("remind ");
                let known = self.oracle.work.with(key, |asked| {
                    let is_reply = part.is_empty() && !asked.kind.is_job();
                    match (is_done, is_end) {
                        (true, _) if is_reply => count(&mut asked.replies, repeat),
                        (true, _) | (_, true) => count(&mut asked.ends, repeat),
                        _ => asked.failed.push(text.to_owned()),
                    }
                });
                if known.is_none() {
                    self.oracle.surprise(format!("{}: {text}", self.chat()));
                }
            }
            _ => self.oracle.work.other(text),
        }
        false
    }

    /// Notes the number of the oldest unnumbered job, and cancels the job if that is its kind.
    fn number_job(&mut self, text: &str) {
        let Some(number) = job_number(text).filter(|number| !self.jobs.contains_key(number)) else {
            return;
        };
        let Some((key, kind)) = self.unnumbered.pop_front() else { return };
        self.jobs.insert(number, key);
        if kind == WorkKind::CancelledJob {
            self.say(&format!("/job cancel j{number}"));
        }
    }

    /// The end of a cancelled job is the reply to the command.
    fn end_cancelled(&self, text: &str) {
        match job_number(text).and_then(|number| self.jobs.get(&number)) {
            Some(key) => {
                self.oracle.work.with(key, |asked| asked.failed.push(text.to_owned()));
            }
            None => self.oracle.work.other(text),
        }
    }

    /// Chooses to skip. Only the oracle knows if the effect took place, so it is never run again.
    fn skip(&mut self, text: &str, says: &str) {
        for (key, part) in text.split(|c: char| !c.is_alphanumeric()).filter_map(parse_work) {
            self.oracle.work.ask_about(&format!("{key}{part}"));
        }
        let key = format!("{}{}", says.replace(['/', ' '], "-"), self.number);
        self.ask(&key, says);
    }
}

/// Returns `true` for the report that a reminder may not have arrived.
fn is_unconfirmed_tick(text: &str) -> bool {
    text.contains("could not confirm that this message arrived") && text.contains(TICK)
}

/// Returns `true` for the reply to `/job cancel` about a job that has ended before.
fn is_late_cancel(text: &str) -> bool {
    [" is completed.", " is failed."].iter().any(|end| text.contains(end))
        && job_number(text).is_some()
}

/// Returns the number of the job that a command's reply names. A report that the reply may be lost
/// quotes it.
fn job_number(text: &str) -> Option<u64> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter_map(|word| word.strip_prefix('j')).find_map(|number| number.parse().ok())
}
