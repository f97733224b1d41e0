//! The referee: watches durable events and holds the engine to its promises.
//!
//! It knows the rules in a second, plainer form, and shares nothing with the study's own state. What the judge makes of
//! numbers is the judge's own; whom it may choose from, by which trials and on whose surface, is told here once more.

mod life;
mod merge;
mod repair;
mod ruling;
mod seen;
mod smoke;

pub use life::Life;
pub use seen::Seen;

use std::collections::{BTreeMap, BTreeSet};

use life::Doubt;

use overnight_engine::ledger::ChainHash;
use overnight_model::event::{Loss, Proposed, Purpose, Reviewed, RunFacts, Said, Scope, StopReason};
use overnight_model::proposal::{Contents, content_id};
use overnight_model::study::Summary;
use overnight_model::{ContentId, Ending, Event, ExperimentId, Reason, Score, Slot, TrialId, Verdict, What};

use super::setup::Setup;

/// The most trials of one candidate, and for its sake.
const MOST_TRIALS: usize = 24;
/// Beyond it a number is a lie.
const LARGEST_SCORE: f64 = 1e100;

/// An event as it must stay, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub at: i64,
    pub body: String,
    pub hash: ChainHash,
}

/// Everything that was acknowledged, and what follows from it.
#[derive(Debug)]
pub struct Referee {
    pub stored: Vec<Stored>,
    pub lives: BTreeMap<ExperimentId, Life>,
    /// The baseline of the present segment.
    pub baseline: ExperimentId,
    /// Champions that were carried over, of every segment.
    pub carried: BTreeSet<ExperimentId>,
    pub champion: Option<ExperimentId>,
    /// The champions of this segment, each in place of the one before.
    line: Vec<ExperimentId>,
    /// Where the branch went, from where, and with which surface.
    pub moves: Vec<Move>,
    /// Every surface that was ever seen.
    texts: BTreeMap<ContentId, Contents>,
    /// Where the branch must be.
    pub branch: Option<String>,
    /// The keep whose branch has not been recorded yet.
    pub unadvanced: Option<ExperimentId>,
    /// The keep that is being taken back.
    pub retreating: Option<ExperimentId>,
    /// Where the branch was found, ahead of its record.
    half_way: Option<String>,
    pub running: BTreeMap<TrialId, (ExperimentId, Slot, Purpose)>,
    guarding: BTreeMap<(ExperimentId, u32), (Slot, Option<ExperimentId>)>,
    /// How guards ended in this run, on whose commit, in order.
    guarded: BTreeMap<(ExperimentId, u32, Option<ExperimentId>), Vec<bool>>,
    smokes: smoke::Smokes,
    pub seen: Seen,
    /// Repeats of one surface of this segment were unequal.
    scatters: bool,
    /// A trial of this run closed the night.
    closing: bool,
    trials: BTreeSet<TrialId>,
    slots: u32,
    /// How many experiments may have counted when this run ends.
    wanted: Option<u64>,
    doubt: Doubt,
    pub stopped: bool,
    /// A person looks at the study while nothing runs.
    pub is_between_runs: bool,
    /// The letters that were taken up.
    pub letters: BTreeSet<String>,
}

/// The branch moved.
#[derive(Debug)]
pub struct Move {
    pub from: String,
    pub to: String,
    pub content: Option<ContentId>,
}

impl Default for Referee {
    fn default() -> Referee {
        Referee {
            stored: Vec::new(),
            lives: BTreeMap::new(),
            baseline: ExperimentId::BASELINE,
            carried: BTreeSet::new(),
            champion: None,
            line: Vec::new(),
            moves: Vec::new(),
            texts: BTreeMap::new(),
            branch: None,
            unadvanced: None,
            retreating: None,
            half_way: None,
            running: BTreeMap::new(),
            guarding: BTreeMap::new(),
            guarded: BTreeMap::new(),
            smokes: smoke::Smokes::default(),
            seen: Seen::default(),
            scatters: false,
            closing: false,
            trials: BTreeSet::new(),
            slots: 0,
            wanted: None,
            doubt: Doubt::default(),
            stopped: false,
            is_between_runs: false,
            letters: BTreeSet::new(),
        }
    }
}

