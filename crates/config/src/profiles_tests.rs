use super::*;

fn read(text: &str) -> Result<Vec<Profile>, String> {
    let document = Document::parse(text.to_owned(), None, &|_| None).unwrap();
    document.table::<crate::Settings>("").map_err(|error| error.to_string())?;
    profiles(&document).map_err(|error| error.to_string())
}

#[test]
fn profiles_inherit_missing_keys_from_the_defaults() {
    let text = "[agents.defaults]\nmodel = \"a/one\"\nmax_tool_calls = 7\nworkspace = \"files\"\n\
        [agents.work]\nmodel = \"b/two\"\ncheap_model = \"b/small\"\n\
        sessions = [\"telegram:work:*\"]\n[agents.home]\n";
    let found = read(text).unwrap();
    let names: Vec<&str> = found.iter().map(|profile| profile.name.as_str()).collect();
    assert_eq!(names, ["defaults", "home", "work"]);
    let [defaults, home, work] = found.try_into().unwrap();
    assert_eq!(format!("{:?}", home.agent), format!("{:?}", defaults.agent));
    assert_eq!(work.sessions, ["telegram:work:*"]);
    let AgentDefaults { model, cheap_model, max_tool_calls, workspace, .. } = work.agent;
    assert_eq!((model.as_str(), cheap_model.as_deref()), ("b/two", Some("b/small")));
    assert_eq!((max_tool_calls, workspace), (7, Some("files".into())));
    assert_eq!(defaults.agent.cheap_model, None);
}

#[test]
fn profiles_error_names_the_table_of_the_agent() {
    let table = [
        (
            "[agents.work]\nmax_tool_iteration = 1\n",
            "2:1: unknown key `max_tool_iteration` in [agents.work]; did you mean \
             `max_tool_iterations`?",
        ),
        (
            "[agents.work]\nsesions = []\n",
            "2:1: unknown key `sesions` in [agents.work]; did you mean `sessions`?",
        ),
        (
            "[agents.work]\nmax_tool_calls = \"many\"\n",
            "2:1: `agents.work.max_tool_calls`: \"many\" is not a whole number from 0 to 4,294,967,295",
        ),
        (
            "[agents.work]\nsessions = [\"a:b:*\", 7]\n",
            "2:22: `agents.work.sessions[1]`: 7 is not text in quotation marks",
        ),
        ("[agents]\nmodel = \"a/b\"\n", "2:1: `agents.model` is not a table"),
        (
            "[agents.default]\nmodel = \"a/b\"\n",
            "1:9: unknown key `default` in [agents]; did you mean `defaults`?",
        ),
        (
            "[agents.a]\nsessions = [\"a:b:*\"]\n[agents.b]\nsessions = [\"x:*\", \"a:b:*\"]\n",
            "4:20: `agents.b.sessions[1]`: the agent a answers \"a:b:*\" already; a session has one \
             agent",
        ),
        (
            "[agents.defaults]\nmax_turn_seconds = 0\n",
            "2:1: `agents.defaults.max_turn_seconds`: 0 is too small for any answer; it must be at \
                least 1",
        ),
        (
            "[agents.a]\nmax_tool_calls = 0\ncontext_tokens = 1999\n",
            "3:1: `agents.a.context_tokens`: 1999 is too small for any answer; it must be at least \
                2000",
        ),
        (
            "[agents.a]\nsessions = [\"work\"]\n",
            "2:13: `agents.a.sessions[0]`: \"work\" fits no session; write channel:account:chat, \
                with \
             * for any characters",
        ),
    ];
    for (text, error) in table {
        assert_eq!(read(text).unwrap_err(), format!("the configuration:{error}"), "{text}");
    }
}
