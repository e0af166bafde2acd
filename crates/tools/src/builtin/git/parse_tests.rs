use super::*;

const STATUS: &str = "# branch.oid 433a21\0# branch.head main\0# branch.upstream origin/main\0\
    # branch.ab +2 -1\0\
    1 .M N... 100644 100644 100644 5626 5626 a b.txt\0\
    1 A. N... 000000 100644 100644 0000 5626 new\nline.txt\0\
    1 MD N... 100644 100644 000000 5626 5627 both.txt\0\
    2 R. N... 100644 100644 100644 74b8 74b8 R100 c.txt\0\u{fc} b.txt\0\
    u UU N... 100644 100644 100644 100644 1 2 3 torn file.txt\0\
    ? what is this\0";

#[test]
fn status_parses_into_an_object() {
    assert_eq!(
        parse_status(STATUS),
        json!({
            "branch": "main", "commit": "433a21", "upstream": "origin/main", "ahead": 2, "behind": 1,
            "clean": false,
            "changes": [
                {"path": "a b.txt", "unstaged": "modified"},
                {"path": "new\nline.txt", "staged": "added"},
                {"path": "both.txt", "staged": "modified", "unstaged": "deleted"},
                {"path": "c.txt", "staged": "renamed", "from": "\u{fc} b.txt"},
            ],
            "conflicts": ["torn file.txt"],
            "untracked": ["what is this"],
        })
    );
    let initial = parse_status("# branch.oid (initial)\0# branch.head main\0");
    assert_eq!(initial, json!({"branch": "main", "commit": null, "clean": true}));
    let detached = parse_status("# branch.oid 1a\0# branch.head (detached)\0");
    assert_eq!(detached["detached"], true);
}

#[test]
fn status_skips_a_warning_before_the_records() {
    let warned = format!("warning: could not open directory 'x/': Permission denied\n{STATUS}");
    assert_eq!(parse_status(&warned), parse_status(STATUS));
}

#[test]
fn status_lists_the_first_changes_and_counts_the_rest() {
    let many: String = (0..400).map(|number| format!("? {number}\0")).collect();
    let status = parse_status(&many);
    assert_eq!(status["untracked"].as_array().unwrap().len(), MOST_CHANGES);
    assert_eq!(status["left_out"], 100);
}

#[test]
fn log_lists_commits_and_skips_an_incomplete_record() {
    let text = "warning: x\n\u{1e}1a\u{1f}A <a@b>\u{1f}2026-01-01T00:00:00Z\u{1f}HEAD -> main\u{1f}fix: it\u{1f}why\n\nand how\n\u{1f}\n\
        \u{1e}2b\u{1f}B <b@c>\u{1f}2026-01-01T00:00:00Z\u{1f}\u{1f}\u{1f}\u{1f}\n\u{1e}3c\u{1f}C";
    assert_eq!(
        json!(parse_log(text)),
        json!([
            {"commit": "1a", "author": "A <a@b>", "date": "2026-01-01T00:00:00Z", "refs": "HEAD -> main", "subject": "fix: it", "body": "why\n\nand how"},
            {"commit": "2b", "author": "B <b@c>", "date": "2026-01-01T00:00:00Z", "subject": ""},
        ])
    );
}

#[test]
fn git_parsers_accept_output_cut_at_any_character() {
    let texts = [
        STATUS,
        "\u{1e}1a\u{1f}A <a@b>\u{1f}2026\u{1f}\u{1f}s\u{1f}b\u{1f}\n",
        "\u{1e}*\u{1f}refs/heads/main\u{1f}1a\u{1f}\u{1f}\u{1f}2026\u{1f}s\u{1f}\n",
        " a | 2 +-\n 1 file changed\n\ndiff --git a/a b/a\n@@ -1 +1 @@\n-1\n+2\n",
        "To ../r.git\n*\trefs/heads/main:refs/heads/main\t[new branch]\nDone\n",
        "2 R. N\0",
        "u UU",
        "1 ",
        "",
    ];
    for text in texts {
        for (end, _) in text.char_indices().chain([(text.len(), ' ')]) {
            crate::builtin::read_as_git(&text[..end]);
        }
    }
}

#[test]
fn diff_splits_the_stat_from_the_patch() {
    let text = " a | 2 +-\n 1 file changed\n\ndiff --git a/a b/a\n@@ -1 +1 @@\n-1\n+2\n";
    let (stat, patch) = split_diff(text);
    assert_eq!(stat, " a | 2 +-\n 1 file changed");
    assert!(patch.starts_with("diff --git a/a b/a\n") && patch.ends_with("+2\n"));
    assert_eq!(split_diff(""), ("", ""));
}

#[test]
fn pushed_reads_the_result_from_the_ref_line() {
    let text = "To ../r.git\n*\trefs/heads/main:refs/heads/main\t[new branch]\nDone\n";
    assert_eq!(parse_push(text), Some("[new branch]"));
    assert_eq!(parse_push(" \ta:b\t1a..2b\n"), Some("1a..2b"));
    assert_eq!(parse_push("!\ta:b\t[rejected] (fetch first)\n"), Some("[rejected] (fetch first)"));
    assert_eq!(parse_push("fatal: no\n"), None);
}

#[test]
fn without_credentials_removes_user_and_token_from_a_url() {
    for (url, shown) in [
        ("https://me:token@example.org/a@b.git", "https://example.org/a@b.git"),
        ("https://token@example.org", "https://example.org"),
        ("https://example.org/a", "https://example.org/a"),
        ("git@example.org:a.git", "git@example.org:a.git"),
        ("../r.git", "../r.git"),
    ] {
        assert_eq!(without_credentials(url).as_deref(), Some(shown), "{url}");
    }
    for url in ["https://good.org\\@evil.org/", "https://evil.org?@good.org/", "https://a#@b"] {
        assert_eq!(without_credentials(url), None, "{url}");
    }
}

#[test]
fn is_elsewhere_tells_remote_urls_from_local_ones() {
    for (url, expected) in [
        ("https://example.org/a.git", true),
        ("ssh://git@example.org/a.git", true),
        ("git@example.org:a.git", true),
        ("file:///srv/a.git", false),
        ("./a.git", false),
        ("../a:b.git", false),
        ("/srv/a.git", false),
        ("a.git", false),
    ] {
        assert_eq!(is_elsewhere(url), expected, "{url}");
    }
}
