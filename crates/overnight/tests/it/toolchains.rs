//! Real toolchains work inside the sandbox, for root and for an ordinary user: who meets one that breaks turns it off.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Ran, Repo};

/// A study with these files, whose evaluation is the shell script `score`.
fn study(repo: &Repo, score: &str, inputs: &[&str]) {
    let triplet = format!(
        "surface = \"knobs.py\"\nmetric = {{ name = \"loss\", goal = \"min\" }}\n\
         [evaluate]\nrun = \"bash score.sh\"\nbudget = \"60s\"\ninputs = {inputs:?}\n"
    );
    repo.write("overnight.toml", &triplet).write("score.sh", score).write("knobs.py", "x = 5\n");
    repo.write(".gitignore", ".venv\nnode_modules\ntarget\nbuild\n__pycache__\n").commit("a study");
}

/// Runs the baseline, which has to give a number in the sandbox.
#[track_caller]
fn measures(repo: &Repo, path: Option<&Path>) {
    let mut command = repo.command(&["run", "--no-tui", "--experiments", "0"]);
    if let Some(path) = path {
        command.env("PATH", format!("{}:{}", path.display(), std::env::var("PATH").unwrap()));
    }
    let ran = Ran::of(command.output().unwrap());
    let said = repo.overnight(&["show", "baseline", "--output"]);
    assert_eq!(ran.code, Some(0), "in a repository {}:\n{ran}\n{said}", repo.whose());
    let ran = ran.says("sandbox standard");
    assert_eq!(repo.experiment(0)["metric"], 1.0, "in a repository {}:\n{ran}\n{said}", repo.whose());
}

#[test]
fn a_shell_script_finds_what_scripts_expect() {
    let script = r#"set -eu -o pipefail
test "$(cat <(echo a) <(echo b) | wc -l)" -eq 2
echo by name > /dev/stderr; echo by name | tee /dev/stderr > /dev/stdout; echo by number > /dev/fd/2
test "$(seq 20 | xargs -P 4 -I{} sh -c 'echo {}' | wc -l)" -eq 20
set -m; sleep 100 & kill %1; wait %1 || true; set +m
timeout 10 true; nice true; setsid true; flock . true; flock "$TMPDIR/lock" true
script -qec 'tty && echo in a terminal' /dev/null | grep -q 'in a terminal'
echo x > "$(mktemp)"; echo x > "$(mktemp -d)/x"; echo x > ~/x; echo x > /dev/shm/x; echo x > /var/tmp/x
test "$(nproc)" -ge 1; free > /dev/null; df . > /dev/null; ps aux | grep -q score.sh
test "$(whoami)" = "$(id -un)"; getent passwd "$(id -u)" > /dev/null; getent hosts "$(hostname)" > /dev/null
test "$(TZ=Asia/Tokyo date -d @0 +%H)" = 09; locale > /dev/null
! sudo -n true 2> /dev/null
! git status 2> said; grep -q 'not a git repository' said
truncate -s 8T "$TMPDIR/holes"
! touch /usr/x 2> /dev/null; ! touch /etc/x 2> /dev/null
echo loss: 1
"#;
    for repo in Repo::everybodys() {
        study(&repo, script, &[]);
        measures(&repo, None);
    }
}

