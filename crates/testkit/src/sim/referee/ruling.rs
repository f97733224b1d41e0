//! What verdicts, keeps and trials must hold to.

use overnight_model::event::{Judged, Proposed, Purpose};
use overnight_model::proposal::Contents;
use overnight_model::study::Summary;
use overnight_model::verdict::Group;
use overnight_model::{ContentId, ExperimentId, Reason, Score, Verdict};

use super::life::Life;
use super::{MOST_TRIALS, Referee, merge};
use crate::sim::setup::Setup;

impl Referee {
    /// Whose trial it may be, for which purpose and for whose sake.
    pub(super) fn check_purpose(&mut self, experiment: ExperimentId, purpose: Purpose, aid: Option<ExperimentId>) {
        let is_champion = self.champion == Some(experiment);
        let is_carried = self.carried.contains(&experiment);
        let champion_runs = self.running.values().any(|(owner, ..)| Some(*owner) == self.champion);
        assert!(!self.closing || purpose == Purpose::Close, "a {purpose:?} trial while the night was closed");
        let life = &self.lives[&experiment];
        let is_open = life.verdict.is_none();
        assert!(life.content.is_some(), "a trial of nothing");
        match purpose {
            Purpose::Baseline => assert!(is_open && experiment == self.baseline, "{experiment} is no baseline"),
            Purpose::Screen | Purpose::Confirm => {
                assert!(is_open && !life.clashes, "a trial for a judged experiment");
                let spent = life.trials.len() + life.aided;
                let is_new = purpose == Purpose::Screen || life.scores().len() <= 1;
                assert!(is_new || spent < MOST_TRIALS, "{spent} trials for {experiment}, and no end");
            }
            Purpose::Remeasure if is_carried && is_open => assert_eq!(aid, None),
            Purpose::Remeasure => {
                assert!(is_champion && !champion_runs, "{experiment} is measured for another, and is no champion");
                let aided = aid.unwrap_or_else(|| panic!("the champion is measured for nobody's sake"));
                assert!(self.running.values().all(|(owner, ..)| *owner != aided), "{aided} runs, and waits");
                let life = self.open_life(aided);
                let spent = life.trials.len() + life.aided;
                assert!(spent < MOST_TRIALS, "{spent} trials for {aided}, and no end");
                life.aided += 1;
                self.seen.aids += 1;
            }
            Purpose::Sentinel => {
                // Beside the champion the baseline, and the one before the champion, where it has to be told what is wrong.
                let former = self.line.iter().nth_back(1);
                let is_other = experiment == self.baseline || former == Some(&experiment);
                assert!((is_champion || is_other) && !is_open, "{experiment} is watched, and is nobody");
                let is_running = self.running.values().any(|(owner, ..)| *owner == experiment);
                assert!(!is_running && aid.is_none(), "{experiment} is watched twice at once");
                self.seen.sentinels += 1;
                self.seen.looked_back += u32::from(!is_champion);
            }
            Purpose::Close => {
                assert!(is_champion || experiment == self.baseline, "{experiment} closes a night");
                assert_ne!(self.champion, Some(self.baseline), "there is no gain to be measured");
                self.closing = true;
                self.seen.closes += 1;
            }
            Purpose::Check => assert!(is_champion, "{experiment} is checked, and is no champion"),
        }
    }

    /// A proposal is put on the champion that there is now, with what both changed and nothing else.
    pub(super) fn restack(&mut self, proposed: &Proposed) {
        let id = proposed.experiment;
        assert!(self.running.values().all(|(owner, ..)| *owner != id), "{id} is put elsewhere while it runs");
        assert_eq!(Some(&proposed.parent.0), self.branch.as_ref(), "{id} was put on another than the champion");
        let expected = self.expected(id);
        let expected = expected.unwrap_or_else(|| panic!("{id} was put on a champion that changed the same lines"));
        assert!(merge::is(&self.texts[&proposed.content], &expected), "{id} lost something on the new champion");
        let life = self.open_life(id);
        life.content = Some(proposed.content.clone());
        life.becomes(&proposed.commit.0);
        life.parent = Some(proposed.parent.0.clone());
        (life.fresh_from, life.restacks) = (life.trials.len(), life.restacks + 1);
        self.guarded.retain(|(experiment, ..), _| *experiment != id);
        self.smokes.forget(id);
        self.seen.restacked += 1;
    }

