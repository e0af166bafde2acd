//! `run_tests` on real projects, with the test frameworks installed on the system.

use avocet_testkit::{SystemPart, skip_without};
use serde_json::{Value, json};

use crate::world::{World, has, toolchain};

#[tokio::test]
async fn run_tests_runs_a_crate_and_reports_compile_errors() {
    if toolchain().is_none() || !has("cc") {
        return skip_without(SystemPart::Toolchain);
    }
    let world = World::new().await;
    world.put("small/Cargo.toml", "[package]\nname = \"small\"\nedition = \"2021\"\n");
    let source = |body: &str| {
        format!("#[test]\nfn works() {{}}\n\n#[test]\nfn fails() {{\n    {body}\n}}\n")
    };
    world.put("small/src/lib.rs", &source("assert_eq!(6 * 7, 41, \"the answer\");"));
    let ran = world.value("run_tests", json!({"directory": "small"})).await;
    assert_eq!((&ran["framework"], &ran["exit_code"]), (&json!("cargo"), &json!(101)), "{ran}");
    assert_eq!(ran["command"], "cargo test --no-fail-fast");
    assert_eq!(
        (&ran["passed"], &ran["failed"], &ran["skipped"]),
        (&json!(1), &json!(1), &json!(0))
    );
    let message = "assertion `left == right` failed: the answer\n  left: 42\n right: 41";
    let failure = json!({"name": "fails", "file": "src/lib.rs", "line": 6, "message": message});
    assert_eq!(ran["failures"], json!([failure]));
    assert!(ran["output_tail"].as_str().unwrap().contains("test result: FAILED"), "{ran}");

    let only = world.value("run_tests", json!({"directory": "small", "filter": "works"})).await;
    assert_eq!(
        (&only["passed"], &only["failed"], &only["exit_code"]),
        (&json!(1), &json!(0), &json!(0))
    );
    world.put("small/src/lib.rs", &source("nowhere();"));
    let broken = world.value("run_tests", json!({"directory": "small"})).await;
    assert_eq!(broken["failures"][0]["name"], "error[E0425]", "{broken}");
    assert_eq!((&broken["failures"][0]["line"], &broken["passed"]), (&json!(6), &json!(0)));
}

#[tokio::test]
async fn run_tests_runs_a_node_package() {
    if !has("node") || !has("npm") {
        return skip_without(SystemPart::Node);
    }
    let world = World::new().await;
    world.put("package.json", r#"{"name": "x", "scripts": {"test": "node --test"}}"#);
    let test = "const { test } = require('node:test'); const assert = require('node:assert');\n\
        test('adds', () => assert.equal(2, 1 + 1));\ntest('fails', () => assert.equal(3, 1 + 1));\n";
    world.put("test/a.test.js", test);
    let ran = world.value("run_tests", json!({})).await;
    assert_eq!(
        (&ran["framework"], &ran["passed"], &ran["failed"]),
        (&json!("npm"), &json!(1), &json!(1)),
        "{ran}"
    );
    assert_eq!(
        (&ran["failures"][0]["name"], &ran["failures"][0]["file"]),
        (&json!("fails"), &json!("test/a.test.js"))
    );
    let error = world.error("run_tests", json!({"filter": "adds"})).await;
    assert!(error.contains("takes no filter that is known: node --test"), "{error}");
}

#[tokio::test]
async fn run_tests_detects_the_framework_of_a_directory() {
    let world = World::new().await;
    let put = |directory: &str, files: &[(&str, &str)]| {
        for (name, text) in files {
            world.put(&format!("{directory}/{name}"), text);
        }
    };
    let script = r#"{"scripts": {"test": "vitest run"}}"#;
    put("go", &[("go.mod", "module m\n")]);
    put("pnpm", &[("package.json", script), ("pnpm-lock.yaml", "")]);
    put("yarn", &[("package.json", script), ("yarn.lock", "")]);
    put(
        "fresh",
        &[("package.json", r#"{"scripts": {"test": "echo \"Error: no test specified\""}}"#)],
    );
    put("py", &[("pyproject.toml", "[tool.pytest.ini_options]\n")]);
    put("py2", &[("tests/test_a.py", "")]);
    put("both", &[("go.mod", ""), ("pytest.ini", "")]);
    put("venv", &[("conftest.py", ""), (".venv/bin/python", "#!/bin/sh\necho \"$@\"\n")]);
    // The programs are missing or do nothing: only the chosen command matters here.
    let called = async |arguments: Value| match world.run("run_tests", arguments).await {
        Ok(output) => output.value["command"].as_str().unwrap().to_owned(),
        Err(error) => error.to_string(),
    };
    for (arguments, call) in [
        (json!({"directory": "go"}), "go"),
        (json!({"directory": "pnpm", "filter": "a b"}), "pnpm"),
        (json!({"directory": "yarn"}), "yarn"),
        (json!({"directory": "fresh"}), "no tests are known in fresh"),
        (json!({}), "no tests are known in the workspace"),
        (json!({"directory": "py"}), "python3 -m pytest -ra --tb=short --color=no"),
        (
            json!({"directory": "py2", "filter": "a b"}),
            "python3 -m pytest -ra --tb=short --color=no -k 'a b'",
        ),
        (json!({"directory": "both", "framework": "pytest"}), "python3 -m pytest"),
        (json!({"directory": "venv"}), "cannot be run"),
        (json!({"directory": "py", "filter": "--exitfirst"}), "begins with -"),
        (json!({"directory": "../x"}), "invalid path"),
        (json!({"framework": "make"}), "invalid arguments"),
    ] {
        let found = called(arguments.clone()).await;
        assert!(found.contains(call), "{arguments}: {found}");
    }
    let missing = called(json!({"directory": "go"})).await;
    if !has("go") {
        assert!(
            missing.contains("there is no program go here") && missing.contains("[sandbox] read"),
            "{missing}"
        );
    }
    let both = world.run("run_tests", json!({"directory": "both", "framework": "pytest"})).await;
    assert_eq!(both.unwrap().value["also_here"], json!(["go"]));
    let allowing = World::allowing(&["git"]).await;
    allowing.put("go.mod", "");
    let refused = "permission denied: go is not among the allowed commands: git";
    assert_eq!(allowing.error("run_tests", json!({})).await, refused);
}
