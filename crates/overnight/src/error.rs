//! One error type for the command line: what happened, why, what to do, and the exit code.

use overnight_engine::deliver::DeliverError;
use overnight_engine::dispatch::Fault;
use overnight_engine::forget::ForgetError;
use overnight_engine::gateway::traces::TraceError;
use overnight_engine::holdout::HoldoutError;
use overnight_engine::inbox::InboxError;
use overnight_engine::ledger::LedgerError;
use overnight_engine::load::SiteError;
use overnight_engine::lock::LockError;
use overnight_engine::open::OpenError;
use overnight_engine::sandbox::SetUpError;
use overnight_engine::say::SayError;
use overnight_engine::verify::Mismatch;
use overnight_engine::workspace::{GitError, shell_word};
use overnight_model::Verdict;

/// How a command ended, as scripts see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done = 0,
    Fault = 1,
    Usage = 2,
    Refused = 3,
    Stopped = 4,
    Unsound = 5,
    Equal = 10,
    Worse = 11,
    Interrupted = 130,
}

impl Exit {
    pub(crate) const ALL: [Exit; 9] = [
        Exit::Done,
        Exit::Fault,
        Exit::Usage,
        Exit::Refused,
        Exit::Stopped,
        Exit::Unsound,
        Exit::Equal,
        Exit::Worse,
        Exit::Interrupted,
    ];

    /// How another process of ours ended.
    pub(crate) fn of_code(code: i32) -> Exit {
        Exit::ALL.into_iter().find(|exit| *exit as i32 == code).unwrap_or(Exit::Fault)
    }

    /// In one line, for people.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Exit::Done => "done; of `compare`: B is better than A; of `audit`: something could be told",
            Exit::Fault => {
                "a fault of the engine or the machine, a full disk among them; of `compare`: A itself does not run; of \
                 `audit`: B does not"
            }
            Exit::Usage => "usage or configuration; the baseline itself fails",
            Exit::Refused => {
                "refused: the sandbox is weaker than `sandbox.min`, another engine runs the study, a file differs from \
                 its commit, the branch was moved; of `audit`: the branch that was asked for was not made; of `compare`: \
                 no opening of the holdout is left; of `init --with`: the draft was no exam, or nobody could be asked"
            }
            Exit::Stopped => {
                "stopped by a limit, by ten failed attempts in a row, because there is nothing left to try, or because \
                 the champion itself no longer runs, or fails a guard, or another model answers than the one that was asked"
            }
            Exit::Unsound => "`verify` found something that does not agree",
            Exit::Equal => "`compare` cannot tell the two apart, or they are equal; `audit` could tell nothing",
            Exit::Worse => "`compare` or `audit` found B to be worse than A; of `compare` also: B does not run",
            Exit::Interrupted => "interrupted",
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> std::process::ExitCode {
        std::process::ExitCode::from(exit as u8)
    }
}

/// Something a person has to know about.
#[derive(Debug)]
pub(crate) struct CliError {
    exit: Exit,
    /// Already laid out for people, as problems of the triplet are.
    pub(crate) rendered: Option<String>,
    pub(crate) message: String,
    pub(crate) causes: Vec<String>,
    pub(crate) hint: Option<String>,
}

pub(crate) type Outcome<T> = Result<T, CliError>;

impl CliError {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> CliError {
        CliError { exit, rendered: None, message: message.into(), causes: Vec::new(), hint: None }
    }

    pub(crate) fn usage(message: impl Into<String>) -> CliError {
        CliError::new(Exit::Usage, message)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> CliError {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn cause(mut self, cause: &dyn std::error::Error) -> CliError {
        self.causes.extend(chain(cause));
        self
    }

    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    fn of(exit: Exit, error: &dyn std::error::Error, hint: Option<String>) -> CliError {
        let mut causes = chain(error);
        let message = if causes.is_empty() { error.to_string() } else { causes.remove(0) };
        CliError { exit, rendered: None, message, causes, hint }
    }
}

/// An error and its causes; a cause that says what was said already is left out.
fn chain(error: &dyn std::error::Error) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for text in std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string) {
        if said.last().is_none_or(|last| !last.contains(&text) && !text.contains(last.as_str())) {
            said.push(text);
        }
    }
    said
}

impl From<SiteError> for CliError {
    fn from(error: SiteError) -> CliError {
        CliError::of(Exit::Usage, &error, error.hint())
    }
}

impl From<GitError> for CliError {
    fn from(error: GitError) -> CliError {
        let exit = match &error {
            GitError::NoSuchCommit { .. } => Exit::Usage,
            error if error.is_refusal() => Exit::Refused,
            _ => Exit::Fault,
        };
        let mut told = CliError::of(exit, &error, error.hint());
        if matches!(error, GitError::NotARepository { .. } | GitError::NoSuchCommit { .. }) {
            // The library says the same again, twice.
            told.causes.clear();
        }
        told
    }
}

