use proptest::prelude::*;

use super::*;

#[test]
fn commands_finds_every_command_of_a_script() {
    let table: [(&str, &[&str]); 33] = [
        ("", &[]),
        ("ls", &["ls"]),
        ("  ls -la  'a b' # rm -rf /", &["ls -la a b"]),
        ("git commit -m 'fix shutdown; reboot'", &["git commit -m fix shutdown; reboot"]),
        ("echo \"a \\\"b\\\" ; c\"", &["echo a \"b\" ; c"]),
        ("a; b && c || d | e & f\ng", &["a", "b", "c", "d", "e", "f", "g"]),
        ("a \\\n  b", &["a b"]),
        ("A=1 B='x y' make -j2", &["make -j2"]),
        ("A=1", &[]),
        ("echo $(rm -rf /) `id`", &["echo  ", "rm -rf /", "id"]),
        ("echo \"$(echo \"$(whoami)\")\"", &["echo ", "echo ", "whoami"]),
        ("echo '$(whoami)'", &["echo $(whoami)"]),
        ("(cd a && ls)", &["cd a", "ls"]),
        ("{ a; b; }", &["a", "b"]),
        ("echo {a,b}", &["echo {a,b}"]),
        ("if true; then reboot; else halt; fi", &["true", "reboot", "halt", "fi"]),
        ("while read x; do echo $x; done", &["read x", "echo $x", "done"]),
        ("cat < in > out 2>&1", &["cat"]),
        ("cat <<< text", &["cat"]),
        ("diff <(ls a) <(ls b)", &["diff", "ls a", "ls b"]),
        ("sudo -u root ls", &["root ls", "sudo -u root ls"]),
        ("env -i A=1 rm x", &["rm x", "env -i A=1 rm x"]),
        (
            "timeout 5 nice -n 3 dd if=/dev/zero",
            &[
                "dd if=/dev/zero",
                "nice -n 3 dd if=/dev/zero",
                "timeout 5 nice -n 3 dd if=/dev/zero",
            ],
        ),
        ("sh -c 'shutdown now'", &["shutdown now", "sh -c shutdown now"]),
        ("bash -lc \"reboot\"", &["reboot", "bash -lc reboot"]),
        ("eval 're''boot'", &["reboot", "eval reboot"]),
        (
            "find . -name x -exec rm -rf {} \\;",
            &["rm -rf {} ;", "find . -name x -exec rm -rf {} ;"],
        ),
        ("find . -exec a {} + -ok b ;", &["a {} +", "b", "find . -exec a {} + -ok b"]),
        ("ls | xargs rm", &["ls", "rm", "xargs rm"]),
        ("/sbin/re\\boot", &["/sbin/reboot"]),
        ("\"re\"boot", &["reboot"]),
        ("'unclosed", &["unclosed"]),
        ("echo $(unclosed", &["echo ", "unclosed"]),
    ];
    for (script, expected) in table {
        let found: Vec<String> =
            find_commands(script).iter().map(|words| words.join(" ")).collect();
        assert_eq!(found, expected, "{script}");
    }
    assert_eq!(program_name(&["/sbin/reboot".to_owned()]), "reboot");
}

proptest! {
    #[test]
    fn commands_accepts_any_script(script in "[a-z$(){}`'\"\\\\;&|<> \n#=é-]{0,200}") {
        find_commands(&script);
    }

    #[test]
    fn commands_keeps_a_quoted_word_whole(word in "[^'\0]{0,40}") {
        let found = find_commands(&format!("echo '{word}' end"));
        prop_assert_eq!(&found[0], &["echo".to_owned(), word, "end".to_owned()]);
    }
}

#[test]
fn commands_limits_the_depth_of_nested_scripts() {
    find_commands(&"$(".repeat(10_000));
    find_commands(&"eval ".repeat(10_000));
    find_commands(&"env ".repeat(3000));
    find_commands(&"find -exec ".repeat(3000));
}
