//! Asks and tells a search over lines of JSON, so that a benchmark in another language can drive it.
//!
//! The first line opens it: `{"method": "overnight", "space": […], "start": […], "seed": 1}`. Then, in any order:
//! `{"told": [point, value or null, error]}`, which has no answer; `{"ask": 1}`, answered by
//! `{"point": […], "why": "…", "seconds": …}`, the time of all that was told since the last one included; and
//! `{"best": true}`, answered by `{"point": […], "seconds": …}`. Numbers stand as they are, choices by their position.

mod line;
mod method;
mod neighbours;

use std::error::Error;
use std::io::{BufRead, Lines, StdinLock, Write};

use line::{Answer, Open, Request};
use method::{Method, Ours};
use neighbours::TpeCrate;
use rustix::time::{ClockId, clock_gettime};

fn main() -> Result<(), Box<dyn Error>> {
    let mut lines = std::io::stdin().lock().lines();
    let Some(open) = next::<Open>(&mut lines)? else { return Ok(()) };
    let space = open.space.iter().map(line::domain).collect::<Result<Vec<_>, _>>()?;
    let mut method: Box<dyn Method> = match open.method.as_str() {
        "overnight" => Box::new(Ours::new(space, open.start, open.seed)),
        "tpe" => Box::new(TpeCrate::new(&space, open.seed)?),
        other => return Err(format!("there is no method `{other}`: overnight and tpe are known here").into()),
    };
    let mut seconds = 0.0;
    while let Some(request) = next::<Request>(&mut lines)? {
        match request {
            Request::Told(point, value, error) => {
                let (told, took) = timed(|| method.tell(point, value, error));
                told?;
                seconds += took;
            }
            Request::Ask(_) => {
                method.get_ready();
                let (asked, took) = timed(|| method.ask());
                let (point, why) = asked?;
                answer(&Answer { point, why: Some(why), seconds: seconds + took })?;
                seconds = 0.0;
            }
            Request::Best(_) => {
                let (point, took) = timed(|| method.best());
                answer(&Answer { point, why: None, seconds: took })?;
            }
        }
    }
    Ok(())
}

fn next<T: serde::de::DeserializeOwned>(lines: &mut Lines<StdinLock<'_>>) -> Result<Option<T>, Box<dyn Error>> {
    let Some(line) = lines.next() else { return Ok(None) };
    let line = line?;
    Ok(Some(serde_json::from_str(&line).map_err(|error| format!("cannot read `{line}`: {error}"))?))
}

fn answer(answer: &Answer) -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, answer)?;
    out.write_all(b"\n")?;
    out.flush()?;
    Ok(())
}

/// In time of the processor: a machine that is busy with other runs makes any of them wait.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let begin = now();
    let done = work();
    (done, now() - begin)
}
