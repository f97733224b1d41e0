//! The metric: what it is called, which way it should go, and which values can be true.

use overnight_model::spec::{Metric, Pick};
use overnight_model::units::{Goal, Score};

use super::document::Section;
use super::keys::nearest;
use super::problem::Collector;

pub(super) fn read(problems: &mut Collector<'_>, top: &Section<'_>) -> Option<Metric> {
    let Some(item) = top.get("metric") else {
        problems.missing(top, "metric", "metric = { name = \"val_loss\", goal = \"min\" }");
        return None;
    };
    if let Some(name) = item.get_ref().as_str() {
        let hint = format!("write `metric = {{ name = \"{name}\", goal = \"min\" }}`");
        problems.wrong_type("metric", item, "a table", &hint);
        return None;
    }
    let section = problems.section(top, "metric", "metric")?;
    let name = match section.get("name") {
        None => {
            problems.missing(&section, "name", "name = \"val_loss\"");
            None
        }
        Some(_) => problems.number_name(&section, "name"),
    };
    if section.get("goal").is_none() {
        problems.missing(&section, "goal", "goal = \"min\"` or `goal = \"max\"");
    }
    let goal = problems.word(&section, "goal", &[("min", Goal::Min), ("max", Goal::Max)], goal_hint);
    source(problems, &section);
    let min_gain = problems.share(&section, "min_gain");
    let target = problems.number(&section, "target");
    let plausible = plausible(problems, &section);
    if let (Some(target), Some((low, high))) = (target, plausible)
        && !(low..=high).contains(&target)
    {
        let span = section.get("target")?.span();
        let hint = "it could never be reached: widen one of them";
        problems.add(span, "`metric.target` is outside `metric.plausible`", hint);
    }
    let pick = problems.word(&section, "pick", &[("last", Pick::Last)], |_| {
        Some("leave it out, and two different values are an error".to_owned())
    });
    Some(Metric { name: name?, goal: goal?, min_gain, target, plausible, pick: pick.unwrap_or_default() })
}

fn goal_hint(word: &str) -> Option<String> {
    let word = word.to_lowercase();
    let goal = match word.as_str() {
        "min" | "down" | "lower" | "less" | "low" | "smaller" | "decrease" | "minimum" | "minimize" | "minimise" => {
            "min"
        }
        "max" | "up" | "higher" | "more" | "high" | "larger" | "increase" | "maximum" | "maximize" | "maximise" => {
            "max"
        }
        _ => return None,
    };
    Some(format!("use \"{goal}\""))
}

fn source(problems: &mut Collector<'_>, section: &Section<'_>) {
    let Some(item) = section.get("source") else {
        return;
    };
    let Some(text) = problems.string(section, "source") else {
        return;
    };
    let later = ["wall", "cpu", "instructions", "peak_memory"];
    if text == "output" {
        return;
    }
    if later.contains(&text.as_str()) {
        let hint = "let the command measure it and print `METRIC name=value`";
        problems.add(item.span(), format!("`metric.source = \"{text}\"` is not yet supported"), hint);
        return;
    }
    let hint = match nearest(&text, later.into_iter().chain(["output"])) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => "leave it out: the metric is what the command prints".to_owned(),
    };
    problems.add(item.span(), "`metric.source` must be \"output\"", hint);
}

fn plausible(problems: &mut Collector<'_>, section: &Section<'_>) -> Option<(Score, Score)> {
    let item = section.get("plausible")?;
    let hint = "write `plausible = [0.5, 3.0]`";
    let Some([low, high]) = item.get_ref().as_array().map(|items| items.as_ref()) else {
        match item.get_ref().as_array() {
            Some(items) => {
                let message = format!("`metric.plausible` must have two numbers, found {}", items.len());
                problems.add(item.span(), message, hint);
            }
            None => problems.wrong_type("metric.plausible", item, "a list of two numbers", hint),
        }
        return None;
    };
    let low = problems.number_of("metric.plausible", low);
    let high = problems.number_of("metric.plausible", high);
    let (low, high) = (low?, high?);
    if low >= high {
        problems.add(item.span(), "`metric.plausible` must go from the lower to the higher number", hint);
        return None;
    }
    Some((low, high))
}
