//! Reads the messages that were missed while the bot was away (F32), while live events keep coming.
//!
//! With a new session, a server reports the last message of its channels and active threads. Only
//! channels with a new message are read. Other channels that were read before are fetched one by
//! one, because listings lack them: direct messages and archived threads. Writing in a thread
//! unarchives it, but a silent one is archived again (Discord API, "Active & Archived Threads"),
//! perhaps while the bot was away. A thread that was both made and archived meanwhile is missed:
//! listings and cursors lack it.
//!
//! In channels with missed messages, and in direct messages, the page before them is searched for
//! edits. Older edits are missed, and so are edits in a server's channel without a new message: no
//! listing contains them.

use std::collections::BTreeSet;
use std::time::Duration;

use avocet_channel_kit::Stopped;
use serde::Deserialize;
use serde_json::Value;
use serenity::model::id::{ChannelId, GuildId, MessageId};

use crate::agenda::{Subject, When};
use crate::fault::RestError;
use crate::gaps::{EDITED, Gap, Look, PRESSED, SAID};
use crate::gateway::{Live, Me};
use crate::history::{AnsweredQuestion, HistoryAnswer, PAGE, Question, id};
use crate::misread;
use crate::places::{ChannelPlace, Described};
use crate::receive::Receiver;

/// Discord's error code for a deleted channel.
const UNKNOWN_CHANNEL: isize = 10_003;

