//! The note about the current moment: the time, the chat, texts of other sessions to the chat,
//! failed deliveries of the conversation, and recalled memories. The note follows the messages that
//! a turn answers, and is the same in every request that carries them.

use avocet_protocol::access::Trust;
use avocet_protocol::chat::{ChatAddress, ChatKind};
use avocet_protocol::clock::Timestamp;
use avocet_protocol::memory::RecalledMemory;
use avocet_protocol::model::MOMENT;
use avocet_protocol::tool::ChildMode;
use avocet_protocol::turn::{
    LostMessage, Origin, SessionReport, SessionReports, TurnRecord, Undelivered,
};
use jiff::Zoned;
use jiff::tz::TimeZone;

use crate::history_view::{HistoryView, shown_name};
use crate::job::{self, ABOUT_JOBS};
use crate::marks::Marks;

const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub(crate) fn turn_note(turn: &TurnRecord, view: HistoryView<'_>) -> String {
    let moment = describe_moment(turn, view.zone);
    let about = job::is_job(&turn.session).then(|| format!("[{ABOUT_JOBS}]"));
    let texts = [
        list_reports(turn, view),
        list_undelivered(turn, view.marks),
        recalled_memories(turn, view),
    ];
    let parts = [Some(moment), about].into_iter().chain(texts);
    parts.flatten().collect::<Vec<_>>().join("\n")
}

/// Lists the memories that were recalled for a turn; `None` if there are none. Untrusted ones are
/// marked.
pub(crate) fn recalled_memories(turn: &TurnRecord, view: HistoryView<'_>) -> Option<String> {
    if turn.recalled.is_empty() {
        return None;
    }
    let lines = |is_wanted: fn(Trust) -> bool| {
        let memories = turn.recalled.iter().filter(|memory| is_wanted(memory.trust));
        memories.map(|memory| memory_line(memory, view.zone)).collect::<Vec<_>>().join("\n")
    };
    let trusted = lines(|trust| trust > Trust::Low);
    let mut list: Vec<String> =
        Some(trusted).filter(|lines| !lines.is_empty()).into_iter().collect();
    let untrusted = lines(|trust| trust == Trust::Low);
    if !untrusted.is_empty() {
        let place = format!("recalled {}", turn.id);
        list.push(view.marks.mark_foreign(&place, "memory", &untrusted));
    }
    let list = Some(list.join("\n")).filter(|list| !list.is_empty())?;
    Some(format!("[Recalled from memory, perhaps outdated. Do not store it again:\n{list}\n]"))
}

fn memory_line(memory: &RecalledMemory, zone: &TimeZone) -> String {
    let RecalledMemory { id, scope, text, written_at, .. } = memory;
    let (scope, date) = (scope.kind().as_str(), zoned(*written_at, zone).strftime("%F"));
    // A text without line breaks cannot end the note.
    let text = text.replace(char::is_control, " ");
    format!("- {id} ({scope}, {date}): {text}")
}

fn describe_moment(turn: &TurnRecord, zone: &TimeZone) -> String {
    let time = time(turn.started_at, zone);
    match &turn.origin {
        Origin::Messages(messages) => match messages.last() {
            Some(message) => {
                let inbound = &message.message.inbound;
                let with = match (&inbound.sender.name, inbound.chat) {
                    (_, ChatKind::Group) => "a group".to_owned(),
                    (Some(name), ChatKind::Private) => {
                        format!("private, with {}", shown_name(name))
                    }
                    (None, ChatKind::Private) => "private".to_owned(),
                };
                let channel = &inbound.address.channel;
                format!("{MOMENT}{time}. This chat: {channel}, {with}.]")
            }
            None => format!("{MOMENT}{time}.]"),
        },
        Origin::Child { mode: ChildMode::Awaited, .. } => format!(
            "{MOMENT}{time}. No person reads this: your answer goes to the agent that gave you \
             this task.]"
        ),
        Origin::Child { mode: ChildMode::Background, .. } => format!(
            "{MOMENT}{time}. You work on this task in the background. No person can answer you: your \
             final answer goes to the chat as a message.]"
        ),
    }
}

