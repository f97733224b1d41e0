//! What is the same program in each language, and what is not.

use super::id;

#[track_caller]
fn same(path: &str, text: &str, others: &[&str]) {
    for other in others {
        assert_eq!(id(path, text), id(path, other), "not the same as\n{text}\n{other}");
    }
}

#[track_caller]
fn other(path: &str, text: &str, others: &[&str]) {
    for other in others {
        assert_ne!(id(path, text), id(path, other), "the same as\n{text}\n{other}");
    }
}

#[test]
fn python() {
    let text = "def f(x):\n    if x:\n        a()\n        b()\n    return 'a b'\n";
    same(
        "a.py",
        text,
        &[
            "# first\n\n\ndef f(x):\n    # here\n    if x:\n        a()  # there\n\n        b()\n\n    return 'a b'\n# last",
            "def f( x ):\n  if x :\n    a(); b()\n  return 'a b'\n",
            "def f(\n    x\n):\n\tif x:\n\t\ta()\n# at the margin\n\t\tb()\n\treturn \\\n\t\t'a b'\n",
        ],
    );
    other(
        "a.py",
        text,
        &[
            "def f(x):\n    if x:\n        a()\n    b()\n    return 'a b'\n",
            "def f(x):\n    if x:\n        a()\n        b()\n        return 'a b'\n",
            "def f(x):\n    if x:\n        a()\n        b()\n    return 'a  b'\n",
            "def f(x):\n    if x:\n        a()\n        b()\n    return\n    'a b'\n",
            "def f(x):\n    'a docstring'\n    if x:\n        a()\n        b()\n    return 'a b'\n",
        ],
    );
    other("a.py", "x = f'{y=}'\n", &["x = f'{y = }'\n"]);
    other("a.py", "x = 'a' 'b'\n", &["x = 'a', 'b'\n", "x = 'ab'\n"]);
    same("a.py", "x = ('a' 'b')\n", &["x = ('a'   # one\n     'b')\n"]);
    other("a.py", "x = '\\n'\n", &["x = '\\t'\n", "x = r'\\n'\n"]);
    other("a.py", "# coding: utf-8\nx = 1\n", &["# coding: latin-1\nx = 1\n"]);
}

#[test]
fn javascript() {
    let text = "function f(a) {\n  return a + 1;\n}\n";
    same("a.js", text, &["function f(a){return a+1}", "// c\nfunction f(a) { /* d */ return a + 1 // e\n}\n"]);
    other(
        "a.js",
        text,
        &[
            "function f(a) {\n  return\n  a + 1;\n}\n",
            "function f(a) {\n  return a + 2;\n}\n",
            "async function f(a) {return a+1}",
        ],
    );
    other("a.js", "async function f() {}", &["async\nfunction f() {}"]);
    other("a.js", "x = `a ${b} c`", &["x = `a ${b}  c`"]);
    other("a.js", "x = /a b/", &["x = /a  b/"]);
    other("a.js", "x = f()", &["x = /* @__PURE__ */ f()"]);
    other("a.jsx", "x = <a>b c</a>", &["x = <a>b  c</a>"]);
    same("a.js", "let a = 1\nlet b = 2", &["let a = 1; let b = 2;"]);
    other("a.js", "for (;;) { a() }", &["for (;;); { a() }"]);
}

#[test]
fn typescript() {
    let text = "interface A { x: number; y?: string }\nlet a: A = { x: 1 };\n";
    same("a.ts", text, &["// c\ninterface A {\n  x: number;\n  y?: string\n}\nlet a: A = { x: 1 }\n"]);
    other("a.ts", text, &["interface A { x: number; y: string }\nlet a: A = { x: 1 };\n"]);
    same("a.tsx", "let a = <b c={1}/>", &["let a = <b  c={ 1 } />; // c"]);
}

#[test]
fn rust() {
    let text = "fn f(x: u32) -> u32 { vec![x, 1].len() as u32 }\n";
    same("a.rs", text, &["/// Why.\nfn f(x: u32) -> u32 {\n    // c\n    vec![ x, 1 ].len() as u32\n}\n"]);
    other(
        "a.rs",
        text,
        &["fn f(x: u32) -> u32 { vec![x; 1].len() as u32 }\n", "fn f(x: u32) -> u32 { vec![x, 1].len() as u32; }\n"],
    );
    other("a.rs", "const A: &str = \"a b\";", &["const A: &str = \"a  b\";", "const A: &str = \"a\\tb\";"]);
    other(
        "a.rs",
        "macro_rules! m { ($($x:expr),*) => { a }; }",
        &["macro_rules! m { ($($x:expr);*) => { a }; }", "macro_rules! m { ($($x:expr),+) => { a }; }"],
    );
}

