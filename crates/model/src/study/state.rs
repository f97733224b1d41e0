//! The fold of the ledger: the same events always give the same state.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::costs::Costs;
use super::experiment::{Experiment, Trial};
use super::guards::{GuardRun, GuardTally, Guarding};
use super::judging::Judging;
use super::letters::is_by_hand;
use super::row::{Running, SegmentRow};
use super::smoke::Smoking;
use super::tuning::Tuning;
use super::turns::Turns;
use super::waiting::Waiting;
use crate::call::CallEnd;
use crate::call::account::Reached;
use crate::event::{
    AttemptFailure, Event, Judged, Loss, Proposed, Purpose, RunFacts, Said, SegmentFacts, StopReason, What,
};
use crate::id::{CommitId, ContentId, ExperimentId, Seed, Segment, Slot, TrialId};
use crate::judge::Noise;
use crate::measure::Measurement;
use crate::spec::Tier;
use crate::stats::Tally;
use crate::units::{Millis, Timestamp};
use crate::verdict::{Group, Reason, Verdict};

/// Everything known of a study.
#[derive(Debug, Clone, Default)]
pub struct State {
    pub study: String,
    pub seed: u64,
    pub segment: Option<SegmentFacts>,
    pub run: Option<Run>,
    pub stopped: Option<StopReason>,
    pub champion: Option<ExperimentId>,
    /// A keep whose commit has still to reach the branch.
    pub unadvanced: Option<ExperimentId>,
    /// The keep that is being taken back.
    pub retreating: Option<ExperimentId>,
    pub(super) open: BTreeMap<ExperimentId, Experiment>,
    /// The baseline and everything kept: they can be measured again.
    pub(super) standing: BTreeMap<ExperimentId, Experiment>,
    /// What waits for a person's word.
    pub(super) suspects: BTreeMap<ExperimentId, Experiment>,
    /// How the segments before this one ended.
    pub(super) past: Vec<SegmentRow>,
    /// The experiments judged since rows were last taken; then they are forgotten.
    pub(super) leaving: BTreeMap<ExperimentId, Experiment>,
    pub(super) contents: HashMap<ContentId, ExperimentId>,
    /// The same by what the surface is, layout and comments aside.
    pub(super) forms: HashMap<ContentId, ExperimentId>,
    pub(super) running: BTreeMap<TrialId, (Running, (Slot, Seed))>,
    pub(super) guarding: BTreeMap<(ExperimentId, u32), Guarding>,
    pub(super) smoking: BTreeMap<ExperimentId, Smoking>,
    /// Every command that ran as a guard, and how it fared.
    pub(super) guards: BTreeMap<String, GuardTally>,
    pub(super) tuning: Tuning,
    pub(super) turns: Turns,
    pub(super) costs: Costs,
    /// Repeats of a candidate that differed while the metric looked deterministic.
    pub(super) scattered: Option<Tally>,
    pub(super) judging: Judging,
    /// How long trials of this segment took in all, and how many they were.
    pub(super) trial_time: (Millis, u64),
    pub(super) counts: Counts,
    pub(super) next_experiment: u64,
    pub(super) next_trial: u64,
    /// Time spent in earlier runs.
    pub(super) past_wall: Millis,
    pub(super) total_since_keep: SinceKeep,
    /// The champion broke, and nothing has given a number since.
    pub(super) champion_failed: bool,
    /// Rows of other tools' histories. They are no experiments, and nothing else here knows of them.
    pub(super) imported: u64,
    /// What a person said and did not take back, with the moment.
    pub(super) said: BTreeMap<u64, (Said, Timestamp)>,
    pub(super) next_word: u64,
    /// The letters that brought words; a person writes few.
    pub(super) letters: BTreeSet<String>,
    /// What came by letter and has no verdict yet.
    pub(super) delivered: BTreeSet<ExperimentId>,
    pub(super) paused: bool,
    pub(super) last_at: Timestamp,
    /// Champions that were carried over, of every segment: they were counted when they were first kept.
    pub(super) carried_over: BTreeSet<ExperimentId>,
    /// A person had the word since the last run: what follows from it takes no time of a run.
    pub(super) aside: bool,
    pub(super) touched: BTreeSet<ExperimentId>,
}