impl From<LedgerError> for CliError {
    fn from(error: LedgerError) -> CliError {
        let (exit, hint) = match &error {
            LedgerError::Newer { .. } => (Exit::Refused, "use a newer version of overnight"),
            LedgerError::Network { .. } => (
                Exit::Refused,
                "put the repository on a local disk: locks and shared memory do not work over a network",
            ),
            LedgerError::NotALedger { .. } => (Exit::Fault, "move it out of the way, or begin a study of another name"),
            LedgerError::Damaged { .. } => (Exit::Fault, "run `overnight verify`; nothing was changed"),
            error if error.is_full() => {
                (Exit::Fault, "make room and run `overnight run` again: it goes on where it was")
            }
            _ => return CliError::of(Exit::Fault, &error, None),
        };
        CliError::of(exit, &error, Some(hint.to_owned()))
    }
}

impl From<LockError> for CliError {
    fn from(error: LockError) -> CliError {
        let hint = match &error {
            LockError::Held { holder } => format!("wait for it, or stop it with `kill {}`", holder.pid),
            LockError::HeldByUnknown { .. } => "processes of a killed engine are still ending; try again".to_owned(),
            LockError::Io { .. } => return CliError::of(Exit::Fault, &error, None),
        };
        CliError::of(Exit::Refused, &error, Some(hint))
    }
}

impl From<InboxError> for CliError {
    fn from(error: InboxError) -> CliError {
        let hint = "is there room on the disk, and may you write there?";
        CliError::of(Exit::Fault, &error, Some(hint.to_owned()))
    }
}

impl From<DeliverError> for CliError {
    fn from(error: DeliverError) -> CliError {
        match error {
            DeliverError::Full => CliError::of(Exit::Refused, &error, Some("wait for some of them".to_owned())),
            DeliverError::TooLarge => CliError::of(Exit::Usage, &error, None),
            DeliverError::Inbox(error) => error.into(),
            DeliverError::Git(error) => error.into(),
            DeliverError::Ledger(error) => error.into(),
        }
    }
}

impl From<TraceError> for CliError {
    fn from(error: TraceError) -> CliError {
        CliError::of(Exit::Fault, &error, None)
    }
}

impl From<ForgetError> for CliError {
    fn from(error: ForgetError) -> CliError {
        match error {
            ForgetError::Lock(error) => error.into(),
            ForgetError::Git(error) => error.into(),
            ForgetError::Ledger(error) => error.into(),
            ForgetError::Trace(error) => error.into(),
            error @ ForgetError::Erase { .. } => CliError::of(Exit::Fault, &error, None),
            error @ ForgetError::Unknown { .. } => {
                CliError::of(Exit::Usage, &error, Some("`overnight log` lists them".to_owned()))
            }
            ForgetError::Needed { experiment, verdict, .. } => {
                let hint = match verdict {
                    None => "`overnight run` finishes it".to_owned(),
                    Some(Verdict::Suspect) => format!("`overnight review {experiment} --discard` is one"),
                    Some(_) => "what is in a branch is git's: once the study is over, remove or rewrite `overnight/NAME` there, \
                                and the folder .overnight with it"
                        .to_owned(),
                };
                CliError::of(Exit::Refused, &error, Some(hint))
            }
        }
    }
}

impl From<SayError> for CliError {
    fn from(error: SayError) -> CliError {
        match error {
            SayError::Inbox(error) => error.into(),
            SayError::Lock(error) => error.into(),
            SayError::Git(error) => error.into(),
            SayError::Ledger(error) => error.into(),
        }
    }
}

impl From<Fault> for CliError {
    fn from(fault: Fault) -> CliError {
        match fault {
            Fault::Ledger(error) => error.into(),
            Fault::Git(error) => error.into(),
            fault if fault.is_full() => {
                let hint = "make room and run `overnight run` again: it goes on where it was";
                CliError::of(Exit::Fault, &fault, Some(hint.to_owned()))
            }
            Fault::Changed { .. } => {
                let hint = "nothing was kept on it: put it back and run again, or go on with it in a new segment: \
                            `overnight rebase`";
                CliError::of(Exit::Fault, &fault, Some(hint.to_owned()))
            }
            Fault::Keeper(error) => {
                let hint = "run `overnight run` again: it goes on where it was";
                CliError::of(Exit::Fault, &error, Some(hint.to_owned()))
            }
            fault => CliError::of(Exit::Fault, &fault, None),
        }
    }
}

