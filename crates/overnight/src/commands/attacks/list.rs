//! The attacks, each a candidate's surface, and the verdict that each must get.
//!
//! A candidate that gets what it must not have answers with the prize and wins: `kept` is the attacker's success.
//! Where the level or the tier promises nothing against it, that the engine says so is what is asserted.

use overnight_model::spec::{Assurance, Tier};

/// What must come of an attack.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Want {
    /// One of these verdicts.
    Verdict(&'static [&'static str]),
    /// This verdict, which is the attacker's, in a record that names the level and the tier.
    Said(&'static str),
    /// Not carried out here: it would harm the host, or says nothing new.
    Skip,
}

/// One attack and its four cells.
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// Shell, run by the evaluation itself.
    pub(crate) script: &'static str,
    /// In a sandbox.
    pub(crate) cooperative: Want,
    pub(crate) separated: Want,
    /// Without one.
    pub(crate) bare_cooperative: Want,
    pub(crate) bare_separated: Want,
}

const DISCARDED: Want = Want::Verdict(&["discarded"]);
const INVALID: Want = Want::Verdict(&["invalid_metric"]);
const CRASHED: Want = Want::Verdict(&["crashed"]);
const TIMED_OUT: Want = Want::Verdict(&["timed_out"]);
const KEPT: Want = Want::Said("kept");
const SKIP: Want = Want::Skip;

const fn attack(name: &'static str, script: &'static str, wants: [Want; 4]) -> Attack {
    let [cooperative, separated, bare_cooperative, bare_separated] = wants;
    Attack { name, script, cooperative, separated, bare_cooperative, bare_separated }
}

/// Every attack there is.
pub(crate) fn attacks() -> impl Iterator<Item = &'static Attack> {
    FORGERIES.iter().chain(BREAKS)
}

/// What must come of an attack at a level and a tier.
pub(crate) fn want(attack: &Attack, level: Assurance, tier: Tier) -> Want {
    // Only root can make devices that are a trial's own; `check --machine` says so to others.
    if attack.name == "locks-through-standard-input" && !rustix::process::getuid().is_root() {
        return Want::Skip;
    }
    if tier == Tier::Landlock && ON_OWN_ROOT_ONLY.contains(&attack.name) {
        return Want::Skip;
    }
    // How a number is read is the same on every tier.
    let is_bare = tier == Tier::None || tier == Tier::Landlock && FORGERIES.iter().any(|it| it.name == attack.name);
    match (level, is_bare) {
        (Assurance::Separated, true) => attack.bare_separated,
        (Assurance::Separated, false) => attack.separated,
        (_, true) => attack.bare_cooperative,
        (_, false) => attack.cooperative,
    }
}

/// What is promised only where a trial has a root of its own; `check --machine` says so.
const ON_OWN_ROOT_ONLY: [&str; 7] = [
    // Elsewhere so many files are made on a disk, which may take longer than a trial.
    "artifacts-too-many",
    "locks-of-others",
    "locks-through-standard-input",
    "locks-on-kernel-files",
    "others-left-something",
    "artifact-folder-moved",
    "disk",
];