    pub(super) fn clash(&mut self, id: ExperimentId) {
        let expected = self.expected(id);
        let champion = self.champion.and_then(|id| self.lives[&id].content.clone()).expect("there is a champion");
        // Where it is there already, nothing is left of it; where a part of it is, nobody can tell whose that was.
        let [old, ours, theirs] = self.sides(id);
        let shares = merge::shares(old, ours, theirs);
        let is_there = shares || expected.is_none_or(|expected| merge::is(&self.texts[&champion], &expected));
        assert!(
            is_there,
            "{id} could have been put on the new champion:\n{}",
            self.sides(id).map(merge::told).join("\n")
        );
        self.open_life(id).clashes = true;
        self.seen.clashed += 1;
    }

    /// What a proposal comes to on top of the present champion; `None` where both changed the same lines.
    fn expected(&self, id: ExperimentId) -> Option<merge::Settings> {
        let [old, ours, theirs] = self.sides(id);
        merge::expected(old, ours, theirs)
    }

    /// What a proposal was made from, the present champion, and the proposal.
    fn sides(&self, id: ExperimentId) -> [&Contents; 3] {
        let champion = &self.lives[&self.champion.expect("there is a champion")];
        let life = &self.lives[&id];
        let parent = life.parent.as_ref().expect("a proposal has a parent");
        assert!(!champion.commits.contains(parent), "{id} is put on the champion that it was made for");
        let made_from = self.lives.values().find(|life| life.commits.contains(parent)).expect("its parent is known");
        let text = |life: &Life| {
            let content: &ContentId = life.content.as_ref().expect("it has a surface");
            &self.texts[content]
        };
        [text(made_from), text(champion), text(life)]
    }

    /// A keep is taken back, by trials that had no part in choosing it.
    pub(super) fn retract(&mut self, id: ExperimentId) {
        assert_eq!(self.champion, Some(id), "{id} is taken back, and is no champion");
        assert_eq!(self.unadvanced, None, "{id} is taken back while the branch moves");
        assert!(self.scatters, "{id} is taken back though every repeat was the same");
        let [.., before, last] = self.line[..] else { panic!("{id} is taken back, and nobody was before it") };
        assert_eq!(last, id);
        let life = self.life(id);
        assert_eq!(life.verdict, Some(Verdict::Kept), "{id} is taken back, and was never kept");
        assert!(life.is_shown(), "{id} is taken back by the trials that it was kept for");
        life.verdict = Some(Verdict::Retracted);
        (self.unadvanced, self.retreating) = (Some(before), Some(id));
        self.seen.retracted += 1;
        self.seen.retracted_to_baseline += u32::from(before == self.baseline);
    }

    pub(super) fn judge(&mut self, setup: &Setup, judged: &Judged) {
        let Judged { experiment, verdict, metric, .. } = judged;
        assert!(self.running.values().all(|(owner, ..)| owner != experiment), "{experiment} is judged while it runs");
        assert!(self.guarding.keys().all(|(owner, _)| owner != experiment), "{experiment} is judged while guarded");
        assert!(!self.smokes.is_running(*experiment), "{experiment} is judged while it is looked at");
        assert_eq!(self.unadvanced, None, "a verdict came before the branch was where the last one wants it");
        let life = self.open_life(*experiment).clone();
        assert!(!life.asked, "{experiment} is judged while its agent is at work");
        let failures = life.failures();
        let is_moved = matches!(judged.reason, Reason::Moved { .. });
        assert_eq!(life.clashes && *verdict != Verdict::EngineError, is_moved, "{experiment}: {:?}", judged.reason);
        match verdict {
            Verdict::Kept => {
                assert!(metric.is_some(), "{experiment} is kept without a metric");
                assert_eq!(failures, 0, "{experiment} is kept although a trial of it failed");
                match self.carried.contains(experiment) {
                    true => self.check_carried(setup, &life),
                    false => self.check_kept(setup, judged, &life),
                }
                let twin = self.lives.iter().find(|(id, other)| {
                    let is_near = *id < experiment && other.baseline == life.baseline;
                    is_near && other.content == life.content && other.verdict == Some(Verdict::Kept)
                });
                assert!(twin.is_none(), "{experiment} is kept, and is what {:?} was", twin.map(|(id, _)| id));
                self.seen.restacked_and_kept += u32::from(life.restacks > 0);
                self.seen.repaired_and_kept += u32::from(life.repairs > 0);
                let beside = self.running.values().any(|(owner, _, purpose)| {
                    matches!(purpose, Purpose::Screen | Purpose::Confirm) && owner != experiment
                });
                self.seen.kept_beside_others += u32::from(beside);
            }
            Verdict::Baseline => {
                assert_eq!(*experiment, self.baseline);
                let scores = life.scores();
                let enough = if scores.iter().any(|score| *score != scores[0]) { 2 } else { 3 };
                assert!(scores.len() >= enough && failures == 0, "the baseline was judged on {:?}", life.trials);
                let kind = if enough == 2 { &mut self.seen.noisy } else { &mut self.seen.deterministic };
                *kind += 1;
            }
            Verdict::Discarded if is_moved => {}
            Verdict::Discarded => {
                assert!(!life.fresh().is_empty() && failures == 0, "discarded on {:?}", life.trials);
            }
            Verdict::Crashed if matches!(judged.reason, Reason::Smoke { .. }) => self.check_smoked_out(*experiment),
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
            Verdict::Duplicate | Verdict::NoChange => assert!(life.fresh().is_empty(), "a repeat cost a trial"),
            _ => {}
        }
        if matches!(verdict, Verdict::Kept | Verdict::Baseline) {
            self.unadvanced = Some(*experiment);
        }
        match verdict.group() {
            Group::Broken => self.doubt.broken += 1,
            _ if life.gave_a_number => self.doubt.broken = 0,
            _ => {}
        }
        let champion = self.champion;
        let life = self.life(*experiment);
        life.verdict = Some(*verdict);
        life.against = champion;
        life.metric = metric.map(Score::get);
    }

