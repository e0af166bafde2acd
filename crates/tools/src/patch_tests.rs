use super::apply::AppliedHunks;
use super::*;

const GIT: &str = "\
diff --git a/src/a.rs b/src/a.rs
index 83db48f..bf269f4 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -1,3 +1,3 @@ fn main
 one
-two
+2
 three
@@ -9 +9,2 @@
 nine
+ten
diff --git a/new.txt b/new.txt
new file mode 100644
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+hello
\\ No newline at end of file
diff --git a/empty b/empty
new file mode 100644
index 0000000..e69de29
diff --git a/old b/moved
similarity index 100%
rename from old
rename to moved
diff --git a/script b/script
old mode 100644
new mode 100755
";

#[test]
fn parse_reads_the_patches_of_git() {
    let files = parse_patch(GIT).unwrap();
    let changes: Vec<&FileChange> = files.iter().map(|file| &file.change).collect();
    assert_eq!(
        changes,
        [
            &FileChange::Modify("src/a.rs".to_owned()),
            &FileChange::Create("new.txt".to_owned()),
            &FileChange::Create("empty".to_owned()),
            &FileChange::Rename { from: "old".to_owned(), to: "moved".to_owned() },
        ]
    );
    assert_eq!(files[0].hunks.len(), 2);
    assert_eq!(files[0].hunks[1].at, 10);
    assert_eq!(files[0].hunks[1].lines[1], PatchLine::Added("ten".to_owned()));
    assert_eq!(files[1].hunks[0].is_open, (false, true));
    // diff writes dates, models drop blanks and put prose before the patch.
    let plain = "Here it is:\n--- x y.txt\t2026-01-01\n+++ x y.txt\t2026-01-02\n@@ -1,2 +1,2 @@\n-a\n+b\n\n";
    let files = parse_patch(plain).unwrap();
    assert_eq!(files[0].change, FileChange::Modify("x y.txt".to_owned()));
    assert_eq!(files[0].hunks[0].lines[2], PatchLine::Context(String::new()));
    let delete = "--- \"a/x\"\n+++ /dev/null\n@@ -1 +0,0 @@\n--- x\n";
    let files = parse_patch(delete).unwrap();
    assert_eq!(files[0].change, FileChange::Delete("x".to_owned()));
    assert_eq!(files[0].hunks[0].lines, [PatchLine::Removed("-- x".to_owned())]);
}

#[test]
fn parse_error_names_the_line_of_the_patch() {
    let table = [
        ("", "there is no file in it; begin each"),
        ("@@ -1 +1 @@\n-a\n+b\n", "line 1: the hunk has no file"),
        ("--- a/x\n@@ -1 +1 @@\n-a\n+b\n", "--- a/x has no line +++"),
        ("+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "+++ b/x has no line ---"),
        ("--- a/x\n+++ b/x\n@@ what @@\n", "line 3: \"@@ what @@\" is not a hunk header"),
        (
            "--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n+b\n",
            "line 3: the hunk ends before its @@ line says",
        ),
        (
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n-b\n+c\n",
            "line 3: the hunk ends after what its @@ line says",
        ),
        (
            "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n+c\n",
            "line 6: \"+c\" is behind the end of its hunk",
        ),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\né\n", "line 5: \"é\" begins with none of"),
        ("--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "--- x and +++ y are two files; to rename"),
        ("--- /dev/null\n+++ /dev/null\n", "/dev/null on both sides"),
        ("diff --git a/x b/x\nGIT binary patch\n", "line 2: \"GIT binary patch\" is not supported"),
    ];
    for (patch, error) in table {
        let found = parse_patch(patch).unwrap_err();
        assert!(found.starts_with(error) || found.contains(error), "{patch:?}: {found}");
    }
}

#[test]
fn apply_fits_a_hunk_at_its_line_or_at_one_other_place() {
    let applied = |text: &str, hunks: &str| {
        let files = parse_patch(&format!("--- a/x\n+++ b/x\n{hunks}")).unwrap();
        apply_hunks(text, &files[0].hunks).map(|AppliedHunks { text, moved }| (text, moved))
    };
    let done = |text: &str, moved: &[(usize, isize)]| Ok((text.to_owned(), moved.to_vec()));
    let error = |text: &str| Err(text.to_owned());
    let table = [
        ("a\nb\nc\n", "@@ -2 +2 @@\n-b\n+x\n", done("a\nx\nc\n", &[])),
        ("a\r\nb\r\nc", "@@ -2 +2,2 @@\n-b\n+x\n+y\n", done("a\r\nx\r\ny\r\nc", &[])),
        ("a\nb\nc\n", "@@ -1 +1 @@\n-b\n+x\n", done("a\nx\nc\n", &[(1, 1)])),
        (
            "a\nb\nc\nd\n",
            "@@ -9 +9 @@\n-b\n+x\n@@ -4 +4 @@\n-d\n+y\n",
            done("a\nx\nc\ny\n", &[(1, -7)]),
        ),
        ("a\n", "@@ -0,0 +1 @@\n+x\n", done("x\na\n", &[])),
        ("a\n", "@@ -1,0 +2 @@\n+x\n", done("a\nx\n", &[])),
        ("", "@@ -0,0 +1 @@\n+x\n", done("x\n", &[])),
        ("a\n", "@@ -1 +0,0 @@\n-a\n", done("", &[])),
        ("a\n\n", "@@ -1 +0,0 @@\n-a\n", done("\n", &[])),
        ("a", "@@ -1 +1 @@\n-a\n\\ No newline\n+b\n", done("b\n", &[])),
        ("a\n", "@@ -1 +1 @@\n-a\n+b\n\\ No newline\n", done("b", &[])),
        ("a\nb", "@@ -1 +1 @@\n-a\n+x\n", done("x\nb", &[])),
        ("a\nb", "@@ -2 +2 @@\n-b\n+x\n", done("a\nx", &[])),
        (
            "a\nb\nc\n",
            "@@ -1,2 +1 @@\n a\n-c\n",
            error("hunk 1: at line 2, expected \"c\", but there stands \"b\""),
        ),
        (
            "a\n",
            "@@ -1,2 +1 @@\n a\n-c\n",
            error("hunk 1: at line 2, expected \"c\", but the file has 1 lines"),
        ),
        (
            "b\na\nb\n",
            "@@ -2 +2 @@\n-b\n+x\n",
            error(
                "hunk 1: its lines are not at line 2, and at several others (1, 3); correct the @@ line, or \
                 give more lines around it",
            ),
        ),
        (
            "a\nb\n",
            "@@ -2 +2 @@\n-b\n+x\n@@ -1 +1 @@\n-a\n+y\n",
            error("hunk 2: line 1 is not behind the hunk before it, or not in the file"),
        ),
        (
            "a\n",
            "@@ -5,0 +6 @@\n+x\n",
            error("hunk 1: line 6 is not behind the hunk before it, or not in the file"),
        ),
    ];
    for (text, hunks, expected) in table {
        assert_eq!(applied(text, hunks), expected, "{text:?} {hunks:?}");
    }
}
