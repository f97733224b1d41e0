//! The one event loop: it owns the study, decides nothing itself, and makes everything durable before it acts.

mod ask;
mod calls;
mod letter;
mod machine;
mod message;
mod offer;
mod repair;
mod restack;
mod tune;

pub(crate) use calls::count;
pub use machine::{Action, Arrival, Captured, Fault, Keep, Machine, Stakes};
pub use message::{kept_message, proposal_message, retreat_message};
pub use offer::Offer;

use std::collections::VecDeque;

use overnight_model::event::{AttemptFailure, ModelUse, Proposed, StopReason};
use overnight_model::measure::Output;
use overnight_model::proposal::{self, Contents, hypothesis};
use overnight_model::study::Row;
use overnight_model::{BlobId, CommitId, Event, ExperimentId, Millis, State, Step, Study, Timestamp, What, tuner};

use crate::brief::{self, RECENT};
use crate::ledger::{Ledger, Turn};
use crate::plans;
use crate::source;
use crate::tune::Memory;
use crate::workspace::CommitPlan;

/// How long a proposal may wait for a turn to share. An agent's answer can be dear: a trial of hours is too long.
const SHARE_WITHIN: Millis = Millis::seconds(1);

/// Runs one study on one machine.
pub struct Dispatch<M> {
    study: Study,
    ledger: Ledger,
    machine: M,
    recent: VecDeque<Row>,
    /// What the tuner knows of commits that stand.
    tuned: Memory,
    /// What briefs before this one found out.
    briefed: brief::Memory,
    /// Proposals that nobody was asked for, waiting for their turn.
    offers: VecDeque<Offer>,
    /// Commits that are in the ledger and still have to reach the store.
    unwritten: Vec<(ExperimentId, CommitPlan)>,
    /// Why nothing that a model wrote may run here, where it may not.
    no_models: Option<String>,
    /// Proposals that came by letter and are part of the turn that is made durable next.
    delivered: Vec<String>,
}

/// A proposal that is to be recorded, and what it was made from, with the tokens of that.
struct Made {
    experiment: ExperimentId,
    agent: String,
    parent: CommitId,
    description: String,
    contents: Contents,
    original: (Contents, Option<u64>),
    edits: Vec<tuner::Edit>,
}

/// What an agent answered, or what was offered.
struct Answer {
    experiment: ExperimentId,
    /// Who it is from, where nobody was asked.
    from: String,
    /// What it was made from, where nobody was asked and it says so; else the champion of this moment.
    base: Option<CommitId>,
    contents: Contents,
    description: String,
    edits: Vec<tuner::Edit>,
    took: Millis,
    output: Option<Captured>,
    used: Option<ModelUse>,
}

/// What a turn has gathered so far.
#[derive(Default)]
struct Draft {
    events: Vec<Event>,
    blobs: Vec<Vec<u8>>,
}

impl<M: Machine> Dispatch<M> {
    pub fn new(study: Study, ledger: Ledger, machine: M) -> Result<Dispatch<M>, Fault> {
        let recent = ledger.reader().last_rows(RECENT)?.into();
        Ok(Dispatch {
            study,
            ledger,
            machine,
            recent,
            tuned: Memory::default(),
            briefed: brief::Memory::default(),
            offers: VecDeque::new(),
            unwritten: Vec::new(),
            no_models: None,
            delivered: Vec::new(),
        })
    }

    /// Returns proposals of models that come by letter, for this reason.
    pub fn refuse_models(&mut self, why: Option<String>) {
        self.no_models = why;
    }

    pub fn study(&self) -> &Study {
        &self.study
    }

    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub fn machine(&mut self) -> &mut M {
        &mut self.machine
    }

    /// Records what opens a run, then turns until the run stops. `watch` sees each event once it is durable.
    pub fn run(
        &mut self,
        opening: Vec<What>,
        contents: Vec<Vec<u8>>,
        offers: Vec<Offer>,
        watch: &mut dyn FnMut(&Event, &State),
    ) -> Result<StopReason, Fault> {
        self.offers = offers.into();
        let outcome = self.turns(opening, contents, watch);
        if let Err(fault) = &outcome {
            self.record_fault(fault);
        }
        outcome
    }

