//! A machine that is kept awake while a run lasts, and what is said of it.

use overnight_engine::process::Awake;

use crate::ui::one_line;

/// Holds the machine where that can be done, and says so, or why not. It is let go with the value.
pub(super) fn hold(study: &str, say: impl Fn(&str)) -> Option<Awake> {
    let held = Awake::hold(&format!("overnight runs the study {study}"));
    say(&match &held {
        Ok(Awake { only_idle: None, .. }) => {
            "kept awake: this machine does not go to sleep while the run lasts".to_owned()
        }
        Ok(Awake { only_idle: Some(why), .. }) => {
            let why = one_line(why);
            format!(
                "kept awake: this machine does not go to sleep by itself while the run lasts; you can still send it to sleep ({why})"
            )
        }
        Err(why) => format!("not kept awake: {}", one_line(why)),
    });
    held.ok()
}
