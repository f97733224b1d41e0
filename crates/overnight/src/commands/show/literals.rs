//! `overnight show literals`: what each value of the surface does to the metric.

use overnight_engine::ledger::Reader;
use overnight_engine::load::Site;
use overnight_engine::tune;
use overnight_model::tuner::Value;
use overnight_model::tuner::report::{LiteralReport, Report};
use overnight_model::units::short_number;
use overnight_model::verdict::rough;
use serde_json::json;

use crate::commands::standing::{Paper, Standing};
use crate::error::{CliError, Exit, Outcome};
use crate::ui::{self, printable};

/// From worst to best.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A longer name or value moves its own line only.
const COLUMN: usize = 32;

pub(super) fn show(site: Site, reader: &Reader, as_json: bool) -> Outcome<Exit> {
    let (study, summary) = (site.study.clone(), reader.summary()?);
    let spec = match Standing::of(site)?.paper {
        Paper::Sound(spec) => spec,
        _ => {
            return Err(CliError::usage("the triplet of this study cannot be read, and it says what the surface is")
                .hint("`overnight check` says what is wrong with it"));
        }
    };
    let Some((champion, report)) = tune::report(reader, &spec.surface)? else {
        return Err(
            CliError::usage("there is no champion yet: nothing was measured").hint("begin with `overnight run`")
        );
    };
    if as_json {
        ui::data(&json!({ "study": study, "champion": champion, "tuning": report }).to_string());
        return Ok(Exit::Done);
    }
    let metric = summary.as_ref().map_or("metric", |summary| summary.metric.as_str());
    let points = if report.points == 1 { "1 point".to_owned() } else { format!("{} points", report.points) };
    ui::data(&format!("literals of the champion (experiment {champion}) · {metric} · {points} measured"));
    lines(&report).iter().for_each(|line| {
        ui::data(line);
    });
    Ok(Exit::Done)
}

fn lines(report: &Report) -> Vec<String> {
    if report.literals.is_empty() {
        return vec!["there is nothing to tune in the surface: `overnight check --tuner` says why".to_owned()];
    }
    let widest = |shown: &dyn Fn(&LiteralReport) -> String| {
        let widths = report.literals.iter().map(|literal| shown(literal).chars().count());
        widths.filter(|width| *width <= COLUMN).max().unwrap_or(0)
    };
    let (name, now) =
        (|literal: &LiteralReport| printable(&literal.name), |literal: &LiteralReport| text(&literal.now));
    let (wide, side) = (widest(&name), widest(&now));
    let line = |literal: &LiteralReport| {
        let (name, now, said) = (name(literal), now(literal), said(literal));
        format!("  {name:<wide$}  {now:>side$}  {said}")
    };
    let mut lines: Vec<String> = report.literals.iter().map(line).collect();
    lines.push(
        "bars from the least to the greatest value that was tried, higher is better; all other values as they are"
            .to_owned(),
    );
    lines
}

/// What can be said of one literal.
fn said(literal: &LiteralReport) -> String {
    let [first, .., last] = literal.curve.as_slice() else { return "not moved yet".to_owned() };
    let doubt = literal.curve.iter().map(|point| point.sd).fold(0.0, f64::max);
    let difference = match (literal.matters, literal.difference, &literal.best) {
        (true, Some(difference), Some(best)) => {
            format!("{} between best and worst, best near {}", rough(difference), text(best))
        }
        _ => format!("no difference seen (known to ±{})", rough(doubt)),
    };
    format!("{:>9}  {:<9}  {:<9}  {difference}", text(&first.value), bars(literal), text(&last.value))
}

fn bars(literal: &LiteralReport) -> String {
    let gains = || literal.curve.iter().map(|point| point.gain);
    let (low, high) = (gains().fold(f64::INFINITY, f64::min), gains().fold(f64::NEG_INFINITY, f64::max));
    // What cannot be told from nothing is drawn flat.
    let span = if literal.matters { high - low } else { f64::INFINITY };
    let bar = |gain: f64| {
        let share = if span.is_finite() && span > 0.0 { (gain - low) / span } else { 0.5 };
        BARS[((share * 7.0).round() as usize).min(7)]
    };
    gains().map(bar).collect()
}

fn text(value: &Value) -> String {
    match value {
        Value::Number(number) => short_number(*number),
        Value::Text(text) => printable(text),
    }
}
