//! The part of the fold that notices what cannot be noise: a machine that became another one, or a keep that was luck.

use super::experiment::{Experiment, is_fair};
use super::judging::Judging;
use super::need::is_hopeless;
use super::state::State;
use crate::judge::Look;
use crate::stats::Tally;

/// A score of the champion this unlikely by noise alone says that something is not what it was.
const ALARM: f64 = 1e-4;
/// One this unlikely is odd. Outliers are odd, too, but not several of them in a row on the same side.
const ODD: f64 = 0.005;
const IN_A_ROW: i32 = 3;
/// So many of its scores tell whether it was that one score alone.
const TELL: usize = 3;
/// So many looks at a champion before a further one may say that it was the machine, where nothing else can tell.
const SETTLED: usize = 3;
/// Before so many looks at champions too little is known of the noise to be surprised; and what one trial chose is learned
/// by the next as it is.
const KNOWN: u32 = 6;
const SEVERAL: usize = 2;
/// One that was looked at so often holds: then it is the machine. Until then the one before it has to tell, by so many.
const HOLDS: usize = 8;
const ASKS: u32 = 2;

/// The champion's score that was so unlikely, with those after it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Alarm {
    champion: Vec<Look>,
    /// What the champion before it gave since.
    former: Vec<Look>,
    /// How many trials of that one are still wanted.
    pub(super) asks: u32,
}

impl Alarm {
    /// Whether the champion itself has to say more.
    pub(super) fn is_short(&self) -> bool {
        self.champion.len() < TELL
    }
}

impl State {
    /// A score of the champion: is it still what it was, on the machine that it was?
    pub(super) fn watch(&mut self, told: Look) {
        let fair = |champion: &Experiment| champion.fresh().iter().filter(|trial| is_fair(trial.purpose)).count();
        let looks = self.champion().map_or(0, fair);
        let chosen_by = self.champion().map_or(0, |champion| champion.fresh().len()) - looks;
        let is_young = self.judging.before.is_some() && looks <= HOLDS;
        let may_ring = looks > SETTLED || (is_young && chosen_by >= SEVERAL && self.judging.looks >= KNOWN);
        let Judging { mind: Some(mind), alarm, odd, .. } = &mut self.judging else { return };
        let surprise = mind.surprise(told);
        *odd = match (surprise < ODD, mind.less_luck(told) > mind.level().0) {
            (false, _) => 0,
            (true, true) => (*odd).max(0) + 1,
            (true, false) => (*odd).min(0) - 1,
        };
        match alarm {
            None if may_ring && (surprise < ALARM || odd.abs() >= IN_A_ROW) => {
                *odd = 0;
                let asks = if is_young { ASKS } else { 0 };
                *alarm = Some(Alarm { champion: vec![told], former: Vec::new(), asks });
            }
            None => {
                mind.champion(told);
                self.judging.recent.clear();
            }
            Some(found) => {
                found.champion.push(told);
                self.settle();
            }
        }
    }

    /// A score of the champion before this one, while it is asked for; none where it did not run.
    pub(super) fn hear_former(&mut self, told: Option<Look>) {
        let Some(alarm) = &mut self.judging.alarm else { return };
        alarm.former.extend(told);
        alarm.asks = alarm.asks.saturating_sub(1);
        self.settle();
    }

    /// Further scores tell whether the machine is another one, or the champion, or whether that one score was.
    fn settle(&mut self) {
        let is_asked = self.judging.before.and_then(|id| self.find(id)).is_some_and(|former| !is_hopeless(former));
        let Judging { mind: Some(mind), alarm, .. } = &mut self.judging else { return };
        let Some(Alarm { champion, former, .. }) =
            alarm.take_if(|alarm| !alarm.is_short() && (alarm.asks == 0 || !is_asked))
        else {
            return;
        };
        let mean = |looks: &[Look]| Tally::of(looks.iter().map(|look| mind.less_luck(*look))).mean();
        let Some((told, now)) = mean(&champion[..1]).zip(mean(&champion[1..])) else {
            return;
        };
        let (level, _) = mind.level();
        let is_elsewhere = (now - told).abs() < (now - level).abs();
        // Where the machine moved, the one before moved along.
        let is_luck = mean(&former).zip(mind.former_level()).is_some_and(|(found, was)| {
            let along = was + now - level;
            (found - was).abs() < (found - along).abs()
        });
        match (is_elsewhere, is_luck) {
            (true, true) => mind.doubt(),
            (true, false) => mind.unsettle((now - level).abs() / mind.noise()),
            (false, _) => {}
        }
        // Where it was that one score alone, it is not dropped: it says how far off scores may be.
        champion.iter().for_each(|score| mind.champion(*score));
        former.iter().for_each(|score| mind.former(*score));
        if !is_elsewhere {
            return;
        }
        self.judging.refuted |= is_luck;
        let begun = self.open.values().map(|open| open.id);
        for id in begun.collect::<Vec<_>>() {
            let Judging { mind: Some(mind), .. } = &mut self.judging else { return };
            if mind.knows(id) {
                mind.start_over(id);
                self.with_open(id, |open| open.fresh_from = open.trials.len());
            }
        }
        self.try_again();
    }
}
