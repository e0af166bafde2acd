use crate::rule_policy::describe_rule;

#[test]
fn parse_rule_reads_tools_classes_paths_and_hosts_and_nothing_else() {
    let table = [
        ("Never use exec_shell.", "refuses each call of `exec_shell`"),
        ("never run `message`", "refuses each call of `message`"),
        ("Never call gmail__delete_message!", "refuses each call of `gmail__delete_message`"),
        ("Always ask me before you use files__*", "asks before each call of `files__*`"),
        ("ask before exec_shell", "asks before each call of `exec_shell`"),
        (
            "Never delete mail without asking me.",
            "asks before each call of a tool with `mail` in its name that does more than read",
        ),
        (
            "please never delete any e-mails",
            "refuses each call of a tool with `mail` and one of delete, remove, trash, erase in its name",
        ),
        ("Don\u{2019}t send messages unless I say so", "asks before each call of `message`"),
        ("do not delete files", "refuses each call of `delete_file`"),
        (
            "never change files without my permission",
            "asks before each call of `apply_patch`, and each call of `edit_file`, and each call of \
             `write_file`",
        ),
        ("never browse the web", "refuses each call of `web_fetch`, and each call of `web_search`"),
        (
            "you must not run programs",
            "refuses each call of `exec_shell`, and each call of `run_tests`",
        ),
        (
            "never git push without asking",
            "asks before each call of `git_push`, and each program with `git push`",
        ),
        (
            "Ask me first before pushing",
            "asks before each call of `git_push`, and each program with `git push`",
        ),
        (
            "never change files in Notes/private/",
            "refuses each call that changes `Notes/private`, and each program that names it",
        ),
        ("never read `secrets.env`", "refuses each call that names `secrets.env`"),
        (
            "never delete notes/a.md or notes/b.md without asking me first",
            "asks before each call that changes `notes/a.md`, and each program that names it, and each \
             call that changes `notes/b.md`, and each program that names it",
        ),
        (
            "never contact https://Example.com/",
            "refuses each call that contacts `example.com`, and each program that names it",
        ),
        (
            "ask before fetching pages from news.example.org",
            "asks before each call that contacts `news.example.org`, and each program that names it",
        ),
    ];
    for (rule, expected) in table {
        assert_eq!(describe_rule(rule).as_deref(), Some(expected), "{rule}");
    }
    let text_only = [
        "",
        "be brief",
        "never",
        "ask before",
        "ask me before you leave",
        "never send mail to Bob",
        "never send mail to Bob without asking",
        "never use emojis in mail",
        "use exec_shell",
        "always use `exec_shell` without asking",
        "never use `frobnicate`",
        "never message",
        "never delete it",
        "delete mail without asking me",
        "never read ../outside/key.pem",
        "never read ~/key.pem",
        "write short messages, never long ones",
        "if you delete mail, never ask",
        "never mail",
    ];
    for rule in text_only {
        assert_eq!(describe_rule(rule), None, "{rule}");
    }
}