#[test]
fn python_runs_threads_processes_servers_databases_and_terminals() {
    let program = r#"
import asyncio, concurrent.futures, fcntl, getpass, http.server, multiprocessing, os, pty, pwd, socket, sqlite3, tempfile, threading, urllib.request
from multiprocessing import shared_memory

def square(x):
    return x * x

if __name__ == "__main__":
    threads = [threading.Thread(target=square, args=(1,)) for _ in range(50)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(square, [3]) == [9]
    with multiprocessing.Manager() as manager:
        shared = manager.dict(a=1)
        assert shared["a"] == 1
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        assert list(pool.map(square, [2])) == [4]
    multiprocessing.Semaphore(2), multiprocessing.Event(), multiprocessing.Queue().put(1)
    block = shared_memory.SharedMemory(create=True, size=4096)
    block.buf[0] = 7
    again = shared_memory.SharedMemory(name=block.name)
    assert again.buf[0] == 7
    again.close()
    block.close()
    block.unlink()

    async def child():
        process = await asyncio.create_subprocess_exec("echo", "hi", stdout=-1)
        assert (await process.communicate())[0] == b"hi\n"
    asyncio.run(child())

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    assert b"x = 5" in urllib.request.urlopen(f"http://localhost:{server.server_port}/knobs.py").read()
    local = socket.socket(socket.AF_UNIX)
    local.bind("./socket")
    assert socket.gethostbyname(socket.gethostname()) == "127.0.0.1"

    database = sqlite3.connect("some.db")
    assert database.execute("pragma journal_mode=wal").fetchone() == ("wal",)
    database.execute("create table t(a)")
    database.commit()
    assert sqlite3.connect("some.db").execute("select count(*) from t").fetchone() == (0,)
    fcntl.flock(open("lock", "w"), fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.lockf(open("overnight.toml", "r+"), fcntl.LOCK_EX | fcntl.LOCK_NB)
    with tempfile.TemporaryDirectory() as folder, open(folder + "/x", "w") as file:
        file.write("x")
    tempfile.NamedTemporaryFile(dir="/dev/shm").write(b"x")
    upper, lower = pty.openpty()
    os.write(lower, b"x")
    assert os.read(upper, 1) == b"x" and os.ttyname(lower)
    assert getpass.getuser() == pwd.getpwuid(os.getuid()).pw_name
    print("loss: 1")
"#;
    for repo in Repo::everybodys() {
        repo.write("program.py", program);
        study(&repo, "python3 program.py", &[]);
        measures(&repo, None);
    }
}

#[test]
fn a_virtual_environment_is_an_input_inside_the_checkout_or_out_of_it() {
    for repo in Repo::everybodys() {
        let outside = repo.beside("environment");
        for (name, folder) in [("inside", PathBuf::from(".venv")), ("outside", outside.clone())] {
            let folder = folder.display();
            repo.shell(&format!("python3 -m venv --without-pip {folder}"));
            repo.shell(&format!("echo 'value = 1' > \"$(echo {folder}/lib/python3*/site-packages)/{name}.py\""));
        }
        let outside = outside.to_str().unwrap();
        let score = format!(
            ".venv/bin/python -c 'import sys, inside; assert \".venv\" in sys.prefix' || exit\n\
             (. .venv/bin/activate; python -c 'import inside') || exit\n\
             {outside}/bin/python -c 'import outside; print(\"loss:\", outside.value)'\n"
        );
        study(&repo, &score, &[".venv", outside]);
        measures(&repo, None);
    }
}

#[test]
fn a_python_of_pyenv_at_home_runs_by_its_shim() {
    for repo in Repo::everybodys() {
        let root = repo.beside("home/.pyenv");
        let shims = root.join("shims");
        // A program that finds its library by itself, wherever it is.
        repo.shell(&format!(
            "mkdir -p {0}/versions/3/bin {0}/shims && \
             cp \"$(python3 -c 'import sys; print(sys._base_executable)')\" {0}/versions/3/bin/python3 && \
             printf '#!/bin/sh\\nexec {0}/versions/3/bin/python3 \"$@\"\\n' > {0}/shims/python3 && \
             chmod +x {0}/shims/python3",
            root.display()
        ));
        let score =
            "python3 -c 'import json, sys; assert \".pyenv\" in sys.executable, sys.executable; print(\"loss: 1\")'";
        study(&repo, score, &[]);
        measures(&repo, Some(&shims));
    }
}

#[test]
fn node_finds_its_modules_and_runs_workers_children_and_a_server() {
    let program = r#"
const assert = require("assert"), child = require("child_process"), http = require("http"), os = require("os");
const { Worker } = require("worker_threads");
assert.equal(require("thing"), 1);
assert.equal(child.execSync("node_modules/.bin/tool").toString(), "1\n");
os.userInfo(); os.cpus(); os.tmpdir();
new Worker("require('fs').readFileSync('knobs.py')", { eval: true }).on("exit", code => {
  assert.equal(code, 0);
  const server = http.createServer((request, response) => response.end("1")).listen(0, "localhost", () =>
    http.get({ port: server.address().port, host: "localhost" }, response =>
      response.on("data", data => { console.log("loss: " + data); server.close(); })));
});
"#;
    for repo in Repo::everybodys() {
        repo.write("node_modules/thing/index.js", "module.exports = 1\n").write("program.js", program);
        repo.program("node_modules/thing/tool.js", "#!/usr/bin/env node\nconsole.log(require('thing'))\n");
        repo.shell("mkdir node_modules/.bin && ln -s ../thing/tool.js node_modules/.bin/tool");
        study(&repo, "node program.js", &["node_modules"]);
        measures(&repo, None);
    }
}

#[test]
fn a_compiler_and_make_build_and_run_with_threads() {
    for repo in Repo::everybodys() {
        repo.write("one.c", "int one(void) { return 1; }\n");
        repo.write("main.c", MAIN);
        repo.write("Makefile", "all: one.o main.o\n\tcc -pthread -o all $^\n%.o: %.c\n\tcc -O2 -c -o $@ $<\n");
        study(&repo, "make -s -j2 && ./all", &[]);
        measures(&repo, None);
    }
}

const MAIN: &str = r#"#include <pthread.h>
#include <stdio.h>
int one(void);
static void *run(void *to) { *(int *)to = one(); return 0; }
int main(void) {
    pthread_t thread;
    int value = 0;
    pthread_create(&thread, 0, run, &value);
    pthread_join(thread, 0);
    printf("loss: %d\n", value);
}
"#;

/// The toolchain that builds the tests; where root keeps it no other user can go.
fn rust() -> PathBuf {
    let asked = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
    PathBuf::from(String::from_utf8(asked.stdout).unwrap().trim()).join("bin")
}

#[test]
fn cargo_builds_and_tests_offline_with_a_warm_target() {
    let repo = Repo::empty();
    repo.write("Cargo.toml", "[package]\nname = \"thing\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    repo.write("Cargo.lock", "version = 4\n[[package]]\nname = \"thing\"\nversion = \"0.1.0\"\n");
    repo.write("src/main.rs", "fn main() { println!(\"loss: 1\"); }\n#[test]\nfn works() {}\n");
    let path = format!("PATH={}:$PATH", rust().display());
    repo.shell(&format!("{path} cargo build -q --offline && {path} cargo test -q --offline --no-run"));
    study(&repo, "cargo test -q --offline --locked 1>&2 && cargo run -q --offline --locked", &["target"]);
    measures(&repo, Some(&rust()));
}

/// One digit of the surface becomes another: as long as before, and as a rule within the second of what was built of
/// the one before.
#[track_caller]
fn sees_another_digit(repo: &Repo, surface: &str, path: Option<&Path>) {
    let text = repo.read(surface).replace('5', "6");
    repo.write("another", &text);
    let mut command = repo.command(&["try", "--file", "another", "-m", "another digit"]);
    if let Some(path) = path {
        command.env("PATH", format!("{}:{}", path.display(), std::env::var("PATH").unwrap()));
    }
    let ran = Ran::of(command.output().unwrap());
    let said = repo.overnight(&["show", "1", "--output"]);
    assert_eq!(repo.experiment(0)["metric"], 5.0, "{ran}\n{said}");
    assert_eq!(repo.experiment(1)["metric"], 6.0, "{ran}\n{said}");
}

fn built_study(repo: &Repo, surface: &str, run: &str, input: &str) {
    let triplet = format!(
        "surface = \"{surface}\"\nmetric = {{ name = \"loss\", goal = \"min\" }}\n\
         [evaluate]\nrun = \"{run}\"\nbudget = \"60s\"\ninputs = [\"{input}\"]\n"
    );
    repo.write("overnight.toml", &triplet);
    repo.write(".gitignore", "target\nbuild\n__pycache__\nanother\n").commit("a study");
}

#[test]
fn make_builds_another_digit_again() {
    for repo in Repo::everybodys() {
        repo.write("knobs.c", "int x = 5;\n");
        repo.write("main.c", "#include <stdio.h>\nextern int x;\nint main(void) { printf(\"loss: %d\\n\", x); }\n");
        repo.write("Makefile", "build/all: knobs.c main.c\n\tcc -o $@ $^\n");
        built_study(&repo, "knobs.c", "make -s && build/all", "build");
        repo.shell("mkdir build && make -s");
        sees_another_digit(&repo, "knobs.c", None);
    }
}

#[test]
fn cargo_builds_another_digit_again() {
    let repo = Repo::empty();
    repo.write("Cargo.toml", "[package]\nname = \"thing\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    repo.write("Cargo.lock", "version = 4\n[[package]]\nname = \"thing\"\nversion = \"0.1.0\"\n");
    repo.write("src/knobs.rs", "pub const X: u32 = 5;\n");
    repo.write("src/main.rs", "mod knobs;\nfn main() { println!(\"loss: {}\", knobs::X); }\n");
    built_study(&repo, "src/knobs.rs", "cargo run -q --offline --locked", "target");
    repo.shell(&format!("PATH={}:$PATH cargo build -q --offline", rust().display()));
    sees_another_digit(&repo, "src/knobs.rs", Some(&rust()));
}

/// Python remembers the time of a source in whole seconds.
#[test]
fn python_compiles_another_digit_again() {
    for repo in Repo::everybodys() {
        repo.write("knobs.py", "x = 5\n").write("score.py", "import knobs\nprint('loss:', knobs.x)\n");
        built_study(&repo, "knobs.py", "python3 score.py", "__pycache__");
        repo.shell("touch -d '2 seconds ago' knobs.py && python3 score.py && ls __pycache__/knobs.*.pyc");
        sees_another_digit(&repo, "knobs.py", None);
    }
}

#[test]
fn secrets_at_home_are_not_there_and_toolchains_beside_them_are() {
    let secrets = [
        ".ssh/id_ed25519",
        ".aws/credentials",
        ".config/gh/hosts.yml",
        ".config/tool/bin/tool",
        ".netrc",
        ".npmrc",
        ".pypirc",
        ".git-credentials",
        ".cargo/credentials.toml",
        ".cargo/config.toml",
        ".docker/config.json",
        ".docker/lib/x",
        ".docker/bin/docker-thing",
        ".kube/config",
        ".gnupg/private-keys-v1.d/key",
        ".mozilla/firefox/profile/logins.json",
        ".local/share/uv/credentials/credentials.toml",
        ".julia/servers/pkg.julialang.org/auth.toml",
        ".m2/settings.xml",
        ".gradle/gradle.properties",
        ".gem/credentials",
        ".cache/huggingface/token",
        ".bash_history",
        "documents/diary.txt",
    ];
    let tools = [
        ".cargo/bin/tool",
        ".cargo/registry/index",
        ".pyenv/version",
        ".rustup/settings.toml",
        ".local/share/uv/python/x",
        ".julia/packages/x",
        ".m2/repository/x",
        ".gradle/caches/x",
        ".nvm/nvm.sh",
        "go/pkg/mod/x",
    ];
    for repo in Repo::everybodys() {
        let home = repo.beside("home");
        for file in secrets.iter().chain(&tools) {
            repo.shell(&format!("cd ~ && mkdir -p \"$(dirname {file})\" && echo x > {file} && chmod +x {file}"));
        }
        let mut expected: Vec<&str> = tools.to_vec();
        expected.sort_unstable();
        repo.write("expected", &format!("{}\n", expected.join("\n")));
        study(
            &repo,
            "cd ~ && find . -type f | sed 's|^./||' | LC_ALL=C sort | diff - \"$OLDPWD/expected\" && echo loss: 1",
            &[],
        );
        let path = format!("{0}/.docker/bin:{0}/.config/tool/bin:{0}", home.display());
        measures(&repo, Some(Path::new(&path)));
    }
}

/// A user who can read a folder on the host can read it inside, and root's own files too, though nobody is root there.
#[test]
fn an_input_that_is_for_its_owner_alone_can_be_read() {
    for repo in Repo::everybodys() {
        repo.shell("mkdir -p build/deep && echo 'loss: 1' > build/deep/data && chmod -R go-rwx build");
        study(&repo, "cat build/deep/data", &["build"]);
        measures(&repo, None);
        let mode = fs::metadata(repo.dir().join("build/deep")).unwrap();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode.permissions()) & 0o77, 0);
    }
}

