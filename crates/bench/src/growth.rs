//! The measurements of turns in a log that has grown: long chats, many chats in turn, a full ledger,
//! many memories, and long answers. Each compares with a log that has little.

use anyhow::Result;

use crate::clock::now;
use crate::cost::{Spent, TurnCost};
use crate::daemon::Home;
use crate::figures::FigureLog;
use crate::homes::Bench;
use crate::latencies::Latencies;
use crate::load::{ChatClient, ChatNames, Loaded, QUESTION};
use crate::rows;
use crate::seed::{Seed, SeedDay};
use crate::turns::synced;

/// Measured turns in each chat.
const TURNS: usize = 10;
/// Messages of a chat whose past costs little.
const FEW_MESSAGES: usize = 10;
/// Turns of a busy chat: about as many as a request with tools has room for.
const BUSY_TURNS: usize = 169;
/// A question that shares a word with a third of the seeded memories, and another with one in a hundred.
const MEMORY_QUESTION: &str = "Which ferry leaves the harbour on Friday?";

/// The turns to measure in a seeded log.
struct GrowthLoad {
    /// Returns the name of a chat, by its number.
    chat: fn(usize) -> String,
    chats: usize,
    turns: ChatTurns,
    order: ChatOrder,
    question: &'static str,
}

/// The measured turns of a chat. It has had a turn before, which compacts a long past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChatTurns {
    /// [`TURNS`] turns behind the first one.
    Next,
    /// One turn, after the daemon has been started again, so that no cache has the past.
    AfterStart,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChatOrder {
    /// All turns of a chat, then those of the next one.
    OneByOne,
    /// One turn of each chat, then again.
    InTurn,
}

impl GrowthLoad {
    fn new(chats: usize) -> Self {
        let (chat, order) = (Seed::chat, ChatOrder::OneByOne);
        Self { chat, chats, turns: ChatTurns::Next, order, question: QUESTION }
    }

    /// Returns the numbers of the chats in the order of their turns.
    fn order_of_turns(&self) -> Vec<usize> {
        let turns = match self.turns {
            ChatTurns::Next => TURNS,
            ChatTurns::AfterStart => 1,
        };
        let number = |index: usize| match self.order {
            ChatOrder::OneByOne => index / turns,
            ChatOrder::InTurn => index % self.chats,
        };
        (0..turns * self.chats).map(number).collect()
    }
}

