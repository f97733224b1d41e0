//! The seeded simulator at work. A failing seed is printed with the command that replays it.

use std::ops::Range;
use std::panic::{catch_unwind, resume_unwind};

use overnight_model::event::{AttemptFailure, Trouble};
use overnight_testkit::sim::{KEEP_STAGES, Limits, Point, Report, Seen, Setup, Simulation};

/// Runs seeds, and says which one failed and how to see it again.
fn studies(seeds: Range<u64>) {
    let studies = seeds.end - seeds.start;
    let (experiments, seen) = all(seeds, "", Setup::draw);
    assert!(experiments >= 38 * studies, "{experiments} experiments in {studies} studies: too few to say anything");
    let Seen { noisy, deterministic, sentinels, flaky, smoked_out, folded, delivered, .. } = seen;
    assert!([noisy, deterministic, sentinels, flaky, smoked_out, folded, delivered].iter().all(|n| *n > 0), "{seen:?}");
    let Seen { repaired, repaired_and_kept, not_repaired, repairs_killed, .. } = seen;
    assert!([repaired, repaired_and_kept, not_repaired, repairs_killed].iter().all(|n| *n > 0), "{seen:?}");
    let Seen { restacked, restacked_and_kept, clashed, restacks_killed, kept_beside_others, .. } = seen;
    let stacked = [restacked, restacked_and_kept, clashed, restacks_killed, kept_beside_others];
    assert!(stacked.iter().all(|n| *n > 0), "{seen:?}");
}

/// Runs studies of one kind: how many experiments there were, and what happened.
fn all(seeds: Range<u64>, kind: &str, setup: fn(u64) -> Setup) -> (u64, Seen) {
    let (mut experiments, mut seen) = (0, Seen::default());
    for seed in seeds {
        let report = catch_unwind(|| Simulation::of(setup(seed)).run()).unwrap_or_else(|failure| {
            let to = seed + 1;
            eprintln!(
                "seed {seed} failed; see it again with\n  cargo run -p overnight-testkit --example survey {seed} {to} {kind}"
            );
            resume_unwind(failure)
        });
        experiments += report.experiments;
        seen += report.seen;
    }
    (experiments, seen)
}

/// Runs the seed in `OVERNIGHT_SIM_SEED`, telling everything; without it, one that is always the same.
#[test]
fn one_seed_told_in_full() {
    let told = std::env::var("OVERNIGHT_SIM_SEED").ok();
    let seed = told.as_deref().map_or(1, |text| text.parse().expect("OVERNIGHT_SIM_SEED is a number"));
    let report = Simulation::new(seed).verbose().run();
    if told.is_some() {
        eprintln!("{}\n{:?}", report.log.join("\n"), report.verdicts);
    }
    assert!(report.experiments > 0);
}

// Seven thousand experiments and more, in parts that can run side by side.

#[test]
fn studies_keep_their_promises_whatever_happens_1() {
    studies(0..40);
}

#[test]
fn studies_keep_their_promises_whatever_happens_2() {
    studies(40..80);
}

#[test]
fn studies_keep_their_promises_whatever_happens_3() {
    studies(80..120);
}

#[test]
fn studies_keep_their_promises_whatever_happens_4() {
    studies(120..160);
}

#[test]
fn a_changed_evaluation_opens_a_segment_and_the_champion_comes_along() {
    let rebases = (400..412).map(|seed| {
        let mut setup = Setup::draw(seed);
        (setup.faults.rebase, setup.limits) = (1, Limits::NightExperiments);
        Simulation::of(setup).run().rebases
    });
    assert!(rebases.sum::<u32>() >= 24);
}

#[test]
fn a_machine_that_breaks_ends_the_run_and_the_study_goes_on_when_it_is_mended() {
    let outages = (300..308).map(|seed| {
        let mut setup = Setup::draw(seed);
        (setup.faults.outage, setup.limits) = (20, Limits::None);
        Simulation::of(setup).run().outages
    });
    assert!(outages.sum::<u32>() > 0);
}

#[test]
fn a_flaky_guard_refuses_nobody_and_a_broken_one_ends_the_run() {
    let reports: Vec<Report> = (500..512)
        .map(|seed| {
            let mut setup = Setup::draw(seed);
            (setup.guard_before_keep, setup.limits) = (true, Limits::None);
            (setup.faults.flaky_guard, setup.faults.guard_outage, setup.faults.outage) = (2, 12, 0);
            Simulation::of(setup).run()
        })
        .collect();
    assert!(reports.iter().map(|report| report.seen.flaky).sum::<u32>() > 10);
    assert!(reports.iter().map(|report| report.outages).sum::<u32>() > 0);
}

