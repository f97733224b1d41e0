//! `overnight pause` and `overnight resume`: nothing new begins until a person says so, also over the end of a run.

use overnight_engine::clock;
use overnight_engine::deliver::is_paused;
use overnight_engine::inbox::{Inbox, Letter};
use overnight_engine::ledger::Reader;
use overnight_engine::load::{Site, locate};
use overnight_engine::lock::Holder;
use overnight_engine::open;
use overnight_engine::say::{self, Posted};

use crate::args::Place;
use crate::error::{Exit, Outcome};
use crate::ui;

pub(crate) fn pause(place: &Place) -> Outcome<Exit> {
    say_it(place, true)
}

pub(crate) fn resume(place: &Place) -> Outcome<Exit> {
    say_it(place, false)
}

fn say_it(place: &Place, paused: bool) -> Outcome<Exit> {
    let site = locate(&place.dir, place.study.as_deref())?;
    ui::say(&set(&site, paused, if paused { "overnight pause" } else { "overnight resume" })?);
    Ok(Exit::Done)
}

/// Pauses a study or lets it go on, and says what that means.
pub(crate) fn set(site: &Site, paused: bool, what: &str) -> Outcome<String> {
    open::refuse_foreign_state(site)?;
    let _turn = Inbox::of(&site.state()).turn()?;
    let summary = Reader::find(&site.state())?.map(|reader| reader.summary()).transpose()?.flatten();
    if is_paused(site, summary.as_ref())? == paused {
        return Ok(if paused { "it is paused already" } else { "it is not paused" }.to_owned());
    }
    let letter = if paused { Letter::Pause } else { Letter::Resume };
    let me = Holder { pid: std::process::id(), what: what.to_owned(), dir: site.dir.clone() };
    let posted = say::post(site, &me, &letter, clock::now())?;
    let flag = super::study_flag(site);
    Ok(match (paused, posted) {
        (true, Posted::WithRun(_)) => {
            format!("paused     what runs finishes, nothing new begins; `overnight resume{flag}` goes on")
        }
        (true, Posted::Recorded | Posted::BeforeFirstRun) => {
            format!("paused     nobody runs the study; a run waits for `overnight resume{flag}`")
        }
        (false, Posted::WithRun(_)) => "resumed    the run goes on".to_owned(),
        (false, Posted::Recorded | Posted::BeforeFirstRun) => {
            format!("resumed    nobody runs the study: `overnight run{flag}` does")
        }
    })
}
