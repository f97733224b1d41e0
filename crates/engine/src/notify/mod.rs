//! Tells a person who is away what happened: by a command of theirs, on their desktop, or to a webhook.
//!
//! Whoever is told has a thread and a short queue of its own, so the loop waits for nobody. What cannot be delivered is
//! said, and is no trouble of the run.

mod gather;
mod line;
mod mask;
mod notice;
mod shape;
mod target;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use overnight_model::spec::{KeySource, NotifySpec};

use crate::clock::Stopwatch;
use crate::load;
use crate::process::Keeper;
use gather::Gather;
use line::{Line, Missed};
use mask::Mask;
pub use notice::Notice;
use target::Target;

/// How long the end of a run waits for what is still on its way.
pub const FAREWELL: Duration = Duration::from_secs(5);

/// Says something to whoever looks at the run.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// Everybody who is told.
pub struct Notifier {
    lines: Vec<Line>,
    mask: Mask,
    say: Say,
}

impl Notifier {
    /// Begins to tell those whom the triplet names. Commands run in `folder`, as the person's own, outside of any sandbox:
    /// no candidate has a part in them.
    pub fn start(spec: &NotifySpec, keeper: &Keeper, folder: &Path, say: Say) -> Notifier {
        let mask = mask_for(spec);
        let lines = target::all(spec, keeper, folder).into_iter();
        let lines =
            lines.map(|target| Line::open(target, Gather::new(spec.gather), mask.clone(), say.clone())).collect();
        Notifier { lines, mask, say }
    }

    /// Comes back at once, whatever becomes of it.
    pub fn tell(&self, notice: Notice) {
        let notice = self.mask.notice(notice);
        self.lines.iter().for_each(|line| line.tell(notice.clone()));
    }

    /// Waits a moment for what is on its way, and says what did not arrive.
    pub fn end(self) {
        let Notifier { lines, say, .. } = self;
        let since = Stopwatch::start();
        let ending: Vec<_> = lines.into_iter().map(Line::hang_up).collect();
        for line in ending {
            if let Some(Missed { whom, missed, of, why }) = line.wait(FAREWELL.saturating_sub(since.elapsed())) {
                let notices = if of == 1 { "notice" } else { "notices" };
                say(&format!("not notified: {missed} of {of} {notices} did not reach {whom}: {why}"));
            }
        }
    }
}

/// How whoever is told is called, and why they cannot be where that is known beforehand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub whom: String,
    pub trouble: Option<String>,
}

/// Those whom a triplet names. Nothing is run or sent.
pub fn told(spec: &NotifySpec, keeper: &Keeper, folder: &Path) -> Vec<Told> {
    let told = |target: Target| Told { whom: target.name(), trouble: target.trouble() };
    target::all(spec, keeper, folder).into_iter().map(told).collect()
}

/// Sends one notice to each of them, once, and waits for what comes of it.
pub fn try_all(
    spec: &NotifySpec,
    keeper: &Keeper,
    folder: &Path,
    notice: &Notice,
) -> Vec<(String, Result<(), String>)> {
    let mask = mask_for(spec);
    let notice = mask.notice(notice.clone());
    let one = |target: Target| {
        let (name, mask) = (target.name(), mask.clone());
        let sent = target.send(&notice, &|_| {}).map_err(|miss| mask.with(miss.secret).text(&miss.what));
        (name, sent)
    };
    target::all(spec, keeper, folder).into_iter().map(one).collect()
}

/// What nobody is told, the address of a webhook included where a variable holds it.
fn mask_for(spec: &NotifySpec) -> Mask {
    let address = match spec.webhook.as_ref().map(|webhook| &webhook.address) {
        Some(KeySource::Variable(name)) => load::named_environment(&[name]).into_iter().next().map(|(_, value)| value),
        _ => None,
    };
    Mask::of_environment().with(address)
}