impl Referee {
    /// Takes a turn that was acknowledged.
    pub fn acknowledge(&mut self, setup: &Setup, events: &[Event], summary: Option<&Summary>) {
        for event in events {
            self.chain(event);
            self.learn(setup, event);
        }
        if let Some(summary) = summary {
            self.check_summary(summary);
        }
    }

    /// What the ledger must hold for an event that follows those known.
    fn chain(&mut self, event: &Event) {
        let stored = self.next_stored(self.stored.last(), self.stored.len() as u64 + 1, event);
        self.stored.push(stored);
    }

    /// The stored form of a turn that may or may not have reached the disk.
    pub fn would_store(&self, events: &[Event]) -> Vec<Stored> {
        let mut out: Vec<Stored> = Vec::new();
        for event in events {
            let seq = (self.stored.len() + out.len()) as u64 + 1;
            out.push(self.next_stored(out.last().or(self.stored.last()), seq, event));
        }
        out
    }

    fn next_stored(&self, before: Option<&Stored>, seq: u64, event: &Event) -> Stored {
        let body = serde_json::to_string(&event.what).expect("an event is JSON");
        let hash = before.map_or(ChainHash::ROOT, |stored| stored.hash).next(seq, event.at, body.as_bytes());
        Stored { at: event.at.0, body, hash }
    }

    /// How many trials of an experiment were recorded, or run beside this one.
    pub fn measured(&self, experiment: ExperimentId, trial: TrialId) -> usize {
        let beside = self.running.iter().filter(|(id, (owner, ..))| **id < trial && *owner == experiment).count();
        self.lives.get(&experiment).map_or(0, |life| life.trials.len()) + beside
    }

    /// Takes note of a surface. One that is measured is the one that its experiment has.
    pub fn saw(&mut self, contents: &Contents, of: Option<ExperimentId>) {
        let id = contents.id();
        if let Some(content) = of.and_then(|of| self.lives.get(&of)?.content.as_ref()) {
            assert_eq!(*content, id, "experiment {of:?} is measured with another surface than its own");
        }
        self.texts.entry(id).or_insert_with(|| contents.clone());
    }

    /// What waits for a person.
    pub fn suspects(&self) -> Vec<ExperimentId> {
        let waits = |(id, life): (&ExperimentId, &Life)| (life.verdict == Some(Verdict::Suspect)).then_some(*id);
        self.lives.iter().filter_map(waits).collect()
    }

    pub fn counted(&self) -> u64 {
        self.candidates().filter(|life| life.verdict.is_some_and(Verdict::is_counted)).count() as u64
    }

    /// Experiments without a verdict, what they are compared with aside.
    pub fn open(&self) -> usize {
        self.candidates().filter(|life| life.verdict.is_none()).count()
    }

    fn candidates(&self) -> impl Iterator<Item = &Life> {
        self.lives.iter().filter(|(id, life)| **id != life.baseline && !self.carried.contains(id)).map(|(_, life)| life)
    }

    pub fn calibrated(&self) -> bool {
        self.champion.is_some()
    }

    /// The branch as git has it must be where the record says, or at the keep that is on its way.
    pub fn check_branch(&mut self, found: Option<String>) {
        if found == self.branch {
            return;
        }
        assert!(
            self.unadvanced.is_some(),
            "the branch is at {found:?}, the ledger says {:?} and no keep is on its way",
            self.branch
        );
        assert!(found.is_some(), "the branch is gone while a keep is on its way");
        if let Some(known) = &self.half_way {
            assert_eq!(Some(known), found.as_ref(), "a keep was made twice, differently");
        }
        self.half_way = found;
    }

    fn life(&mut self, experiment: ExperimentId) -> &mut Life {
        self.lives.get_mut(&experiment).unwrap_or_else(|| panic!("experiment {experiment} was never begun"))
    }

    fn open_life(&mut self, experiment: ExperimentId) -> &mut Life {
        let life = self.life(experiment);
        assert_eq!(life.verdict, None, "experiment {experiment} goes on after its verdict");
        life
    }

    fn begin(&mut self, experiment: ExperimentId) -> &mut Life {
        let next = self.lives.keys().next_back().map_or(0, |last| last.0 + 1);
        assert!(
            self.lives.contains_key(&experiment) || experiment.0 == next.max(1),
            "experiment {experiment} begins, {next} is next"
        );
        let baseline = self.baseline;
        self.lives.entry(experiment).or_insert_with(|| Life::new(baseline));
        self.open_life(experiment)
    }