/// Formats a time like `Friday, 2 January 2026, 09:05 CET`. A request contains the time of each
/// past turn, and `strftime` would take a third of the work for them.
fn time(at: Timestamp, zone: &TimeZone) -> String {
    let at = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    let offset = zone.to_offset_info(at);
    let local = offset.offset().to_datetime(at);
    let weekday = WEEKDAYS[local.weekday().to_monday_zero_offset() as usize];
    let month = MONTHS[local.month() as usize - 1];
    let (day, year, hour, minute) = (local.day(), local.year(), local.hour(), local.minute());
    let zone = offset.abbreviation();
    format!("{weekday}, {day} {month} {year}, {hour:02}:{minute:02} {zone}")
}

fn zoned(at: Timestamp, zone: &TimeZone) -> Zoned {
    jiff::Timestamp::from_millisecond(at.0).unwrap_or_default().to_zoned(zone.clone())
}

/// Lists the texts that the chat received from other sessions; `None` if there are none. They are
/// marked if one of them is untrusted.
fn list_reports(turn: &TurnRecord, view: HistoryView<'_>) -> Option<String> {
    let SessionReports { texts, more } = &turn.reports;
    let trust = texts.iter().map(|report| report.trust).min()?;
    let here = chat_of(turn);
    let mut lines: Vec<String> =
        texts.iter().map(|report| report_line(report, here, view.zone)).collect();
    if *more > 0 {
        lines.insert(0, format!("- {more} texts before these"));
    }
    let list = lines.join("\n");
    let list = match trust {
        Trust::Low => {
            view.marks.mark_foreign(&format!("reports {}", turn.id), "your other sessions", &list)
        }
        Trust::User | Trust::Full => list,
    };
    Some(format!(
        "[Texts that you sent from other sessions since the last turn. The person has read them \
         already:\n{list}\n]"
    ))
}

fn report_line(report: &SessionReport, here: Option<&ChatAddress>, zone: &TimeZone) -> String {
    let SessionReport { from, chat, text, at, .. } = report;
    let (chat, at) = (shown_chat(chat, here), time(*at, zone));
    format!("- from {from} to {chat}, {at}: {}", in_line(text))
}

fn chat_of(turn: &TurnRecord) -> Option<&ChatAddress> {
    turn.origin.messages().last().map(|message| &message.message.inbound.address)
}

fn shown_chat(chat: &ChatAddress, here: Option<&ChatAddress>) -> String {
    if here == Some(chat) { "this chat".to_owned() } else { chat.to_string() }
}

/// Lists the messages whose delivery failed; `None` if there are none. The texts are marked if the
/// model had read untrusted content before it wrote them.
fn list_undelivered(turn: &TurnRecord, marks: Marks) -> Option<String> {
    let Undelivered { messages, more } = &turn.undelivered;
    let trust = messages.iter().map(|lost| lost.trust).min()?;
    let here = chat_of(turn);
    let mut lines: Vec<String> =
        messages.iter().map(|lost| lost_message_line(lost, here)).collect();
    if *more > 0 {
        lines.insert(0, format!("- {more} messages before these"));
    }
    let list = lines.join("\n");
    let list = match trust {
        Trust::Low => {
            let place = format!("undelivered {}", turn.id);
            marks.mark_foreign(&place, "messages that you sent", &list)
        }
        Trust::User | Trust::Full => list,
    };
    Some(format!(
        "[Messages of this conversation that did not get through since its last turn. Do not \
         assume that they were read; /resend sends them again:\n{list}\n]"
    ))
}

fn lost_message_line(lost: &LostMessage, here: Option<&ChatAddress>) -> String {
    let chat = shown_chat(&lost.chat, here);
    let fate = if lost.unconfirmed { "may or may not have arrived" } else { "was not delivered" };
    let (what, why) = (in_line(&lost.what), in_line(&lost.why));
    format!("- to {chat}: {what} {fate}: {why}")
}

/// Makes a text safe to stand inside the note's brackets.
fn in_line(text: &str) -> String {
    let harmless = |c: char| match c {
        '[' => '(',
        ']' => ')',
        c if c.is_control() => ' ',
        c => c,
    };
    text.chars().map(harmless).collect()
}

#[cfg(test)]
#[path = "note_tests.rs"]
mod tests;