/// The present run, and what its limits need to know.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub facts: RunFacts,
    pub started_at: Timestamp,
    /// Set when a person asked it to stop; true for at once.
    pub stopping: Option<bool>,
    pub counted: u64,
    /// Trials that finished.
    pub trials: u64,
    pub first_experiment: u64,
    pub(super) failed_in_a_row: u32,
    /// By agent.
    pub(super) waiting: BTreeMap<String, Waiting>,
    pub(super) last_failure: String,
    pub(super) exhausted: Option<String>,
    /// Failed attempts in a row, by agent.
    pub(super) failing: BTreeMap<String, Failing>,
    /// Agents that had no idea left, and when they were asked.
    pub(super) without_idea: BTreeMap<String, ExperimentId>,
    pub(super) engine_errors_in_a_row: u32,
    pub(super) last_engine_error: String,
    /// Experiments in a row whose own run broke, since the last one that gave a number or the last check.
    pub(super) broken_in_a_row: Vec<ExperimentId>,
    /// What the champion gave when it was last checked.
    pub(super) check: Option<Measurement>,
    pub(super) since_keep: SinceKeep,
    /// The night is being closed: the last trial that began was for that.
    pub(super) closing: bool,
    /// The limit that leaves nothing for anybody in this run.
    pub(super) limited: Option<Reached>,
    /// Another model answered than the one that was asked: which, and who.
    pub(super) other_model: Option<(String, String)>,
}

/// How an agent fails.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Failing {
    pub(super) in_a_row: u32,
    pub(super) at: Timestamp,
    pub(super) last: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct SinceKeep {
    /// How long the study had run by then, over all runs.
    pub(super) run_time: Millis,
    pub(super) experiments: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    pub(super) counted: u64,
    pub(super) kept: u64,
    pub(super) not_better: u64,
    pub(super) broken: u64,
    pub(super) refused: u64,
    pub(super) not_counted: u64,
}

