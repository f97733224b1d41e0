//! Coding agents that people have on their machines already.

/// One of them, and how it is to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coding {
    pub preset: Preset,
    /// Whatever the agent takes by itself where none is named.
    pub model: Option<String>,
    /// Further arguments, as they are.
    pub args: Vec<String>,
    /// The agent's own tools that it may use; none named: those that read and edit files.
    pub tools: Vec<String>,
}

impl Coding {
    pub fn new(preset: Preset) -> Coding {
        Coding { preset, model: None, args: Vec::new(), tools: Vec::new() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    Claude,
    Codex,
    Gemini,
    Opencode,
    Aider,
    Pi,
    Mini,
}

impl Preset {
    pub const ALL: [Preset; 7] =
        [Preset::Claude, Preset::Codex, Preset::Gemini, Preset::Opencode, Preset::Aider, Preset::Pi, Preset::Mini];

    /// Its name in the triplet, which is the name of its program.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Claude => "claude",
            Preset::Codex => "codex",
            Preset::Gemini => "gemini",
            Preset::Opencode => "opencode",
            Preset::Aider => "aider",
            Preset::Pi => "pi",
            Preset::Mini => "mini",
        }
    }

    pub fn from_name(name: &str) -> Option<Preset> {
        Preset::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// What people call it.
    pub fn title(self) -> &'static str {
        match self {
            Preset::Claude => "Claude Code",
            Preset::Codex => "Codex",
            Preset::Gemini => "Gemini CLI",
            Preset::Opencode => "opencode",
            Preset::Aider => "aider",
            Preset::Pi => "pi",
            Preset::Mini => "mini-swe-agent",
        }
    }

    /// The command that brings it.
    pub fn install(self) -> &'static str {
        match self {
            Preset::Claude => "npm install -g @anthropic-ai/claude-code",
            Preset::Codex => "npm install -g @openai/codex",
            Preset::Gemini => "npm install -g @google/gemini-cli",
            Preset::Opencode => "npm install -g opencode-ai",
            Preset::Aider => "pipx install aider-chat",
            Preset::Pi => "npm install -g @earendil-works/pi-coding-agent",
            Preset::Mini => "pipx install mini-swe-agent && pipx inject mini-swe-agent mcp",
        }
    }

    /// Whether its tools can be chosen from outside.
    pub fn has_tools(self) -> bool {
        matches!(self, Preset::Claude | Preset::Gemini | Preset::Opencode | Preset::Pi)
    }
}
