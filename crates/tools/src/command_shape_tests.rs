use super::*;

#[test]
fn shape_of_command_keeps_the_program_the_subcommand_and_the_flags() {
    let table = [
        ("cargo test", "cargo test …"),
        ("cargo test parser", "cargo test …"),
        ("cargo test --release parser -p core", "cargo test --release -p …"),
        ("cargo test -- --nocapture", "cargo test -- --nocapture …"),
        ("cargo test --nocapture", "cargo test --nocapture …"),
        ("  cargo   test ", "cargo test …"),
        ("pytest -k 'a or b' tests/test_a.py::test_b", "pytest -k …"),
        ("pytest -x -q", "pytest -x -q …"),
        ("rg -n 'fn main' src", "rg -n …"),
        ("rg -n \"fn main\" src", "rg -n …"),
        ("git log --format='%h' HEAD~1", "git log --format=%h …"),
        ("git add src/a.rs", "git add …"),
        ("git commit -m 'one; two && three'", "git commit -m …"),
        ("go test ./...", "go test …"),
        ("npm test", "npm test …"),
        ("head -5 a.txt", "head -5 …"),
        ("cat -", "cat …"),
        ("grep '$HOME' a", "grep …"),
        ("grep \"'-r'\" a", "grep …"),
        ("ls '-la' src", "ls -la …"),
    ];
    for (command, expected) in table {
        assert_eq!(shape_of_command(command).as_deref(), Some(expected), "{command}");
    }
}

#[test]
fn command_that_the_shell_or_its_program_reads_further_has_no_shape() {
    let table = [
        // Operators.
        "cargo test; rm -r target",
        "cargo test && cargo fmt",
        "cargo test || true",
        "cargo test | tail",
        "cargo test &",
        "cargo test\nrm a",
        "cargo test\rrm a",
        "(cargo test)",
        "{ cargo test; }",
        "! cargo test",
        "if cargo test",
        "while cargo test",
        "'cargo' test",
        "cargo test # all",
        // Redirections.
        "cargo test > out",
        "cargo test 2>&1",
        "cat < a",
        // Substitutions, variables, globs, home directories.
        "cat $(echo a)",
        "cat `echo a`",
        "cat \"$(echo a)\"",
        "cat \"`echo a`\"",
        "cat $HOME/a",
        "cat \"$HOME\"",
        "cat *.txt",
        "cat a?",
        "cat [ab]",
        "cat {a,b}",
        "cat ~/a",
        "cat a\\ b",
        "cat \"a\\\"b\"",
        // Assignments.
        "A=1 cargo test",
        "cargo test A=1",
        "make VAR=1",
        // Quotes that do not end.
        "cat 'a",
        "cat \"a",
        // Programs that run others by an argument, and interpreters.
        "sh -c 'cargo test'",
        "bash test.sh",
        "sh test.sh",
        "python -c 'print(1)'",
        "python3 a.py",
        "perl -e 1",
        "node -e 1",
        "ruby a.rb",
        "awk '{print}' a",
        "sed -n 1p a",
        "find . -exec cat",
        "find . -name a",
        "xargs cat",
        "env cargo test",
        "sudo cargo test",
        "nohup cargo test",
        "timeout 5 cargo test",
        "time cargo test",
        "command cargo test",
        "eval cargo test",
        "exec cargo test",
        "ssh host ls",
        "make test",
        "npx jest",
        "npm run build",
        "npm exec a",
        "uv run pytest",
        "docker run a",
        "curl https://a.example",
        "tar xf a.tar",
        "rm a",
        // Git and cargo with settings or other programs.
        "git -c core.pager=x log",
        "git -C sub log",
        "git config a b",
        "git grep -Oless a",
        "git grep --open-files-in-pager=less a",
        "git submodule foreach ls",
        "git bisect run ls",
        "git push origin main",
        "cargo run x",
        "cargo --config a test",
        "cargo test --config a",
        "cargo +nightly test",
        "go test -exec a ./...",
        "go build -toolexec a",
        "go vet -vettool a",
        "go run a.go",
        "rg --pre a b",
        "pytest -p a",
        "pytest -c a",
        "jest --config a",
        "prettier --plugin a",
        // A program of a directory, or no program.
        "./cargo test",
        "/tmp/cargo test",
        "cargo",
        "cargo 'test parser'",
        "",
        " ",
        // A flag that reads as two.
        "rg '-n -i' a",
        // A shape that is too long to be seen.
        "cargo test --features=a --features=b --features=c --features=d",
    ];
    for command in table {
        assert_eq!(shape_of_command(command), None, "{command}");
    }
}

#[test]
fn programs_with_shapes_are_in_order() {
    assert!(PROGRAMS.is_sorted());
}
