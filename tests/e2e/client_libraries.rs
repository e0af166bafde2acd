//! The client libraries: their own tests, run against the program.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use avocet_tests::program;
use tempfile::TempDir;

/// The Python packages of the repository, with the names of their modules.
const PYTHON_PACKAGES: [(&str, &str); 5] = [
    ("clients/python", "src/avocet_client"),
    ("plugins/email", "avocet_email"),
    ("plugins/irc", "avocet_irc"),
    ("plugins/matrix", "avocet_matrix"),
    ("plugins/template-python", "avocet_template"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A tool that `tests/run` installs for a library.
fn tool(path: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let tool = target.join("clients").join(path);
    assert!(tool.exists(), "{} is missing; run tests/run once, which installs it", tool.display());
    tool
}

fn run_tool(tool: &Path, arguments: &[&str], folder: &Path) {
    let mut command = Command::new(tool);
    command.args(arguments).current_dir(folder).env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("MYPYPATH", root().join("clients/python/src"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let name = format!("{} in {}", tool.display(), folder.display());
    assert_passes(&name, command.spawn().unwrap());
}

/// The files below a folder, sorted.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

fn folder(library: &str) -> PathBuf {
    root().join("clients").join(library)
}

fn start(library: &str, command: &[&str]) -> Child {
    let mut tests = Command::new(command[0]);
    tests.args(&command[1..]).current_dir(folder(library)).env("AVOCET", program!());
    // With this variable, a test runner of Node.js prints for another runner, not for people.
    tests.env_remove("NODE_TEST_CONTEXT");
    tests.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

pub(crate) fn assert_passes(name: &str, tests: Child) {
    let ran = tests.wait_with_output().unwrap();
    let [out, err] = [ran.stdout, ran.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(ran.status.success(), "{name}: {}\n{}\n{err}", ran.status, failures_in(&out));
}

/// What a test runner printed of its failures. The output of another runner than that of Node.js stays whole.
fn failures_in(out: &str) -> String {
    const TEST: &str = "# Subtest: ";
    if !out.starts_with("TAP version") {
        return out.to_owned();
    }
    let failed =
        out.split(TEST).filter(|test| test.contains("\nnot ok ") || test.contains("\n    not ok "));
    failed.map(|test| format!("{TEST}{test}")).collect()
}

#[test]
fn failures_in_shows_only_failed_tests() {
    let out = "TAP version 13\n# Subtest: one\nok 1 - one\n# Subtest: two\nnot ok 2 - two\n  why\n\
        # Subtest: three\nok 3 - three\n1..3\n";
    assert_eq!(failures_in(out), "# Subtest: two\nnot ok 2 - two\n  why\n");
    assert_eq!(failures_in("no TAP"), "no TAP");
}

/// Covers the generated files, too: `test_schema.py` compares them with the schema.
#[test]
fn clients_python_passes_its_tests() {
    let files = fs::read_dir(folder("python").join("tests")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let names: Vec<_> = names.filter(|name| name.starts_with("test_")).collect();
    assert!(names.len() >= 5, "{names:?}");
    let runs = names.iter().map(|name| {
        let command = ["python3", "-B", "-m", "unittest", "discover", "-s", "tests", "-p", name];
        (name, start("python", &command))
    });
    for (name, tests) in runs.collect::<Vec<_>>() {
        assert_passes(name, tests);
    }
}

/// Runs the built files of the repository.
#[test]
fn clients_typescript_passes_its_tests() {
    assert_passes("node --test", start("typescript", &["node", "--test"]));
}

/// The text of each file below a folder, by its path there.
fn texts_below(folder: &Path) -> BTreeMap<PathBuf, String> {
    let text = |path: PathBuf| {
        let name = path.strip_prefix(folder).unwrap().to_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    files_below(folder).into_iter().map(text).collect()
}

/// The sources need no types of Node.js, and neither does a program that uses the built types. The
/// built files are in the repository, because a program that installs a copy of it has no compiler.
#[test]
fn clients_typescript_compiles_without_other_packages_into_the_built_files() {
    let tsc = tool("typescript/node_modules/.bin/tsc");
    let folder = folder("typescript");
    let built = TempDir::new().unwrap();
    let out = built.path().to_str().unwrap();
    run_tool(&tsc, &["--project", "tsconfig.json", "--outDir", out], &folder);
    assert!(
        texts_below(&folder.join("dist")) == texts_below(built.path()),
        "clients/typescript/dist is out of date; run npm ci and npm run build in clients/typescript"
    );
    run_tool(&tsc, &["--project", "testing/consumer"], &folder);
}

#[test]
fn clients_python_and_channels_pass_strict_mypy() {
    let mypy = tool("python/bin/mypy");
    let cache = TempDir::new().unwrap();
    let mut arguments = vec!["--strict", "--cache-dir", cache.path().to_str().unwrap()];
    let folders: Vec<_> =
        PYTHON_PACKAGES.iter().map(|(package, module)| format!("{package}/{module}")).collect();
    arguments.extend(folders.iter().map(String::as_str));
    arguments.push("clients/python/examples");
    run_tool(&mypy, &arguments, root());
}

#[test]
fn clients_python_and_channels_install_without_leaving_files_in_their_folders() {
    let pip = tool("python/bin/pip");
    let copies = TempDir::new().unwrap();
    let installed = copies.path().join("installed");
    for (package, module) in PYTHON_PACKAGES {
        let copy = copies.path().join(package.replace('/', "-"));
        let copied = Command::new("cp").arg("-r").arg(root().join(package)).arg(&copy).status();
        assert!(copied.unwrap().success(), "{package}");
        let before = files_below(&copy);
        let offline = ["install", "--no-deps", "--no-index", "--no-build-isolation", "--upgrade"];
        let target = ["--disable-pip-version-check", "--target", installed.to_str().unwrap(), "."];
        run_tool(&pip, &[&offline[..], &target[..]].concat(), &copy);
        assert_eq!(files_below(&copy), before, "{package}");
        let module = Path::new(module).file_name().unwrap();
        assert!(installed.join(module).join("__init__.py").exists(), "{package}");
    }
    assert!(installed.join("avocet_client/py.typed").exists());
}
