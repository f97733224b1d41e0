//! Where transcripts are played: each name is a repository, and what is in it before the first command.
//!
//! A new one is a line in `scene` and the files it needs. Take a metric without noise, or its numbers will differ from
//! run to run; where noise is the point, `is_noisy` lets numbers differ. `quick` is for pages where the study itself does
//! not matter: one knob, scored by a shell script, kept at the second experiment. `fresh` is `train` without its triplet.

use std::fs;

use crate::support::Repo;

/// The repository of that name; `None` where nobody wrote one.
pub(super) fn scene(name: &str) -> Option<Repo> {
    Some(match name {
        "empty" => with(&[]),
        "fresh" => with(&[("train.py", TRAIN)]),
        "quick" => Repo::new(),
        "train" => with(&[("overnight.toml", TRIPLET), ("train.py", TRAIN)]),
        "check" => with(&[("overnight.toml", TRIPLET), ("train.py", TRAIN)]),
        "slip" => with(&[("overnight.toml", SLIP), ("train.py", TRAIN)]),
        "noisy" => with(&[("overnight.toml", NOISY_TRIPLET), ("knob.py", "x = 8\n"), ("score.py", NOISY)]),
        "separated" => separated(),
        "compare" => compare(),
        "compare-noisy" => compare_noisy(),
        "holdout" => holdout(),
        "audit" => audit(),
        "imported" => with(&[("overnight.toml", TRIPLET), ("train.py", TRAIN), ("results.tsv", RESULTS)]),
        "tuner" => with(&[("overnight.toml", TRIPLET), ("train.py", TUNABLE)]),
        DEMO => with(&[]),
        "agent" => with(&[("overnight.toml", AGENT_TRIPLET), ("train.py", TRAIN), ("propose.py", PROPOSE)]),
        _ => return None,
    })
}

/// Where nothing is needed, and only an outline of what is printed stays the same.
pub(super) const DEMO: &str = "demo";

/// Whether the numbers of a scene differ from run to run; its words and their order may not.
pub(super) fn is_noisy(name: &str) -> bool {
    ["check", "compare-noisy", "noisy"].contains(&name)
}

fn with(files: &[(&str, &str)]) -> Repo {
    let repo = Repo::empty();
    files.iter().for_each(|(path, text)| {
        repo.write(path, text);
    });
    repo.commit("before overnight");
    repo
}

/// The last commit is better than the one before it.
fn compare() -> Repo {
    let repo = with(&[("overnight.toml", TRIPLET), ("train.py", TRAIN)]);
    repo.write("train.py", &TRAIN.replace("DECAY = 0.01", "DECAY = 0.002")).commit("less decay");
    repo
}

fn compare_noisy() -> Repo {
    let repo = with(&[("overnight.toml", NOISY_TRIPLET), ("knob.py", "x = 8\n"), ("score.py", NOISY_APART)]);
    repo.write("knob.py", "x = 7\n").commit("seven");
    repo
}

/// The last commit fits an accident of the labels that trials are scored by.
fn holdout() -> Repo {
    let row = |i: u32| (i * 7) % 10;
    let rows: String = (0..80).map(|i| format!("{}\n", row(i))).collect();
    let labels = |from: u32, mislabelled: u32| -> String {
        let label = |i: u32| u32::from(row(i) > 3 || row(i) == mislabelled);
        (from..from + 40).map(|i| format!("{i},{}\n", label(i))).collect()
    };
    let repo = with(&[
        ("overnight.toml", HOLDOUT_TRIPLET),
        ("train.py", &SEPARATED.replace("THRESHOLD = 8", "THRESHOLD = 3")),
        ("score.py", HOLDOUT_SCORER),
        ("rows.csv", &rows),
        ("labels.csv", &labels(0, 2)),
        ("holdout.csv", &labels(40, 10)),
    ]);
    repo.write("train.py", &repo.read("train.py").replace("> THRESHOLD", "> THRESHOLD or int(row) == 2"));
    repo.commit("twos are ones");
    repo
}