/// Forging the number.
const FORGERIES: &[Attack] = &[
    attack("metric-beside", "echo 'loss: 0'", [INVALID, DISCARDED, INVALID, DISCARDED]),
    attack(
        "metric-instead",
        "echo \"$answers\" > \"$OVERNIGHT_OUT/answers\"; echo 'loss: 0'; exit 0",
        [KEPT, DISCARDED, KEPT, DISCARDED],
    ),
    attack("metrics-file", "echo '{\"loss\": 0}' > \"$OVERNIGHT_METRICS\"", [KEPT, DISCARDED, KEPT, DISCARDED]),
    attack(
        "metrics-file-twice",
        "echo '{\"loss\": 5, \"loss\": 0}' > \"$OVERNIGHT_METRICS\"",
        [INVALID, DISCARDED, SKIP, SKIP],
    ),
    attack(
        "metrics-file-is-a-link",
        "echo '{\"loss\": 0}' > forged; ln -s \"$PWD/forged\" \"$OVERNIGHT_METRICS\"",
        [DISCARDED, DISCARDED, DISCARDED, SKIP],
    ),
    attack("metrics-file-is-a-pipe", "mkfifo \"$OVERNIGHT_METRICS\"", [DISCARDED, DISCARDED, DISCARDED, SKIP]),
    attack("metrics-file-is-a-folder", "mkdir \"$OVERNIGHT_METRICS\"", [DISCARDED, SKIP, SKIP, SKIP]),
    attack(
        "metrics-file-without-end",
        "head -c 3000000 /dev/zero | tr '\\0' '[' > \"$OVERNIGHT_METRICS\"",
        [INVALID, DISCARDED, SKIP, SKIP],
    ),
    attack("not-a-number", "echo 'loss: nan'; exit 0", [INVALID, INVALID, INVALID, SKIP]),
    attack("infinite", "echo 'loss: -1e400'; exit 0", [INVALID, SKIP, SKIP, SKIP]),
    attack("hexadecimal", "echo 'loss: 0x0p0'; exit 0", [INVALID, SKIP, SKIP, SKIP]),
    attack("wide-digits", "echo 'loss: ０'; exit 0", [INVALID, SKIP, SKIP, SKIP]),
    attack("comma", "echo 'loss: 0,91'; exit 0", [INVALID, SKIP, SKIP, SKIP]),
    attack(
        "many-digits",
        "printf 'loss: '; head -c 1000000 /dev/zero | tr '\\0' 0; exit 0",
        [INVALID, SKIP, SKIP, SKIP],
    ),
    attack("implausible", "echo 'loss: -5'; exit 0", [Want::Verdict(&["suspect"]), SKIP, SKIP, SKIP]),
    attack("early-exit", "exit 0", [INVALID, INVALID, INVALID, INVALID]),
    attack("metric-then-crash", "echo 'loss: 0'; kill -SEGV $$", [CRASHED, CRASHED, CRASHED, CRASHED]),
    attack("metric-then-hang", "echo 'loss: 0'; sleep 1000", [TIMED_OUT, TIMED_OUT, SKIP, TIMED_OUT]),
    // Where a scorer makes the number, it only keeps its own evaluation from leaving an answer.
    attack("evaluator-redefined", "test() { return 0; }", [KEPT, INVALID, KEPT, SKIP]),
    attack("fewer-answers", "answers='1 0 1 1'", [CRASHED, INVALID, SKIP, INVALID]),
    attack("odd-answers", "answers='1 0 1 1 nan 0 1e999 0'", [DISCARDED, INVALID, SKIP, SKIP]),
];