    fn turns(
        &mut self,
        opening: Vec<What>,
        contents: Vec<Vec<u8>>,
        watch: &mut dyn FnMut(&Event, &State),
    ) -> Result<StopReason, Fault> {
        let mut draft = Draft { events: Vec::new(), blobs: contents };
        let now = self.machine.now();
        for what in opening {
            self.note(&mut draft, now, what);
        }
        let mut arrivals = Vec::new();
        loop {
            let mut stop_request = None;
            let now = self.machine.now();
            let letters = self.take_letters(&mut draft);
            for arrival in arrivals {
                if let Arrival::StopRequested { hurry } = arrival {
                    stop_request = Some(hurry);
                }
                self.learn(&mut draft, now, arrival)?;
            }
            let steps = self.decide(&mut draft, now)?;
            self.store(std::mem::take(&mut draft), watch)?;
            self.remove_letters(&letters);
            if let Some(hurry) = stop_request {
                self.machine.stop(hurry);
            }
            arrivals = Vec::new();
            for step in steps {
                match step {
                    Step::Stop(reason) => {
                        self.write_commits()?;
                        return Ok(reason);
                    }
                    step => {
                        let arrived = self.act(step, &arrivals)?;
                        arrivals.extend(arrived);
                    }
                }
            }
            if self.study.is_for_one() {
                arrivals.extend(self.take_offer()?);
            }
            if arrivals.is_empty() {
                // Whatever could be started is running by now: nobody waits for these.
                self.write_commits()?;
                arrivals = self.wait()?;
            }
        }
    }

    /// Waits until something happens. A proposal that finds every slot taken changes nothing yet, so it waits for a
    /// turn to share, which saves a sync. If the engine is killed meanwhile, the agent is asked again. Nor does a call
    /// that is over, which its journal remembers.
    fn wait(&mut self) -> Result<Vec<Arrival>, Fault> {
        let (mut arrivals, mut until) = (Vec::new(), None);
        loop {
            let now = self.machine.now();
            let deadline = self.study.next_deadline(now).into_iter().chain(until).min();
            let arrived = self.machine.wait(deadline)?;
            let waited_enough = arrived.is_empty();
            arrivals.extend(arrived);
            let is_call = |arrival: &Arrival| matches!(arrival, Arrival::Called(_));
            let is_early = |arrival: &Arrival| is_call(arrival) || matches!(arrival, Arrival::Proposal { .. });
            let can_wait = arrivals.iter().all(is_early) && !self.study.has_free_slot() || arrivals.iter().all(is_call);
            // Calls may come without end.
            let is_late = until.is_some_and(|until| now >= until);
            if waited_enough || is_late || !can_wait {
                return Ok(arrivals);
            }
            until = until.or(Some(Timestamp(now.0 + SHARE_WITHIN.0 as i64)));
        }
    }

    fn write_commits(&mut self) -> Result<(), Fault> {
        for (experiment, plan) in std::mem::take(&mut self.unwritten) {
            self.machine.write_proposal(experiment, &plan)?;
        }
        Ok(())
    }

    /// Asks the study until it has nothing more to say. A branch that has to move ends the turn: its verdict
    /// must be durable first. An offer whose turn has come takes the place of a question.
    fn decide(&mut self, draft: &mut Draft, now: Timestamp) -> Result<Vec<Step>, Fault> {
        let mut steps = Vec::new();
        loop {
            let Some(step) = self.study.next_step(now) else {
                match self.take_proposal(draft, now, false)? {
                    true => continue,
                    false => break,
                }
            };
            if matches!(step, Step::Ask { .. }) {
                if let Some(offered) = self.take_offer()? {
                    self.learn(draft, now, offered)?;
                    continue;
                }
                if self.take_proposal(draft, now, true)? {
                    continue;
                }
            }
            // A run for letters is over when none is left.
            if step == Step::Stop(StopReason::Done)
                && self.study.is_for_letters()
                && self.take_proposal(draft, now, false)?
            {
                continue;
            }
            if let Step::Again(again) = step {
                let (experiment, contents) = (self.study.state().next_experiment(), self.blobs(&again.surface)?);
                let (agent, description) = (again.agent, again.description);
                self.learn(draft, now, Arrival::Offered { experiment, agent, contents, description })?;
                continue;
            }
            let last = matches!(step, Step::AdvanceBranch { .. } | Step::Restack { .. } | Step::Stop(_));
            if let Some(what) = step.event() {
                self.note(draft, now, what);
            }
            steps.push(step);
            if last {
                break;
            }
        }
        Ok(steps)
    }

