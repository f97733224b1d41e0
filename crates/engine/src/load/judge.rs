//! The judge: one knob, and two limits.

use overnight_model::spec::{JudgeSpec, Mode, StepGain};
use overnight_model::units::Score;

use super::document::Section;
use super::problem::Collector;

const GAIN_HINT: &str = "write a number in the metric's own unit, or a share of the champion's level such as \"30%\"";

pub(super) fn read(problems: &mut Collector<'_>, top: &Section<'_>) -> JudgeSpec {
    let default = JudgeSpec::default();
    let Some(section) = problems.section(top, "judge", "judge") else {
        return default;
    };
    let modes = Mode::ALL.map(|mode| (mode.name(), mode));
    JudgeSpec {
        mode: problems.word(&section, "mode", &modes, |_| None).unwrap_or_default(),
        max_share: max_share(problems, &section).unwrap_or(default.max_share),
        max_step_gain: max_step_gain(problems, &section),
    }
}

fn max_share(problems: &mut Collector<'_>, section: &Section<'_>) -> Option<f64> {
    let share = problems.number(section, "max_share")?.get();
    if share > 0.0 && share <= 1.0 {
        return Some(share);
    }
    let span = section.get("max_share")?.span();
    let hint = "it is the share of a night's trials that one candidate may get: 0.1 for a tenth";
    problems.add(span, "`judge.max_share` must be more than 0 and at most 1", hint);
    None
}

/// A bare number is in the metric's unit, text is a percentage.
fn max_step_gain(problems: &mut Collector<'_>, section: &Section<'_>) -> Option<StepGain> {
    let item = section.get("max_step_gain")?;
    let gain = match item.get_ref().as_str() {
        None => StepGain::Absolute(problems.number(section, "max_step_gain")?),
        Some(text) => match text.trim().strip_suffix('%').and_then(|number| number.trim().parse().ok()) {
            Some(percent) => StepGain::Share(Score::new(percent).map_or(0.0, |percent| percent.get() / 100.0)),
            None => {
                let message = format!("`judge.max_step_gain` cannot be read from `{}`", text.escape_debug());
                problems.add(item.span(), message, GAIN_HINT);
                return None;
            }
        },
    };
    let is_positive = match gain {
        StepGain::Absolute(gain) => gain.get() > 0.0,
        StepGain::Share(share) => share > 0.0,
    };
    if !is_positive {
        problems.add(item.span(), "`judge.max_step_gain` must be more than 0", GAIN_HINT);
    }
    is_positive.then_some(gain)
}
