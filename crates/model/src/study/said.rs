//! What a person said to the agents.

use super::state::State;
use crate::event::Said;
use crate::units::Timestamp;

impl State {
    /// What was said and not taken back, the latest last.
    pub fn said(&self) -> impl Iterator<Item = &(Said, Timestamp)> {
        self.said.values()
    }

    /// The number that the next word will have.
    pub fn next_word(&self) -> u64 {
        self.next_word.max(1)
    }

    pub(super) fn take_back(&mut self, word: u64, letter: &str) {
        self.said.remove(&word);
        self.letters.insert(letter.to_owned());
    }

    pub(super) fn hear(&mut self, said: &Said, at: Timestamp) {
        self.letters.insert(said.letter.clone());
        self.next_word = self.next_word.max(said.word + 1);
        self.said.insert(said.word, (said.clone(), at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, What};

    #[test]
    fn a_word_is_told_until_it_is_taken_back_and_its_number_is_never_given_again() {
        let mut state = State::default();
        let mut note = |at: i64, what: What| {
            state.apply(&Event { at: Timestamp(at), what });
            (state.said().map(|(said, _)| said.text.clone()).collect::<Vec<_>>(), state.next_word())
        };
        let said = |word: u64, text: &str| What::Said(Said { word, text: text.to_owned(), letter: String::new() });
        let back = |word| What::TakenBack { word, letter: String::new() };
        assert_eq!(note(1, said(1, "wider")).0, ["wider"]);
        assert_eq!(note(2, said(2, "no caches")), (vec!["wider".to_owned(), "no caches".to_owned()], 3));
        assert_eq!(note(3, back(2)), (vec!["wider".to_owned()], 3));
        assert_eq!(note(4, back(9)).0, ["wider"], "what was never said is no loss");
    }
}
