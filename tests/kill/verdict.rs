//! The verdict about a run: the database, the files and the oracle are compared.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;

use rusqlite::Connection;

use crate::failures::{AllowedFailure, unexplained};
use crate::model::{content, file};
use crate::oracle::{AskedMessage, key, parse};
use crate::show;
use crate::world::World;

/// The verdict about a run.
pub(crate) struct RunVerdict {
    asked: usize,
    failed: usize,
    /// Notices about missing answers that the kills do not explain.
    unexplained: Vec<String>,
    lost: Vec<String>,
    /// Messages with different ends in the log and in the chat.
    contradicted: Vec<String>,
    /// Ended by `/stop`, `/new` or an interrupting message.
    stopped: usize,
    /// Messages that an edit replaced in time, and edits that came too late.
    replaced: usize,
    commands: u64,
    doubled: Vec<String>,
    /// Marked copies on a platform that recognises repetitions.
    twice_where_never: Vec<String>,
    too_often: Vec<String>,
    marked: Vec<String>,
    reordered: Vec<String>,
    run_twice: Vec<String>,
    posted: u32,
    badly_written: Vec<String>,
    noted_twice: Vec<String>,
    without_outcome: Vec<String>,
    invalid: Vec<String>,
    surprises: Vec<String>,
}

impl RunVerdict {
    /// Judges a run whose daemon has ended. Only these failures may have kept a message from its
    /// answer.
    pub(crate) fn new(world: &World, allowed: &[AllowedFailure]) -> Self {
        let messages = world.oracle.messages();
        let of = |which: &dyn Fn(&AskedMessage) -> bool| -> Vec<String> {
            let found = messages.iter().filter(|(_, asked)| which(asked));
            found.map(|(key, asked)| format!("{key} {asked:?}")).collect()
        };
        let log = Connection::open(world.home.data_dir().join("avocet.db")).unwrap();
        let recorded = recorded(&log);
        let ends = messages.iter().map(|(key, asked)| (key, asked, end(key, asked, &recorded)));
        let ends: Vec<_> = ends.collect();
        let with = |end: MessageEnd| -> Vec<String> {
            let found = ends.iter().filter(|(_, _, found)| *found == end);
            found
                .map(|(key, asked, _)| format!("{key} {asked:?} {:?}", recorded.get(*key)))
                .collect()
        };
        let written = messages.keys().filter(|key| {
            let path = world.home.workspace().join(file(key));
            path.exists() && fs::read_to_string(path).unwrap() != content(key)
        });
        let rows = |query: &str| -> Vec<String> {
            let mut statement = log.prepare(query).unwrap();
            statement.query_map((), |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        let twice = messages.iter().filter(|(key, asked)| {
            let most = asked.replies + asked.marked;
            most.max(asked.notes + asked.marked_notes) > 1 && world.never_doubles(key)
        });
        let unanswered = messages.values().filter(|asked| asked.replies + asked.marked == 0);
        let notices: Vec<&str> = unanswered.filter_map(|asked| asked.failed.as_deref()).collect();
        let reordered = world.oracle.reordered();
        for (person, seen) in &reordered {
            show(&format!("{seen}\n{}", conversation(&log, *person)));
        }
        Self {
            asked: messages.len(),
            failed: notices.len(),
            unexplained: unexplained(&log, allowed, notices.into_iter()),
            lost: with(MessageEnd::Lost),
            contradicted: with(MessageEnd::Contradicted),
            stopped: with(MessageEnd::Stopped).len(),
            replaced: with(MessageEnd::Replaced).len(),
            commands: world.oracle.commands().0,
            doubled: of(&|asked| asked.replies > 1 || asked.notes > 1),
            twice_where_never: twice.map(|(key, asked)| format!("{key} {asked:?}")).collect(),
            too_often: of(&|asked| asked.replies + asked.marked > 2),
            marked: of(&|asked| asked.marked > 0 || asked.marked_notes > 0),
            reordered: reordered.into_iter().map(|(_, seen)| seen).collect(),
            run_twice: of(&|asked| asked.posts > 1),
            posted: messages.values().map(|asked| asked.posts).sum(),
            badly_written: written.cloned().collect(),
            noted_twice: rows("SELECT text FROM memories GROUP BY text HAVING count(*) > 1"),
            without_outcome: rows("SELECT CAST(id AS TEXT) FROM inbound WHERE outcome IS NULL"),
            invalid: world.model.refusals(),
            surprises: surprises(world, &recorded),
        }
    }

    /// Panics on every fault.
    pub(crate) fn check(&self) {
        let none: [String; 0] = [];
        assert_eq!(self.lost, none, "lost");
        assert_eq!(self.contradicted, none, "another end in the log than in the chat");
        assert_eq!(self.doubled, none, "doubled without a mark");
        assert_eq!(self.twice_where_never, none, "two copies where there is never a second");
        assert_eq!(self.too_often, none, "more than two copies");
        assert_eq!(self.reordered, none, "reordered");
        assert_eq!(self.run_twice, none, "effects twice");
        assert_eq!(self.noted_twice, none, "noted twice");
        assert_eq!(self.badly_written, none, "badly written");
        assert_eq!(self.without_outcome, none, "accepted and without an outcome");
        assert_eq!(self.invalid, none, "invalid histories");
        assert_eq!(self.surprises, none, "surprises");
        assert_eq!(self.unexplained, none, "without an answer, and not because of the kills");
    }
}

impl fmt::Display for RunVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, failed, posted, commands, stopped, replaced, .. } = self;
        writeln!(
            f,
            "{asked} messages and {commands} commands were said, {posted} effects took place."
        )?;
        writeln!(f, "{:5} lost", self.lost.len())?;
        writeln!(f, "{:5} with another end in the log than in the chat", self.contradicted.len())?;
        writeln!(f, "{stopped:5} stopped or interrupted by their sender")?;
        writeln!(f, "{replaced:5} replaced by an edit, or edits that came too late")?;
        writeln!(f, "{:5} doubled without a mark", self.doubled.len())?;
        writeln!(f, "{:5} sent again with the mark", self.marked.len())?;
        writeln!(f, "{:5} reordered", self.reordered.len())?;
        writeln!(f, "{:5} effects twice", self.run_twice.len() + self.noted_twice.len())?;
        writeln!(f, "{:5} invalid histories", self.invalid.len())?;
        let share = 100.0 * (*asked - *failed) as f64 / (*asked).max(1) as f64;
        write!(f, "{failed:5} ended in an error or were dropped: {share:.2}% got the real answer")
    }
}