    /// Makes the turn durable, then shows it.
    fn store(&mut self, draft: Draft, watch: &mut dyn FnMut(&Event, &State)) -> Result<(), Fault> {
        if draft.events.is_empty() {
            return Ok(());
        }
        let touched = self.study.take_touched();
        let rows: Vec<Row> = touched.into_iter().filter_map(|id| self.study.state().row(id)).collect();
        let summary = self.study.state().summary();
        self.ledger.append(&Turn {
            events: &draft.events,
            blobs: &draft.blobs,
            rows: &rows,
            summary: summary.as_ref(),
        })?;
        for event in &draft.events {
            watch(event, self.study.state());
        }
        for row in rows.into_iter().filter(|row| row.verdict.is_some()) {
            let is_new = draft
                .events
                .iter()
                .any(|event| matches!(&event.what, What::Judged(judged) if judged.experiment == row.experiment));
            // A champion that was measured again keeps its place.
            match self.recent.iter_mut().find(|known| known.experiment == row.experiment) {
                Some(known) => *known = row,
                None if is_new => self.recent.push_back(row),
                None => {}
            }
            if self.recent.len() > RECENT {
                self.recent.pop_front();
            }
        }
        self.study.forget_judged();
        Ok(())
    }

    /// Does one step. What is known at once comes back as an arrival for the next turn; `arrived` is what the
    /// steps before it gave.
    fn act(&mut self, step: Step, arrived: &[Arrival]) -> Result<Option<Arrival>, Fault> {
        match step {
            Step::Ask { experiment, agent, .. } => return self.ask(experiment, &agent, arrived),
            Step::StartTrial { trial, experiment, seed, slot, .. } => {
                let contents = self.contents_of(experiment)?;
                let stakes = self.stakes()?;
                self.machine.act(Action::Trial { trial, experiment, seed, slot, contents, stakes })?;
            }
            Step::RunGuard { experiment, guard, command, on, slot } => {
                let contents = self.contents_of(on.unwrap_or(experiment))?;
                self.machine.act(Action::Guard { experiment, guard, slot, command, contents })?;
            }
            Step::Smoke { experiment, command, on } => {
                let contents = self.contents_of(on.unwrap_or(experiment))?;
                self.machine.act(Action::Smoke { experiment, command, contents })?;
            }
            Step::Repair { experiment, agent } => self.ask_repair(experiment, &agent)?,
            Step::AdvanceBranch { experiment } => return self.advance(experiment).map(Some),
            Step::Restack { experiment } => return self.restack(experiment).map(Some),
            // The branch follows in its own step, once this is durable.
            Step::Retract(_) | Step::Judge(_) | Step::Again(_) | Step::Stop(_) => {}
        }
        Ok(None)
    }

    /// The keep order: the verdict is durable; now the commit, then the branch, then the event.
    fn advance(&mut self, experiment: ExperimentId) -> Result<Arrival, Fault> {
        let (keep, champion) = plans::keep(self.ledger.reader(), self.study.state(), experiment)?;
        let to = self.machine.keep(experiment, champion.as_ref(), &keep)?;
        if let Keep::Commit(plan) = keep {
            // The store has it too, so a deleted branch and a `git gc` in the user's repository lose nothing.
            self.unwritten.push((experiment, plan));
        }
        Ok(Arrival::BranchAdvanced { experiment, from: champion, to })
    }

    fn stakes(&self) -> Result<Stakes, Fault> {
        let state = self.study.state();
        if self.study.spec().evaluate.score.is_none() {
            return Ok(Stakes::default());
        }
        let champion = state.champion.map(|champion| self.contents_of(champion)).transpose()?;
        Ok(Stakes { champion, open: state.open().filter_map(|open| open.content.clone()).collect() })
    }