#[test]
fn c_and_cpp() {
    let text = "#define N 4\nint f(int x) { return x << N; }\n";
    for path in ["a.c", "a.cpp"] {
        same(path, text, &["/* c */\n#define N 4\n\nint\nf(int x)\n{\n\treturn x<<N; // d\n}\n"]);
        other(
            path,
            text,
            &["#define N 5\nint f(int x) { return x << N; }\n", "#define N 4\nint f(int x) { return x >> N; }\n"],
        );
        other(path, "#define F(x) x\n", &["#define F (x) x\n"]);
        other(path, "#pragma omp parallel\nint a;\n", &["#pragma omp\nint a;\n"]);
    }
    same("a.cpp", "auto a = b<c>();", &["auto a = b< c >( );"]);
    other("a.cpp", "auto a = R\"(a b)\";", &["auto a = R\"(a  b)\";"]);
}

#[test]
fn go() {
    let text = "package a\n\nfunc f(x int) int {\n\ty := x + 1\n\treturn y\n}\n";
    same("a.go", text, &["// Package a.\npackage a\nfunc f(x int) int { y := x+1; return y }\n"]);
    other("a.go", text, &["package a\n\nfunc f(x int) int {\n\ty := x + 2\n\treturn y\n}\n"]);
    let plain = "package a\n\nfunc f() {}\n";
    other("a.go", plain, &["package a\n\n//go:noinline\nfunc f() {}\n"]);
    other("a.go", "package a\n\n// int x;\nimport \"C\"\n", &["package a\n\n// int y;\nimport \"C\"\n"]);
}

#[test]
fn toml() {
    let text = "[a]\nb = [1, 2]\nc = \"d e\"\n";
    same("a.toml", text, &["# c\n[a]\n\nb=[\n  1, # one\n  2]\nc = \"d e\"\n"]);
    other(
        "a.toml",
        text,
        &["[a]\nb = [1, 2]\nc = \"d  e\"\n", "[a]\nb = [1, 3]\nc = \"d e\"\n", "[b]\nb = [1, 2]\nc = \"d e\"\n"],
    );
}

#[test]
fn yaml() {
    let text = "a:\n  b: 1\n  c: [x, y z]\nd: |\n  text\n   more\n";
    same(
        "a.yaml",
        text,
        &[
            "# c\na:\n  b:   1 # one\n\n  c: [ x,  y z ]\nd: |\n  text\n   more\n",
            "a:\n    b: 1\n    c: [x, y z]\nd: |\n  text\n   more\n",
        ],
    );
    other(
        "a.yaml",
        text,
        &["a:\n  b: 1\nc: [x, y z]\nd: |\n  text\n   more\n", "a:\n  b: 1\n  c: [x, y z]\nd: |\n  text\n  more\n"],
    );
    other("a.yaml", "a: 'b c'\n", &["a: 'b  c'\n", "a: \"b c\"\n"]);
}

#[test]
fn json() {
    let text = "{\"a\": [1, 2], \"b c\": null}";
    same("a.json", text, &["{\n  \"a\":[1,2],\n  \"b c\": null\n}\n"]);
    other(
        "a.json",
        text,
        &["{\"a\": [1, 2], \"b  c\": null}", "{\"a\": [[1, 2]], \"b c\": null}", "{\"a\": [12], \"b c\": null}"],
    );
}

#[test]
fn bash() {
    let text = "if [ \"$a\" = b ]; then\n  echo 'x y' $c\nfi\n";
    same("a.sh", text, &["# c\nif  [ \"$a\"  = b ]\nthen\n\n    echo  'x y'   $c # d\nfi\n"]);
    other(
        "a.sh",
        text,
        &["if [ \"$a\" = b ]; then\n  echo 'x  y' $c\nfi\n", "if [ \"$a\"=b ]; then\n  echo 'x y' $c\nfi\n"],
    );
    other("a.sh", "echo a b\n", &["echo ab\n", "echo a\nb\n", "echo a b &\n"]);
    other("a.sh", "#!/bin/sh\ntrue\n", &["#!/bin/bash\ntrue\n"]);
    other("a.sh", "cat <<E\na b\nE\n", &["cat <<E\na  b\nE\n"]);
}