/// Returns events that no row of the verdict counts, and that should not happen.
fn surprises(world: &World, recorded: &BTreeMap<String, String>) -> Vec<String> {
    let mut surprises = world.oracle.surprises();
    let unfinished = world.oracle.unfinished().into_iter();
    let is_stopped = |key: &String| recorded.get(key).is_some_and(|end| end == "stopped");
    surprises.extend(unfinished.filter(|(key, _)| !is_stopped(key)).map(|(_, text)| text));
    let (commands, replies, marked) = world.oracle.commands();
    if !(replies..=replies + marked).contains(&commands) {
        surprises.push(format!("{commands} commands, {replies} replies, {marked} marked"));
    }
    surprises.extend(world.complaints());
    surprises
}

/// The end of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessageEnd {
    /// The chat has its reply, or a notice that names it.
    Told,
    /// The log says that the sender ended its turn, and the sender has sent such a command.
    Stopped,
    /// It was replaced by an edit, or is an edit that came after the message was over.
    Replaced,
    /// The chat shows another end than the log.
    Contradicted,
    Lost,
}

/// Returns the messages and deliveries of a person in the log, by time, to explain an answer in the
/// wrong place.
fn conversation(log: &Connection, person: usize) -> String {
    let sql = "WITH chats AS (SELECT DISTINCT chat FROM inbound \
               WHERE json_extract(content, '$.text') LIKE 'p' || ?1 || 'm%') \
               SELECT received_at AS at, format('%s message %s of turn %s, %s %s, corrects %s: %.60s', \
               received_at, id, turn, state, outcome, corrects, json_extract(content, '$.text')) \
               FROM inbound WHERE chat IN chats \
               UNION ALL SELECT created_at, format('%s %s %s of turn %s, %s, first sent %s, attempts %s: %.60s', \
               created_at, source, id, turn, state, first_sent_at, attempts, json_extract(content, '$.text')) \
               FROM outbox WHERE chat IN chats ORDER BY at";
    let mut statement = log.prepare(sql).unwrap();
    let lines = statement.query_map((person.to_string(),), |row| row.get::<_, String>(1)).unwrap();
    lines.map(Result::unwrap).collect::<Vec<_>>().join("\n")
}

/// Returns the outcomes of the messages in the log, by their keys.
fn recorded(log: &Connection) -> BTreeMap<String, String> {
    let sql = "SELECT json_extract(content, '$.text'), coalesce(outcome, 'open') FROM inbound \
               WHERE kind = 'text'";
    let mut statement = log.prepare(sql).unwrap();
    let rows = statement.query_map((), |row| Ok((row.get::<_, String>(0)?, row.get(1)?))).unwrap();
    let by_key = |(text, outcome): (String, String)| {
        Some((text.split_whitespace().next()?.to_owned(), outcome))
    };
    rows.map(Result::unwrap).filter_map(by_key).collect()
}

fn end(this: &str, asked: &AskedMessage, recorded: &BTreeMap<String, String>) -> MessageEnd {
    let was_read = asked.replies + asked.marked > 0;
    // A send whose outcome stays unknown is reported: the notice names the message.
    let is_unconfirmed =
        asked.failed.as_deref().is_some_and(|text| text.starts_with("I could not confirm"));
    match recorded.get(this).map(String::as_str) {
        Some("replied" | "merged") if was_read || is_unconfirmed => MessageEnd::Told,
        Some("error" | "dropped") if asked.failed.is_some() => MessageEnd::Told,
        Some("stopped") if asked.may_be_stopped => MessageEnd::Stopped,
        Some("replied" | "merged" | "error" | "dropped") if asked.is_answered() => {
            MessageEnd::Contradicted
        }
        Some("stopped") => MessageEnd::Contradicted,
        Some(_) => MessageEnd::Lost,
        None => {
            let (person, _) = parse(this).unwrap();
            let other = asked.edit_of.or(asked.edited_by);
            match other.and_then(|other| recorded.get(&key(person, other))) {
                Some(_) => MessageEnd::Replaced,
                None => MessageEnd::Lost,
            }
        }
    }
}