/// A night by another tool: eight keeps on the tag `start`, of which three hold.
fn audit() -> Repo {
    let repo = with(&[("overnight.toml", AUDIT_TRIPLET), ("settings.py", AUDIT_SETTINGS), ("train.sh", AUDIT_TRAIN)]);
    repo.git(&["tag", "start"]);
    let set = |from: &str, to: &str, message: &str| {
        repo.write("settings.py", &repo.read("settings.py").replace(from, to)).commit(message);
    };
    set("rate = 10", "rate = 20", "double the rate");
    set("warmup = 0", "warmup = 50", "warm up for 50 steps");
    set("layers = 4", "layers = 6", "six layers");
    set("decay = 0", "decay = 1", "a little decay");
    set("clip = 0", "clip = 1", "clip gradients");
    set("rate = 20", "rate = 22", "a bit more rate");
    repo.write("notes.md", "Warm-up looks promising.\n").commit("notes");
    set("width = 64", "width = 96", "wider");
    set("decay = 1", "decay = 2", "a little more decay");
    repo
}

fn separated() -> Repo {
    let rows: Vec<String> = (0..40).map(|i| format!("{}", (i * 7) % 10)).collect();
    let labels: Vec<&str> = (0..40).map(|i| if (i * 7) % 10 > 3 { "1" } else { "0" }).collect();
    let repo = with(&[
        ("overnight.toml", SEPARATED_TRIPLET),
        ("train.py", SEPARATED),
        ("score.py", SCORER),
        ("rows.csv", &(rows.join("\n") + "\n")),
        ("labels.csv", &(labels.join("\n") + "\n")),
    ]);
    // Beside the checkout: what somebody tries.
    fs::write(repo.outside("liar.py"), LIAR).unwrap();
    repo
}

const TRIPLET: &str = r#"surface = "train.py"
metric  = { name = "val_loss", goal = "min" }
[evaluate]
run     = "python3 train.py"
budget  = "10s"
"#;

const RESULTS: &str = "commit\tval_loss\tmemory_gb\tstatus\tdescription\n\
a1b2c3d\t0.011090\t0.1\tkeep\tbaseline\n\
b2c3d4e\t0.009200\t0.1\tkeep\tless decay\n\
c3d4e5f\t0.012400\t0.1\tdiscard\ta larger rate\n\
d4e5f6a\t0.000000\t0.0\tcrash\tno momentum at all\n";

const SLIP: &str = r#"surface = "trian.py"
metric  = { name = "val_loss", gaol = "min" }
[evaluate]
run     = "python3 train.py"
budget  = "10 minutes"
"#;

/// Deterministic: its points come from a generator with a fixed seed.
const TRAIN: &str = r#""""Fits a cubic to points by gradient descent, and prints its error on points it has not seen."""
import random

RATE = 0.3
MOMENTUM = 0.7
DECAY = 0.01
STEPS = 40

data = random.Random(1)


def sample(count):
    points = []
    for _ in range(count):
        x = data.uniform(-1, 1)
        points.append((x, 2 * x * x * x - x + 0.5 + data.uniform(-0.1, 0.1)))
    return points


def predict(weights, x):
    return weights[0] + x * (weights[1] + x * (weights[2] + x * weights[3]))


train, unseen = sample(60), sample(60)
weights, speed = [0.0] * 4, [0.0] * 4
for _ in range(STEPS):
    errors = [(x, predict(weights, x) - y) for x, y in train]
    slopes = [sum(2 * error * x**power for x, error in errors) / len(train) for power in range(4)]
    speed = [MOMENTUM * v - RATE * (slope + DECAY * w) for v, slope, w in zip(speed, slopes, weights)]
    weights = [weight + v for weight, v in zip(weights, speed)]

print(f"val_loss: {sum((predict(weights, x) - y) ** 2 for x, y in unseen) / len(unseen):.5f}")
"#;

/// Something of each kind that the tuner finds, and of most that it leaves alone. It is only read.
const TUNABLE: &str = r#"SEED = 1337
BATCH_SIZE = 2**6
MATRIX_LR = 0.04       # overnight: 1e-3..0.5 log
DEPTH = 8              # overnight: 4..16
ACTIVATION = "relu"    # overnight: one of "relu", "gelu", "silu"
CLIP = 1.0             # overnight: fixed
USE_BIAS = False


class Model:
    def __init__(self, dropout=0.1):
        self.scale = 0.5 * DEPTH


def main():
    optimizer = AdamW(model, lr=MATRIX_LR, betas=(0.9, 0.95), weight_decay=0.0)
    for step in range(200):
        print(f"{step:04d}")
"#;

const NOISY_TRIPLET: &str = r#"surface = "knob.py"
metric  = { name = "loss", goal = "min" }
[evaluate]
run     = "python3 score.py"
budget  = "10s"
"#;

