//! The languages whose programs are known by their form.

/// A language with a grammar here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Bash,
    C,
    Cpp,
    Go,
    JavaScript,
    Json,
    Python,
    Rust,
    Toml,
    Tsx,
    TypeScript,
    Yaml,
}

impl Language {
    pub const ALL: [Language; 12] = [
        Language::Bash,
        Language::C,
        Language::Cpp,
        Language::Go,
        Language::JavaScript,
        Language::Json,
        Language::Python,
        Language::Rust,
        Language::Toml,
        Language::Tsx,
        Language::TypeScript,
        Language::Yaml,
    ];

    /// By the file's extension alone: a guess from contents could change from one edit to the next.
    pub fn of(path: &str) -> Option<Language> {
        let name = path.rsplit('/').next()?;
        let (stem, extension) = name.rsplit_once('.')?;
        if stem.is_empty() {
            return None;
        }
        Some(match extension {
            "sh" | "bash" => Language::Bash,
            "c" | "h" => Language::C,
            "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" | "cu" | "cuh" => Language::Cpp,
            "go" => Language::Go,
            "js" | "mjs" | "cjs" | "jsx" => Language::JavaScript,
            "json" => Language::Json,
            "py" | "pyi" => Language::Python,
            "rs" => Language::Rust,
            "toml" => Language::Toml,
            "tsx" => Language::Tsx,
            "ts" | "mts" | "cts" => Language::TypeScript,
            "yaml" | "yml" => Language::Yaml,
            _ => return None,
        })
    }

    pub(super) fn grammar(self) -> tree_sitter::Language {
        match self {
            Language::Bash => tree_sitter_bash::LANGUAGE,
            Language::C => tree_sitter_c::LANGUAGE,
            Language::Cpp => tree_sitter_cpp::LANGUAGE,
            Language::Go => tree_sitter_go::LANGUAGE,
            Language::JavaScript => tree_sitter_javascript::LANGUAGE,
            Language::Json => tree_sitter_json::LANGUAGE,
            Language::Python => tree_sitter_python::LANGUAGE,
            Language::Rust => tree_sitter_rust::LANGUAGE,
            Language::Toml => tree_sitter_toml_ng::LANGUAGE,
            Language::Tsx => tree_sitter_typescript::LANGUAGE_TSX,
            Language::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
            Language::Yaml => tree_sitter_yaml::LANGUAGE,
        }
        .into()
    }

    /// Whether every character of such a node counts: what a string holds is no layout.
    ///
    /// Code inside of a string counts by the character too: Python prints the blanks of `f"{x = }"`.
    pub(super) fn is_verbatim(self, kind: &str) -> bool {
        match self {
            Language::Bash => matches!(
                kind,
                "string"
                    | "raw_string"
                    | "ansi_c_string"
                    | "translated_string"
                    | "expansion"
                    | "regex"
                    | "extglob_pattern"
                    | "heredoc_body"
            ),
            Language::C | Language::Cpp => {
                matches!(kind, "string_literal" | "raw_string_literal" | "char_literal" | "system_lib_string")
            }
            Language::Go => matches!(kind, "interpreted_string_literal" | "raw_string_literal" | "rune_literal"),
            Language::JavaScript | Language::Tsx | Language::TypeScript => {
                matches!(kind, "string" | "template_string" | "template_literal_type" | "regex" | "jsx_text")
            }
            Language::Json | Language::Python | Language::Toml => kind == "string",
            Language::Rust => matches!(kind, "string_literal" | "raw_string_literal" | "char_literal"),
            Language::Yaml => {
                matches!(kind, "plain_scalar" | "double_quote_scalar" | "single_quote_scalar" | "block_scalar")
            }
        }
    }

    /// Whether a semicolon says no more than the end of a line: the tree has what it means.
    pub(super) fn ends_lines(self) -> bool {
        use Language::*;
        matches!(self, Bash | Go | JavaScript | Python | Tsx | TypeScript)
    }
}
