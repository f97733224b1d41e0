//! A person's word on suspects.

use super::*;
use crate::event::Reviewed;

fn plausible() -> Spec {
    with(|spec| spec.metric.plausible = Some((score(0.5), score(10.0))))
}

impl Driver {
    fn suspect(&mut self, text: &str, value: f64) -> ExperimentId {
        let experiment = self.propose(text);
        self.trial(value);
        assert_eq!(self.verdict().0, Verdict::Suspect);
        self.study.forget_judged();
        experiment
    }

    fn say(&mut self, experiment: ExperimentId, verdict: Verdict) {
        self.happen(What::Reviewed(Reviewed { experiment, verdict, why: "read it".into() }));
    }

    fn obstacle(&self, id: ExperimentId) -> Option<Obstacle> {
        let state = self.study.state();
        state.obstacle(state.suspects().find(|suspect| suspect.id == id).unwrap())
    }
}

#[test]
fn what_a_person_keeps_moves_the_branch_as_any_keep_does() {
    let mut driver = Driver::calibrated(plausible(), [1.0; 3]);
    let suspect = driver.suspect("bold", 0.1);
    assert_eq!(driver.obstacle(suspect), None);
    driver.say(suspect, Verdict::Kept);
    let summary = driver.study.state().summary().unwrap();
    assert_eq!((summary.kept, summary.refused, summary.suspects, summary.experiments), (1, 0, 0, 1));
    driver.start(Driver::LOOP, 1);
    driver.advance();
    assert_eq!(driver.study.state().champion().unwrap().level().mean(), Some(0.1));
    let row = driver.study.state().row(suspect).unwrap();
    assert_eq!(row.verdict, Some(Verdict::Kept));
    let reason = "by a person: read it; it was suspect: 0.1 is outside the plausible range 0.5 to 10";
    assert_eq!(row.reason.as_deref(), Some(reason));
    driver.ask();
}

#[test]
fn what_a_person_discards_leaves_with_a_new_row() {
    let mut driver = Driver::calibrated(plausible(), [1.0; 3]);
    let suspect = driver.suspect("bold", 0.1);
    driver.say(suspect, Verdict::Discarded);
    assert_eq!(driver.study.state().row(suspect).unwrap().verdict, Some(Verdict::Discarded));
    let summary = driver.study.state().summary().unwrap();
    assert_eq!((summary.not_better, summary.refused, summary.suspects), (1, 0, 0));
    driver.study.forget_judged();
    assert_eq!(driver.study.state().find(suspect), None);
    driver.say(suspect, Verdict::Kept);
    assert_eq!(driver.study.state().unadvanced, None, "a second word changes nothing");
}

#[test]
fn a_suspect_of_an_older_champion_is_not_kept_and_holds_no_surface() {
    let mut driver = Driver::calibrated(plausible(), [1.0; 3]);
    let suspect = driver.suspect("bold", 0.1);
    driver.propose("better");
    driver.trial(0.6);
    driver.trial(0.6);
    driver.verdict();
    driver.advance();
    assert_eq!(driver.obstacle(suspect), Some(Obstacle::ChampionMoved));
    assert_eq!(driver.study.state().find(suspect).unwrap().surface, []);
}

#[test]
fn what_has_no_number_to_compare_with_cannot_be_champion() {
    let mut driver = Driver::calibrated(spec(), [1.0; 3]);
    let suspect = driver.suspect("huge", 1e200);
    assert_eq!(driver.obstacle(suspect), Some(Obstacle::NoNumber));
}

#[test]
fn a_person_may_try_a_suspect_again_and_an_agent_may_not() {
    let mut driver = Driver::calibrated(plausible(), [1.0; 3]);
    driver.suspect("bold", 0.1);
    driver.propose("bold");
    assert_eq!(driver.verdict().0, Verdict::Duplicate);
    let experiment = driver.ask();
    driver.happen(What::Asked {
        experiment,
        agent: "person".into(),
        parent: CommitId("base".into()),
        why: String::new(),
    });
    driver.proposed(experiment, "bold");
    assert_eq!(driver.trial(0.1), Purpose::Screen);
    assert_eq!(driver.verdict().0, Verdict::Suspect);
}

#[test]
fn the_time_until_a_person_looks_is_no_time_of_the_study() {
    let total = with(|spec| {
        spec.metric.plausible = Some((score(0.5), score(10.0)));
        spec.limits.total.wall = Some(Millis::seconds(3600));
    });
    let mut driver = Driver::calibrated(total, [1.0; 3]);
    let suspect = driver.suspect("bold", 0.1);
    driver.now += 12 * 3_600_000;
    driver.say(suspect, Verdict::Kept);
    driver.advance();
    driver.start(Driver::LOOP, 1);
    driver.ask();
}