#[test]
fn a_persons_word_on_a_suspect_is_carried_out_whatever_happens() {
    let reviews = (600..612).map(|seed| {
        let mut setup = Setup::draw(seed);
        (setup.plausible, setup.limits, setup.experiments) = (true, Limits::NightExperiments, 60);
        (setup.faults.review, setup.faults.bad_candidates, setup.tuner) = (1, true, false);
        Simulation::of(setup).run().reviews
    });
    assert!(reviews.sum::<u32>() > 10);
}

#[test]
fn small_effects_in_much_noise_on_a_machine_that_shifts() {
    let (_, seen) = all(0..10, "night", Setup::night);
    let Seen { aids, sentinels, looked_back, closes, shifts, again, restacked_and_kept, .. } = seen;
    let watched = [aids, sentinels, looked_back, closes, shifts, again, restacked_and_kept];
    assert!(watched.iter().all(|n| *n > 0), "{seen:?}");
}

#[test]
fn a_team_whose_members_differ_fail_and_are_waited_for_gives_the_best_most_turns() {
    let mut turns = std::collections::BTreeMap::<String, usize>::new();
    for seed in 0..16 {
        let report = catch_unwind(|| Simulation::of(Setup::team(seed)).run()).unwrap_or_else(|failure| {
            let to = seed + 1;
            eprintln!("see it again with\n  cargo run -p overnight-testkit --example survey {seed} {to} team");
            resume_unwind(failure)
        });
        report.asked.into_iter().for_each(|agent| *turns.entry(agent).or_default() += 1);
    }
    let all: usize = turns.values().sum();
    // About a fifth more in these short nights, in which it fails and is waited for.
    assert!(turns["good"] * 6 > turns["bad"] * 7, "{turns:?}");
    assert!(turns.values().all(|turns| *turns * 15 > all), "nobody is left out: {turns:?}");
}

/// What the gateway records of a provider that is not reached is all that the loop learns here: whoever asks is a program
/// that only says that it failed.
#[test]
fn a_provider_that_is_down_for_an_hour_is_asked_a_few_times_and_the_night_goes_on_without_it() {
    const MINUTE: i64 = 60_000;
    let (from, to) = (5 * MINUTE, 65 * MINUTE);
    let report = Simulation::of(Setup::outage(7, (from, to))).run();
    let during: Vec<_> = report.turns.iter().filter(|turn| (from..to).contains(&turn.at)).collect();
    let (good, others): (Vec<_>, Vec<_>) = during.into_iter().partition(|turn| turn.agent == "good");
    // 15 seconds, 30, a minute ... up to ten.
    assert!((6..=12).contains(&good.len()), "{good:?}");
    let what = "provider outage: the agent ended: exit code 1".to_owned();
    let failure = AttemptFailure::Error { what, trouble: Some(Trouble::Outage) };
    assert!(good.iter().all(|turn| turn.failure.as_ref() == Some(&failure)), "{good:?}");
    let proposals = others.iter().filter(|turn| turn.failure.is_none()).count();
    assert!(proposals > 20, "the slot was not idle: {proposals} proposals of others in an hour");
    let after: Vec<_> = report.turns.iter().filter(|turn| turn.agent == "good" && turn.at >= to).collect();
    assert!(after.len() > 2, "it has its turns again: {after:?}");
    // Ten minutes of waiting, and what others have begun.
    assert!(after[0].at <= to + 15 * MINUTE && after[0].failure.as_ref() != Some(&failure), "{:?}", after[0]);
    // Nothing of it is an experiment, and nothing of it ended a run.
    assert!(report.experiments >= 90 + good.len() as u64, "{} experiments", report.experiments);
    assert_eq!(report.crashes, 0);
}

#[test]
fn a_metric_that_looked_deterministic_may_scatter_late() {
    let late = |seed| Setup { noise: 0.0, jitter: 12, tuner: false, limits: Limits::None, ..Setup::draw(seed) };
    let (_, seen) = all(0..6, "", late);
    assert!(seen.woke_late > 0, "{seen:?}");
}

/// A night without an idea worth anything but one that was lucky, which nothing disturbs.
fn lucky_night(seed: u64, review: u64) -> Setup {
    let mut setup = Setup::luck(seed);
    (setup.faults.crash, setup.faults.lost_trial, setup.faults.flaky_guard) = (0, 0, 0);
    setup.faults.review = review;
    setup
}