    fn contents_of(&self, id: ExperimentId) -> Result<Contents, Fault> {
        let found = self.study.state().find(id).ok_or_else(|| Fault::lost("the experiment"))?;
        self.blobs(&found.surface)
    }

    fn blobs(&self, surface: &[proposal::SurfaceBlob]) -> Result<Contents, Fault> {
        let read = |file: &proposal::SurfaceBlob| Ok((file.path.clone(), self.ledger.blob(&file.blob)?));
        Ok(Contents(surface.iter().map(read).collect::<Result<_, Fault>>()?))
    }

    /// Turns what arrived into events.
    fn learn(&mut self, draft: &mut Draft, now: Timestamp, arrival: Arrival) -> Result<(), Fault> {
        let what = match arrival {
            Arrival::Proposal { experiment, contents, description, edits, took, output, used } => {
                let used = self.priced(used);
                // An agent that was asked is known by what it was asked for.
                let (from, base) = (String::new(), None);
                let answer = Answer { experiment, from, base, contents, description, edits, took, output, used };
                if self.is_proposed(experiment) {
                    return self.learn_repair(draft, now, answer);
                }
                return self.learn_proposal(draft, now, answer);
            }
            Arrival::Offered { experiment, agent, contents, description } => {
                let (edits, took, output, base, used) = (Vec::new(), Millis(0), None, None, None);
                let from = agent;
                let answer = Answer { experiment, from, base, contents, description, edits, took, output, used };
                return self.learn_proposal(draft, now, answer);
            }
            Arrival::AttemptFailed { experiment, failure, output, used } if self.is_proposed(experiment) => {
                let (failure, used) = (self.failure(experiment, failure), self.priced(used));
                What::NotRepaired { experiment, failure, output: draft.keep(output), used }
            }
            Arrival::AttemptFailed { experiment, failure, output, used } => {
                let (failure, used) = (self.failure(experiment, failure), self.priced(used));
                What::AttemptFailed { experiment, failure, output: draft.keep(output), used }
            }
            Arrival::AttemptLost { experiment } => What::AttemptLost { experiment },
            Arrival::Called(called) => What::Called(called),
            Arrival::TrialFinished { trial, experiment, mut measurement, output, scorer_output } => {
                measurement.output = draft.keep(output);
                if let Some(scorer) = &mut measurement.scorer {
                    scorer.output = draft.keep(scorer_output);
                }
                self.trial_finished(trial, experiment, measurement)
            }
            Arrival::TrialLost { trial, experiment, loss } => What::TrialLost { trial, experiment, loss },
            Arrival::GuardFinished { experiment, guard, ending, usage, output } => {
                What::GuardFinished { experiment, guard, ending, usage, output: draft.keep(output) }
            }
            Arrival::GuardLost { experiment, guard, loss } => What::GuardLost { experiment, guard, loss },
            Arrival::SmokeFinished { experiment, ending, usage, output } => {
                What::SmokeFinished { experiment, ending, usage, output: draft.keep(output) }
            }
            Arrival::SmokeLost { experiment, loss } => What::SmokeLost { experiment, loss },
            Arrival::BranchAdvanced { experiment, from, to } => {
                What::BranchAdvanced { experiment, from, to, retracted: self.study.state().retreating }
            }
            Arrival::Restacked { experiment, contents } => {
                return self.learn_restacked(draft, now, experiment, contents);
            }
            Arrival::StopRequested { hurry } => What::StopRequested { hurry },
            Arrival::Letter => return Ok(()),
        };
        self.note(draft, now, what);
        Ok(())
    }

