use super::contents;
use crate::source::reseeds;

#[track_caller]
fn reseeded(path: &str, old: &str, new: &str) -> bool {
    reseeds(&contents(&[(path, old)]), &contents(&[(path, new)]))
}

#[test]
fn another_number_where_chance_is_seeded_is_only_another_draw() {
    for (path, text) in [
        ("a.py", "SEED = 42\n"),
        ("a.py", "seed: int = 42\n"),
        ("a.py", "torch.manual_seed(42)\n"),
        ("a.py", "torch.manual_seed(42 + rank)\n"),
        ("a.py", "rng = np.random.default_rng(42)\n"),
        ("a.py", "key = jax.random.PRNGKey(42)\n"),
        ("a.py", "m = Model(depth=4, random_state=42)\n"),
        ("a.py", "random.seed(42)\n"),
        ("a.py", "r = random.Random(42)\n"),
        ("a.py", "config['seed'] = 42\n"),
        ("a.py", "config = {'seed': 42, 'depth': 7}\n"),
        ("a.py", "parser.add_argument('--seed', type=int, default=42)\n"),
        ("a.py", "def f(x, seed=42): pass\n"),
        ("a.js", "const randomSeed = 42;\n"),
        ("a.js", "run({ seed: 42 });\n"),
        ("a.js", "const r = new Random(42);\n"),
        ("a.ts", "const seed: number = 42;\n"),
        ("a.rs", "const SEED: u64 = 42;\n"),
        ("a.rs", "fn f() { let r = StdRng::seed_from_u64(42); }\n"),
        ("a.rs", "fn f() { let c = Config { seed: 42, depth: 7 }; }\n"),
        ("a.c", "#define SEED 42\n"),
        ("a.c", "void f(void) { srand(42); }\n"),
        ("a.cpp", "std::mt19937 engine(42);\n"),
        ("a.go", "package a\n\nvar r = rand.New(rand.NewSource(42))\n"),
        ("a.go", "package a\n\nfunc f() { seed := 42 }\n"),
        ("a.toml", "[train]\nseed = 42\n"),
        ("a.yaml", "train:\n  seed: 42\n"),
        ("a.json", "{\"seed\": 42}"),
        ("a.sh", "SEED=42\n"),
    ] {
        assert!(reseeded(path, text, &text.replace("42", "43")), "{text}");
        assert!(!reseeded(path, text, text), "unchanged: {text}");
    }
}

#[test]
fn another_number_elsewhere_is_a_change() {
    for text in [
        "depth = 42\n",
        "n_seeds = 42\n",
        "MAX_SEED = 42\n",
        "rng.normal(42)\n",
        "m = Model(depth=42, random_state=1)\n",
        "lr, seed = 42, 1\n",
        "seed = f(42)\n",
        "lr = 42 * seed\n",
        "config = {'seed': 1, 'depth': 42}\n",
        "parser.add_argument('--depth', type=int, default=42)\n",
        "range(42)\n",
    ] {
        assert!(!reseeded("a.py", text, &text.replace("42", "43")), "{text}");
    }
}

#[test]
fn anything_beside_the_seed_is_a_change() {
    assert!(reseeded("a.py", "seed = 1\nx = 2\n", "seed = 3  # lucky\n\nx = 2\n"));
    assert!(!reseeded("a.py", "seed = 1\nx = 2\n", "seed = 3\nx = 4\n"));
    assert!(!reseeded("a.py", "seed = 1\n", "seed = None\n"));
    assert!(!reseeded("a.py", "seed = 1\n", "seed = 1\nx = 2\n"));
    assert!(!reseeded("a.py", "seed = 1\n", "rng = 1\n"));
    assert!(!reseeded("a.py", "seed = 1\n", "# the same\nseed = 1\n"));
    assert!(!reseeded("a.txt", "seed = 1\n", "seed = 2\n"));
    let two = |seed: &str, note: &str| contents(&[("a.py", seed), ("b.md", note)]);
    assert!(reseeds(&two("seed = 1\n", "b"), &two("seed = 2\n", "b")));
    assert!(!reseeds(&two("seed = 1\n", "b"), &two("seed = 2\n", "c")));
}
