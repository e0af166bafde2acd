//! The ways in which a stranger's text reaches the model.

/// A way in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Page,
    Forwarded,
    MarkedFile,
    Quote,
    SearchResult,
    ToolResult,
    InboxFile,
    UntrustedPart,
    Memory,
    ToolDescription,
    FileSearch,
    Compacted,
    ProgramOutput,
    FileName,
    SubAgent,
    Guest,
}

impl Way {
    pub(crate) const ALL: [Self; 16] = [
        Self::Page,
        Self::Forwarded,
        Self::MarkedFile,
        Self::Quote,
        Self::SearchResult,
        Self::ToolResult,
        Self::InboxFile,
        Self::UntrustedPart,
        Self::Memory,
        Self::ToolDescription,
        Self::FileSearch,
        Self::Compacted,
        Self::ProgramOutput,
        Self::FileName,
        Self::SubAgent,
        Self::Guest,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Page => "web page",
            Self::Forwarded => "forwarded message",
            Self::MarkedFile => "untrusted file",
            Self::Quote => "quoted message",
            Self::SearchResult => "search result",
            Self::ToolResult => "result of a tool server",
            Self::InboxFile => "file of a message",
            Self::UntrustedPart => "contact card",
            Self::Memory => "memory",
            Self::ToolDescription => "description of a tool",
            Self::FileSearch => "search in files",
            Self::Compacted => "summary",
            Self::ProgramOutput => "output of a program",
            Self::FileName => "file name",
            Self::SubAgent => "page of a sub-agent",
            Self::Guest => "person without rights",
        }
    }

    pub(crate) fn needs_server(self) -> bool {
        matches!(self, Self::ToolResult | Self::ToolDescription)
    }
}