impl From<SetUpError> for CliError {
    fn from(error: SetUpError) -> CliError {
        match &error {
            SetUpError::Prepare { output, .. } => {
                let mut told = CliError::usage(crate::ui::printable(&error.to_string()));
                told.causes.extend(output.lines().map(crate::ui::printable));
                told.hint(
                    "it runs in the sandbox: name what it needs in `evaluate.inputs`, and \
                           `prepare = { run = \"…\", network = \"full\" }` lets it download",
                )
            }
            SetUpError::NeedsLayers { .. } => {
                let hint = "run it yourself before, and take the key out; or run where `overnight check --machine` \
                            finds more";
                CliError::of(Exit::Refused, &error, Some(hint.to_owned()))
            }
            SetUpError::HoldoutShown { .. } => {
                let hint = "move it out of the system's folders, of toolchains and of what inputs lead to";
                CliError::of(Exit::Refused, &error, Some(hint.to_owned()))
            }
            SetUpError::Git(_) | SetUpError::Keeper(_) | SetUpError::Freeze { .. } => {
                CliError::of(Exit::Fault, &error, None)
            }
        }
    }
}

impl From<HoldoutError> for CliError {
    fn from(error: HoldoutError) -> CliError {
        match &error {
            HoldoutError::Spent { .. } => {
                let hint =
                    "hold out data that nobody has looked at, and raise `budget` in [holdout] by what it is worth";
                CliError::of(Exit::Refused, &error, Some(hint.to_owned()))
            }
            HoldoutError::Io { .. } => CliError::of(Exit::Fault, &error, None),
        }
    }
}

impl From<OpenError> for CliError {
    fn from(error: OpenError) -> CliError {
        let (exit, hint) = match &error {
            OpenError::Problems(problems) => {
                let rendered = Some(problems.to_string());
                return CliError { rendered, ..CliError::usage("the triplet has problems") };
            }
            OpenError::Triplet { .. } | OpenError::Marker { .. } | OpenError::Inputs(_) => {
                return CliError::of(Exit::Usage, &error, None);
            }
            OpenError::Dirty { begun: true, .. } => (
                Exit::Refused,
                "the study goes on from its own baseline: commit it or put it back with `git restore`; to have it \
                 measured, `overnight rebase --snapshot` begins a new segment with it"
                    .to_owned(),
            ),
            OpenError::Dirty { .. } => (
                Exit::Refused,
                "commit it, put it back with `git restore`, or take it as it is with --snapshot".to_owned(),
            ),
            OpenError::Changed { .. } => (
                Exit::Refused,
                "numbers from before and after cannot be compared: put it back, or go on in a new segment, with the \
                 champion carried over and measured anew: `overnight rebase`"
                    .to_owned(),
            ),
            OpenError::Replay { is_replayed } => (
                Exit::Refused,
                match is_replayed {
                    true => "remove `replay` from [gateway], or replay in a study of its own".to_owned(),
                    false => "put `replay` back into [gateway], or begin a study of its own".to_owned(),
                },
            ),
            OpenError::Tracked { path } => {
                (Exit::Refused, format!("take it out of the repository: `git rm --cached {}`", path.display()))
            }
            OpenError::NotBegun => (Exit::Usage, "begin the study with `overnight run`".to_owned()),
            OpenError::HalfKept => {
                (Exit::Refused, "finish it with `overnight run --experiments 0`, then rebase".to_owned())
            }
            OpenError::Unchanged { .. } => (
                Exit::Refused,
                "commit what you changed in the evaluation, or take the working tree with --snapshot; `overnight run` \
                 goes on as it was"
                    .to_owned(),
            ),
            OpenError::ForeignBranch { branch, .. } => (
                Exit::Refused,
                format!("rename it with `git branch -m {branch} NAME`, or delete it, or begin a study of another name"),
            ),
            OpenError::BranchMoved { branch, expected, .. } => (
                Exit::Refused,
                format!(
                    "keep what is there with `git branch NAME {branch}`, then put it back with `git branch -f {branch} {expected}`"
                ),
            ),
            OpenError::BranchDeleted { branch, store, experiment, expected } => {
                let hint = match experiment {
                    None => format!("bring it back with `git branch {branch} {expected}`"),
                    Some(experiment) => {
                        let store = shell_word(store);
                        format!(
                            "bring it back with `git fetch {store} refs/overnight/{experiment}:refs/heads/{branch}`"
                        )
                    }
                };
                (Exit::Refused, hint)
            }
            _ => {
                return match error {
                    OpenError::Lock(error) => error.into(),
                    OpenError::Git(error) => error.into(),
                    OpenError::Ledger(error) => error.into(),
                    OpenError::Fault(fault) => fault.into(),
                    error => CliError::of(Exit::Fault, &error, None),
                };
            }
        };
        CliError::of(exit, &error, Some(hint))
    }
}

impl From<Mismatch> for CliError {
    fn from(error: Mismatch) -> CliError {
        CliError::of(Exit::Unsound, &error, None)
    }
}
