//! The referee: watches durable events and holds the engine to its promises.
//!
//! It knows the rules in a second, plainer form, and shares nothing with the study's own state but the
//! judge's formula.

use std::collections::{BTreeMap, BTreeSet};

use overnight_engine::ledger::ChainHash;
use overnight_model::event::{Judged, Loss, Purpose, Reviewed, RunFacts, Scope, StopReason};
use overnight_model::stats::Tally;
use overnight_model::study::Summary;
use overnight_model::verdict::Group;
use overnight_model::{ContentId, Event, ExperimentId, Reason, Score, Slot, TrialId, Verdict, What};

use super::setup::Setup;

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
    /// Where the branch must be.
    pub branch: Option<String>,
    /// The keep whose branch has not been recorded yet.
    pub unadvanced: Option<ExperimentId>,
    /// Where the branch was found, ahead of its record.
    half_way: Option<String>,
    running: BTreeMap<TrialId, (ExperimentId, Slot, Purpose)>,
    guarding: BTreeMap<(ExperimentId, u32), (Slot, Option<ExperimentId>)>,
    /// How guards ended in this run, on whose commit, in order.
    guarded: BTreeMap<(ExperimentId, u32, Option<ExperimentId>), Vec<bool>>,
    pub flaky: u32,
    trials: BTreeSet<TrialId>,
    slots: u32,
    /// How many experiments may have counted when this run ends.
    wanted: Option<u64>,
    doubt: Doubt,
    pub stopped: bool,
    /// A person had a word since the last run began.
    reviewed: bool,
}

/// Whether the champion still runs, as far as anybody can tell.
#[derive(Debug, Default)]
struct Doubt {
    /// This run is a loop: a person's own try is not held up.
    loops: bool,
    /// Experiments in a row whose own run broke.
    broken: u32,
    /// What the check of this run said.
    checked: Option<bool>,
    /// An earlier run ended because the champion broke.
    left_broken: bool,
}

impl Doubt {
    fn is_open(&self) -> bool {
        self.loops && (self.broken >= 5 || (self.left_broken && self.checked.is_none()))
    }
}

/// One experiment as the referee saw it.
#[derive(Debug, Clone)]
pub struct Life {
    pub asked: bool,
    pub content: Option<ContentId>,
    pub verdict: Option<Verdict>,
    pub metric: Option<f64>,
    pub trials: Vec<(Purpose, Option<f64>)>,
    pub commit: Option<String>,
    parent: Option<String>,
    /// The baseline of its segment.
    baseline: ExperimentId,
    /// The agent gave nothing to try.
    failed: bool,
    /// Losses through the engine's own fault, in a row.
    faults: u32,
}

impl Life {
    fn new(baseline: ExperimentId) -> Life {
        Life {
            asked: false,
            content: None,
            verdict: None,
            metric: None,
            trials: Vec::new(),
            commit: None,
            parent: None,
            baseline,
            failed: false,
            faults: 0,
        }
    }

    /// Open, and neither asked for nor answered.
    fn is_idle_question(&self) -> bool {
        self.verdict.is_none() && !self.asked && self.content.is_none() && !self.failed
    }

    /// The trials that did not choose it, or all where there is no other.
    fn level(&self) -> Tally {
        let of = |all: bool| {
            let fair = |purpose: &Purpose| all || matches!(purpose, Purpose::Baseline | Purpose::Remeasure);
            let chosen = self.trials.iter().filter(|(purpose, _)| *purpose != Purpose::Check && fair(purpose));
            Tally::of(chosen.filter_map(|(_, score)| *score))
        };
        if of(false).n() > 0 { of(false) } else { of(true) }
    }
}