    fn learn_proposal(&mut self, draft: &mut Draft, now: Timestamp, answer: Answer) -> Result<(), Fault> {
        let Answer { experiment, from, base, contents, description, edits, took, output, used } = answer;
        let state = self.study.state();
        let asked = state.find(experiment);
        let agent = asked.map_or(from, |asked| asked.agent.clone());
        let champion = state.champion().ok_or_else(|| Fault::lost("the champion"))?;
        let parent = asked.and_then(|asked| asked.parent.clone()).or(base).or_else(|| champion.commit.clone());
        let parent = parent.ok_or_else(|| Fault::lost("the champion's commit"))?;
        // The champion may have moved since the agent was asked: its own copy is what it changed.
        let started_from = state.standing().find(|standing| standing.is(&parent)).unwrap_or(champion);
        let (started_from, tokens_before) = (started_from.id, started_from.tokens);
        let original = self.contents_of(started_from)?;
        let output = draft.keep(output);
        let failure = if contents == original {
            Some(AttemptFailure::NoChange)
        } else {
            proposal::breach(&self.study.spec().surface, &original, &contents)
                .map(|what| AttemptFailure::Policy { what })
        };
        if asked.is_none() && failure.is_some() {
            let parent = champion.commit.clone().ok_or_else(|| Fault::lost("the champion's commit"))?;
            self.note(draft, now, What::Asked { experiment, agent: agent.clone(), parent, why: String::new() });
        }
        if let Some(failure) = failure {
            let failure = self.failure(experiment, failure);
            self.note(draft, now, What::AttemptFailed { experiment, failure, output, used });
            return Ok(());
        }
        let description = match hypothesis(&description) {
            empty if empty.is_empty() => "(no description)".to_owned(),
            line => line,
        };
        // Who asked nobody for values may have changed nothing else.
        let edits = if edits.is_empty() { self.edits_between(&original, &contents) } else { edits };
        let original = (original, tokens_before);
        let made = Made { experiment, agent, parent, description, contents, original, edits };
        let proposed = Proposed { took, output, used, ..self.make(draft, now, made)? };
        self.note(draft, now, What::Proposed(proposed));
        Ok(())
    }

    /// The commit of a proposal, and what is recorded of it.
    fn make(&mut self, draft: &mut Draft, now: Timestamp, made: Made) -> Result<Proposed, Fault> {
        let Made { experiment, agent, parent, description, contents, original: (original, tokens_before), edits } =
            made;
        let commit_time = now.0 / 1000;
        let message = proposal_message(experiment, &description);
        let (content, surface) = (contents.id(), contents.blobs());
        let form = source::forms(&contents, Some(&original));
        let tokens = form.as_ref().and_then(|form| form.tokens);
        // Another seed has as many tokens: most edits need no second look.
        let reseeds = tokens == tokens_before && source::reseeds(&original, &contents);
        let plan = CommitPlan { parent: crate::workspace::oid(&parent)?, files: contents.0, message, at: commit_time };
        let commit = self.machine.commit_id(&plan)?;
        draft.blobs.extend(plan.files.iter().map(|(_, bytes)| bytes.clone()));
        self.unwritten.push((experiment, plan));
        Ok(Proposed {
            experiment,
            agent,
            parent,
            commit,
            commit_time,
            description,
            content,
            surface,
            form: form.map(|form| form.id),
            tokens,
            reseeds,
            edits,
            took: Millis(0),
            output: None,
            used: None,
        })
    }

    fn note(&mut self, draft: &mut Draft, at: Timestamp, what: What) {
        let event = Event { at, what };
        self.study.apply(&event);
        draft.events.push(event);
    }

    /// Leaves word of our own fault, where the ledger can still take it. Nothing depends on it.
    fn record_fault(&mut self, fault: &Fault) {
        let what = What::RunStopped { reason: StopReason::Fault { what: fault.to_string() } };
        let event = Event { at: self.machine.now(), what };
        // The state may be ahead of the ledger here, so only what was stored may be folded again.
        if let Ok((mut ledger, mut state)) =
            Ledger::open(self.ledger.path().parent().unwrap_or(std::path::Path::new(".")))
        {
            state.apply(&event);
            let summary = state.summary();
            let _ = ledger.append(&Turn { events: &[event], blobs: &[], rows: &[], summary: summary.as_ref() });
        }
    }
}

impl Draft {
    fn keep(&mut self, captured: Option<Captured>) -> Option<Output> {
        let Captured { kept, bytes } = captured?;
        if kept.is_empty() {
            return None;
        }
        let output = Output { blob: BlobId::of(&kept), bytes };
        self.blobs.push(kept);
        Some(output)
    }
}