impl State {
    pub fn apply(&mut self, event: &Event) {
        let at = event.at;
        match &event.what {
            What::StudyOpened { study, seed } => {
                (self.study, self.seed) = (study.clone(), *seed);
                self.next_experiment = 1;
            }
            What::SegmentOpened(facts) => self.open_segment(facts, at),
            What::RunStarted(facts) => self.start_run(facts, at),
            What::RunStopped { reason } => {
                if matches!(reason, StopReason::ChampionFailed { .. }) {
                    self.blame_the_machine();
                }
                self.stopped = Some(reason.clone());
            }
            What::StopRequested { hurry } => {
                if let Some(run) = &mut self.run {
                    run.stopping = Some(*hurry || run.stopping == Some(true));
                }
            }
            What::Asked { experiment, agent, parent, .. } => {
                let segment = self.segment_number();
                let new = || Experiment::new(*experiment, segment, agent, at);
                let entry = self.open.entry(*experiment).or_insert_with(new);
                (entry.asked, entry.was_asked) = (true, true);
                (entry.agent_calls, entry.limited, entry.trouble) = (0, None, None);
                entry.asked_at = at;
                entry.agent = agent.clone();
                if !self.delivered.contains(experiment) {
                    self.turns.ask(*experiment, agent);
                }
                entry.parent = Some(parent.clone());
                self.saw(*experiment);
            }
            What::AttemptLost { experiment } => {
                self.bill_turn(*experiment, None);
                self.with_open(*experiment, |open| open.asked = false);
            }
            What::Called(called) => {
                self.call(called);
                // It is found out when the next run begins, and is not to make the last one longer.
                if called.outcome.end == CallEnd::Lost {
                    return;
                }
            }
            What::AttemptFailed { experiment, failure, used, .. } => {
                self.bill_turn(*experiment, used.as_ref());
                // What nobody was asked for says nothing about a provider.
                if !self.delivered.contains(experiment) {
                    self.answered(*experiment, Some(failure), at);
                }
                self.with_open(*experiment, |open| {
                    open.asked = false;
                    open.failure = Some(failure.clone());
                });
            }
            What::Proposed(proposed) => {
                self.bill_turn(proposed.experiment, proposed.used.as_ref());
                // Nor does this.
                if self.open.get(&proposed.experiment).is_some_and(|open| open.asked) {
                    self.answered(proposed.experiment, None, at);
                }
                if !self.delivered.contains(&proposed.experiment) {
                    self.turns.come(proposed.experiment, &proposed.agent);
                }
                self.propose(proposed, at);
            }
            What::TrialStarted { trial, experiment, purpose, seed, slot, aid } => {
                let running = Running { trial: *trial, experiment: *experiment, purpose: *purpose, started_at: at };
                self.running.insert(*trial, (running, (*slot, *seed)));
                self.next_trial = self.next_trial.max(trial.0 + 1);
                self.with_any(*experiment, |found| found.in_flight += 1);
                self.run.iter_mut().for_each(|run| run.closing = *purpose == Purpose::Close);
                self.place(*experiment, *purpose, *aid);
            }
            What::TrialFinished { trial, measurement, .. } => {
                let Some((running, (_, seed))) = self.running.remove(trial) else { return };
                let purpose = running.purpose;
                if measurement.metric.is_some() {
                    self.champion_failed = false;
                }
                if let Some(run) = self.run.as_mut().filter(|_| purpose == Purpose::Check) {
                    run.check = Some(measurement.clone());
                    if measurement.metric.is_some() {
                        run.broken_in_a_row.clear();
                    }
                }
                // What was measured a moment ago no longer runs: before anything else is lost on the machine, a check.
                if measurement.metric.is_none()
                    && purpose != Purpose::Check
                    && self.champion == Some(running.experiment)
                {
                    self.champion_failed = true;
                    self.run.iter_mut().for_each(|run| run.check = None);
                }
                let tier = self.run.as_ref().and_then(|run| Tier::from_name(&run.facts.sandbox));
                self.with_any(running.experiment, |found| {
                    found.tier = found.tier.into_iter().chain(tier).min();
                    found.in_flight = found.in_flight.saturating_sub(1);
                    found.faults = 0;
                    found.seconds.0 += measurement.wall().0;
                    found.trials.push(Trial { id: *trial, purpose, seed, measurement: measurement.clone() });
                });
                self.bill_trial(*trial, running.experiment);
                self.trial_time.0.0 += measurement.wall().0;
                self.trial_time.1 += 1;
                if let Some(run) = &mut self.run {
                    run.trials += 1;
                }
                self.weigh(running.experiment, purpose);
            }
            What::TrialLost { trial, loss, .. } => {
                let Some((running, _)) = self.running.remove(trial) else { return };
                self.bill_trial(*trial, running.experiment);
                self.lose(running.experiment, loss);
            }
            What::GuardStarted { experiment, guard, slot, on, command } => {
                let guarding = Guarding { slot: *slot, on: *on, command: command.clone() };
                self.guarding.insert((*experiment, *guard), guarding);
                self.with_open(*experiment, |open| open.in_flight += 1);
            }
            What::GuardFinished { experiment, guard, ending, usage, .. } => {
                let Some(guarding) = self.guarding.remove(&(*experiment, *guard)) else { return };
                let run = GuardRun { guard: *guard, on: guarding.on, ending: ending.clone() };
                self.count_guard(*experiment, &run, guarding.command);
                self.with_open(*experiment, |open| {
                    open.in_flight = open.in_flight.saturating_sub(1);
                    open.faults = 0;
                    open.seconds.0 += usage.wall.0;
                    open.guards.push(run);
                });
            }
            What::GuardLost { experiment, guard, loss } => {
                self.guarding.remove(&(*experiment, *guard));
                self.lose(*experiment, loss);
            }
            What::SmokeStarted { experiment, on, .. } => self.start_smoke(*experiment, *on),
            What::SmokeFinished { experiment, ending, usage, .. } => self.end_smoke(*experiment, ending, *usage),
            What::SmokeLost { experiment, loss } => {
                self.smoking.remove(experiment);
                self.lose(*experiment, loss);
            }
            What::Judged(judged) => self.judge(judged, at),
            What::BranchAdvanced { experiment, to, .. } => {
                self.unadvanced = None;
                let before = self.champion.replace(*experiment);
                // On another champion there may be ideas again.
                self.run.iter_mut().for_each(|run| run.without_idea.clear());
                self.crown(*experiment, before);
                self.retreating = None;
                self.with_any(*experiment, |found| {
                    let before = found.commit.replace(to.clone());
                    found.was.extend(before.filter(|before| before != to));
                });
                self.let_go_of_old_suspects();
                if self.aside {
                    return;
                }
            }
            What::RepairAsked { experiment, .. } => {
                self.with_open(*experiment, |open| {
                    (open.asked, open.asked_at) = (true, at);
                    (open.agent_calls, open.limited, open.trouble) = (0, None, None);
                });
            }
            What::Repaired(proposed) => {
                self.bill_turn(proposed.experiment, proposed.used.as_ref());
                self.answered(proposed.experiment, None, at);
                self.repair(proposed);
            }
            What::NotRepaired { experiment, failure, used, .. } => {
                self.bill_turn(*experiment, used.as_ref());
                self.answered(*experiment, Some(failure), at);
                self.with_open(*experiment, |open| (open.asked, open.is_beyond_repair) = (false, true));
            }
            What::Restacked(proposed) => self.restack(proposed),
            What::NotRestacked { experiment } => self.with_open(*experiment, |open| open.clashes = true),
            What::Retracted(retracted) => self.retract(retracted),
            What::Reviewed(reviewed) => return self.review(reviewed),
            What::Imported(imported) => {
                self.imported += imported.rows;
                // It happens between runs, whose time is not to be made longer by it.
                return;
            }
            // Words may be said between runs, whose time is not to be made longer by them.
            What::Said(said) => return self.hear(said, at),
            What::TakenBack { word, letter } => return self.take_back(*word, letter),
            What::Delivered { becomes, letter } => self.deliver(*becomes, letter),
            What::Returned { letter, .. } => self.read_letter(letter),
            What::Paused { letter } => return self.pause(true, letter),
            What::Resumed { letter } => return self.pause(false, letter),
            // As with words: between runs.
            What::Forgotten(forgotten) => return self.forget_contents(&forgotten.experiments),
            What::Unknown => {}
        }
        self.last_at = self.last_at.max(at);
    }

