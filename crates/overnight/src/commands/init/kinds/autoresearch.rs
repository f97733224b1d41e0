//! A checkout of karpathy/autoresearch, or one of its many forks: `prepare.py` is fixed, `train.py` is edited.

use super::super::look::Look;
use super::super::metric;
use super::super::proposal::{Key, Proposal, Sure};
use super::{own_budget, span, take_goal};

pub(super) fn recognise(look: &Look) -> Option<Proposal> {
    if !look.has("train.py") || !look.has("prepare.py") {
        return None;
    }
    let (train, prepare) = (look.text("train.py")?, look.text("prepare.py")?);
    let program = look.text("program.md").unwrap_or_default();
    let (name, from) =
        grepped(&program).map(|name| (name, "program.md looks for it in the output".to_owned())).or_else(|| {
            let found = metric::printed(&train).into_iter().find(|found| found.name == "val_bpb")?;
            Some((found.name, format!("train.py, line {}, prints it", found.line)))
        })?;
    let mut proposal = Proposal::new("autoresearch", "a checkout of karpathy/autoresearch", Sure::Told);
    proposal.surface = vec!["train.py".to_owned()];
    proposal.because(Key::Surface, "the file that an agent edits; prepare.py is fixed");
    proposal.metric = name;
    proposal.because(Key::Metric, from);
    take_goal(&mut proposal, &program);
    let uv = look.has("pyproject.toml");
    proposal.run = if uv { "uv run train.py" } else { "python3 train.py" }.to_owned();
    proposal.because(Key::Run, if uv { "there is a pyproject.toml" } else { "there is no pyproject.toml" });
    match own_budget(&prepare).or_else(|| own_budget(&train)) {
        Some(seconds) => {
            proposal.budget = span(seconds);
            proposal.because(Key::Budget, format!("prepare.py says TIME_BUDGET = {seconds}"));
        }
        None => proposal.because(Key::Budget, "as in the original"),
    }
    inputs(look, &mut proposal, &prepare, &train, uv);
    Some(proposal)
}

/// The environment, and what `prepare.py` left at home.
fn inputs(look: &Look, proposal: &mut Proposal, prepare: &str, train: &str, uv: bool) {
    match look.is_untracked(".venv") {
        true => proposal.inputs.push(".venv".to_owned()),
        false if uv => proposal.missing.push((".venv".to_owned(), "uv sync".to_owned())),
        false => {}
    }
    if let Some(cache) = cache(prepare) {
        let run = if uv { "uv run prepare.py" } else { "python3 prepare.py" };
        match look.is_at_home(&cache) {
            true => proposal.inputs.push(format!("~/{cache}")),
            false => proposal.missing.push((format!("~/{cache}"), run.to_owned())),
        }
    }
    // Its kernels come from the hub. The folder above has the person's token in it.
    let hub = ".cache/huggingface/hub";
    if ["get_kernel", "from_pretrained", "huggingface"].iter().any(|word| train.contains(word)) && look.is_at_home(hub)
    {
        proposal.inputs.push(format!("~/{hub}"));
    }
    let all = proposal.missing.is_empty();
    let wait = if all { String::new() } else { format!("; not all there yet: {}", proposal.to_make()) };
    proposal.because(Key::Inputs, format!("the environment, and what prepare.py downloads{wait}"));
}

/// The name in the first `grep "^name:` of the program.
fn grepped(program: &str) -> Option<String> {
    let (_, rest) = program.split_once("grep \"^")?;
    let name = rest.split(':').next()?;
    overnight_model::metric::is_name(name).then(|| name.to_owned())
}

/// The folder at home that the data is kept in: `os.path.join(…, ".cache", "autoresearch")`, or in a comment.
fn cache(prepare: &str) -> Option<String> {
    let joined = prepare.split_once("\".cache\",").and_then(|(_, rest)| rest.split('"').nth(1));
    let written = prepare.split_once("~/.cache/").map(|(_, rest)| rest);
    let name = joined.or(written)?;
    let name: String = name.chars().take_while(|c| c.is_alphanumeric() || "-_.".contains(*c)).collect();
    let name = name.trim_end_matches('.');
    (!name.is_empty()).then(|| format!(".cache/{name}"))
}
