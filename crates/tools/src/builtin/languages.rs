//! Regular expressions that find definitions in many programming languages.

/// By file extension, the patterns of a definition. `{}` stands for the name.
const LANGUAGES: &[(&[&str], &[&str])] = &[
    (
        &["rs"],
        &[
            r#"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:(?:default|async|unsafe|const|extern(?:\s+"[^"]*")?)\s+)*(?:fn|struct|enum|union|trait|type|const|static(?:\s+mut)?|mod)\s+{}\b"#,
            r"^\s*macro_rules!\s+{}\b",
        ],
    ),
    (&["py", "pyi"], &[r"^\s*(?:async\s+)?(?:def|class)\s+{}\b", r"^{}\s*(?::[^=]+)?=[^=]"]),
    (
        &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"],
        &[
            r"^\s*(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(?:function\s*\*?|class|interface|type|enum|namespace)\s+{}\b",
            r"^(?:export\s+)?(?:const|let|var)\s+{}\b",
            r"^\s+(?:(?:public|private|protected|static|abstract|async|override|get|set)\s+)*{}\s*(?:<[^>]*>)?\([^;]*\)\s*(?::[^{;]+)?\{\s*$",
        ],
    ),
    (&["go"], &[r"^\s*(?:func\s+(?:\([^)]*\)\s*)?|type\s+|var\s+|const\s+){}\b"]),
    (
        &["c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "m", "mm"],
        &[
            r"^\s*(?:typedef\s+)?(?:struct|class|enum(?:\s+class)?|union|namespace|#\s*define)\s+{}\b",
            r"^[A-Za-z_][\w\s*&:<>,~]*[\s*&:]{}\s*\([^;]*$",
            r"^\s*(?:typedef\b.*\b|using\s+){}\s*(?:;|=)",
        ],
    ),
    (
        &["java", "kt", "kts", "cs", "swift", "scala", "dart", "groovy"],
        &[
            r"^\s*(?:[\w@]+\s+)*(?:class|interface|enum|record|object|struct|protocol|trait|extension|typealias|fun|func|def)\s+{}\b",
            r"^\s*(?:(?:public|private|protected|internal|static|final|abstract|synchronized|override|virtual|async)\s+)+[\w<>\[\],.? ]+\s+{}\s*\(",
        ],
    ),
    (&["rb"], &[r"^\s*(?:def\s+(?:self\.)?|class\s+|module\s+){}\b"]),
    (
        &["php"],
        &[
            r"^\s*(?:(?:abstract|final|public|private|protected|static)\s+)*(?:function\s+&?|class\s+|interface\s+|trait\s+|enum\s+|const\s+){}\b",
        ],
    ),
    (&["sh", "bash", "zsh"], &[r"^\s*function\s+{}\b", r"^\s*{}\s*\(\)"]),
    (&["sql"], &[r"(?i)^\s*create\s+(?:[\w ]+\s)?(?:if\s+not\s+exists\s+)?{}\b"]),
];

/// Patterns for all other files.
const ANY: &[&str] = &[
    r"^\s*(?:\w+\s+)*(?:fn|func|fun|function|def|defn|class|struct|enum|trait|interface|type|module|sub|macro|proc)\s+{}\b",
];

/// A regular expression for lines that define `name`, in files with this extension. `name` is
/// itself a regular expression.
pub(super) fn definition_pattern(extension: &str, name: &str) -> String {
    let extension = extension.to_ascii_lowercase();
    let known = LANGUAGES.iter().find(|(extensions, _)| extensions.contains(&&*extension));
    let lines = known.map_or(ANY, |(_, lines)| lines);
    let lines: Vec<String> =
        lines.iter().map(|line| line.replace("{}", &format!("(?:{name})"))).collect();
    format!("(?:{})", lines.join("|"))
}

/// The extension of a path; empty if it has none.
pub(super) fn extension_of(path: &std::path::Path) -> &str {
    path.extension().and_then(std::ffi::OsStr::to_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Extensions, each with definitions and uses of `run`.
    const LANGUAGES: &[(&str, &[&str], &[&str])] = &[
        (
            "rs",
            &[
                "pub(crate) async fn run(",
                "    fn run() {}",
                "struct run;",
                "pub const run: u8 = 1;",
                "macro_rules! run {",
                "pub unsafe extern \"C\" fn run()",
            ],
            &["run();", "    self.run()", "use a::run;", "fn runner()", "// the fn of run"],
        ),
        (
            "py",
            &["def run(x):", "    async def run(", "class run:", "run = 1"],
            &["run()", "x.run == 1"],
        ),
        (
            "ts",
            &[
                "export default async function run() {",
                "export const run = 1",
                "  private async run(a: A): Promise<B> {",
                "interface run {",
            ],
            &["run();", "  return run(a)", "  this.run(a, b);", "import { run } from 'x'"],
        ),
        (
            "go",
            &["func run()", "func (s *S) run(a int) {", "type run struct {"],
            &["run()", "x := run"],
        ),
        (
            "c",
            &["static int run(int a)", "#define run 1", "struct run {"],
            &["run(1);", "  return run(1);"],
        ),
        (
            "java",
            &["  public static List<A> run(", "public class run {"],
            &["run();", "return run(a);"],
        ),
        ("rb", &["  def self.run", "module run"], &["run", "x.run"]),
        ("sh", &["run() {", "function run {"], &["run a", "x=$(run)"]),
        (
            "sql",
            &["CREATE TABLE IF NOT EXISTS run (", "create unique index run on a"],
            &["select run"],
        ),
        ("el", &["fn run"], &["run"]),
    ];

    #[test]
    fn definition_matches_definitions_and_no_uses() {
        for (extension, definitions, uses) in LANGUAGES {
            let regex = regex::Regex::new(&definition_pattern(extension, "run")).unwrap();
            definitions
                .iter()
                .for_each(|line| assert!(regex.is_match(line), "{extension}: {line}"));
            uses.iter().for_each(|line| assert!(!regex.is_match(line), "{extension}: {line}"));
        }
    }
}