    /// Whether a model had a part in what would run: it wrote something that was kept, or that is still open. Text
    /// stays a model's when others edit it further.
    pub fn is_model_written(&self) -> bool {
        self.standing.values().chain(self.open.values()).any(|found| !is_by_hand(&found.agent))
    }

    /// The weakest tier behind the numbers that are shown: the champion's and the baseline's.
    pub fn tier(&self) -> Option<Tier> {
        let baseline = self.find(self.baseline());
        baseline.into_iter().chain(self.champion()).filter_map(|found| found.tier).min()
    }

    /// What a run that ended without a word left behind, as the losses that the next one records.
    pub fn losses(&self) -> Vec<What> {
        let loss = || Loss::Interrupted;
        let trials = self.running.values().map(|(running, _)| {
            let Running { trial, experiment, .. } = *running;
            What::TrialLost { trial, experiment, loss: loss() }
        });
        let guards =
            self.guarding.keys().map(|&(experiment, guard)| What::GuardLost { experiment, guard, loss: loss() });
        let smokes = self.smoking.keys().map(|&experiment| What::SmokeLost { experiment, loss: loss() });
        let asked = self.open.values().filter(|open| open.asked);
        let attempts = asked.map(|open| What::AttemptLost { experiment: open.id });
        trials.chain(guards).chain(smokes).chain(attempts).collect()
    }

    /// Lets go of what was judged: its row is stored, and memory stays small over a hundred thousand experiments.
    pub fn forget_judged(&mut self) {
        self.leaving.clear();
    }

    /// The experiments whose row changed since the last call.
    pub fn touched(&mut self) -> Vec<ExperimentId> {
        std::mem::take(&mut self.touched).into_iter().collect()
    }

    pub fn find(&self, id: ExperimentId) -> Option<&Experiment> {
        self.open
            .get(&id)
            .or_else(|| self.standing.get(&id))
            .or_else(|| self.suspects.get(&id))
            .or_else(|| self.leaving.get(&id))
    }

    /// Experiments without a verdict, in order.
    pub fn open(&self) -> impl Iterator<Item = &Experiment> {
        self.open.values()
    }

