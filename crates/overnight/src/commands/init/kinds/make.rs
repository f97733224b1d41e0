//! A target of a Makefile.

use super::super::look::Look;
use super::super::metric;
use super::super::proposal::{Key, Proposal, Sure};
use super::super::reach;
use super::{take_printed, take_time};

#[rustfmt::skip]
const TARGETS: [&str; 11] = [
    "bench", "benchmark", "benchmarks", "perf", "score", "eval", "evaluate", "measure", "run-bench", "run_bench",
    "train",
];
const TESTS: [&str; 3] = ["test", "check", "tests"];

/// What a rule says.
#[derive(Default)]
struct Rule {
    needs: Vec<String>,
    recipe: String,
}

pub(super) fn recognise(look: &Look) -> Option<Proposal> {
    let file = look.first(&["GNUmakefile", "makefile", "Makefile"])?;
    let text = look.text(file)?;
    let (target, rule) = TARGETS.iter().find_map(|target| Some((*target, rule(&text, target)?)))?;
    let command = format!("make -s {target}");
    let files = files(look, &text, &rule);
    let printed = files.iter().chain([&file.to_owned()]).find_map(|path| {
        let said = if path == file { rule.recipe.as_str().into() } else { look.text(path)? };
        Some((path.clone(), metric::likeliest(&said)?))
    });
    let sure = if printed.is_some() { Sure::Benchmark } else { Sure::Timed };
    let mut proposal = Proposal::new("make", format!("the target `{target}` of {file}"), sure);
    proposal.because(Key::Run, format!("{file} has the target `{target}`"));
    match &printed {
        Some((path, printed)) => {
            proposal.run = command;
            take_printed(&mut proposal, path, printed, "");
        }
        None => take_time(&mut proposal, &command),
    }
    surface(look, &mut proposal, &files, target);
    if let Some(test) = TESTS.iter().find(|test| self::rule(&text, test).is_some()) {
        proposal.guard = Some(format!("make -s {test}"));
        proposal.because(Key::Guard, format!("{file} has the target `{test}`"));
    }
    proposal.because(Key::Budget, "a guess; the wall is twice as far");
    proposal.sources = files;
    Some(proposal)
}

/// Prerequisites and recipe of a target; nothing where there is no such target.
fn rule(text: &str, target: &str) -> Option<Rule> {
    let mut found: Option<Rule> = None;
    let joined = text.replace("\\\n", " ");
    let mut inside = false;
    for line in joined.lines() {
        if let Some(recipe) = line.strip_prefix('\t') {
            if let Some(rule) = found.as_mut().filter(|_| inside) {
                rule.recipe += recipe.trim_start_matches(['@', '-', '+']);
                rule.recipe.push('\n');
            }
            continue;
        }
        let Some((targets, rest)) = line.split_once(':') else {
            inside &= line.trim().is_empty() || line.starts_with('#');
            continue;
        };
        // `NAME := value` is no rule.
        inside =
            !rest.starts_with('=') && !rest.starts_with(":=") && targets.split_whitespace().any(|name| name == target);
        if inside {
            let (needs, recipe) = rest.trim_start_matches(':').split_once(';').unwrap_or((rest, ""));
            let rule = found.get_or_insert_default();
            rule.needs.extend(needs.split('#').next().unwrap_or_default().split_whitespace().map(str::to_owned));
            rule.recipe += recipe;
        }
    }
    found
}

/// The tracked code that a target runs or is built of.
fn files(look: &Look, text: &str, rule: &Rule) -> Vec<String> {
    let mut found = reach::mentioned(look, "", &rule.recipe);
    let mut waiting: Vec<String> = rule.needs.clone();
    // Programs that a recipe starts may be targets themselves.
    waiting.extend(rule.recipe.split_whitespace().filter_map(|word| word.strip_prefix("./")).map(str::to_owned));
    let mut seen: Vec<String> = Vec::new();
    while let Some(need) = waiting.pop() {
        if seen.contains(&need) || seen.len() > 100 {
            continue;
        }
        seen.push(need.clone());
        let sources = reach::mentioned(look, "", &need);
        found.extend(sources.into_iter().filter(|path| !found.contains(path)).collect::<Vec<_>>());
        if let Some(rule) = self::rule(text, &need) {
            let named = reach::mentioned(look, "", &rule.recipe);
            found.extend(named.into_iter().filter(|path| !found.contains(path)).collect::<Vec<_>>());
            waiting.extend(rule.needs);
        }
    }
    found
}

/// Of what the target is built of, the programs that measure nothing; else what lies behind those that do.
fn surface(look: &Look, proposal: &mut Proposal, files: &[String], target: &str) {
    let measured: Vec<String> =
        files.iter().filter(|path| !reach::measures(path) && reach::is_program(path)).cloned().collect();
    if !measured.is_empty() {
        proposal.surface = measured.into_iter().take(4).collect();
        proposal.because(Key::Surface, format!("the target `{target}` is made of it"));
        return;
    }
    for start in files {
        if proposal.surface.is_empty() {
            super::take_surface(proposal, look, start);
        }
    }
}
