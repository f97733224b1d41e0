//! Calls of one attempt as conversations: a client sends everything again with every call, and only what is new is shown.

use super::{Answered, Asked, Part, Turn, Who};

/// Conversations so far. A client may hold several at once: subagents, titles, summaries.
#[derive(Debug, Default)]
pub struct Fold {
    threads: Vec<Thread>,
}

#[derive(Debug)]
struct Thread {
    asked: Vec<Turn>,
    answered: Turn,
}

/// What one call adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Which conversation, counted from 0.
    pub thread: usize,
    /// How many turns of the request were shown before.
    pub known: usize,
    pub new: Vec<Turn>,
    pub answered: Answered,
}

impl Fold {
    pub fn add(&mut self, asked: &Asked, answered: Answered) -> Step {
        let turns = &asked.turns;
        let best =
            self.threads.iter().enumerate().map(|(at, thread)| (thread.known(turns), at)).max_by_key(|(known, at)| {
                // The latest of equals: a client goes on with what it did last.
                (*known, *at)
            });
        // One system prompt in common makes no conversation.
        let goes_on = best.filter(|(known, at)| {
            *known > turns[..*known].iter().filter(|turn| turn.who == Who::System).count()
                && *known >= self.threads[*at].asked.len().div_ceil(2)
        });
        let thread = Thread { asked: turns.clone(), answered: answered.turn() };
        let (at, known) = match goes_on {
            Some((known, at)) => {
                self.threads[at] = thread;
                (at, known)
            }
            None => {
                let known = best.map_or(0, |(known, _)| known);
                self.threads.push(thread);
                (self.threads.len() - 1, known)
            }
        };
        Step { thread: at, known, new: turns[known..].to_vec(), answered }
    }
}

impl Thread {
    /// How many turns are known from the call before: those that were asked, and its answer as the client tells it back.
    fn known(&self, turns: &[Turn]) -> usize {
        let same = self.asked.iter().zip(turns).take_while(|(known, turn)| known == turn).count();
        match turns.get(same) {
            Some(turn) if same == self.asked.len() && is_told_back(&self.answered, turn) => same + 1,
            _ => same,
        }
    }
}

/// Clients leave out reasoning, write arguments in their own way, and trim: the calls, or else the words, are the same.
fn is_told_back(answered: &Turn, turn: &Turn) -> bool {
    let calls = |turn: &Turn| -> Vec<(String, String)> {
        let call = |part: &Part| match part {
            Part::Call(call) => Some((call.name.clone(), call.id.clone())),
            _ => None,
        };
        turn.parts.iter().filter_map(call).collect()
    };
    let said = |turn: &Turn| -> String {
        let text = |part: &Part| match part {
            Part::Text(text) => Some(text.trim().to_owned()),
            _ => None,
        };
        turn.parts.iter().filter_map(text).collect::<Vec<_>>().concat()
    };
    turn.who == Who::Assistant && calls(answered) == calls(turn) && said(answered) == said(turn)
}