#[test]
fn a_kill_while_a_keep_is_taken_back_or_a_night_is_closed_changes_nothing_of_it() {
    let calm = (0..40).map(|seed| (seed, Simulation::of(lucky_night(seed, 0)).run()));
    let retracted = calm.filter(|(_, report)| report.passed.retreat.is_some() && report.passed.close.is_some());
    let (seed, calm) = retracted.into_iter().next().expect("no lucky keep was taken back in forty nights");
    let (keep, append) = calm.passed.retreat.expect("one was taken back");
    let stages = KEEP_STAGES.map(|stage| Point::Keep(keep, stage)).into_iter();
    let places = stages.chain([Point::AfterAppend(append), Point::BeforeAppend(append + 1), Point::Torn(append + 1)]);
    let mut seen = Seen::default();
    for (nth, place) in places.enumerate() {
        // Whoever comes first carries it out: a person who looks, or the next run.
        let killed = Simulation::of(lucky_night(seed, nth as u64 % 2)).crash_at(place).run();
        assert_eq!(killed.crashes, 1, "never killed at {place:?}");
        assert!(killed.seen.retracted > 0, "killed at {place:?}, and nothing was taken back");
        seen += killed.seen;
    }
    let close = Point::Act(calm.passed.close.expect("the night was closed"));
    seen += Simulation::of(lucky_night(seed, 0)).crash_at(close).run().seen;
    let Seen { retracted_to_baseline, retreats_killed, retreats_reviewed, closes_killed, .. } = seen;
    let met = [retracted_to_baseline, retreats_killed, retreats_reviewed, closes_killed];
    assert!(met.iter().all(|n| *n > 0), "{seen:?}");
}

#[test]
fn the_same_seed_tells_the_same_story() {
    // Letters have names that nobody can foresee.
    let told = |seed| {
        let mut setup = Setup::draw(seed);
        setup.faults.meddling = 0;
        Simulation::of(setup).verbose().run().log
    };
    for seed in [2, 11] {
        assert_eq!(told(seed), told(seed));
    }
}

/// A small study that meets keeps, discards, broken candidates and failed attempts.
fn small(noise: f64) -> Setup {
    Setup::calm(3, 6, noise)
}

/// Kills the engine once at each of these places, and demands the decisions of the run that nobody disturbed: the
/// same contents, verdicts and metrics for every experiment, and the same surface on the branch. On a noisy metric that
/// goes for what was decided before.
fn same_decisions_after(noise: f64, places: impl Fn(&Report) -> Vec<Point>) {
    let calm = Simulation::of(small(noise)).run();
    assert_eq!(calm.crashes, 0);
    assert!(calm.verdicts["kept"] >= 2 && calm.verdicts["discarded"] >= 1, "{:?}", calm.verdicts);
    let places = places(&calm);
    assert!(!places.is_empty());
    for place in places {
        let failed = |failure| {
            eprintln!("killed at {place:?} of the small study, noise {noise}");
            resume_unwind(failure)
        };
        let killed = catch_unwind(|| Simulation::of(small(noise)).crash_at(place).run()).unwrap_or_else(failed);
        assert_eq!(killed.crashes, 1, "never killed at {place:?}");
        // What the machine did between two runs is not known, and where it scatters that may turn what comes after.
        let settled = if noise == 0.0 { &killed.decisions } else { &killed.before_crash };
        assert!(settled.iter().all(|decision| calm.decisions.contains(decision)), "killed at {place:?}: {settled:?}");
        if noise == 0.0 {
            assert_eq!(killed.decisions.len(), calm.decisions.len(), "killed at {place:?}");
            assert_eq!(killed.champion, calm.champion, "killed at {place:?}");
        }
    }
}

const NOISY: f64 = 0.001;

#[test]
fn a_kill_before_any_append_changes_no_decision() {
    same_decisions_after(0.0, |calm| (1..=calm.passed.appends).map(Point::BeforeAppend).collect());
}

#[test]
fn a_power_loss_inside_any_append_changes_no_decision() {
    same_decisions_after(0.0, |calm| (1..=calm.passed.appends).map(Point::Torn).collect());
}

#[test]
fn a_kill_after_any_append_changes_no_decision() {
    same_decisions_after(0.0, |calm| (1..=calm.passed.appends).map(Point::AfterAppend).collect());
}

#[test]
fn a_kill_after_any_append_changes_no_decision_on_a_noisy_metric() {
    same_decisions_after(NOISY, |calm| (1..=calm.passed.appends).map(Point::AfterAppend).collect());
}

#[test]
fn a_kill_at_any_action_changes_no_decision() {
    same_decisions_after(NOISY, |calm| {
        let acts = (1..=calm.passed.acts).map(Point::Act);
        acts.chain((1..=calm.passed.proposals).map(Point::Proposal)).collect()
    });
}

#[test]
fn a_kill_inside_any_keep_changes_no_decision() {
    for noise in [0.0, NOISY] {
        same_decisions_after(noise, |calm| {
            let keeps = 1..=calm.passed.keeps;
            keeps.flat_map(|keep| KEEP_STAGES.map(|stage| Point::Keep(keep, stage))).collect()
        });
    }
}