/// Gains far beyond its noise, so that every verdict is the same in every run.
const NOISY: &str = r#"import os
import random
from knob import x

print(f"loss: {(x - 3) ** 2 + random.Random(int(os.environ['OVERNIGHT_SEED'])).gauss(0, 0.05):.4f}")
"#;

/// The same seed does not give the same noise to two commits.
const NOISY_APART: &str = r#"import os
import random
from knob import x

print(f"loss: {(x - 3) ** 2 + random.Random(int(os.environ['OVERNIGHT_SEED']) * 10 + x).gauss(0, 0.3):.4f}")
"#;

const AUDIT_TRIPLET: &str = r#"surface = "settings.py"
metric  = { name = "loss", goal = "min" }
[evaluate]
run     = "sh train.sh"
budget  = "5m"
"#;

const AUDIT_SETTINGS: &str = "rate = 10\nwarmup = 0\nlayers = 4\ndecay = 0\nclip = 0\nwidth = 64\n";

/// Stands in for a training: its loss, and noise that is another for each seed and for each change.
const AUDIT_TRAIN: &str = r#"hash=$( (cat settings.py; echo $OVERNIGHT_SEED) | md5sum | cut -c1-6)
awk -v noise=$((0x$hash % 21)) '
    $1 == "rate" && $3 >= 20 { loss -= 30 }
    $1 == "layers" && $3 >= 6 { loss -= 25 }
    $1 == "clip" && $3 > 0 { loss += 24 }
    $1 == "width" && $3 >= 96 { loss -= 22 }
    END { printf "loss: %.3f\n", 1.5 + (loss + noise) / 1000 }' settings.py
"#;

const SEPARATED_TRIPLET: &str = r#"surface = "train.py"
metric  = { name = "accuracy", goal = "max" }
[evaluate]
run     = "python3 train.py"
budget  = "10s"
score   = "python3 score.py"
hidden  = ["score.py", "labels.csv"]
"#;

const SEPARATED: &str = r#"import os

THRESHOLD = 8

answers = ["1" if int(row) > THRESHOLD else "0" for row in open("rows.csv")]
with open(os.path.join(os.environ["OVERNIGHT_OUT"], "predictions.csv"), "w") as out:
    out.write("\n".join(answers))
"#;

const SCORER: &str = r#"import os
import sys

labels = open("labels.csv").read().split()
predictions = open(os.path.join(os.environ["OVERNIGHT_ARTIFACTS"], "predictions.csv")).read().split()
if len(predictions) != len(labels):
    sys.exit("the predictions are not one for each row")
print(f"accuracy: {sum(a == b for a, b in zip(labels, predictions)) / len(labels)}")
"#;

const HOLDOUT_TRIPLET: &str = r#"surface = "train.py"
metric  = { name = "accuracy", goal = "max" }
[evaluate]
run     = "python3 train.py"
budget  = "10s"
score   = "python3 score.py labels.csv"
hidden  = ["score.py", "labels.csv"]
[holdout]
score   = "python3 score.py holdout.csv"
files   = "holdout.csv"
"#;

const HOLDOUT_SCORER: &str = r#"import os
import sys

predictions = open(os.path.join(os.environ["OVERNIGHT_ARTIFACTS"], "predictions.csv")).read().split()
labels = [line.strip().split(",") for line in open(sys.argv[1])]
print(f"accuracy: {sum(predictions[int(row)] == label for row, label in labels) / len(labels)}")
"#;

const LIAR: &str = r#"import os

with open(os.path.join(os.environ["OVERNIGHT_OUT"], "predictions.csv"), "w") as out:
    out.write("\n".join(["0"] * 40))
print("accuracy: 1.0")
"#;

const AGENT_TRIPLET: &str = r#"surface = "train.py"
metric  = { name = "val_loss", goal = "min" }
[evaluate]
run     = "python3 train.py"
budget  = "10s"
[agent]
use     = "command"
command = "python3 propose.py"
ahead   = 0
"#;

const PROPOSE: &str = r#"import json
import re
import sys

ideas = [("STEPS", 80), ("DECAY", 0.002), ("MOMENTUM", 0.75)]

brief = json.load(sys.stdin)
name, value = ideas[(brief["experiment"] - 1) % len(ideas)]
path = brief["surface"][0]
text = open(path).read()
with open(path, "w") as surface:
    surface.write(re.sub(f"(?m)^{name} = .*", f"{name} = {value}", text))
print(f"{name} = {value}")
"#;