    fn take_slot(&mut self, slot: Slot, experiment: ExperimentId) {
        let compared = experiment == self.baseline || self.carried.contains(&experiment);
        let is_candidate = !compared && self.champion != Some(experiment);
        assert!(slot.0 < self.slots, "slot {slot} of {}", self.slots);
        assert_eq!(self.unadvanced, None, "something is run before the branch is where the last verdict wants it");
        let done = self.wanted.is_some_and(|wanted| self.counted() >= wanted);
        assert!(!done || !is_candidate, "something is run although as many count as were wanted");
        let taken = self
            .running
            .values()
            .map(|(_, slot, _)| slot)
            .chain(self.guarding.values().map(|(slot, _)| slot))
            .any(|s| *s == slot);
        assert!(!taken, "slot {slot} is taken twice");
    }

    fn learn(&mut self, setup: &Setup, event: &Event) {
        let opens = matches!(event.what, What::RunStarted(_) | What::SegmentOpened(_) | What::StudyOpened { .. });
        // The next run begins with what the last one lost.
        let loses = matches!(
            event.what,
            What::TrialLost { loss: Loss::Interrupted, .. }
                | What::GuardLost { loss: Loss::Interrupted, .. }
                | What::SmokeLost { loss: Loss::Interrupted, .. }
                | What::AttemptLost { .. }
        );
        let takes_over = match &event.what {
            What::Judged(judged) => judged.reason == Reason::NewSegment,
            What::Proposed(proposed) => self.carried.contains(&proposed.experiment),
            _ => false,
        };
        // A person's word, and what follows from it, comes between runs.
        let is_word = matches!(event.what, What::Reviewed(_))
            || (self.is_between_runs && matches!(event.what, What::BranchAdvanced { .. }));
        if !opens && !loses && !takes_over && !is_word {
            assert!(!self.stopped, "something happened after the run stopped: {:?}", event.what);
        }
        match &event.what {
            What::StudyOpened { .. } => assert!(self.stored.len() == 1, "a study is opened once"),
            What::SegmentOpened(facts) => {
                let begun = self.lives.get(&self.baseline).is_some_and(|baseline| baseline.verdict.is_some());
                assert_eq!(facts.carried.is_some(), self.champion.is_some(), "a segment forgets what was before");
                assert_eq!(begun, facts.experiment != self.baseline, "a segment was opened over measured ones");
                assert_eq!(self.open(), 0, "a segment was opened over experiments without a verdict");
                let waiting = self.carried.iter().find(|id| self.lives.get(id).is_some_and(|l| l.verdict.is_none()));
                assert!(!begun || waiting.is_none(), "a champion was lost between two segments");
                if let Some(again) = waiting.copied() {
                    self.lives.remove(&again);
                }
                self.baseline = facts.experiment;
                let carried = facts.carried.as_ref().and_then(|carried| carried.experiment);
                self.carried.extend(carried);
                let mut life = Life::new(facts.experiment);
                life.becomes(&facts.baseline.0);
                life.content = Some(content_id(&facts.contents));
                self.lives.insert(facts.experiment, life);
                (self.scatters, self.line) = (false, Vec::new());
                self.doubt.left_broken = false;
            }
            What::RunStarted(RunFacts { slots, scope, .. }) => {
                self.slots = *slots;
                self.doubt.loops = matches!(scope, Scope::Loop { .. });
                (self.doubt.broken, self.doubt.checked) = (0, None);
                self.wanted = match scope {
                    Scope::Loop { experiments } => experiments.map(|n| n + self.counted()),
                    Scope::One | Scope::Letters => None,
                };
                (self.stopped, self.is_between_runs, self.closing) = (false, false, false);
                assert!(self.running.is_empty(), "trials of an earlier run were not recorded as lost");
                assert!(self.guarding.is_empty(), "guards of an earlier run were not recorded as lost");
                assert!(self.lives.values().all(|life| !life.asked), "an attempt was not recorded as lost");
                self.lives.values_mut().for_each(|life| life.faults = 0);
                self.guarded.clear();
                self.smokes.start_run();
                if let Some(baseline) = self.lives.get_mut(&self.baseline).filter(|b| b.verdict.is_none()) {
                    baseline.trials.retain(|(_, score)| score.is_some());
                }
            }
            What::RunStopped { reason } => {
                self.stopped = true;
                if matches!(reason, StopReason::ChampionFailed { .. }) {
                    assert_eq!(self.doubt.checked, Some(false), "the champion was blamed for nothing");
                    self.doubt.left_broken = true;
                }
                if matches!(reason, StopReason::GuardBroken { .. }) {
                    let broken = self.guarded.iter().any(|((_, _, on), runs)| on.is_some() && **runs == [false, false]);
                    assert!(
                        broken || self.smokes.fails_on_champion(),
                        "a guard was called broken that the champion did not fail twice"
                    );
                }
            }
            What::StopRequested { .. } | What::Imported(_) | What::Called(_) | What::Forgotten(_) | What::Unknown => {}
            What::Said(Said { letter, .. }) | What::TakenBack { letter, .. } => {
                assert!(self.letters.insert(letter.clone()), "the letter {letter} was taken up twice");
            }
            What::Paused { letter } | What::Resumed { letter } | What::Returned { letter, .. } => {
                assert!(self.letters.insert(letter.clone()), "the letter {letter} was taken up twice");
            }
            What::Delivered { becomes, letter } => {
                assert!(self.letters.insert(letter.clone()), "the letter {letter} was taken up twice");
                assert!(!self.lives.contains_key(becomes), "a letter became experiment {becomes}, which was there");
                self.seen.delivered += 1;
            }
            What::Asked { experiment, agent, parent, .. } => {
                assert_eq!(Some(&parent.0), self.branch.as_ref(), "an agent was asked about another than the champion");
                assert!(!self.closing, "an agent was asked while the night was closed");
                let life = self.begin(*experiment);
                assert!(!life.asked && life.content.is_none(), "experiment {experiment} was asked for twice");
                life.asked = true;
                if agent != "person" {
                    self.check_asked(setup);
                }
            }
            What::AttemptLost { experiment } => self.open_life(*experiment).asked = false,
            What::AttemptFailed { experiment, .. } => {
                let life = self.open_life(*experiment);
                (life.asked, life.failed) = (false, true);
            }
            What::Proposed(proposed) => {
                let is_new = !self.lives.get(&proposed.experiment).is_some_and(|life| life.asked);
                if is_new && proposed.agent != "person" && !self.carried.contains(&proposed.experiment) {
                    self.check_again(proposed);
                }
                let life = self.begin(proposed.experiment);
                assert!(life.content.is_none(), "experiment {} was proposed twice", proposed.experiment);
                life.asked = false;
                life.content = Some(proposed.content.clone());
                life.becomes(&proposed.commit.0);
                life.parent = Some(proposed.parent.0.clone());
            }
            What::RepairAsked { experiment, agent } => self.ask_repair(setup, *experiment, agent),
            What::Repaired(proposed) => self.repair(proposed),
            What::NotRepaired { experiment, .. } => self.give_up_repair(*experiment),
            What::Restacked(proposed) => self.restack(proposed),
            What::NotRestacked { experiment } => self.clash(*experiment),
            What::TrialStarted { trial, experiment, purpose, slot, aid, .. } => {
                assert!(self.trials.insert(*trial), "trial {trial} was started twice");
                self.take_slot(*slot, *experiment);
                self.check_doubt(*purpose);
                self.check_purpose(*experiment, *purpose, *aid);
                self.check_smoked(setup, *experiment, *purpose);
                self.running.insert(*trial, (*experiment, *slot, *purpose));
            }
            What::TrialFinished { trial, experiment, measurement } => {
                let running = self.running.remove(trial);
                let (owner, _, purpose) = running.unwrap_or_else(|| panic!("trial {trial} is not running"));
                assert_eq!(owner, *experiment, "trial {trial} belongs to another experiment");
                let number = measurement.metric.map(Score::get).filter(|_| measurement.ending.succeeded());
                let score = number.filter(|number| number.abs() <= LARGEST_SCORE);
                self.doubt.left_broken &= number.is_none();
                if purpose == Purpose::Check {
                    (self.doubt.broken, self.doubt.checked) = (0, Some(number.is_some()));
                } else if self.champion == Some(*experiment) && number.is_none() {
                    (self.doubt.left_broken, self.doubt.checked) = (true, None);
                }
                let crashed = matches!(measurement.ending, Ending::Signaled { .. } | Ending::Exited { code: 1.. });
                let early = crashed && measurement.usage.wall.0 <= 3000;
                let life = self.life(*experiment);
                life.crashed_at_once = early || (life.crashed_at_once && purpose == Purpose::Check);
                life.trials.push((purpose, score));
                life.gave_a_number |= number.is_some();
                life.faults = 0;
                let scores = life.scores();
                if !self.scatters && scores.windows(2).any(|pair| pair[0] != pair[1]) {
                    self.scatters = true;
                    let judged =
                        |life: &&Life| life.verdict == Some(Verdict::Discarded) && life.baseline == self.baseline;
                    self.seen.woke_late += u32::from(self.lives.values().any(|life| judged(&life)));
                }
            }
            What::TrialLost { trial, experiment, loss } => {
                let lost = self.running.remove(trial).map(|(owner, ..)| owner);
                assert_eq!(lost, Some(*experiment), "a lost trial {trial} was not running");
                self.lose(*experiment, loss);
            }
            What::GuardStarted { experiment, guard, slot, on, command } => {
                self.take_slot(*slot, *experiment);
                self.check_doubt(Purpose::Screen);
                assert!(!self.closing, "a guard was run while the night was closed");
                self.open_life(*experiment);
                assert!(["compile", "pytest"].contains(&command.as_str()), "`{command}` is no guard of this study");
                self.check_guard(*experiment, *guard, *on);
                let before = self.guarding.insert((*experiment, *guard), (*slot, *on));
                assert_eq!(before, None, "guard {guard} of {experiment} runs twice at once");
            }
            What::GuardFinished { experiment, guard, ending, .. } => {
                let started = self.guarding.remove(&(*experiment, *guard));
                let (_, on) = started.unwrap_or_else(|| panic!("guard {guard} of {experiment} was not running"));
                let runs = self.guarded.entry((*experiment, *guard, on)).or_default();
                self.seen.flaky += u32::from(runs.last() == Some(&false) && ending.succeeded());
                runs.push(ending.succeeded());
                self.open_life(*experiment).faults = 0;
            }
            What::GuardLost { experiment, guard, loss } => {
                let slot = self.guarding.remove(&(*experiment, *guard));
                assert!(slot.is_some(), "a lost guard {guard} of {experiment} was not running");
                self.open_life(*experiment);
                self.lose(*experiment, loss);
            }
            What::SmokeStarted { experiment, on, command } => self.start_smoke(setup, *experiment, *on, command),
            What::SmokeFinished { experiment, ending, .. } => {
                self.end_smoke(*experiment, ending.succeeded());
                self.open_life(*experiment).faults = 0;
            }
            What::SmokeLost { experiment, loss } => {
                self.smokes.lose(*experiment);
                self.open_life(*experiment);
                self.lose(*experiment, loss);
            }
            What::Judged(judged) => self.judge(setup, judged),
            What::Reviewed(Reviewed { experiment, verdict, .. }) => {
                assert!(matches!(verdict, Verdict::Kept | Verdict::Discarded), "a person said {verdict:?}");
                assert!(self.is_between_runs, "a person had a word while something ran");
                let champion = self.branch.clone();
                let life = self.life(*experiment);
                assert_eq!(life.verdict, Some(Verdict::Suspect), "a person had a word on {experiment}");
                life.verdict = Some(*verdict);
                if *verdict == Verdict::Kept {
                    assert_eq!(life.parent, champion, "{experiment} was kept in place of a champion it never met");
                    assert_eq!(self.unadvanced.replace(*experiment), None, "a word came before a keep was done");
                }
            }
            What::Retracted(retracted) => self.retract(retracted.experiment),
            What::BranchAdvanced { experiment, from, to, retracted } => {
                assert_eq!(self.unadvanced.take(), Some(*experiment), "the branch moved without a verdict");
                let retreating = self.retreating.take();
                assert_eq!(retreating, *retracted, "the record of a move does not say what it took back");
                match retreating {
                    Some(taken_back) => {
                        assert_eq!(self.line.pop(), Some(taken_back), "another than the champion was taken back");
                        assert_eq!(self.line.last(), Some(experiment), "the branch was led back to the wrong champion");
                        self.seen.retreats_reviewed += u32::from(self.is_between_runs);
                    }
                    None => self.line.push(*experiment),
                }
                assert_eq!(from.as_ref().map(|id| &id.0), self.branch.as_ref(), "the branch moved from elsewhere");
                if let Some(half_way) = self.half_way.take() {
                    assert_eq!(half_way, to.0, "the record names another commit than the branch");
                }
                self.branch = Some(to.0.clone());
                self.champion = Some(*experiment);
                let life = self.life(*experiment);
                life.becomes(&to.0);
                let content = life.content.clone();
                if retreating.is_some() || *experiment != life.baseline {
                    let from = from.as_ref().expect("a keep stands on the champion before").0.clone();
                    self.moves.push(Move { from, to: to.0.clone(), content });
                }
            }
        }
    }

