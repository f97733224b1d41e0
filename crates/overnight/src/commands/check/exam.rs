//! The same sequence on a draft, before it is in the checkout. Nothing is stored, and what warns of a night refuses a draft
//! where an answer that is none is as good as any.

use overnight_engine::load::Site;
use overnight_engine::process::Keeper;
use overnight_engine::rehearse::Subject;
use overnight_model::judge::Noise;
use overnight_model::spec::Tier;
use overnight_model::units::short_number;

use super::report::{Finding, Level, Report};
use super::screen::Screen;
use super::study::{Halt, Sequence};
use crate::commands::interrupt::Interrupt;
use crate::error::Outcome;
use crate::ui::Live;
use crate::views::night::{rough, tidy};

/// What came of examining a draft.
pub(in crate::commands) enum Exam {
    /// What was measured, in one line, and what to know before it is used.
    Passed {
        measured: String,
        warnings: Vec<String>,
    },
    /// Why it is no exam.
    Refused {
        why: String,
    },
    Interrupted,
}

/// Runs a draft on the tree as it is, and on answers that are none.
pub(in crate::commands) fn examine(
    site: &Site,
    subject: Subject,
    keeper: Keeper,
    sandbox: Option<Tier>,
    interrupt: &Interrupt,
) -> Outcome<Exam> {
    let screen = Screen { live: Live::new(true), is_quiet: false, is_aside: true };
    // A model wrote what runs here.
    let mut sequence =
        Sequence { is_models: true, ..Sequence::new(&subject, &keeper, screen, sandbox, interrupt.clone()) };
    let halt = sequence.run(site, subject, keeper).err();
    let Sequence { report, screen, bench, .. } = sequence;
    drop(bench);
    screen.live.end();
    match halt {
        Some(Halt::Interrupted) => return Ok(Exam::Interrupted),
        Some(Halt::Error(error)) => return Err(error),
        Some(Halt::Enough) | None => {}
    }
    let is_null = |finding: &&Finding| finding.topic == "null" && finding.level >= Level::Warn;
    let failed = report.findings.iter().find(|finding| finding.level >= Level::Refused);
    Ok(match failed.or_else(|| report.findings.iter().find(is_null)) {
        Some(Finding { topic, what, .. }) => Exam::Refused { why: format!("{topic}: {what}") },
        None => Exam::Passed { measured: measured(&report), warnings: warnings(&report) },
    })
}

/// `parse_ms 12.5 ± 0.3 in 5 trials of 1.2s`.
fn measured(report: &Report) -> String {
    let value = short_number(report.value.unwrap_or(f64::NAN));
    let noise = match report.noise {
        Some(Noise::Noisy { sd, .. }) => format!(" ± {}", rough(sd)),
        Some(Noise::Deterministic) => ", the same each time,".to_owned(),
        Some(Noise::Unknown) | None => String::new(),
    };
    let trials = report.trials.iter().filter(|trial| trial.surface == "as it is").count();
    let seconds = report.seconds.unwrap_or(0.0);
    let each = tidy(overnight_model::Millis((seconds * 1000.0) as u64));
    format!("{} {value}{noise} in {trials} trials of {each}", report.metric)
}

/// What is worth knowing of the number itself; the rest stands above.
fn warnings(report: &Report) -> Vec<String> {
    let is_one =
        |finding: &&Finding| finding.level == Level::Warn || finding.topic == "trust" && finding.level > Level::Ok;
    let shown = |finding: &Finding| format!("{}: {}", finding.topic, finding.what);
    report.findings.iter().filter(is_one).map(shown).collect()
}
