//! Tells a person who is away what happens in a run, as far as the triplet asks for it.

use std::path::Path;
use std::sync::Arc;

use overnight_engine::clock;
use overnight_engine::dispatch::Fault;
use overnight_engine::load::Site;
use overnight_engine::notify::{Notifier, Told, told};
use overnight_engine::process::Keeper;
use overnight_model::State;
use overnight_model::event::{Event, Scope, StopReason};
use overnight_model::spec::{NotifySpec, Occasion};
use overnight_model::study::Summary;

use crate::ui::{Live, printable};
use crate::views::notice;

/// Whoever is told of this run; nobody where nobody is named.
pub(super) struct Notices {
    to: Option<Notifier>,
    on: Vec<Occasion>,
    study: String,
    flag: String,
}

impl Notices {
    /// Begins to tell, and says whom.
    pub(super) fn start(spec: &NotifySpec, site: &Site, keeper: &Keeper, scope: Scope, live: &Live) -> Notices {
        let (study, flag) = (site.study.clone(), super::study_flag(site));
        let on = told_of(spec, scope);
        if !spec.has_target() || on.is_empty() {
            return Notices { to: None, on, study, flag };
        }
        for line in lines(spec, keeper, &site.dir) {
            live.say(&format!("notify     {line}"));
        }
        let screen = live.clone();
        let to = Notifier::start(spec, keeper, &site.dir, Arc::new(move |text| screen.say(&printable(text))));
        Notices { to: Some(to), on, study, flag }
    }

    /// Tells of an event, where it is news.
    pub(super) fn see(&self, event: &Event, state: &State) {
        let Some(to) = &self.to else { return };
        if let Some((occasion, notice)) = notice::of(event, state, &self.study, &self.flag)
            && self.on.contains(&occasion)
        {
            to.tell(notice);
        }
    }

    /// Tells of the end, and waits a moment for what is on its way.
    pub(super) fn end(self, outcome: &Result<StopReason, Fault>, summary: Option<&Summary>) {
        let Notices { to: Some(to), on, study, flag } = self else { return };
        let reason = match outcome {
            Ok(reason) => reason.clone(),
            Err(fault) => StopReason::Fault { what: fault.to_string() },
        };
        let (occasion, notice) = notice::end(&reason, summary, &study, &flag, clock::now());
        if on.contains(&occasion) {
            to.tell(notice);
        }
        to.end();
    }
}

/// Who would be told of what, one line each; why not, where that is known.
pub(super) fn lines(spec: &NotifySpec, keeper: &Keeper, folder: &Path) -> Vec<String> {
    let on = spec.on.iter().map(|occasion| occasion.name()).collect::<Vec<_>>().join(", ");
    let line = |Told { whom, trouble }: Told| match trouble {
        None => format!("{whom}: {on}"),
        Some(trouble) => format!("{whom} cannot be told: {trouble}"),
    };
    told(spec, keeper, folder).into_iter().map(line).map(|line| printable(&line)).collect()
}

/// What a run of this kind has to tell. Whoever waits for one proposal, or for a new baseline, is there already.
fn told_of(spec: &NotifySpec, scope: Scope) -> Vec<Occasion> {
    match scope {
        Scope::One | Scope::Loop { experiments: Some(0) } => Vec::new(),
        Scope::Loop { .. } => spec.on.clone(),
        // One for each proposal; whoever made it hears of its end.
        Scope::Letters => spec.on.iter().copied().filter(|on| !matches!(on, Occasion::End | Occasion::Stop)).collect(),
    }
}