    /// The surface of a judged experiment, as it is offered once more after the machine became another one.
    fn check_again(&mut self, proposed: &Proposed) {
        assert_eq!(
            Some(&proposed.parent.0),
            self.branch.as_ref(),
            "something old was put on another than the champion"
        );
        let was = self.lives.values().find(|life| {
            let is_it = life.content.as_ref() == Some(&proposed.content) && life.baseline == self.baseline;
            is_it && life.verdict == Some(Verdict::Discarded) && life.against == self.champion
        });
        let was = was.unwrap_or_else(|| panic!("{} came of itself, and was never let go", proposed.experiment));
        let champion = &self.lives[&self.champion.expect("there is a champion")];
        let made_for = was.parent.as_ref().expect("a proposal has a parent");
        assert!(champion.commits.contains(made_for), "what comes again would undo what was kept since");
        assert!(!self.closing, "something old was tried while the night was closed");
        self.seen.again += 1;
    }

    /// A guard is run once more where it failed, and on the champion where it failed twice.
    fn check_guard(&self, experiment: ExperimentId, guard: u32, on: Option<ExperimentId>) {
        let runs = |on| self.guarded.get(&(experiment, guard, on)).map_or(&[][..], Vec::as_slice);
        assert!(matches!(runs(on), [] | [false]), "guard {guard} of {experiment} is run again after {:?}", runs(on));
        if on.is_some() {
            assert_eq!(on, self.champion, "a guard is tried on another than the champion");
            assert_eq!(runs(None), [false, false], "the champion is asked although {experiment} did not fail twice");
        }
    }