    /// A keep stands on the champion of this moment, and was measured there.
    fn check_kept(&self, setup: &Setup, judged: &Judged, life: &Life) {
        let id = judged.experiment;
        let champion = self.champion.and_then(|id| self.lives.get(&id)).expect("there is a champion to beat");
        let parent = life.parent.as_ref().expect("a proposal has a parent");
        assert!(champion.commits.contains(parent), "{id} is kept in place of a champion that it does not hold");
        let scores = life.scores();
        assert!(!scores.is_empty(), "{id} is kept on trials of another surface");
        let gain = judged.estimate.expect("a keep has a gain").gain;
        match judged.reason {
            Reason::Better { .. } => {
                assert!(!self.scatters, "{id} was kept as if every repeat were the same");
                let level = champion.level().mean().expect("a champion has a level");
                let gains: Vec<f64> = scores.iter().map(|score| setup.goal.gain(level, *score)).collect();
                // One trial decides once four commits gave their number twice.
                let standing = self.lives.values().filter(|life| life.scores().len() > 1);
                let equal_twice = standing
                    .filter(|life| matches!(life.verdict, Some(Verdict::Baseline | Verdict::Kept | Verdict::Retracted)))
                    .count();
                assert!(gains.len() >= 2 || equal_twice >= 4, "{id} was kept on {scores:?}");
                assert!(
                    gains.iter().all(|gain| *gain > 0.0 && *gain >= setup.min_gain),
                    "{id} was kept with gains of {gains:?}"
                );
            }
            Reason::Expected { gain: expected, chance, .. } => {
                assert!(self.scatters, "{id} was kept by chances though every repeat was the same");
                assert!(expected > 0.0 && expected >= setup.min_gain && gain == expected, "{id}: {:?}", judged.reason);
                assert!((0.0..=1.0).contains(&chance), "{id}: {:?}", judged.reason);
            }
            Reason::Simpler { tokens, before, .. } => assert!(tokens < before, "{id}: {:?}", judged.reason),
            _ => panic!("{id} was kept because {:?}", judged.reason),
        }
    }

    /// What came over from another segment was measured as the baseline was, and is not far below it.
    fn check_carried(&self, setup: &Setup, life: &Life) {
        assert_eq!(self.champion, Some(self.baseline), "a champion is compared with the baseline of its segment");
        assert!(life.trials.iter().all(|(purpose, _)| *purpose == Purpose::Remeasure) && life.trials.len() >= 3);
        let level = |life: &Life| life.level().mean().expect("a level");
        let gain = setup.goal.gain(level(&self.lives[&self.baseline]), level(life));
        let far = 8.0 * setup.noise + setup.largest_shift();
        assert!(gain >= -far, "a champion that is worse by {} was carried over", -gain);
    }

    pub(super) fn check_summary(&self, summary: &Summary) {
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
