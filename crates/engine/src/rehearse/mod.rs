//! A trial outside the loop: without lock, ledger or branch, on the working tree as it is or on any commit.
//!
//! What is measured lies in a scratch store that borrows the user's objects; the user's repository is only read.

mod draft;
mod folder;
mod sides;
mod tonight;

pub use crate::worker::Dry;
pub use crate::workspace::NewFile;
pub use draft::Draft;
pub use sides::{Revision, fresh_seed};

use std::sync::Arc;

use overnight_model::event::Loss;
use overnight_model::measure::Usage;
use overnight_model::proposal::Contents;
use overnight_model::scoring::Scored;
use overnight_model::spec::{Member, Spec, Tier};
use overnight_model::{Ending, ExperimentId, Measurement, Seed, TrialId};
use thiserror::Error;

use crate::clock;
use crate::dispatch::{Captured, Fault, count};
use crate::gateway::Gateway;
use crate::gateway::account::Tally;
use crate::load::{self, Site};
use crate::open::{OpenError, refuse_tracked_state, spec_at, state_pattern};
use crate::process::Keeper;
use crate::sandbox::{self, Found, Sandbox, SetUpError, Wanted, fingerprint_inputs};
use crate::worker::{self, Done, HINT_MARK, Kept, Place, Room, Shop, Spot, StopHandle, Trouble};
use crate::workspace::{Dirty, GitError, Names, ObjectId, Store, UserRepo};
use folder::Folder;

/// A machine that goes to sleep again and again is not one to measure on.
const SUSPENSIONS: u32 = 3;

/// What is to be measured: a tree, and the triplet that says how.
pub struct Subject {
    pub spec: Spec,
    /// The surface as it is in the tree.
    pub surface: Contents,
    /// The user's repository.
    pub user: UserRepo,
    /// The text of the triplet.
    pub triplet: String,
    dirty: Vec<Dirty>,
    site: Site,
    commit: ObjectId,
    /// The repository with the commit in it.
    source: UserRepo,
    folder: Folder,
}

impl Subject {
    /// The working tree: every tracked file as it lies in the checkout.
    pub fn worktree(site: &Site) -> Result<Subject, OpenError> {
        let user = UserRepo::discover(&site.dir)?;
        let triplet = read_triplet(site)?;
        refuse_tracked_state(site, &user, user.head()?)?;
        let folder = Folder::make(site)?;
        let store = Store::open_or_init(&folder.path().join("store.git"), &user)?;
        let commit = store.take_worktree(&user, clock::now().0 / 1000)?;
        let source = store.beside(&user);
        let dirty = user.dirty()?;
        Subject::of(site, triplet, (user, dirty), (source, commit), folder)
    }

    /// A commit as a whole, measured as the triplet of the working tree says.
    pub fn at(site: &Site, commit: ObjectId) -> Result<Subject, OpenError> {
        let user = UserRepo::discover(&site.dir)?;
        let triplet = read_triplet(site)?;
        refuse_tracked_state(site, &user, user.head()?)?;
        let (folder, source) = (Folder::make(site)?, user.clone());
        Subject::of(site, triplet, (user, Vec::new()), (source, commit), folder)
    }

    fn of(
        site: &Site,
        triplet: String,
        (user, dirty): (UserRepo, Vec<Dirty>),
        (source, commit): (UserRepo, ObjectId),
        folder: Folder,
    ) -> Result<Subject, OpenError> {
        let spec = spec_at(site, &source, &triplet, commit)?;
        if folder.path().starts_with(site.state()) {
            // Not before the triplet is known to be one: a slip in it leaves nothing behind.
            user.exclude(&state_pattern(&user, site))?;
        }
        let surface = spec.surface.paths().map(|path| Ok((path.to_owned(), source.read(commit, path)?)));
        let surface = Contents(surface.collect::<Result<_, GitError>>()?);
        Ok(Subject { spec, surface, user, triplet, dirty, site: site.clone(), commit, source, folder })
    }

    /// Every tracked file, by its path from the top of the repository.
    pub fn files(&self) -> Result<Vec<String>, GitError> {
        let files = self.source.files(self.commit)?;
        Ok(files.into_iter().filter_map(|file| file.path.to_str().map(ToOwned::to_owned)).collect())
    }

    /// A tracked file as it is in the tree.
    pub fn read(&self, path: &str) -> Result<Vec<u8>, GitError> {
        self.source.read(self.commit, path)
    }

    /// What this machine enforces, or the tier that was asked for.
    pub fn find(&self, keeper: &Keeper, tier: Option<Tier>) -> Found {
        sandbox::find(keeper, self.folder.path(), self.spec.sandbox.layer, tier)
    }
}