    /// A question must be worth its answer: there is a slot for it, or will be, and it may still count.
    fn check_asked(&self, setup: &Setup) {
        self.check_doubt(Purpose::Screen);
        let ahead = if setup.tuner && !setup.team { 0 } else { setup.ahead as usize };
        // The tuner takes the place of those who still think, unless experiments are counted.
        let thinking = self.lives.values().filter(|life| life.asked).count();
        let fills = if setup.team && self.wanted.is_none() { thinking } else { 0 };
        let busy = self.running.len() + self.guarding.len();
        let at_work = self.open() - self.lives.values().filter(|life| life.is_idle_question()).count();
        let most = self.slots as usize + if busy < self.slots as usize { 0 } else { ahead };
        assert!(
            at_work <= most + fills,
            "{at_work} proposals for {} slots, {busy} of them taken, and {ahead}",
            self.slots
        );
        let over = self.wanted.is_some_and(|wanted| self.counted() + at_work as u64 > wanted);
        assert!(!over, "an agent was asked for more than can count");
    }

    /// Before an idea is lost on a machine that broke, the champion has to show that it still runs.
    fn check_doubt(&self, purpose: Purpose) {
        assert_ne!(self.doubt.checked, Some(false), "the champion no longer runs, and something was started");
        let is_check = |(_, _, running): &(ExperimentId, Slot, Purpose)| *running == Purpose::Check;
        match purpose {
            Purpose::Check => {
                assert!(self.doubt.is_open(), "the champion was checked without need");
                assert!(!self.running.values().any(is_check), "the champion is checked twice at once");
            }
            // The last trials of a night are for its own measurement.
            Purpose::Close => {}
            _ => {
                let hopeless = self.champion.is_some_and(|id| self.lives[&id].faults >= 3);
                assert!(hopeless || !self.doubt.is_open(), "an idea was tried although five in a row broke");
            }
        }
    }

    /// Whatever the machine does to one experiment, it is not tried for ever.
    fn lose(&mut self, experiment: ExperimentId, loss: &Loss) {
        let side_by_side = self.slots - 1;
        let life = self.life(experiment);
        life.faults += u32::from(matches!(loss, Loss::Fault { .. }));
        assert!(life.faults <= 3 + side_by_side, "{experiment} was lost by fault {} times in a row", life.faults);
    }
}
