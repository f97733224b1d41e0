//! The run beside this process: started where a proposal waits and nobody runs the study, gone when none is left.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use overnight_engine::deliver::{self, Came, is_paused};
use overnight_engine::ledger::Reader;
use overnight_engine::process::start_beside;

use super::Desk;
use crate::commands::{letters, standing};
use crate::error::Outcome;
use crate::ui;

/// How soon to look again while somebody else has the study, or nothing may begin.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// What is told of a run that failed: an error with its causes and its hint.
const LINES_KEPT: usize = 12;
/// What a run says that finds the study taken.
const HELD: &str = "this study is being run by";
/// What became of a letter that nobody could be found to run.
const WITHDRAWN: &str =
    "nobody could run it; it was withdrawn, so that no later run takes it up: propose it again once this is mended";
/// A run that takes nothing up, over and over, will not do so the next time.
const MOST_IN_VAIN: u32 = 3;

/// What is to be seen through, and what came of runs.
#[derive(Default)]
pub(super) struct Hand {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Letters that are not settled, as far as is known.
    pending: BTreeSet<String>,
    /// Why letters came to nothing.
    failures: HashMap<String, String>,
    /// Holds the run beside us; closed when we end.
    leash: Option<Box<dyn Write + Send>>,
    ended: bool,
}

impl Hand {
    /// Sees a letter through to its verdict.
    pub(super) fn see_to(&self, letter: &str) {
        let mut state = self.lock();
        state.pending.insert(letter.to_owned());
        self.changed.notify_all();
    }

    /// Why a letter came to nothing, if it did.
    pub(super) fn failure(&self, letter: &str) -> Option<String> {
        self.lock().failures.get(letter).cloned()
    }

    /// A failure that was told need not be the last word: whoever asks again may have more luck.
    pub(super) fn forget(&self, letter: &str) {
        self.lock().failures.remove(letter);
    }

    /// Lets go of the run beside us; what is open goes on with the next one.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        (state.ended, state.leash) = (true, None);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is something to do; none when there never will be.
    fn next(&self) -> Option<Vec<String>> {
        let idle = |state: &mut State| state.pending.is_empty() && !state.ended;
        let state = self.changed.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner);
        (!state.ended).then(|| state.pending.iter().cloned().collect())
    }

    /// Waits a moment, or until this ends.
    fn rest(&self) {
        let state = self.lock();
        drop(self.changed.wait_timeout_while(state, LOOK_EVERY, |state| !state.ended));
    }

    fn settle(&self, letter: &str, failure: Option<String>) {
        let mut state = self.lock();
        state.pending.remove(letter);
        state.failures.extend(failure.map(|failure| (letter.to_owned(), failure)));
    }
}

pub(super) fn start(desk: Arc<Desk>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut in_vain = 0;
        while let Some(pending) = desk.hand.next() {
            let open: Vec<String> = pending.into_iter().filter(|letter| !settled(&desk, letter)).collect();
            if open.is_empty() {
                in_vain = 0;
                continue;
            }
            if may_not_begin(&desk) {
                desk.hand.rest();
                continue;
            }
            let ran = run_beside(&desk);
            in_vain = if open.iter().any(|letter| settled(&desk, letter)) { 0 } else { in_vain + 1 };
            // Somebody else was faster: theirs to run, while they have the study.
            let failure = match ran {
                Err(why) if why.contains(HELD) => {
                    desk.hand.rest();
                    continue;
                }
                Err(why) if standing::holder(&desk.site).is_none() => why,
                Ok(()) if in_vain >= MOST_IN_VAIN => "it was not taken up".to_owned(),
                _ => continue,
            };
            open.iter().filter(|letter| !settled(&desk, letter)).for_each(|letter| give_up(&desk, letter, &failure));
        }
    })
}

/// Whether nothing is left to do for a letter.
fn settled(desk: &Desk, letter: &str) -> bool {
    let is_settled = match deliver::came(&desk.site, letter) {
        Ok(Came::Waits) | Err(_) => false,
        Ok(Came::Returned(_) | Came::Unknown) => true,
        Ok(Came::Became(id)) => letters::judged(&desk.site, id).is_ok_and(|row| row.is_some()),
    };
    if is_settled {
        desk.hand.settle(letter, None);
    }
    is_settled
}

fn may_not_begin(desk: &Desk) -> bool {
    let paused = || -> Outcome<bool> {
        let summary = Reader::find(&desk.site.state())?.map(|reader| reader.summary()).transpose()?.flatten();
        Ok(is_paused(&desk.site, summary.as_ref())?)
    };
    standing::holder(&desk.site).is_some() || paused().unwrap_or(false)
}

/// What could not be run is not left for a later night, which would come as a surprise; whoever sent it is told so.
fn give_up(desk: &Desk, letter: &str, why: &str) {
    let waits = matches!(deliver::came(&desk.site, letter), Ok(Came::Waits));
    let told = if waits { format!("{WITHDRAWN}: {why}") } else { why.to_owned() };
    // The reason first: a letter that is gone without one is taken for one that never was.
    desk.hand.settle(letter, Some(told));
    // Somebody may have taken it up at this moment.
    if !deliver::withdraw(&desk.site, letter).is_ok_and(|is_back| is_back) && waits {
        desk.hand.settle(letter, Some(why.to_owned()));
    }
}

/// Runs until no letter is left; else what it said.
fn run_beside(desk: &Desk) -> Result<(), String> {
    let mut arguments = vec!["-C".to_owned(), desk.site.dir.to_string_lossy().into_owned()];
    arguments.extend(["--study".to_owned(), desk.site.study.clone(), "__letters".to_owned()]);
    arguments.extend(desk.sandbox.map(|tier| format!("--sandbox={}", tier.name())));
    let program = std::env::current_exe().map_err(|error| format!("could not find the overnight program: {error}"))?;
    let mut child = start_beside(&program, &arguments).map_err(|error| format!("could not start a run: {error}"))?;
    {
        let mut state = desk.hand.lock();
        state.leash = child.stdin.take().filter(|_| !state.ended).map(|stdin| Box::new(stdin) as Box<dyn Write + Send>);
    }
    let mut said = VecDeque::new();
    for line in child.stderr.take().into_iter().flat_map(|stderr| BufReader::new(stderr).lines()).map_while(Result::ok)
    {
        ui::say(&ui::printable(&line));
        said.push_back(line);
        if said.len() > LINES_KEPT {
            said.pop_front();
        }
    }
    let ended = child.wait();
    desk.hand.lock().leash = None;
    match ended {
        Ok(status) if status.success() => Ok(()),
        _ => Err(Vec::from(said).join("\n")),
    }
}