#[derive(Debug, Error)]
pub enum RehearseError {
    #[error("stopped by a person")]
    Interrupted,
    #[error("the engine could not run it: {what}")]
    Lost { what: String },
    #[error("could not look at an input")]
    Inputs(#[source] std::io::Error),
    #[error(transparent)]
    SetUp(#[from] SetUpError),
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// One trial, with what was printed in it.
pub struct Rehearsed {
    pub measurement: Measurement,
    /// What `run` printed.
    pub output: String,
    /// What the scorer printed, where it was run.
    pub scorer_output: Option<String>,
    /// What a failed command misses, and the line to add.
    pub hint: Option<String>,
}

/// How a guard's command ended.
pub struct Guarded {
    pub ending: Ending,
    pub usage: Usage,
    pub output: String,
    pub hint: Option<String>,
}

/// A place where trials of one subject are run, one after another, each in a sandbox as new.
pub struct Bench {
    spot: Spot,
    /// Where the holdout is opened, made when it is.
    holdout: Option<Place>,
    room: Room,
    /// What models were asked since the last trial.
    tally: Arc<Tally>,
    /// Gone last: everything above works in it.
    _folder: Folder,
}

/// Stops whatever runs on a bench, from any thread.
#[derive(Clone)]
pub struct Stopper(StopHandle);

impl Stopper {
    /// Kills what runs, and whatever is started after that.
    pub fn stop(&self) {
        self.0.stop(true);
    }
}

impl Bench {
    /// Makes the sandbox of a subject, `prepare` included; `say` tells a person what takes long.
    pub fn open(subject: Subject, keeper: Keeper, found: &Found, say: &dyn Fn(&str)) -> Result<Bench, RehearseError> {
        let Subject { spec, surface, site, commit, source, folder, .. } = subject;
        let names = Names::of(&source.files(commit).map_err(Fault::from)?);
        let (environment, home) = (load::allowed_environment(), load::home());
        let inputs = fingerprint_inputs(&spec, &site.dir, home.as_deref()).map_err(RehearseError::Inputs)?;
        let dir = folder.path().to_owned();
        let wanted = Wanted {
            spec: &spec,
            dir: &dir,
            checkout: source.workdir(),
            triplet_dir: &site.dir,
            home: home.as_deref(),
            environment: &environment,
            // What a slot of the night may use is what a trial here may use.
            slots: spec.slots,
            executables: names.executables(),
            inputs_fingerprint: inputs.clone(),
        };
        let walls = Sandbox::set_up(found, &wanted, (&source, commit), &keeper, &surface, say)?;
        let kept = Arc::new(Kept::new(dir.join("artifacts")));
        let tally = Arc::new(Tally::new(spec.gateway.prices.clone()));
        let gateway = Arc::new(Gateway::rehearsing(tally.clone(), &site, &spec.gateway.tapes).with_keys_of(&spec));
        let shop = Shop {
            keeper,
            spec: Arc::new(spec),
            dir,
            user: source,
            triplet_dir: site.dir,
            baseline: commit,
            environment,
            sandbox: Arc::new(walls),
            inputs,
            names: Arc::new(names),
            gateway,
        };
        let mut spot = shop.spot(0);
        // Before anything is recorded every trial has this number.
        spot.calls_for(TrialId(0), ExperimentId(0));
        let holdout = shop.holdout();
        Ok(Bench { spot, holdout, room: Room { shop, stops: StopHandle::default(), kept }, tally, _folder: folder })
    }

    pub fn stopper(&self) -> Stopper {
        Stopper(self.room.stops.clone())
    }

    /// One full evaluation of these contents with this seed.
    pub fn trial(&mut self, contents: &Contents, seed: Seed) -> Result<Rehearsed, RehearseError> {
        self.tally.take();
        let mut done = self.again_after_sleep(|spot, room| worker::run_trial(spot, room, seed, contents, None))?;
        count(&mut done.measurement, &self.tally.take(), &self.room.shop.spec.guards);
        Ok(rehearsed(done))
    }

    /// What the holdout's own scorer makes of these contents; `None` without a holdout. Where the evaluation is
    /// separated it reads what the last trial of theirs left. Nothing of it is stored or counted here.
    pub fn holdout(&mut self, contents: &Contents, seed: Seed) -> Result<Option<Rehearsed>, RehearseError> {
        let Some(mut place) = self.holdout.take() else { return Ok(None) };
        let done = self.again_after_sleep(|_, room| {
            let done = worker::run_holdout(&mut place, room, seed, contents);
            place.tidy(room);
            done
        });
        self.holdout = Some(place);
        Ok(Some(rehearsed(done?)))
    }

    /// What the scorer makes of an empty folder of artifacts; `None` without a scorer.
    pub fn score_nothing(&mut self, seed: Seed) -> Result<Option<Scored>, RehearseError> {
        self.again_after_sleep(|spot, room| worker::score_nothing(spot, room, seed))
    }

    /// What the scorer makes of these contents' artifacts with one answer throughout; `None` without a scorer, and where
    /// they cannot be changed so.
    pub fn score_constant(&mut self, contents: &Contents, seed: Seed) -> Result<Option<Scored>, RehearseError> {
        self.again_after_sleep(|spot, room| worker::score_constant(spot, room, seed, contents))
    }

    /// A guard's command on these contents.
    pub fn guard(&mut self, command: &str, contents: &Contents) -> Result<Guarded, RehearseError> {
        let (ending, usage, output) =
            self.again_after_sleep(|spot, room| worker::run_guard(&mut spot.place, room, command, contents))?;
        let (output, hint) = text_and_hint(output);
        Ok(Guarded { ending, usage, output, hint })
    }

    /// The quick look before a slot is taken, on these contents.
    pub fn smoke(&mut self, command: &str, contents: &Contents) -> Result<Guarded, RehearseError> {
        let (ending, usage, output) =
            self.again_after_sleep(|spot, room| worker::run_smoke(&mut spot.place, room, command, contents))?;
        let (output, hint) = text_and_hint(output);
        Ok(Guarded { ending, usage, output, hint })
    }

    /// One answer of an agent on these contents, and what it printed.
    pub fn propose(&mut self, member: &Member, contents: &Contents) -> Result<(Dry, String), RehearseError> {
        let mut desk = self.room.shop.desk();
        self.again_after_sleep(|_, room| {
            let answer = worker::propose(member, &mut desk, room, contents);
            desk.tidy(room);
            answer
        })
    }

    fn again_after_sleep<T>(
        &mut self,
        mut work: impl FnMut(&mut Spot, &Room) -> Result<T, Trouble>,
    ) -> Result<T, RehearseError> {
        for _ in 0..SUSPENSIONS {
            let outcome = work(&mut self.spot, &self.room);
            self.spot.tidy(&self.room);
            return match outcome {
                Ok(value) => Ok(value),
                Err(Trouble::Loss(Loss::Suspended)) => continue,
                Err(Trouble::Loss(Loss::Interrupted)) => Err(RehearseError::Interrupted),
                Err(Trouble::Loss(Loss::Fault { what })) => Err(RehearseError::Lost { what }),
                Err(Trouble::Fault(fault)) => Err(fault.into()),
            };
        }
        Err(RehearseError::Lost { what: "the machine was put to sleep again and again".to_owned() })
    }
}

fn rehearsed(done: Done) -> Rehearsed {
    let Done { measurement, output, scorer_output } = done;
    let (output, hint) = text_and_hint(output);
    let (scorer_output, scorer_hint) = match scorer_output {
        None => (None, None),
        Some(said) => {
            let (text, hint) = text_and_hint(Some(said));
            (Some(text), hint)
        }
    };
    Rehearsed { measurement, output, scorer_output, hint: scorer_hint.or(hint) }
}

fn read_triplet(site: &Site) -> Result<String, OpenError> {
    std::fs::read_to_string(&site.triplet).map_err(|source| OpenError::Triplet { path: site.triplet.clone(), source })
}

/// What was printed, and the line that the engine added to it, apart.
fn text_and_hint(output: Option<Captured>) -> (String, Option<String>) {
    let text = output.map_or_else(String::new, |output| String::from_utf8_lossy(&output.kept).into_owned());
    let last = text.lines().last().and_then(|line| line.strip_prefix(HINT_MARK)).map(ToOwned::to_owned);
    match last {
        None => (text, None),
        Some(hint) => {
            let kept = text.trim_end().len() - HINT_MARK.len() - hint.trim_end().len();
            (text[..kept].to_owned(), Some(hint))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_engine_added_is_not_taken_for_output() {
        let said = |text: &str| text_and_hint(Some(Captured { kept: text.into(), bytes: text.len() as u64 }));
        assert_eq!(said("a\novernight: add b\n"), ("a\n".to_owned(), Some("add b".to_owned())));
        assert_eq!(said("a\n"), ("a\n".to_owned(), None));
        assert_eq!(text_and_hint(None), (String::new(), None));
    }
}