impl Default for Referee {
    fn default() -> Referee {
        Referee {
            stored: Vec::new(),
            lives: BTreeMap::new(),
            baseline: ExperimentId::BASELINE,
            carried: BTreeSet::new(),
            champion: None,
            branch: None,
            unadvanced: None,
            half_way: None,
            running: BTreeMap::new(),
            guarding: BTreeMap::new(),
            guarded: BTreeMap::new(),
            flaky: 0,
            trials: BTreeSet::new(),
            slots: 0,
            wanted: None,
            doubt: Doubt::default(),
            stopped: false,
            reviewed: false,
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

    /// How many trials of an experiment were recorded.
    pub fn measured(&self, experiment: ExperimentId) -> usize {
        self.lives.get(&experiment).map_or(0, |life| life.trials.len())
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
                | What::AttemptLost { .. }
        );
        let takes_over = match &event.what {
            What::Judged(judged) => judged.reason == Reason::NewSegment,
            What::Proposed(proposed) => self.carried.contains(&proposed.experiment),
            _ => false,
        };
        // A person's word, and what follows from it, comes between runs.
        let is_word = matches!(event.what, What::Reviewed(_))
            || (self.reviewed && matches!(event.what, What::BranchAdvanced { .. }));
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
                let life = Life { commit: Some(facts.baseline.0.clone()), ..Life::new(facts.experiment) };
                self.lives.insert(facts.experiment, life);
                self.doubt.left_broken = false;
            }
            What::RunStarted(RunFacts { slots, scope, .. }) => {
                self.slots = *slots;
                self.doubt.loops = *scope != Scope::One;
                (self.doubt.broken, self.doubt.checked) = (0, None);
                self.wanted = match scope {
                    Scope::Loop { experiments } => experiments.map(|n| n + self.counted()),
                    Scope::One => None,
                };
                (self.stopped, self.reviewed) = (false, false);
                assert!(self.running.is_empty(), "trials of an earlier run were not recorded as lost");
                assert!(self.guarding.is_empty(), "guards of an earlier run were not recorded as lost");
                assert!(self.lives.values().all(|life| !life.asked), "an attempt was not recorded as lost");
                self.lives.values_mut().for_each(|life| life.faults = 0);
                self.guarded.clear();
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
                    assert!(broken, "a guard was called broken that the champion did not fail twice");
                }
            }
            What::StopRequested { .. } | What::Imported(_) | What::Unknown => {}
            What::Asked { experiment, agent, parent } => {
                assert_eq!(Some(&parent.0), self.branch.as_ref(), "an agent was asked about another than the champion");
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
                let life = self.begin(proposed.experiment);
                assert!(life.content.is_none(), "experiment {} was proposed twice", proposed.experiment);
                life.asked = false;
                life.content = Some(proposed.content.clone());
                life.commit = Some(proposed.commit.0.clone());
                life.parent = Some(proposed.parent.0.clone());
            }
            What::TrialStarted { trial, experiment, purpose, slot, .. } => {
                assert!(self.trials.insert(*trial), "trial {trial} was started twice");
                self.take_slot(*slot, *experiment);
                let again = matches!(purpose, Purpose::Remeasure | Purpose::Check);
                let standing = self.champion == Some(*experiment) && again;
                self.check_doubt(*purpose);
                let life = self.life(*experiment);
                assert!(life.verdict.is_none() || standing, "a trial for a judged experiment");
                let is_baseline = *experiment == life.baseline;
                assert!(is_baseline || life.content.is_some(), "a trial of nothing");
                self.running.insert(*trial, (*experiment, *slot, *purpose));
            }
            What::TrialFinished { trial, experiment, measurement } => {
                let running = self.running.remove(trial);
                let (owner, _, purpose) = running.unwrap_or_else(|| panic!("trial {trial} is not running"));
                assert_eq!(owner, *experiment, "trial {trial} belongs to another experiment");
                let score = measurement.metric.map(Score::get).filter(|_| measurement.ending.succeeded());
                self.doubt.left_broken &= score.is_none();
                if purpose == Purpose::Check {
                    (self.doubt.broken, self.doubt.checked) = (0, Some(score.is_some()));
                }
                let life = self.life(*experiment);
                life.trials.push((purpose, score));
                life.faults = 0;
            }
            What::TrialLost { trial, experiment, loss } => {
                let lost = self.running.remove(trial).map(|(owner, ..)| owner);
                assert_eq!(lost, Some(*experiment), "a lost trial {trial} was not running");
                self.lose(*experiment, loss);
            }
            What::GuardStarted { experiment, guard, slot, on, command } => {
                self.take_slot(*slot, *experiment);
                self.check_doubt(Purpose::Screen);
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
                self.flaky += u32::from(runs.last() == Some(&false) && ending.succeeded());
                runs.push(ending.succeeded());
                self.open_life(*experiment).faults = 0;
            }
            What::GuardLost { experiment, guard, loss } => {
                let slot = self.guarding.remove(&(*experiment, *guard));
                assert!(slot.is_some(), "a lost guard {guard} of {experiment} was not running");
                self.open_life(*experiment);
                self.lose(*experiment, loss);
            }
            What::Judged(judged) => self.judge(setup, judged),
            What::Reviewed(Reviewed { experiment, verdict, .. }) => {
                assert!(matches!(verdict, Verdict::Kept | Verdict::Discarded), "a person said {verdict:?}");
                self.reviewed = true;
                let champion = self.branch.clone();
                let life = self.life(*experiment);
                assert_eq!(life.verdict, Some(Verdict::Suspect), "a person had a word on {experiment}");
                life.verdict = Some(*verdict);
                if *verdict == Verdict::Kept {
                    assert_eq!(life.parent, champion, "{experiment} was kept in place of a champion it never met");
                    assert_eq!(self.unadvanced.replace(*experiment), None, "a word came before a keep was done");
                }
            }
            What::BranchAdvanced { experiment, from, to, .. } => {
                assert_eq!(self.unadvanced.take(), Some(*experiment), "the branch moved without a verdict");
                assert_eq!(from.as_ref().map(|id| &id.0), self.branch.as_ref(), "the branch moved from elsewhere");
                if let Some(half_way) = self.half_way.take() {
                    assert_eq!(half_way, to.0, "the record names another commit than the branch");
                }
                self.branch = Some(to.0.clone());
                self.champion = Some(*experiment);
                self.life(*experiment).commit = Some(to.0.clone());
            }
        }
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
        let ahead = if setup.tuner { 0 } else { setup.ahead as usize };
        let busy = self.running.len() + self.guarding.len();
        let at_work = self.open() - self.lives.values().filter(|life| life.is_idle_question()).count();
        let most = self.slots as usize + if busy < self.slots as usize { 0 } else { ahead };
        assert!(at_work <= most, "{at_work} proposals for {} slots, {busy} of them taken, and {ahead}", self.slots);
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
            // Where as many count as were wanted, a new champion is still measured again.
            Purpose::Remeasure => {}
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

    fn judge(&mut self, setup: &Setup, judged: &Judged) {
        let Judged { experiment, verdict, metric, .. } = judged;
        assert!(self.running.values().all(|(owner, ..)| owner != experiment), "{experiment} is judged while it runs");
        assert!(self.guarding.keys().all(|(owner, _)| owner != experiment), "{experiment} is judged while guarded");
        assert_eq!(self.unadvanced, None, "a verdict came before the branch was where the last one wants it");
        let life = self.open_life(*experiment).clone();
        assert!(!life.asked, "{experiment} is judged while its agent is at work");
        let failures = life.trials.iter().filter(|(_, score)| score.is_none()).count();
        match verdict {
            Verdict::Kept => {
                assert!(metric.is_some(), "{experiment} is kept without a metric");
                assert_eq!(failures, 0, "{experiment} is kept although a trial of it failed");
                match self.carried.contains(experiment) {
                    true => self.check_carried(setup, &life),
                    false => self.check_kept(setup, *experiment, &life),
                }
                let twin = self.lives.iter().find(|(id, other)| {
                    let is_near = *id < experiment && other.baseline == life.baseline;
                    is_near && other.content == life.content && other.verdict == Some(Verdict::Kept)
                });
                assert!(twin.is_none(), "{experiment} is kept, and is what {:?} was", twin.map(|(id, _)| id));
            }
            Verdict::Baseline => {
                assert_eq!(*experiment, self.baseline);
                assert!(life.trials.len() >= 3 && failures == 0, "the baseline was judged on {:?}", life.trials);
            }
            Verdict::Discarded => {
                assert!(!life.trials.is_empty() && failures == 0, "discarded on {:?}", life.trials);
            }
            Verdict::Crashed | Verdict::TimedOut | Verdict::InvalidMetric => {
                assert!(failures > 0, "{verdict:?} without a failed trial");
            }
            Verdict::GuardFailed if matches!(judged.reason, Reason::GuardCommand { .. }) => {
                let of = |on: bool| {
                    let mine =
                        self.guarded.iter().filter(|((id, _, other), _)| id == experiment && other.is_some() == on);
                    mine.map(|(_, runs)| runs.as_slice()).collect::<Vec<_>>()
                };
                assert!(of(false).contains(&[false, false].as_slice()), "a guard failed by chance: {:?}", of(false));
                assert!(
                    of(true).iter().any(|runs| runs.last() == Some(&true)),
                    "nobody passes the guard: {:?}",
                    of(true)
                );
            }
            Verdict::Duplicate | Verdict::NoChange => assert!(life.trials.is_empty(), "a repeat cost a trial"),
            _ => {}
        }
        if matches!(verdict, Verdict::Kept | Verdict::Baseline) {
            self.unadvanced = Some(*experiment);
        }
        match verdict.group() {
            Group::Broken => self.doubt.broken += 1,
            _ if life.trials.iter().any(|(_, score)| score.is_some()) => self.doubt.broken = 0,
            _ => {}
        }
        let life = self.life(*experiment);
        life.verdict = Some(*verdict);
        life.metric = metric.map(Score::get);
    }

    /// Whatever the noise: a keep was better each time that it could be chosen, and was measured again after that.
    fn check_kept(&self, setup: &Setup, experiment: ExperimentId, life: &Life) {
        let champion = self.champion.and_then(|id| self.lives.get(&id)).expect("there is a champion to beat");
        let level = champion.level().mean().expect("a champion has a level");
        let scores: Vec<f64> = life.trials.iter().filter_map(|(_, score)| *score).collect();
        let gains: Vec<f64> = scores.iter().map(|score| setup.goal.gain(level, *score)).collect();
        assert!(gains.len() >= 2, "{experiment} was kept on {scores:?}");
        assert!(
            gains[..2].iter().all(|gain| *gain > 0.0 && *gain >= setup.min_gain),
            "{experiment} was kept with gains of {gains:?}"
        );
        let same = scores.iter().all(|score| *score == scores[0]);
        assert!(same || gains.len() >= 3, "{experiment} was kept on {scores:?}, which differ");
        assert!(Tally::of(gains[1..].iter().copied()).mean() > Some(0.0), "{experiment} was kept with {gains:?}");
    }

    /// What came over from another segment was measured as the baseline was, and is not far below it.
    fn check_carried(&self, setup: &Setup, life: &Life) {
        assert_eq!(self.champion, Some(self.baseline), "a champion is compared with the baseline of its segment");
        assert!(life.trials.iter().all(|(purpose, _)| *purpose == Purpose::Remeasure) && life.trials.len() >= 3);
        let level = |life: &Life| life.level().mean().expect("a level");
        let gain = setup.goal.gain(level(&self.lives[&self.baseline]), level(life));
        assert!(gain >= -8.0 * setup.noise, "a champion that is worse by {} was carried over", -gain);
    }

    fn check_summary(&self, summary: &Summary) {
        let judged = || self.candidates().filter_map(|life| life.verdict);
        let of = |group: Group| judged().filter(|verdict| verdict.group() == group).count() as u64;
        let counts = [summary.kept, summary.not_better, summary.broken, summary.refused, summary.not_counted];
        let recount =
            [of(Group::Kept), of(Group::NotBetter), of(Group::Broken), of(Group::Refused), of(Group::NotCounted)];
        assert_eq!(counts, recount, "the summary counts wrongly");
        assert_eq!(summary.experiments, self.counted(), "the summary counts wrongly");
        assert_eq!(summary.open, self.open() as u64, "the summary miscounts what is open");
        assert_eq!(summary.running.len(), self.running.len(), "the summary miscounts what runs");
        assert_eq!(summary.champion.as_ref().map(|level| level.experiment), self.champion);
        assert_eq!(summary.champion.as_ref().map(|level| &level.commit.0), self.branch.as_ref());
        for level in [&summary.baseline, &summary.champion].into_iter().flatten() {
            assert!(level.metric.is_none_or(f64::is_finite), "a level that is not finite: {level:?}");
        }
        assert!(summary.noise.sd.is_none_or(f64::is_finite), "a noise that is not finite: {:?}", summary.noise);
    }
}