    /// The baseline and every kept experiment, in order.
    pub fn standing(&self) -> impl Iterator<Item = &Experiment> {
        self.standing.values()
    }

    /// The commit to beat.
    pub fn champion(&self) -> Option<&Experiment> {
        self.standing.get(&self.champion?)
    }

    /// The experiment that is, or was, this commit, among those that stand.
    pub(super) fn standing_at(&self, commit: &CommitId) -> Option<ExperimentId> {
        self.standing.values().find(|standing| standing.is(commit)).map(|standing| standing.id)
    }

    /// The experiment that tried exactly this surface before, if any did and its result still counts.
    pub fn tried(&self, content: &ContentId) -> Option<ExperimentId> {
        self.contents.get(content).copied()
    }

    /// The experiment that tried the same surface before, layout and comments aside, if any did and its result counts.
    pub fn tried_form(&self, form: &ContentId) -> Option<ExperimentId> {
        self.forms.get(form).copied()
    }

    /// What repeats of standing commits say about the noise.
    ///
    /// Where a metric looks deterministic, repeats of candidates count too: the first unequal one ends that.
    pub fn noise(&self) -> Noise {
        if let Some(mind) = self.mind() {
            return Noise::Noisy { sd: mind.scatter(), degrees: self.repeats().saturating_sub(1).max(1) };
        }
        let mut groups: Vec<Tally> = self.standing_levels().collect();
        if groups.iter().all(|group| group.squares() == 0.0) {
            groups.extend(self.scattered);
            let candidates = self.open.values().filter(|open| open.id != self.baseline());
            groups.extend(candidates.map(|open| Tally::of(open.scores())));
        }
        match Noise::from_repeats(&groups) {
            // The same answers give the same numbers: that says nothing of the metric.
            Noise::Deterministic if self.segment.as_ref().is_some_and(|facts| facts.is_replayed()) => Noise::Unknown,
            noise => noise,
        }
    }

    /// The trials the noise was learned from.
    pub fn repeats(&self) -> u32 {
        self.standing_levels().filter(|tally| tally.n() > 1).map(|tally| tally.n()).sum()
    }

    /// The experiment that is the baseline of this segment.
    pub fn baseline(&self) -> ExperimentId {
        self.segment.as_ref().map_or(ExperimentId::BASELINE, |facts| facts.experiment)
    }

    /// The champion of the segment before, on trial in this one.
    pub fn carried(&self) -> Option<ExperimentId> {
        self.segment.as_ref()?.carried.as_ref()?.experiment
    }

    /// Whether the baseline of this segment has its verdict: from here on, nothing may change unnoticed.
    pub fn begun(&self) -> bool {
        self.segment.is_some() && self.standing.contains_key(&self.baseline())
    }

    /// Whether there is something to compare candidates with: the baseline, and the champion that was carried over.
    pub fn calibrated(&self) -> bool {
        self.begun() && self.carried().is_none_or(|carried| !self.open.contains_key(&carried))
    }

    /// What the next segment has to take over: the champion, or the one that is still on trial to be it again.
    pub fn to_carry(&self) -> Option<&Experiment> {
        let on_trial = self.carried().and_then(|carried| self.open.get(&carried));
        on_trial.or_else(|| self.champion())
    }

    /// How long the study has run by now, over all runs.
    pub(super) fn run_time(&self, now: Timestamp) -> Millis {
        let elapsed = self.run.as_ref().map_or(Millis(0), |run| now.since(run.started_at));
        Millis(self.past_wall.0 + elapsed.0)
    }

    /// The number the next experiment will have.
    pub fn next_experiment(&self) -> ExperimentId {
        ExperimentId(self.next_experiment)
    }

    pub fn segment_number(&self) -> Segment {
        self.segment.as_ref().map_or(Segment(0), |facts| facts.segment)
    }

    /// Nothing is compared across segments.
    fn standing_levels(&self) -> impl Iterator<Item = Tally> {
        let segment = self.segment_number();
        self.standing.values().filter(move |standing| standing.segment == segment).map(Experiment::level)
    }

