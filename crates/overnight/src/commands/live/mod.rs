//! The live view of a run that goes on in a process of its own: this one only looks, and leaves letters.

mod follow;
mod signals;
mod start;

use std::path::PathBuf;
use std::time::Duration;

use overnight_engine::clock::{self, Stopwatch};
use overnight_engine::load::Site;
use overnight_engine::lock::{Holder, Lock};
use overnight_engine::process::Detached;
use overnight_engine::workspace::UserRepo;
use rustix::process::{Pid, Signal, kill_process};

use self::follow::Follower;
use self::signals::{Signals, suspend};
use super::{pause, say};
use crate::error::{CliError, Exit, Outcome};
use crate::ui::tty::{Input, Tty, has_colour};
use crate::views::terminal::{Areas, Keys, Palette, Screen, Wish, draw, press};

pub(crate) use self::start::{detach, run};

/// How this program comes to be the one that puts a terminal in order.
pub(crate) const RESTORER: &str = "__terminal";

/// How soon an event is seen: half of what a person would notice.
const LOOK: Duration = Duration::from_millis(40);
/// How often bars and clocks move.
const REDRAW: Duration = Duration::from_millis(500);
/// How often to look whether somebody still runs the study.
const HOLDER: Duration = Duration::from_millis(500);

/// Why a view ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Nobody runs the study any more.
    End,
    /// The person left; the run goes on.
    Left,
    /// The terminal is gone; the run goes on.
    Closed,
}

/// The run that is looked at.
struct Watched<'a> {
    site: &'a Site,
    common_dir: PathBuf,
    /// The run that was begun here.
    child: Option<&'a mut Detached>,
    looked: Stopwatch,
    is_running: bool,
}

/// Shows a run that somebody else began, until it ends or the person leaves.
pub(crate) fn attach(site: &Site) -> Outcome<Seen> {
    look(site, None, &Signals::listen()?)
}

/// Whether a study is run by something that is worth looking at for longer than a moment.
pub(crate) fn is_worth_it(holder: &Holder) -> bool {
    ["overnight run", "overnight mcp"].contains(&holder.what.as_str())
}

fn look(site: &Site, child: Option<&mut Detached>, signals: &Signals) -> Outcome<Seen> {
    let common_dir = UserRepo::discover(&site.dir)?.common_dir().to_owned();
    let is_own = child.is_some();
    let mut run = Watched { site, common_dir, child, looked: Stopwatch::start(), is_running: true };
    let (mut follower, glance) = Follower::open(site, true)?;
    let mut screen = Screen::new(glance, is_own);
    follower.list(&mut screen)?;
    let failed = |error: std::io::Error| CliError::new(Exit::Fault, "could not draw on the terminal").cause(&error);
    let mut tty = Tty::take(&[RESTORER]).map_err(failed)?;
    let palette = Palette { colour: has_colour() };
    let mut keys = Keys::default();
    let (mut drawn, mut is_new) = (Stopwatch::start(), true);
    loop {
        if signals.is_closed() {
            return Ok(Seen::Closed);
        }
        if is_new || drawn.elapsed() >= REDRAW {
            screen.glance.tick(clock::now());
            follower.look_around(&mut screen);
            let (page, most) = Areas::page(tty.area(), &screen);
            screen.page = page;
            screen.opened.iter_mut().for_each(|opened| opened.scroll = opened.scroll.min(most));
            if tty.draw(|buffer| draw(buffer, &screen, palette)).is_err() {
                return Ok(Seen::Closed);
            }
            (drawn, is_new) = (Stopwatch::start(), false);
        }
        let pressed = match tty.read(LOOK) {
            Input::Gone => return Ok(Seen::Closed),
            Input::Nothing => keys.rest(),
            Input::Bytes(bytes) => {
                keys.push(&bytes);
                keys.take()
            }
        };
        is_new |= !pressed.is_empty();
        let mut wishes: Vec<Wish> = pressed.into_iter().filter_map(|key| press(&mut screen, key)).collect();
        if signals.ends() {
            wishes.push(if is_own { Wish::Stop } else { Wish::Leave });
        }
        if signals.suspends() {
            wishes.push(Wish::Suspend);
        }
        for wish in wishes {
            match wish {
                Wish::Leave => return Ok(Seen::Left),
                Wish::Suspend => {
                    tty.leave();
                    suspend();
                    tty.enter().map_err(failed)?;
                }
                Wish::Redraw => tty.forget().map_err(failed)?,
                wish => {
                    if let Err(error) = grant(wish, &mut screen, &follower, &run) {
                        screen.say(error.message);
                    }
                }
            }
            is_new = true;
        }
        is_new |= tty.is_resized().unwrap_or(false);
        let is_running = run.look();
        is_new |= follower.catch_up(&mut screen, is_running)?;
        if !is_running {
            return Ok(Seen::End);
        }
    }
}

/// Does what a person wants, and says what came of it.
fn grant(wish: Wish, screen: &mut Screen, follower: &Follower, run: &Watched<'_>) -> Outcome<()> {
    match wish {
        Wish::Pause(paused) => screen.say(tidy(&pause::set(run.site, paused, "overnight")?)),
        Wish::Say(text) => screen.say(tidy(&say::tell(run.site, &text, "overnight")?)),
        Wish::Stop => {
            run.stop()?;
            screen.say(match screen.glance.doing.stopping {
                None => "stopping: what runs finishes, nothing new begins; again to kill it now",
                Some(_) => "stopping now",
            });
        }
        Wish::Open(id) => screen.opened = Some(follower.opened(id)?),
        Wish::List => follower.list(screen)?,
        Wish::More => follower.more(screen)?,
        Wish::Leave | Wish::Suspend | Wish::Redraw => {}
    }
    Ok(())
}

/// A line that has a column for its name, as a sentence.
fn tidy(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Watched<'_> {
    /// Whether the run goes on.
    fn look(&mut self) -> bool {
        if let Some(child) = &mut self.child {
            self.is_running = child.ended().is_none();
        } else if self.looked.elapsed() >= HOLDER {
            self.looked = Stopwatch::start();
            self.is_running = self.holder().is_some();
        }
        self.is_running
    }

    fn holder(&self) -> Option<Holder> {
        Lock::holder(&self.common_dir, &self.site.study)
    }

    /// Asks it to end, as a signal would: the first time gently, the second time at once.
    fn stop(&self) -> Outcome<()> {
        let pid = match &self.child {
            Some(child) => Some(child.pid()),
            None => self.holder().map(|holder| holder.pid),
        };
        let nobody = || CliError::usage("nobody runs the study any more");
        let pid = pid.and_then(|pid| Pid::from_raw(pid as i32)).ok_or_else(nobody)?;
        kill_process(pid, Signal::TERM).map_err(|errno| {
            let message = format!("could not stop process {}: {}", pid.as_raw_nonzero(), std::io::Error::from(errno));
            CliError::new(Exit::Refused, message)
        })
    }
}
