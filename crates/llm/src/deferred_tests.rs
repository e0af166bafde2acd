use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::testing::grouped_request;

fn names<'r>(tools: &[&'r ToolSpec]) -> Vec<&'r str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

/// A request after these calls, each in a separate step. `use_tools` loads a group at once.
fn after(calls: &[(&str, &str)], loaded: &[&str]) -> ModelRequest {
    let calls: Vec<_> =
        calls.iter().map(|(name, group)| (*name, json!({ "group": group }), true)).collect();
    grouped_request(&calls, loaded)
}

#[test]
fn placed_tools_follow_the_call_that_loads_them() {
    struct Case {
        calls: &'static [(&'static str, &'static str)],
        loaded: &'static [&'static str],
        first: &'static [&'static str],
        follow: &'static [(&'static str, &'static [&'static str])],
    }
    const GIT: &[&str] = &["git_log", "git_status"];
    let cases = [
        Case { calls: &[], loaded: &[], first: &["read_file", "use_tools"], follow: &[] },
        Case {
            calls: &[("use_tools", "git"), ("git_log", "")],
            loaded: GIT,
            first: &["read_file", "use_tools"],
            follow: &[("c0", GIT)],
        },
        // The second call loads nothing new, and an unknown group nothing at all.
        Case {
            calls: &[("use_tools", "git"), ("use_tools", "git_log"), ("use_tools", "guit")],
            loaded: GIT,
            first: &["read_file", "use_tools"],
            follow: &[("c0", GIT), ("c1", &[]), ("c2", &[])],
        },
        // A tool that was called before stays at the beginning.
        Case {
            calls: &[("git_log", ""), ("use_tools", "git")],
            loaded: GIT,
            first: &["read_file", "use_tools", "git_log"],
            follow: &[("c1", &["git_status"])],
        },
        // Its call alone has loaded the group.
        Case {
            calls: &[("git_log", "")],
            loaded: GIT,
            first: &["read_file", "use_tools", "git_log", "git_status"],
            follow: &[],
        },
    ];
    for Case { calls, loaded, first, follow } in cases {
        let request = after(calls, loaded);
        let tools = PlacedTools::new(&request, ToolDeferral::Native);
        assert_eq!(names(&tools.first), first, "{calls:?}");
        for (call, expected) in follow {
            assert_eq!(tools.loaded_by(call).map(names).unwrap(), *expected, "{calls:?} {call}");
        }
        let mut all = [names(&tools.first), names(&tools.deferred)].concat();
        all.sort_unstable();
        assert_eq!(all, ["git_log", "git_status", "job_list", "read_file", "use_tools"]);
        let sorted = names(&tools.deferred);
        assert!(sorted.is_sorted(), "{sorted:?}");
    }
}

#[test]
fn placed_tools_ignore_a_failed_load() {
    let request = grouped_request(&[("use_tools", json!({ "group": "git" }), false)], &[]);
    let tools = PlacedTools::new(&request, ToolDeferral::Native);
    assert_eq!(tools.loaded_by("c0"), Some(&[][..]));
    assert!(!tools.is_loaded("git_log"));
}

#[test]
fn placed_tools_are_all_first_without_deferral_or_without_use_tools() {
    let request = after(&[("use_tools", "git")], &["git_log", "git_status"]);
    let all = ["read_file", "use_tools", "git_log", "git_status"];
    let off = PlacedTools::new(&request, ToolDeferral::Off);
    assert_eq!((names(&off.first).as_slice(), off.deferred.len()), (&all[..], 0));
    assert_eq!(off.loaded_by("c0"), None);
    let tools = request.tools.iter().filter(|tool| tool.name != USE_TOOLS).cloned().collect();
    let without = ModelRequest { tools, deferred: Arc::default(), ..request };
    let tools = PlacedTools::new(&without, ToolDeferral::Native);
    assert_eq!(names(&tools.first), ["read_file", "git_log", "git_status"]);
}