    fn open_segment(&mut self, facts: &SegmentFacts, at: Timestamp) {
        if self.begun() {
            self.past.extend(self.segment_row());
        }
        let id = facts.experiment;
        let mut baseline = Experiment::new(id, facts.segment, "person", at);
        baseline.commit = Some(facts.baseline.clone());
        baseline.description = match id.is_baseline() {
            true => "baseline".to_owned(),
            false => format!("baseline of segment {}", facts.segment.0),
        };
        baseline.surface = facts.contents.clone();
        let content = crate::proposal::content_id(&facts.contents);
        // What was learned under another evaluation says nothing here: it may be tried again.
        self.contents.clear();
        self.forms.clear();
        self.tuning = Tuning::default();
        self.turns = Turns::default();
        self.scattered = None;
        self.judging = Judging::default();
        self.trial_time = (Millis(0), 0);
        self.champion_failed = false;
        self.contents.insert(content.clone(), id);
        baseline.content = Some(content);
        (baseline.form, baseline.tokens) = (facts.form.clone(), facts.tokens);
        self.forms.extend(facts.form.clone().map(|form| (form, id)));
        self.open.insert(id, baseline);
        self.saw(id);
        self.carried_over.extend(facts.carried.as_ref().and_then(|carried| carried.experiment));
        self.segment = Some(facts.clone());
        self.let_go_of_old_suspects();
    }

    /// Whatever was in flight belonged to an engine that is gone.
    fn start_run(&mut self, facts: &RunFacts, at: Timestamp) {
        if let Some(segment) = self.segment.as_mut().filter(|_| !facts.sandbox.is_empty()) {
            segment.sandbox.clone_from(&facts.sandbox);
        }
        if let Some(run) = &self.run {
            self.past_wall.0 += self.last_at.since(run.started_at).0;
        }
        let lost: Vec<_> = std::mem::take(&mut self.running).into_values().collect();
        for (running, _) in lost {
            self.lose(running.experiment, &Loss::Interrupted);
        }
        for (experiment, _) in std::mem::take(&mut self.guarding).into_keys() {
            self.lose(experiment, &Loss::Interrupted);
        }
        for experiment in std::mem::take(&mut self.smoking).into_keys() {
            self.lose(experiment, &Loss::Interrupted);
        }
        for open in self.open.values_mut() {
            open.asked = false;
            // The guards may be others now: what passed then says nothing of them.
            open.guards.clear();
            open.smokes.clear();
        }
        for known in self.open.values_mut().chain(self.standing.values_mut()) {
            known.faults = 0;
        }
        // A baseline that failed is measured again: the person has probably mended something.
        let plausible = self.segment.as_ref().and_then(|facts| facts.metric.plausible);
        let is_plausible = |score| plausible.is_none_or(|(low, high)| low.get() <= score && score <= high.get());
        let baseline = self.baseline();
        if let Some(baseline) = self.open.get_mut(&baseline) {
            baseline.trials.retain(|trial| trial.score().is_some_and(is_plausible));
        }
        self.resume(at);
        (self.stopped, self.aside) = (None, false);
        self.run = Some(Run {
            facts: facts.clone(),
            started_at: at,
            stopping: None,
            counted: 0,
            trials: 0,
            first_experiment: self.next_experiment,
            failed_in_a_row: 0,
            waiting: BTreeMap::new(),
            last_failure: String::new(),
            exhausted: None,
            failing: BTreeMap::new(),
            without_idea: BTreeMap::new(),
            engine_errors_in_a_row: 0,
            last_engine_error: String::new(),
            broken_in_a_row: Vec::new(),
            check: None,
            since_keep: SinceKeep { run_time: self.past_wall, experiments: 0 },
            closing: false,
            limited: None,
            other_model: None,
        });
        self.start_counting(facts);
    }