impl Receiver<'_> {
    /// Begins a new session: messages may be missing in every channel.
    pub(crate) fn catch_up(&mut self, servers: BTreeSet<GuildId>) {
        let now = self.context.clock.elapsed();
        self.agenda.begin(now);
        for (channel, last) in self.read.channels() {
            if self.gone.contains(&channel) {
                continue;
            }
            let (next, when) = match self.places.get(channel) {
                Some(ChannelPlace::Private) => (Look::Edits, When::At(now)),
                _ => (Look::Channel, When::Listed),
            };
            self.gaps.note(channel, last, next);
            self.agenda.add(Subject::Channel(channel), when);
        }
        self.meet_people(now);
        if !self.offered {
            self.agenda.add(Subject::Commands, When::Last);
        }
        self.undescribed = servers;
        self.all_described(now);
    }

    /// Processes the description of a server, its channels and its threads.
    pub(crate) fn server(&mut self, server: &Value) {
        self.places.learn_from(server);
        self.meet_server(server);
        let id = GuildId::deserialize(&server["id"]);
        // A server with an outage is described once more.
        if let (Ok(id), true) = (id, server["channels"].is_array()) {
            self.undescribed.remove(&id);
            self.all_described(self.context.clock.elapsed());
        }
    }

    fn all_described(&mut self, now: Duration) {
        if self.undescribed.is_empty() {
            self.agenda.all_listed(now);
        }
    }

    /// Processes the last message of a channel, as its server reports it.
    pub(crate) fn listed(
        &mut self,
        channel: &Described,
        joined: Option<MessageId>,
        since: MessageId,
    ) {
        let subject = Subject::Channel(channel.id);
        if !matches!(self.agenda.when(subject), None | Some(When::Listed)) {
            return;
        }
        let last = self.read.last(channel.id);
        let after = last.map_or(since, |last| joined.map_or(last, |joined| joined.max(last)));
        let dropped = self.gaps.get_mut(channel.id).and_then(Gap::take_dropped);
        let is_news = channel.last_message_id.is_some_and(|said| said > after) || dropped.is_some();
        if is_news && channel.is_spoken_in() {
            self.gaps.note(channel.id, after, last.map_or(Look::Missed, |_| Look::Edits));
            self.agenda.add(subject, When::At(self.context.clock.elapsed()));
        } else {
            self.caught_up(channel.id);
        }
    }

    /// Holds back an event of a channel that has to catch up, or has an unknown type. Returns an
    /// event that can be processed now. Interactions are not part of a history, so only an unknown
    /// type holds them back.
    pub(crate) fn too_early(&mut self, live: Live) -> Option<Live> {
        let Live { name, data } = &live;
        let Ok(channel) = ChannelId::deserialize(&data["channel_id"]) else { return Some(live) };
        if ![SAID, EDITED, PRESSED].contains(&name.as_str()) {
            return Some(live);
        }
        self.learn_place(channel, data);
        if name == SAID {
            self.meet_writer(channel, data);
        }
        let is_known = self.places.get(channel).is_some();
        if is_known && (name == PRESSED || self.gaps.get(channel).is_none()) {
            return Some(live);
        }
        if self.gaps.get(channel).is_none() {
            let after = self.read.last(channel).unwrap_or(id(data));
            self.gaps.note(channel, after, Look::Channel);
            let now = self.context.clock.elapsed();
            self.agenda.add(Subject::Channel(channel), When::At(now));
        }
        self.gaps.get_mut(channel)?.hold(live);
        self.agenda.urge(Subject::Channel(channel));
        None
    }

    /// Learns the type of a channel from one of its events.
    fn learn_place(&mut self, channel: ChannelId, event: &Value) {
        if self.places.get(channel).is_none() {
            self.places.learn_from(&event["channel"]);
        }
        if self.places.get(channel).is_none() && event["guild_id"].is_null() {
            self.places.learn(channel, ChannelPlace::Private);
        }
    }

    /// Returns the requests to make now, which are in progress from now on.
    pub(crate) fn questions(&mut self, me: Me) -> Vec<Question> {
        let mut questions = Vec::new();
        while let Some(subject) = self.agenda.next(self.context.clock.elapsed()) {
            let question = match subject {
                Subject::Person(user) => Some(Question::Direct(user)),
                Subject::Commands => Some(Question::Offer(me.application)),
                Subject::Channel(channel) => self.question(channel),
            };
            match question {
                Some(question) => questions.push(question),
                None => self.agenda.remove(subject),
            }
        }
        questions
    }

    fn question(&self, channel: ChannelId) -> Option<Question> {
        let gap = self.gaps.get(channel)?;
        Some(match gap.next {
            Look::Channel => Question::Place(channel),
            Look::Edits => Question::Edits(channel, gap.after),
            Look::Missed => Question::Missed(channel, gap.after),
        })
    }

    /// Processes the answer to a request.
    pub(crate) async fn answered(
        &mut self,
        me: Me,
        asked: AnsweredQuestion,
    ) -> Result<(), Stopped> {
        let AnsweredQuestion { question, answer } = asked;
        match (question, answer) {
            (Question::Direct(user), Ok(HistoryAnswer::Direct(channel))) => {
                self.met(user, channel).await?;
            }
            (Question::Place(channel), Ok(HistoryAnswer::Place(place, last))) => {
                self.is_at(channel, place, last);
            }
            (Question::Edits(channel, _), Ok(HistoryAnswer::Page(page))) => {
                self.look_for_edits(me, channel, &page).await?;
            }
            (Question::Missed(channel, after), Ok(HistoryAnswer::Page(page))) => {
                self.read_page(me, channel, after, &page).await?;
            }
            (question, Ok(_)) => {
                self.offered |= matches!(question, Question::Offer(_));
                self.agenda.remove(question.subject());
            }
            (question, Err(fault)) => self.not_answered(question, &fault),
        }
        Ok(())
    }

    fn is_at(&mut self, channel: ChannelId, place: ChannelPlace, last: Option<MessageId>) {
        self.places.learn(channel, place);
        let Some(gap) = self.gaps.get_mut(channel) else { return };
        let is_news = last.is_some_and(|last| last > gap.after) || gap.take_dropped().is_some();
        if !is_news && place != ChannelPlace::Private {
            return self.caught_up(channel);
        }
        gap.next = Look::Edits;
        self.goes_on(channel);
    }

    fn goes_on(&mut self, channel: ChannelId) {
        self.agenda.goes_on(Subject::Channel(channel), self.context.clock.elapsed());
    }

    /// Corrects messages that were edited since the last committed one. The log ignores edits that
    /// it has already.
    async fn look_for_edits(
        &mut self,
        me: Me,
        channel: ChannelId,
        page: &[Value],
    ) -> Result<(), Stopped> {
        let Some(gap) = self.gaps.get_mut(channel) else { return Ok(()) };
        gap.next = Look::Missed;
        let last = gap.after;
        for message in page.iter().filter_map(misread::message) {
            let edited = message.edited_timestamp;
            if edited.is_some_and(|at| at > last.created_at()) && message.id <= last {
                self.edited(me, &message).await?;
            }
        }
        self.goes_on(channel);
        Ok(())
    }

    async fn read_page(
        &mut self,
        me: Me,
        channel: ChannelId,
        after: MessageId,
        page: &[Value],
    ) -> Result<(), Stopped> {
        for message in page {
            self.hear_raw(me, message).await?;
        }
        let Some(gap) = self.gaps.get_mut(channel) else { return Ok(()) };
        gap.was_told(page);
        gap.after = page.last().map_or(after, id);
        // Messages that were dropped meanwhile came after this request.
        let goes_on = page.len() >= PAGE && gap.after > after;
        match goes_on || gap.take_dropped().is_some() {
            true => self.goes_on(channel),
            false => self.caught_up(channel),
        }
        Ok(())
    }

    /// Ends the catch-up of a channel. The live events that waited come next.
    pub(crate) fn caught_up(&mut self, channel: ChannelId) {
        self.agenda.remove(Subject::Channel(channel));
        self.released.extend(self.gaps.close(channel));
    }

    fn not_answered(&mut self, question: Question, fault: &RestError) {
        let (subject, now) = (question.subject(), self.context.clock.elapsed());
        match fault {
            RestError::Wait(wait) => self.agenda.waits(subject, now + *wait),
            // The gateway finds this, too, and reports it to the operator.
            RestError::Refused(_) if !fault.is_about_token() => {
                tracing::info!(error = %fault, ?subject, "refused");
                self.refused(question, fault.is_refused_with(UNKNOWN_CHANNEL));
            }
            fault => {
                let wait = self.agenda.failed(subject, fault.to_string(), now);
                tracing::warn!(error = %fault, ?subject, ?wait, "no answer yet");
            }
        }
    }

    /// Handles a refused request: the bot may have been shut out. If a channel of unknown type has
    /// live events nevertheless, it is a server's channel, and its messages count as public.
    fn refused(&mut self, question: Question, is_gone: bool) {
        if let Question::Place(channel) = question
            && self.places.get(channel).is_none()
            && self.gaps.get(channel).is_some_and(Gap::is_waited_for)
        {
            self.places.learn(channel, ChannelPlace::Channel);
        }
        match question.subject() {
            Subject::Channel(channel) => {
                if is_gone {
                    self.gone.insert(channel);
                }
                if let Some(dropped) = self.gaps.get_mut(channel).and_then(Gap::take_dropped) {
                    tracing::warn!(%channel, missing = %dropped, "what was said in a channel is lost: \
                        too much came while its history could not be read, and now it is refused");
                }
                self.caught_up(channel);
            }
            Subject::Commands => {
                let account = &self.discord.account;
                tracing::warn!(%account, "the commands are not offered; typed they work");
                self.offered = true;
                self.agenda.remove(Subject::Commands);
            }
            person @ Subject::Person(_) => self.agenda.remove(person),
        }
    }
}
