//! `edit_file`: the ways to name a place, and the errors that explain them.

use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn edit_file_replaces_a_unique_text_or_all_matches() {
    let world = World::new().await;
    let text = "let a = 1;\nlet b = 1;\n  let c = 1;\n";
    world.put("x.rs", text);
    let edit = |find: &str, replace: &str, all: Option<bool>| {
        let mut arguments = json!({"path": "x.rs", "find": find, "replace": replace});
        if let Some(all) = all {
            arguments["replace_all"] = json!(all);
        }
        arguments
    };
    let once = world.value("edit_file", edit("b = 1", "b = 2", None)).await;
    assert_eq!(once, json!("replaced 1 occurrence in x.rs"));
    assert_eq!(world.get("x.rs"), "let a = 1;\nlet b = 2;\n  let c = 1;\n");
    assert_eq!(
        world.error("edit_file", edit("= 1", "= 3", Some(false))).await,
        "execution failed: the text to find occurs 2 times in x.rs; give more of the text around \
         it, or set replace_all. Places:\nline 1: let a = 1;\nline 3: let c = 1;"
    );
    let all = world.value("edit_file", edit("= 1", "= 3", Some(true))).await;
    assert_eq!(all, json!("replaced 2 occurrences in x.rs"));
    assert_eq!(world.get("x.rs"), "let a = 3;\nlet b = 2;\n  let c = 3;\n");
    let table = [
        (edit("nowhere", "x", None), "execution failed: the text to find is not in x.rs"),
        (edit("", "x", None), "invalid arguments: find is empty"),
        (edit("let", "let", None), "invalid arguments: find and replace are the same"),
    ];
    for (arguments, error) in table {
        assert!(world.error("edit_file", arguments).await.starts_with(error));
    }
}

#[tokio::test]
async fn edit_file_accepts_line_numbers_and_texts() {
    let world = World::new().await;
    let table = [
        (
            json!({"start_line": 2, "end_line": 3, "replace": "x\n", "expect": "two\nthree"}),
            "replaced lines 2 to 3 of 3 in p.txt",
            "one\r\nx",
        ),
        (json!({"l": 2, "replace": ""}), "deleted line 2 of 3 in p.txt", "one\r\nthree"),
        (
            json!({"insert_line": 1, "replace": "a\nb", "expect": "one\n"}),
            "inserted 2 lines as line 1 of p.txt",
            "a\r\nb\r\none\r\ntwo\r\nthree",
        ),
        (
            json!({"insert_line": 4, "replace": "four"}),
            "inserted 1 line as line 4 of p.txt",
            "one\r\ntwo\r\nthree\r\nfour",
        ),
        (
            json!({"find": "one\ntwo", "replace": "1\n2"}),
            "replaced 1 occurrence in p.txt",
            "1\r\n2\r\nthree",
        ),
    ];
    for (mut arguments, done, after) in table {
        world.put("p.txt", "one\r\ntwo\r\nthree");
        arguments["path"] = json!("p.txt");
        assert_eq!(world.value("edit_file", arguments).await, json!(done));
        assert_eq!(world.get("p.txt"), after);
    }
}

#[tokio::test]
async fn edit_file_explains_how_to_name_the_place() {
    let world = World::new().await;
    world.put("p.txt", "one\ntwo\nthree\n");
    let table = [
        (json!({}), "the place to edit is missing; give the place in one way"),
        (json!({"find": "one", "start_line": 1}), "exclude each other; give the place in one way"),
        (json!({"insert_line": 1, "start_line": 1}), "exclude each other"),
        (json!({"end_line": 1}), "end_line needs start_line"),
        (json!({"insert_line": 1, "end_line": 1}), "end_line needs start_line"),
        (json!({"find": "one", "end_line": 1}), "end_line needs start_line"),
        (json!({"start_line": 1, "replace_all": true}), "replace_all needs find"),
        (json!({"find": "one", "expect": "one"}), "expect goes with lines"),
        (json!({"start_line": 0}), "0 is less than the minimum of 1"),
        (
            json!({"start_line": 3, "end_line": 4}),
            "lines 3 to 4 are not in p.txt, which has 3 lines",
        ),
        (
            json!({"start_line": 3, "end_line": 2}),
            "lines 3 to 2 are not in p.txt, which has 3 lines",
        ),
        (
            json!({"insert_line": 5}),
            "insert_line 5 is not in p.txt, which has 3 lines; to append, give 4",
        ),
        (json!({"insert_line": 1, "replace": ""}), "nothing would be inserted"),
        (json!({"start_line": 1, "replace": "one"}), "p.txt would not change"),
        (
            json!({"start_line": 1, "end_line": 2, "expect": "one\n2"}),
            "p.txt is not as expected; there now (lines 1 to 2):\none\ntwo\nRead the file again",
        ),
    ];
    for (mut arguments, error) in table {
        arguments["path"] = json!("p.txt");
        if arguments["replace"].is_null() {
            arguments["replace"] = json!("x");
        }
        let found = world.error("edit_file", arguments.clone()).await;
        assert!(found.contains(error), "{arguments}: {found}");
        assert_eq!(world.get("p.txt"), "one\ntwo\nthree\n");
    }
}