    fn propose(&mut self, proposed: &Proposed, at: Timestamp) {
        let id = proposed.experiment;
        let segment = self.segment_number();
        let open = self.open.entry(id).or_insert_with(|| Experiment::new(id, segment, &proposed.agent, at));
        open.is_second_try = !open.asked && self.judging.near.iter().any(|near| near.content == proposed.content);
        open.asked = false;
        open.segment = segment;
        open.parent = Some(proposed.parent.clone());
        open.commit = Some(proposed.commit.clone());
        open.commit_time = proposed.commit_time;
        open.description = proposed.description.clone();
        open.content = Some(proposed.content.clone());
        open.surface = proposed.surface.clone();
        open.form = proposed.form.clone();
        (open.tokens, open.reseeds) = (proposed.tokens, proposed.reseeds);
        open.edits = proposed.edits.clone();
        if let Some(parent) = self.standing_at(&proposed.parent) {
            self.tuning.propose(id, parent, &proposed.edits);
        }
        self.contents.entry(proposed.content.clone()).or_insert(id);
        self.judging.again.retain(|again| again.content != proposed.content);
        self.judging.near.retain(|near| near.content != proposed.content);
        if let Some(form) = &proposed.form {
            self.forms.entry(form.clone()).or_insert(id);
        }
        self.saw(id);
    }

    fn judge(&mut self, judged: &Judged, at: Timestamp) {
        let Judged { experiment: id, verdict, reason, metric, estimate, .. } = judged;
        let Some(mut experiment) = self.open.remove(id) else { return };
        let is_delivered = self.delivered.remove(id);
        // Somebody outside may call itself by the name of an agent of this study.
        if !is_delivered {
            self.turns.judge(&experiment, judged);
            self.note_failing(&experiment, *verdict, reason, at);
        }
        self.tuning.end(*id, self.came(&experiment, *verdict));
        self.let_go(&experiment, *verdict);
        experiment.verdict = Some((*verdict, reason.clone()));
        experiment.judged_metric = *metric;
        experiment.estimate = *estimate;
        if *verdict == Verdict::Kept {
            self.judging.spend_slack(reason, *estimate);
        }
        // What was kept before is not a new keep.
        if self.carried() != Some(*id) {
            self.count(*verdict, reason, at);
        }
        // That a provider is down is no fault of an agent, and no reason to end a night: it is waited for. Nor is it one
        // that somebody outside sends what cannot be tried.
        let trouble = experiment.failure.as_ref().and_then(AttemptFailure::trouble);
        if (is_delivered && verdict.is_failed_attempt() || trouble.is_some_and(|trouble| trouble.is_excused()))
            && let Some(run) = &mut self.run
        {
            run.failed_in_a_row = run.failed_in_a_row.saturating_sub(1);
        }
        if let Some(run) = &mut self.run {
            let gave_a_number = experiment.trials.iter().any(|trial| trial.measurement.metric.is_some());
            match verdict.group() {
                Group::Broken => run.broken_in_a_row.push(*id),
                // Where nothing was run there is nothing to learn of the machine.
                _ if gave_a_number => run.broken_in_a_row.clear(),
                _ => {}
            }
            // Who had no idea left while this was being measured may have one now.
            if gave_a_number {
                run.exhausted = None;
                run.without_idea.retain(|_, asked| *asked < *id);
            }
        }
        let repeats = Tally::of(experiment.scores());
        if repeats.squares() > 0.0
            && *id != self.baseline()
            && self.standing_levels().all(|group| group.squares() == 0.0)
        {
            self.scattered.get_or_insert(repeats);
        }
        if let Some(AttemptFailure::Exhausted { what }) = &experiment.failure
            && let Some(run) = &mut self.run
        {
            run.exhausted = Some(what.clone());
            run.without_idea.insert(experiment.agent.clone(), *id);
        }
        // Our own fault says nothing about these contents: they may be tried again.
        let forget = |known: &mut HashMap<ContentId, ExperimentId>, name: &Option<ContentId>| {
            if let Some(name) = name.as_ref().filter(|name| known.get(*name) == Some(id)) {
                known.remove(name);
            }
        };
        // What was given back was never measured as it would be on the champion of now: it may be done again.
        let is_given_back = matches!(reason, Reason::Moved { .. });
        let is_unknown = is_given_back || matches!(verdict, Verdict::EngineError | Verdict::Interrupted);
        if is_unknown {
            forget(&mut self.contents, &experiment.content);
        }
        // Nor does a crash about the form: layout may be what broke it, and grammars forgive more than interpreters.
        if is_unknown || verdict.group() == Group::Broken {
            forget(&mut self.forms, &experiment.form);
        }
        self.touched.insert(*id);
        match verdict {
            Verdict::Baseline | Verdict::Kept => {
                self.unadvanced = Some(*id);
                self.standing.insert(*id, experiment);
            }
            Verdict::Suspect => self.suspect(experiment),
            _ => {
                self.leaving.insert(*id, experiment);
            }
        }
    }

