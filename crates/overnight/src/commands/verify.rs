//! `overnight verify`: proof that everything recorded agrees.

use overnight_bench_loop::{FULL, Short, check};
use serde_json::json;

use crate::args::{Place, Verify};
use crate::error::{CliError, Exit, Outcome};
use crate::ui;

pub(crate) fn verify(place: &Place, args: &Verify) -> Outcome<Exit> {
    if args.attacks {
        return super::attacks::attacks(args.json);
    }
    if args.judge {
        return judge(args);
    }
    let (site, _) = super::ledger(place)?;
    let found = overnight_engine::verify::verify(&site);
    if args.json {
        let object = match &found {
            Ok(sound) => {
                let mut object = json!({
                    "study": site.study, "sound": true, "events": sound.events, "experiments": sound.experiments,
                    "blobs": sound.blobs, "commits": sound.commits,
                });
                if !sound.forgotten.is_empty() {
                    object["forgotten"] = json!(sound.forgotten);
                }
                object
            }
            Err(mismatch) => json!({ "study": site.study, "sound": false, "mismatch": mismatch.to_string() }),
        };
        ui::data(&object.to_string());
    }
    let sound = found?;
    if !args.json {
        ui::data(&format!(
            "sound: {} events in an unbroken chain; {} experiments, {} contents and {} commits agree with them, \
             and so does the branch overnight/{}",
            sound.events, sound.experiments, sound.blobs, sound.commits, site.study
        ));
        if sound.unfinished > 0 {
            let many = sound.unfinished;
            ui::say(&format!(
                "note: {many} contents that were to be forgotten are still there: `overnight forget` was killed, and does the rest when it is asked again"
            ));
        }
        for forgotten in &sound.forgotten {
            ui::data(&format!("forgotten on request: {}", ui::one_line(&forgotten.what)));
        }
    }
    Ok(Exit::Done)
}

/// Nights of planted truth: what is reported and claimed has to hold there.
fn judge(args: &Verify) -> Outcome<Exit> {
    let size = if args.quick { Short::QUICK } else { Short::USUAL };
    let Some(checked) = check(size, args.rule.as_deref()) else {
        let message = format!("no rule is called `{}`", args.rule.as_deref().unwrap_or_default());
        return Err(
            CliError::usage(message).hint("`bench/loopbench/run --list` names them, in a checkout of the source")
        );
    };
    let is_sound = checked.broken.is_empty();
    match args.json {
        true => {
            let mut object = json!(checked);
            (object["sound"], object["full"]) = (json!(is_sound), json!(FULL));
            ui::data(&object.to_string());
        }
        false => checked.lines().iter().for_each(|line| {
            ui::data(line.trim_end());
        }),
    }
    Ok(if is_sound { Exit::Done } else { Exit::Unsound })
}
