//! The languages that are highlighted. A row is a family of similar languages.

/// The words and signs of a language.
#[derive(Debug)]
pub(crate) struct LanguageSyntax {
    /// Names behind a fence, in lower case.
    names: &'static [&'static str],
    pub(super) keywords: &'static [&'static str],
    /// `true` if upper and lower case are the same.
    pub(super) ignores_case: bool,
    /// The beginnings of comments up to the end of the line.
    pub(super) comments: &'static [&'static str],
    /// The beginnings and ends of comments of several lines.
    pub(super) blocks: &'static [(&'static str, &'static str)],
    /// The beginnings and ends of texts of several lines.
    pub(super) long_texts: &'static [(&'static str, &'static str)],
    pub(super) quotes: &'static str,
    /// `true` if names that begin with a capital letter are types.
    pub(super) types: bool,
    /// `true` if the first word of a line is a key before `:` or `=`.
    pub(super) keys: bool,
}

const NO_LANGUAGE: LanguageSyntax = LanguageSyntax {
    names: &[],
    keywords: &[],
    ignores_case: false,
    comments: &[],
    blocks: &[],
    long_texts: &[],
    quotes: "\"'",
    types: false,
    keys: false,
};

const C_BLOCK: &[(&str, &str)] = &[("/*", "*/")];

