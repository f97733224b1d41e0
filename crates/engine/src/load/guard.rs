//! Guards: what must hold besides the metric.

use overnight_model::spec::{Check, Guard, When};
use toml::de::DeValue;

use super::document::Section;
use super::problem::Collector;

/// Numbers the engine will measure one day.
const LATER_NUMBERS: [&str; 1] = ["instructions"];

pub(super) fn read(problems: &mut Collector<'_>, top: &Section<'_>) -> Vec<Guard> {
    let Some(item) = top.get("guard") else {
        return Vec::new();
    };
    let DeValue::Array(items) = item.get_ref() else {
        problems.wrong_type("guard", item, "a list of tables", "write `[[guard]]`, with two brackets");
        return Vec::new();
    };
    let sections = items.iter().map(|item| problems.table(top, "guard", item, "guard"));
    let sections: Vec<_> = sections.collect();
    sections.into_iter().flatten().filter_map(|section| guard(problems, &section)).collect()
}

fn guard(problems: &mut Collector<'_>, section: &Section<'_>) -> Option<Guard> {
    let when = problems.word(section, "when", &[("first", When::First), ("before_keep", When::BeforeKeep)], |_| None);
    let max = problems.number(section, "max");
    let max_regression = problems.share(section, "max_regression");
    let has = |key: &str| section.get(key).is_some();
    let check = match (has("run"), has("metric")) {
        (true, true) => {
            let span = section.key_span("metric");
            problems.add(span, "a guard has either `run` or `metric`", "make it two guards");
            return None;
        }
        (false, false) => {
            let hint = "add `run = \"pytest -q\"`, or `metric = \"peak_mb\"` with `max = 8000`";
            problems.add(section.span(), "this guard checks nothing", hint);
            return None;
        }
        (true, false) => {
            if let Some(key) = ["max", "max_regression"].into_iter().find(|key| has(key)) {
                problems.add(section.key_span(key), format!("`guard.{key}` goes with `guard.metric`"), "");
            }
            Check::Run(problems.string(section, "run")?)
        }
        (false, true) => {
            let metric = problems.number_name(section, "metric")?;
            if LATER_NUMBERS.contains(&metric.as_str()) {
                let span = section.get("metric")?.span();
                problems.add(
                    span,
                    format!("guard on `{metric}` is not yet supported"),
                    "print the number under another name",
                );
            }
            if !has("max") && !has("max_regression") {
                let hint = "add `max = 8000`, or `max_regression = 0.05` for five percent";
                problems.add(section.key_span("metric"), format!("guard on `{metric}` has no limit"), hint);
            }
            Check::Number { metric, max, max_regression }
        }
    };
    Some(Guard { check, when: when.unwrap_or(When::BeforeKeep) })
}