impl Bench<'_> {
    /// Measures the CPU of turns by the number of messages in front of them.
    pub(crate) async fn length(&self, figures: &mut FigureLog) -> Result<()> {
        let (mut costs, load) = (Vec::new(), GrowthLoad::new(self.sizes.chats));
        for &messages in self.sizes.messages {
            let cost = self.grown(&self.long_chats(messages), &load).await?;
            figures.add(format!("length.{messages}.cpu_ms"), cost.cpu_ms);
            figures.add(format!("length.{messages}.p50_ms"), cost.p50_ms);
            costs.push(cost.cpu_ms);
        }
        if let (Some(shortest), Some(longest)) = (costs.first(), costs.last()) {
            figures.add(rows::LENGTH_RATIO, longest / shortest);
        }
        Ok(())
    }

    /// Measures the next turn of long chats whose past is in no cache.
    pub(crate) async fn switch(&self, figures: &mut FigureLog) -> Result<()> {
        let messages = self.sizes.messages.last().copied().unwrap_or(FEW_MESSAGES);
        let load = GrowthLoad { turns: ChatTurns::AfterStart, ..GrowthLoad::new(self.sizes.chats) };
        let cost = self.grown(&self.long_chats(messages), &load).await?;
        figures.add(rows::SWITCH_CPU, cost.cpu_ms);
        Ok(())
    }

    /// Measures chats that are used in turn, against the same turns in one chat after the other.
    pub(crate) async fn busy(&self, figures: &mut FigureLog) -> Result<()> {
        let chats = self.sizes.busy_chats;
        let seed = Seed { chats, turns: BUSY_TURNS, ..Seed::default() };
        let one = self.grown(&seed, &GrowthLoad::new(chats)).await?;
        let load = GrowthLoad { order: ChatOrder::InTurn, ..GrowthLoad::new(chats) };
        let in_turn = self.grown(&seed, &load).await?;
        figures.add("busy.one.cpu_ms", one.cpu_ms);
        figures.add("busy.in_turn.cpu_ms", in_turn.cpu_ms);
        figures.add(rows::BUSY_RATIO, in_turn.cpu_ms / one.cpu_ms);
        Ok(())
    }

    /// Measures the CPU of turns on a day with many answers, against a day with none.
    pub(crate) async fn ledger(&self, figures: &mut FigureLog) -> Result<()> {
        let load = GrowthLoad::new(self.sizes.chats);
        let none = self.grown(&self.long_chats(FEW_MESSAGES), &load).await?;
        let chats = self.sizes.answers * 2 / FEW_MESSAGES;
        let seed = Seed { chats, when: SeedDay::Today, ..self.long_chats(FEW_MESSAGES) };
        let many = self.grown(&seed, &load).await?;
        figures.add("ledger.none.cpu_ms", none.cpu_ms);
        figures.add("ledger.full.cpu_ms", many.cpu_ms);
        figures.add(rows::LEDGER_RATIO, many.cpu_ms / none.cpu_ms);
        Ok(())
    }

    /// Measures the CPU of turns that search many memories, against the same turns without one.
    pub(crate) async fn memories(&self, figures: &mut FigureLog) -> Result<()> {
        let load = GrowthLoad { question: MEMORY_QUESTION, ..GrowthLoad::new(self.sizes.chats) };
        let seed = self.long_chats(FEW_MESSAGES);
        let none = self.grown(&seed, &load).await?;
        let seed = Seed { memories: self.sizes.memories, ..seed };
        let many = self.grown(&seed, &load).await?;
        figures.add("memories.none.cpu_ms", none.cpu_ms);
        figures.add(rows::MEMORIES_CPU, many.cpu_ms);
        figures.add(rows::MEMORIES_RATIO, many.cpu_ms / none.cpu_ms);
        Ok(())
    }

    /// Measures the CPU of turns in new chats of a log with long answers in other chats, against a log
    /// without a turn.
    pub(crate) async fn long_answers(&self, figures: &mut FigureLog) -> Result<()> {
        fn new_chat(number: usize) -> String {
            format!("terminal:local:new{number}")
        }
        let load = GrowthLoad { chat: new_chat, ..GrowthLoad::new(self.sizes.chats) };
        let none = self.cost_of(&self.home(&synced())?, &load).await?;
        let chats = self.sizes.scaled(self.options.long_answers);
        let seed = Seed { chats, turns: 1, has_long_answers: true, ..Seed::default() };
        let many = self.grown(&seed, &load).await?;
        figures.add("long_answers.none.cpu_ms", none.cpu_ms);
        figures.add(rows::LONG_ANSWERS_CPU, many.cpu_ms);
        figures.add(rows::LONG_ANSWERS_RATIO, many.cpu_ms / none.cpu_ms);
        Ok(())
    }

    fn long_chats(&self, messages: usize) -> Seed {
        Seed { chats: self.sizes.chats, turns: messages / 2, ..Seed::default() }
    }

    async fn grown(&self, seed: &Seed, load: &GrowthLoad) -> Result<TurnCost> {
        let home = self.seeded_home(*seed, &synced()).await?;
        self.cost_of(&home, load).await
    }

    /// Starts a daemon, and measures turns in its chats.
    async fn cost_of(&self, home: &Home, load: &GrowthLoad) -> Result<TurnCost> {
        let (mut daemon, names) = (home.start().await?, ChatNames::default());
        let mut chats = home.chats_of(load, &names).await?;
        for chat in &mut chats {
            chat.turn(load.question).await?;
        }
        if load.turns == ChatTurns::AfterStart {
            daemon.stop().await?;
            daemon = home.start().await?;
            chats = home.chats_of(load, &names).await?;
        }
        daemon.settle().await?;
        let (before, began, mut took) = (Spent::read(&daemon)?, now(), Vec::new());
        for number in load.order_of_turns() {
            took.push(chats[number].turn(load.question).await?);
        }
        let loaded = Loaded { latencies: Latencies::new(took), took: began.elapsed() };
        let cost = before.each_since(&daemon, &loaded)?;
        daemon.stop().await?;
        Ok(cost)
    }
}

impl Home {
    /// Opens the chats of a load. A turn in another chat opens the connection to the model.
    async fn chats_of(&self, load: &GrowthLoad, names: &ChatNames) -> Result<Vec<ChatClient>> {
        let (socket, mut chats) = (self.socket(), Vec::new());
        ChatClient::open(&socket, names.next()).await?.turn(QUESTION).await?;
        for number in 0..load.chats {
            chats.push(ChatClient::open(&socket, (load.chat)(number)).await?);
        }
        Ok(chats)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_turns_gives_each_chat_its_turns() {
        let in_turn = GrowthLoad { order: ChatOrder::InTurn, ..GrowthLoad::new(3) };
        assert_eq!(in_turn.order_of_turns()[..5], [0, 1, 2, 0, 1]);
        let one_by_one = GrowthLoad::new(3).order_of_turns();
        assert_eq!((one_by_one.len(), one_by_one[9], one_by_one[10]), (30, 0, 1));
        let first = GrowthLoad { turns: ChatTurns::AfterStart, ..GrowthLoad::new(3) };
        assert_eq!(first.order_of_turns(), [0, 1, 2]);
    }
}
