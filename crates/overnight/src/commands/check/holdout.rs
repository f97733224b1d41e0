//! Whether the holdout gives a number. Which one is shown to nobody, so that this look costs no opening.

use overnight_model::{State, Study};

use super::repeats;
use super::report::{Finding, Level};
use super::study::{Halt, Sequence, Step};
use crate::commands::trials::{broken_lines, number};

pub(super) fn check(sequence: &mut Sequence) -> Step {
    let (Some(openings), Some(holdout)) = (sequence.holdout, sequence.spec.holdout.clone()) else { return Ok(()) };
    sequence.go_on()?;
    sequence.screen.live.now(&format!("the holdout, at most {}", holdout.score.kill));
    let surface = sequence.surface.clone();
    let bench = sequence.bench.as_mut().ok_or(Halt::Enough)?;
    let done = bench.holdout(&surface, repeats::seed(0)).map_err(|error| sequence.halt(error))?;
    let Some(done) = done else { return Ok(()) };
    let (run, budget) = (&holdout.score.run, openings.budget);
    let opened = match openings.opened {
        0 => format!("unopened, with {budget} openings"),
        opened => format!("opened {opened} of {budget}"),
    };
    let study = Study::new(sequence.spec.clone(), State::default());
    sequence.add(match number(&study, done) {
        Err(broken) => {
            let mut finding = Finding::new("holdout", Level::Warn, format!("`{run}` {}", broken.what));
            finding.output = broken_lines(&broken);
            finding.next("mend `score` in [holdout] before it is opened: an opening that fails counts as well")
        }
        Ok(_) if openings.left() == 0 => {
            let what = format!("`{run}` gives a number, which is not shown; {opened}");
            Finding::new("holdout", Level::Note, what).next("hold out data that nobody has looked at")
        }
        Ok(_) if holdout.files.is_empty() => {
            let what = format!("`{run}` gives a number, which is not shown; {opened}; no file is held out");
            Finding::new("holdout", Level::Note, what).next("name in `files` what no trial may see")
        }
        Ok(_) => Finding::ok("holdout", format!("`{run}` gives a number, which is not shown; {opened}")),
    });
    Ok(())
}