    /// How often in a row an agent gave nothing to try. Of its provider's failures it is not told.
    fn note_failing(&mut self, experiment: &Experiment, verdict: Verdict, reason: &Reason, at: Timestamp) {
        let Some(run) = &mut self.run else { return };
        let failure = experiment.failure.as_ref();
        let is_excused = failure.and_then(AttemptFailure::trouble).is_some_and(|trouble| trouble.is_excused());
        let has_no_idea = matches!(failure, Some(AttemptFailure::Exhausted { .. }));
        if verdict.is_failed_attempt() && !is_excused && !has_no_idea {
            let failing = run.failing.entry(experiment.agent.clone()).or_default();
            *failing = Failing { in_a_row: failing.in_a_row + 1, at, last: reason.to_string() };
        } else if verdict.is_counted() {
            run.failing.remove(&experiment.agent);
        }
    }

    /// What broke together with the champion keeps its verdict, but may be tried again.
    fn blame_the_machine(&mut self) {
        self.champion_failed = true;
        let Some(run) = &mut self.run else { return };
        let broken = std::mem::take(&mut run.broken_in_a_row);
        self.contents.retain(|_, id| !broken.contains(id));
        self.forms.retain(|_, id| !broken.contains(id));
        self.tuning.forget(&broken);
    }

    fn count(&mut self, verdict: Verdict, reason: &Reason, at: Timestamp) {
        if verdict == Verdict::Baseline {
            return;
        }
        let run_time = self.run_time(at);
        let counts = &mut self.counts;
        match verdict.group() {
            Group::Kept => counts.kept += 1,
            Group::NotBetter => counts.not_better += 1,
            Group::Broken => counts.broken += 1,
            Group::Refused => counts.refused += 1,
            Group::NotCounted => counts.not_counted += 1,
        }
        let Some(run) = &mut self.run else { return };
        for since in [&mut self.total_since_keep, &mut run.since_keep] {
            match verdict {
                Verdict::Kept => *since = SinceKeep { run_time, experiments: 0 },
                verdict => since.experiments += u64::from(verdict.is_counted()),
            }
        }
        if verdict.is_counted() {
            counts.counted += 1;
            run.counted += 1;
            run.failed_in_a_row = 0;
            run.engine_errors_in_a_row = 0;
        } else if verdict.is_failed_attempt() {
            run.failed_in_a_row += 1;
            run.last_failure = reason.to_string();
        } else if verdict == Verdict::EngineError {
            run.engine_errors_in_a_row += 1;
            run.last_engine_error = reason.to_string();
        }
    }

    fn lose(&mut self, id: ExperimentId, loss: &Loss) {
        self.with_any(id, |found| {
            found.in_flight = found.in_flight.saturating_sub(1);
            if let Loss::Fault { what } = loss {
                found.faults += 1;
                found.last_fault = what.clone();
            }
        });
    }

    fn saw(&mut self, id: ExperimentId) {
        self.next_experiment = self.next_experiment.max(id.0 + 1);
        self.touched.insert(id);
    }

    pub(super) fn with_open(&mut self, id: ExperimentId, change: impl FnOnce(&mut Experiment)) {
        if let Some(open) = self.open.get_mut(&id) {
            change(open);
            self.touched.insert(id);
        }
    }

    fn with_any(&mut self, id: ExperimentId, change: impl FnOnce(&mut Experiment)) {
        if let Some(found) = self.open.get_mut(&id).or_else(|| self.standing.get_mut(&id)) {
            change(found);
            self.touched.insert(id);
        }
    }

    /// How often a purpose is already served for an experiment, running trials included.
    pub(super) fn trials_for(&self, id: ExperimentId, purpose: Purpose) -> u32 {
        let running =
            self.running.values().filter(|(running, _)| running.experiment == id && running.purpose == purpose);
        let done = self.find(id).into_iter().flat_map(|found| &found.trials).filter(|trial| trial.purpose == purpose);
        (running.count() + done.count()) as u32
    }
}