#[test]
fn a_checkout_in_a_home_that_is_a_link_is_there_under_both_names() {
    for repo in Repo::everybodys() {
        let home = repo.beside("link");
        repo.shell(&format!("ln -s {} {}", repo.beside("").display(), home.display()));
        study(&repo, "cmp ~/repo/knobs.py knobs.py && cd ~/repo && test -f score.sh && echo loss: 1", &[]);
        let mut command = repo.command(&["run", "--no-tui", "--experiments", "0"]);
        let ran = Ran::of(command.env("HOME", &home).output().unwrap());
        let said = repo.overnight(&["show", "baseline", "--output"]);
        assert_eq!(repo.experiment(0)["metric"], 1.0, "in a repository {}:\n{ran}\n{said}", repo.whose());
    }
}

/// As in a container that gets a driver's libraries as single files, and with data on a second disk.
#[test]
fn what_is_mounted_inside_an_input_or_on_a_file_of_the_system_is_there() {
    if !rustix::process::getuid().is_root() {
        eprintln!("skipped: only root may mount on the system's files and be the host's root still");
        return;
    }
    for repo in Repo::everybodys() {
        repo.write("data/disk/.keep", "").write("one", "1\n");
        let file = "/usr/lib/os-release";
        study(&repo, &format!("test \"$(cat {file})\" = 1 && echo loss: $(cat data/disk/one)"), &["data"]);
        repo.write(".git/info/exclude", "data\none\n").git(&["rm", "-rq", "--cached", "data", "one"]);
        repo.commit("inputs only");
        let mounts = format!(
            "mount -t tmpfs none {0}/data/disk && cp {0}/one {0}/data/disk && mount --bind {0}/one {file} && exec \"$@\"",
            repo.dir().display()
        );
        let run = repo.command(&["run", "--no-tui", "--experiments", "0"]);
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", &mounts, "sh"]).arg(run.get_program()).args(run.get_args());
        command.env_clear().current_dir(repo.dir());
        command.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let ran = Ran::of(command.output().unwrap());
        let said = repo.overnight(&["show", "baseline", "--output"]);
        assert_eq!(repo.experiment(0)["metric"], 1.0, "in a repository {}:\n{ran}\n{said}", repo.whose());
    }
}
