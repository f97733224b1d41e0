//! `overnight verify`: proof that everything recorded agrees.

use serde_json::json;

use crate::args::{Place, Verify};
use crate::error::{Exit, Outcome};
use crate::ui;

pub(crate) fn verify(place: &Place, args: &Verify) -> Outcome<Exit> {
    if args.attacks {
        return super::attacks::attacks(args.json);
    }
    let (site, _) = super::ledger(place)?;
    let found = overnight_engine::verify::verify(&site);
    if args.json {
        let object = match &found {
            Ok(sound) => json!({
                "study": site.study, "sound": true, "events": sound.events, "experiments": sound.experiments,
                "blobs": sound.blobs, "commits": sound.commits,
            }),
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
    }
    Ok(Exit::Done)
}