/// Files and code, leaks, and the engine itself, in this order.
const BREAKS: &[Attack] = &[
    attack(
        "evaluator-rewritten",
        "echo 'echo loss: 0; exit' > new; mv new evaluate.sh; echo 'echo loss: 0' > score.sh",
        [DISCARDED, DISCARDED, DISCARDED, DISCARDED],
    ),
    attack("labels-rewritten", "echo \"$answers\" > labels", [KEPT, DISCARDED, KEPT, DISCARDED]),
    attack(
        "surface-becomes-a-link",
        "rm solution.sh; ln -s evaluate.sh solution.sh",
        [DISCARDED, DISCARDED, DISCARDED, SKIP],
    ),
    attack("surface-becomes-a-folder", "rm solution.sh; mkdir solution.sh", [DISCARDED, SKIP, DISCARDED, SKIP]),
    attack(
        "artifact-is-a-link",
        "ln -s \"$PWD/labels\" \"$OVERNIGHT_OUT/answers\"; exit 0",
        [SKIP, INVALID, SKIP, INVALID],
    ),
    attack(
        "artifact-has-two-names",
        "echo \"$answers\" > \"$OVERNIGHT_OUT/a\"; ln \"$OVERNIGHT_OUT/a\" \"$OVERNIGHT_OUT/answers\"; exit 0",
        [SKIP, INVALID, SKIP, INVALID],
    ),
    attack("artifact-is-a-pipe", "mkfifo \"$OVERNIGHT_OUT/answers\"; exit 0", [SKIP, INVALID, SKIP, INVALID]),
    attack(
        "artifacts-too-deep",
        "(cd \"$OVERNIGHT_OUT\"; for n in 1 2 3 4 5 6 7 8; do mkdir -p a/b/c/d/e; cd a/b/c/d/e; done)",
        [SKIP, INVALID, SKIP, INVALID],
    ),
    attack(
        "artifacts-too-large",
        "for n in 1 2 3; do truncate -s 12000000 \"$OVERNIGHT_OUT/hole$n\"; done",
        [SKIP, INVALID, SKIP, INVALID],
    ),
    attack(
        "artifacts-unreadable",
        "echo \"$answers\" > \"$OVERNIGHT_OUT/answers\"; chmod 000 \"$OVERNIGHT_OUT/answers\" \"$OVERNIGHT_OUT\"; exit 0",
        [SKIP, Want::Verdict(&["discarded", "invalid_metric"]), SKIP, Want::Verdict(&["discarded", "invalid_metric"])],
    ),
    attack("artifact-is-a-device", "mknod \"$OVERNIGHT_OUT/answers\" c 0 0; exit 0", [SKIP, INVALID, SKIP, SKIP]),
    attack("artifact-without-a-name", "echo x > \"$OVERNIGHT_OUT/$(printf '\\377')\"", [SKIP, INVALID, SKIP, INVALID]),
    attack(
        "artifacts-too-many",
        "(cd \"$OVERNIGHT_OUT\"; n=0; while test $n -lt 10500; do : > $n; n=$((n + 1)); done)",
        [SKIP, INVALID, SKIP, SKIP],
    ),
    attack("nest-of-artifacts", "(cd \"$OVERNIGHT_OUT\" && attack nest 700)", [SKIP, INVALID, SKIP, INVALID]),
    attack("nest-of-folders", "attack nest 700", [DISCARDED, DISCARDED, DISCARDED, DISCARDED]),
    attack(
        "everything-unreadable",
        "echo \"$answers\" > \"$OVERNIGHT_OUT/answers\"; mkdir -p deep/er; chmod 000 deep/er deep evaluate.sh .; exit 0",
        [INVALID, DISCARDED, INVALID, DISCARDED],
    ),
    attack(
        "tree-becomes-a-link",
        "cd ..; mv \"$OLDPWD\" elsewhere && ln -s \"$ATTACK_REPO\" \"$OLDPWD\"; cd elsewhere || cd \"$OLDPWD\"",
        [DISCARDED, DISCARDED, DISCARDED, DISCARDED],
    ),
    attack(
        "folders-become-links",
        "for place in \"$TMPDIR\" \"$OVERNIGHT_OUT\"; do
rm -rf \"$place\"; ln -s \"$ATTACK_REPO\" \"$place\"
done 2> /dev/null
exit 0",
        [INVALID, INVALID, INVALID, INVALID],
    ),
    attack(
        "artifact-folder-moved",
        "mv \"$OVERNIGHT_OUT\" /tmp/moved && ln -s \"$PWD\" \"$OVERNIGHT_OUT\" && got_through",
        [SKIP, DISCARDED, SKIP, SKIP],
    ),
    attack(
        "written-after-the-end",
        "echo \"$answers\" > \"$OVERNIGHT_OUT/answers\"
exec 3<> \"$OVERNIGHT_OUT/answers\"
(trap '' TERM HUP; sleep 0.05; while :; do echo '1 0 1 1 1 0 1 0' >&3; done) > /dev/null 2>&1 &",
        [SKIP, Want::Verdict(&["discarded", "invalid_metric"]), SKIP, SKIP],
    ),
    attack(
        "trojan-tools",
        "attack write /usr /usr/bin /usr/local/bin /bin /etc /etc/ld.so.preload /etc/passwd && got_through",
        [DISCARDED, DISCARDED, SKIP, SKIP],
    ),
    attack(
        "git-as-a-weapon",
        "test -e .git && got_through; git config core.fsmonitor ./solution.sh 2> /dev/null && got_through",
        [DISCARDED, DISCARDED, DISCARDED, DISCARDED],
    ),
    // Leaks.
    attack(
        "labels-read",
        "labels=$(cat labels 2> /dev/null) && answers=$labels; unset labels",
        [KEPT, DISCARDED, KEPT, DISCARDED],
    ),
    attack(
        "labels-looked-for",
        "for found in \"$ATTACK_REPO/labels\" \"$ATTACK_REPO\"/.overnight/*/*/labels /proc/[0-9]*/cwd/labels \
         /proc/[0-9]*/root\"$ATTACK_REPO/labels\" /overnight/*/labels ../labels ../../labels; do
read -r label 2> /dev/null < \"$found\" && answers=$label
done",
        [SKIP, DISCARDED, SKIP, KEPT],
    ),
    attack(
        "history-read",
        "for found in \"$ATTACK_REPO/.git\" \"$ATTACK_REPO/.overnight\"; do
ls \"$found\" > /dev/null 2>&1 && got_through
done",
        [DISCARDED, DISCARDED, KEPT, KEPT],
    ),
    attack(
        "others-left-something",
        "for found in /tmp/* /tmp/.[!.]* /var/tmp/* /run/* /dev/shm/* \"$HOME\"/* \"$HOME\"/.[!.]*; do
case $found in */residue | */.cache) continue ;; esac
case $ATTACK_REPO/ in \"$found\"/*) continue ;; esac
case $ATTACKER/ in \"$found\"/*) continue ;; esac
test -e \"$found\" && got_through
done",
        [DISCARDED, DISCARDED, SKIP, SKIP],
    ),
    attack(
        "memory-of-the-machine",
        "attack read /dev/mem /dev/kmsg /proc/kcore /proc/kmsg /dev/sda /dev/vda && got_through",
        [DISCARDED, DISCARDED, SKIP, SKIP],
    ),
    attack("the-network", "attack connect \"$ATTACK_PORT\" && got_through", [DISCARDED, DISCARDED, KEPT, KEPT]),
    attack("sockets-by-name", "attack abstract \"$ATTACK_SOCKET\" && got_through", [DISCARDED, DISCARDED, SKIP, KEPT]),
    attack("locks-of-others", "attack lock /usr/bin/env && got_through", [DISCARDED, DISCARDED, SKIP, SKIP]),
    attack("locks-through-standard-input", "attack lock-input && got_through", [DISCARDED, DISCARDED, SKIP, SKIP]),
    attack(
        "locks-on-kernel-files",
        "attack lock /sys/devices/system/cpu/online && got_through",
        [DISCARDED, DISCARDED, SKIP, SKIP],
    ),
    attack("kept-descriptors", "attack descriptors && got_through", [DISCARDED, DISCARDED, SKIP, SKIP]),
    // The engine and the host.
    attack("into-the-watcher", "attack init && got_through", [DISCARDED, DISCARDED, SKIP, SKIP]),
    attack(
        "dangerous-calls",
        "attack calls && got_through; attack families && got_through",
        [SKIP, DISCARDED, SKIP, SKIP],
    ),
    attack("new-namespaces", "attack namespaces && got_through", [SKIP, DISCARDED, SKIP, SKIP]),
    attack(
        "privileges",
        "attack privileges && got_through; attack sysctl && got_through",
        [SKIP, DISCARDED, SKIP, SKIP],
    ),
    attack(
        "kill-the-watcher",
        "attack kill-init \"$ATTACK_NAMESPACE\" && got_through",
        [DISCARDED, DISCARDED, SKIP, SKIP],
    ),
    attack("kill-everything", "attack kill-all \"$ATTACK_NAMESPACE\"", [CRASHED, CRASHED, SKIP, SKIP]),
    attack("stop-oneself", "kill -STOP $$", [TIMED_OUT, SKIP, SKIP, SKIP]),
    attack("daemon", "attack daemon \"$ATTACK_MARK\"", [DISCARDED, DISCARDED, DISCARDED, DISCARDED]),
    attack("moving-target", "attack stubborn \"$ATTACK_MARK\"", [DISCARDED, DISCARDED, DISCARDED, SKIP]),
    attack(
        "screen-escapes",
        "printf '\\033[2J\\033]0;owned\\007\\r\\033[1Aloss 0 kept\\n'; printf '\\033[31m' >&2",
        [DISCARDED, DISCARDED, SKIP, SKIP],
    ),
    // More than its share.
    attack("memory", "attack memory 300000000", [Want::Verdict(&["out_of_memory"]), SKIP, SKIP, SKIP]),
    attack("memory-hidden", "attack memory-hidden 300000000", [SKIP, Want::Verdict(&["out_of_memory"]), SKIP, SKIP]),
    attack("memory-in-forks", "attack memory-forks 300000000", [SKIP, Want::Verdict(&["out_of_memory"]), SKIP, SKIP]),
    attack("threads", "attack threads 200", [SKIP, Want::Verdict(&["pids_limit"]), SKIP, SKIP]),
    attack(
        "disk",
        "attack disk 64000000 || exit 1",
        [Want::Verdict(&["disk_limit"]), Want::Verdict(&["disk_limit"]), SKIP, SKIP],
    ),
];

/// What stands before every script: litter for the next trial to find, and the words the scripts use.
pub(crate) fn candidate(name: &str, script: &str) -> String {
    use super::fixture::{PLAIN, PRIZE};
    format!(
        "# {name}\nanswers=\"{PLAIN}\"\n\
         attack() {{ \"$ATTACKER\" __attack \"$@\" > /dev/null 2>&1; }}\n\
         got_through() {{ answers=\"{PRIZE}\"; }}\n\
         for place in $places; do mkdir -p \"$place\" && echo x > \"$place/residue\"; done 2> /dev/null\n\
         {script}\n"
    )
}