#[rustfmt::skip]
const LANGUAGES: &[LanguageSyntax] = &[
    LanguageSyntax {
        names: &["rust", "rs"],
        keywords: &[
            "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern", "false",
            "fn", "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return",
            "self", "static", "struct", "super", "trait", "true", "type", "union", "unsafe", "use", "where", "while",
        ],
        comments: &["//"], blocks: C_BLOCK, long_texts: &[("r#\"", "\"#")], quotes: "\"", types: true, ..NO_LANGUAGE
    },
    LanguageSyntax {
        names: &["javascript", "js", "jsx", "mjs", "typescript", "ts", "tsx"],
        keywords: &[
            "abstract", "any", "as", "async", "await", "boolean", "break", "case", "catch", "class", "const",
            "continue", "debugger", "declare", "default", "delete", "do", "else", "enum", "export", "extends", "false",
            "finally", "for", "from", "function", "if", "implements", "import", "in", "instanceof", "interface", "let",
            "new", "null", "number", "of", "private", "protected", "public", "readonly", "return", "static", "string",
            "super", "switch", "this", "throw", "true", "try", "type", "typeof", "undefined", "var", "void", "while",
            "yield",
        ],
        comments: &["//"], blocks: C_BLOCK, long_texts: &[("`", "`")], types: true, ..NO_LANGUAGE
    },
    LanguageSyntax {
        names: &[
            "c", "h", "cpp", "c++", "cc", "hpp", "cs", "csharp", "dart", "go", "golang", "groovy", "java", "kotlin", "kt",
            "objc", "php", "proto", "scala", "swift", "zig",
        ],
        keywords: &[
            "abstract", "as", "auto", "await", "bool", "boolean", "break", "byte", "case", "catch", "chan", "char",
            "class", "const", "continue", "data", "def", "default", "defer", "delete", "do", "double", "echo", "else",
            "enum", "extends", "extern", "false", "final", "finally", "float", "fn", "for", "foreach", "from", "fun",
            "func", "function", "go", "goto", "guard", "if", "implements", "import", "in", "init", "inline", "instanceof",
            "int", "interface", "internal", "is", "lateinit", "let", "long", "map", "message", "mut", "namespace", "new",
            "nil", "null", "nullptr", "object", "operator", "override", "package", "private", "protected", "protocol",
            "public", "range", "return", "sealed", "select", "self", "short", "signed", "sizeof", "static", "string",
            "struct", "super", "switch", "template", "this", "throw", "throws", "true", "try", "type", "typedef",
            "typename", "union", "unsigned", "use", "using", "val", "var", "virtual", "void", "volatile", "when", "where",
            "while", "with", "yield",
        ],
        comments: &["//"], blocks: C_BLOCK, types: true, ..NO_LANGUAGE
    },
    LanguageSyntax {
        names: &["python", "py", "python3", "pyi"],
        keywords: &[
            "False", "None", "True", "and", "as", "assert", "async", "await", "break", "case", "class", "continue",
            "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
            "lambda", "match", "nonlocal", "not", "or", "pass", "raise", "return", "self", "try", "while", "with",
            "yield",
        ],
        comments: &["#"], long_texts: &[("\"\"\"", "\"\"\""), ("'''", "'''")], types: true, ..NO_LANGUAGE
    },
    LanguageSyntax {
        names: &["bash", "console", "fish", "sh", "shell", "shell-session", "zsh"],
        keywords: &[
            "case", "cd", "do", "done", "echo", "elif", "else", "esac", "exit", "export", "fi", "for", "function", "if",
            "in", "local", "read", "return", "set", "shift", "source", "sudo", "then", "until", "unset", "while",
        ],
        comments: &["# "], ..NO_LANGUAGE
    },
    LanguageSyntax {
        names: &["crystal", "elixir", "ex", "exs", "julia", "perl", "r", "rb", "ruby", "tcl"],
        keywords: &[
            "and", "begin", "break", "case", "class", "cond", "def", "defmodule", "defp", "do", "else", "elsif", "end",
            "ensure", "false", "fn", "for", "function", "if", "import", "in", "module", "my", "next", "nil", "not", "or",
            "private", "raise", "require", "rescue", "return", "self", "struct", "sub", "super", "then", "true", "unless",
            "until", "use", "using", "when", "while", "yield",
        ],
        comments: &["#"], types: true, ..NO_LANGUAGE
    },
    LanguageSyntax {
        names: &["sql", "mysql", "pgsql", "plsql", "postgres", "postgresql", "sqlite"],
        keywords: &[
            "add", "all", "alter", "and", "as", "asc", "begin", "between", "by", "case", "check", "column", "commit",
            "constraint", "create", "cross", "default", "delete", "desc", "distinct", "drop", "else", "end", "exists",
            "foreign", "from", "full", "group", "having", "if", "in", "index", "inner", "insert", "into", "is", "join",
            "key", "left", "like", "limit", "not", "null", "offset", "on", "or", "order", "outer", "over", "partition",
            "primary", "references", "returning", "right", "rollback", "select", "set", "table", "then", "union", "unique",
            "update", "using", "values", "view", "when", "where", "with",
        ],
        ignores_case: true, comments: &["--"], blocks: C_BLOCK, ..NO_LANGUAGE
    },
    LanguageSyntax {
        names: &["haskell", "hs", "elm", "lua"],
        keywords: &[
            "and", "break", "case", "class", "data", "deriving", "do", "else", "elseif", "end", "false", "for", "function",
            "if", "import", "in", "instance", "let", "local", "module", "newtype", "nil", "not", "of", "or", "repeat",
            "return", "then", "true", "type", "until", "where", "while",
        ],
        comments: &["--"], blocks: &[("{-", "-}")], types: true, ..NO_LANGUAGE
    },
    LanguageSyntax {
        names: &["cfg", "conf", "dockerfile", "env", "ini", "make", "makefile", "properties", "toml", "yaml", "yml"],
        keywords: &[
            "ADD", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "RUN", "USER", "WORKDIR", "false", "no", "null",
            "off", "on", "true", "yes",
        ],
        comments: &["#", ";"], keys: true, ..NO_LANGUAGE
    },
    LanguageSyntax { names: &["json", "json5", "jsonc"], keywords: &["false", "null", "true"], comments: &["//"], ..NO_LANGUAGE },
    LanguageSyntax {
        names: &["css", "less", "scss"],
        keywords: &["and", "auto", "block", "flex", "grid", "important", "inherit", "media", "none", "not", "solid"],
        comments: &["//"], blocks: C_BLOCK, ..NO_LANGUAGE
    },
    LanguageSyntax { names: &["html", "svg", "vue", "xml"], blocks: &[("<!--", "-->")], ..NO_LANGUAGE },
];

/// Finds a language by its name behind a fence, in lower case.
pub(super) fn find_language(name: &str) -> Option<&'static LanguageSyntax> {
    LANGUAGES.iter().find(|language| language.names.contains(&name))
}
