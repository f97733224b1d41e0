//! What a study left: its JSON, its ledger, and a checkout that nobody touched.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::Repo;

pub(crate) type Json = serde_json::Value;

/// Every file of the checkout with its contents, and what of `.git` is the user's.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint(BTreeMap<PathBuf, Vec<u8>>);

impl Repo {
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        let mut files = BTreeMap::new();
        let dir = self.dir();
        collect(&dir, &mut files, &|path| path == dir.join(".git") || path == dir.join(".overnight"));
        let git = dir.join(".git");
        for name in ["index", "HEAD", "config", "hooks", "refs/stash", "refs/heads/main", "refs/tags", "logs/HEAD"] {
            collect(&git.join(name), &mut files, &|_| false);
        }
        Fingerprint(files)
    }

    /// The objects of `log --json`.
    pub(crate) fn log(&self) -> Vec<Json> {
        json_lines(&self.ok(&["log", "--json"]).stdout)
    }

    /// One experiment of `log --json`.
    #[track_caller]
    pub(crate) fn experiment(&self, number: u64) -> Json {
        let log = self.log();
        let found = log.iter().find(|row| row["experiment"] == number);
        found.unwrap_or_else(|| panic!("no experiment {number} in {log:#?}")).clone()
    }

    /// Verdict and reason of every experiment but the baseline.
    pub(crate) fn verdicts(&self) -> Vec<(String, String)> {
        let text = |value: &Json| value.as_str().unwrap_or("null").to_owned();
        self.log().iter().skip(1).map(|row| (text(&row["verdict"]), text(&row["reason"]))).collect()
    }

    pub(crate) fn status(&self) -> Json {
        json_lines(&self.ok(&["status", "--json"]).stdout).remove(0)
    }

    /// The ledger itself, for looking and for damage.
    pub(crate) fn ledger(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.state().join("ledger.db")).unwrap()
    }

    /// How many events of a kind there are, by the beginning of their body.
    pub(crate) fn events(&self, kind: &str) -> u64 {
        let Ok(db) = rusqlite::Connection::open_with_flags(
            self.state().join("ledger.db"),
            rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY,
        ) else {
            return 0;
        };
        let like = format!("%\"{kind}\"%");
        db.query_row("SELECT count(*) FROM events WHERE body LIKE ?1", [like], |row| row.get::<_, i64>(0)).unwrap_or(0)
            as u64
    }

    /// The bodies of the events of a kind, in order.
    pub(crate) fn bodies(&self, kind: &str) -> Vec<String> {
        let ledger = self.ledger();
        let mut events = ledger.prepare("SELECT body FROM events WHERE body LIKE ?1 ORDER BY seq").unwrap();
        let like = format!("%\"kind\":\"{kind}\"%");
        events.query_map([like], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    /// Asserts that a text is in nothing that was kept: no file, no value of a database, no object of git.
    #[track_caller]
    pub(crate) fn assert_nowhere(&self, text: &str) {
        let holds = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        let mut files = BTreeMap::new();
        collect(&self.dir(), &mut files, &|_| false);
        let found: Vec<_> = files.iter().filter(|(_, bytes)| holds(bytes)).map(|(path, _)| path).collect();
        assert!(found.is_empty(), "`{text}` is in {found:?}");
        for path in files.keys().filter(|path| path.extension().is_some_and(|end| end == "db")) {
            let db = rusqlite::Connection::open(path).unwrap();
            let tables: Vec<String> = db
                .prepare("SELECT name FROM sqlite_master WHERE type = 'table'")
                .and_then(|mut tables| tables.query_map([], |row| row.get(0))?.collect())
                .unwrap();
            for table in tables {
                let mut all = db.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
                let columns = all.column_count();
                let mut rows = all.query([]).unwrap();
                while let Some(row) = rows.next().unwrap() {
                    for column in 0..columns {
                        let value = row.get_ref(column).unwrap();
                        let bytes = value.as_bytes().unwrap_or_default();
                        assert!(!holds(bytes), "`{text}` is in {table} of {}", path.display());
                    }
                }
            }
        }
        // Objects are compressed, and packs too.
        for folder in [self.dir().join(".git"), self.state().join("store.git")] {
            let objects = ["--git-dir", folder.to_str().unwrap(), "cat-file", "--batch-all-objects", "--batch"];
            let listed = self.git_ran(&objects);
            assert!(listed.code == Some(0) && listed.stdout.contains(" blob "), "{listed}");
            assert!(!listed.stdout.contains(text), "`{text}` is in an object of {}", folder.display());
        }
    }

    /// Asserts what must hold after any history: a sound ledger, a branch that equals it, clean git, no strays.
    #[track_caller]
    pub(crate) fn assert_sound(&self) {
        self.ok(&["verify"]);
        let status = self.status();
        assert_eq!(status["champion"]["commit"], self.git(&["rev-parse", "overnight/main"]).as_str());
        self.git(&["fsck", "--strict"]);
        let store = self.state().join("store.git");
        self.git(&["-C", store.to_str().unwrap(), "fsck", "--strict"]);
        assert_eq!(self.strays(), Vec::<u32>::new(), "processes of trials are still alive");
    }
}

pub(crate) fn json_lines(text: &str) -> Vec<Json> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// The keys of a JSON object as they were printed, in order; values of any depth are passed over.
pub(crate) fn keys(line: &str) -> Vec<String> {
    let (mut keys, mut depth, mut string, mut escaped, mut text) = (Vec::new(), 0, false, false, String::new());
    for c in line.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if string => escaped = true,
            '"' => {
                string = !string;
                if string {
                    text.clear();
                }
            }
            c if string => text.push(c),
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            ':' if depth == 1 => keys.push(std::mem::take(&mut text)),
            _ => {}
        }
    }
    keys
}

fn collect(path: &Path, into: &mut BTreeMap<PathBuf, Vec<u8>>, skip: &dyn Fn(&Path) -> bool) {
    if skip(path) {
        return;
    }
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().for_each(|entry| collect(&entry.path(), into, skip)),
        Err(_) => {
            if let Ok(bytes) = fs::read(path) {
                into.insert(path.to_owned(), bytes);
            }
        }
    }
}
