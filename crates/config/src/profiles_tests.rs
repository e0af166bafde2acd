use super::*;
use crate::TaskModels;

fn read(text: &str) -> Result<Vec<AgentProfile>, String> {
    let document = ConfigDocument::parse(text.to_owned(), None, &|_| None).unwrap();
    document.table::<crate::ConfigSettings>("").map_err(|error| error.to_string())?;
    read_profiles(&document).map_err(|error| error.to_string())
}

#[test]
fn profiles_inherit_missing_keys_from_the_defaults() {
    let text = "[agents.defaults]\nmodel = \"a/one\"\nmax_tool_calls = 7\nworkspace = \"files\"\n\
        [agents.work]\nmodel = \"b/two\"\ncheap_model = \"b/small\"\n\
        sessions = [\"telegram:work:*\"]\n[agents.home]\n";
    let found = read(text).unwrap();
    let names: Vec<&str> = found.iter().map(|profile| profile.name.as_str()).collect();
    let shipped = ["builder", "debugger", "reviewer", "triager"];
    assert_eq!(names, ["default", "builder", "debugger", "home", "reviewer", "triager", "work"]);
    let found: Vec<AgentProfile> =
        found.into_iter().filter(|one| !shipped.contains(&one.name.as_str())).collect();
    let [defaults, home, work] = found.try_into().unwrap();
    assert_eq!(format!("{:?}", home.agent), format!("{:?}", defaults.agent));
    assert_eq!(work.sessions, ["telegram:work:*"]);
    let AgentDefaults { model, cheap_model, max_tool_calls, workspace, .. } = work.agent;
    assert_eq!((model.as_str(), cheap_model.as_deref()), ("b/two", Some("b/small")));
    assert_eq!((max_tool_calls, workspace), (7, Some("files".into())));
    assert_eq!(defaults.agent.cheap_model, None);
}

#[test]
fn shipped_profiles_inherit_the_defaults_and_a_table_replaces_single_keys() {
    let of = |text: &str, name: &str| {
        read(text).unwrap().into_iter().find(|profile| profile.name == name).unwrap().agent
    };
    let model =
        "[agents.defaults]\nmodel = \"a/one\"\ntools = [\"message\"]\nprompt = \"Be kind.\"\n";
    let reviewer = of(model, "reviewer");
    assert_eq!(reviewer.model, "a/one");
    assert!(reviewer.prompt.unwrap().starts_with("You are a reviewer"));
    assert!(reviewer.tools.allow.contains(&"read_file".to_owned()), "{:?}", reviewer.tools);
    let own = format!("{model}[agents.reviewer]\ntools = [\"outline\"]\nmax_turn_seconds = 60\n");
    let reviewer = of(&own, "reviewer");
    assert_eq!((reviewer.tools.allow, reviewer.max_turn_seconds), (vec!["outline".to_owned()], 60));
    assert!(reviewer.prompt.unwrap().starts_with("You are a reviewer"), "it is kept");
}

#[test]
fn tools_core_is_inherited_on_its_own() {
    let core = "[agents.defaults.tools]\ncore = [\"git_*\"]\ndeny = [\"message\"]\n";
    let text = format!(
        "{core}[agents.a]\ntools = [\"outline\"]\n[agents.b.tools]\nallow = [\"outline\"]\n\
         [agents.c.tools]\ncore = [\"*\"]\n[agents.d]\n"
    );
    let found = read(&text).unwrap();
    let tools = |name: &str| {
        let profile = found.iter().find(|profile| profile.name == name).unwrap();
        let crate::AgentTools { allow, deny, core } = profile.agent.tools.clone();
        [allow, deny, core.unwrap_or_default()].map(|names| names.join(" "))
    };
    assert_eq!(tools("a"), ["outline", "", "git_*"]);
    assert_eq!(tools("b"), ["outline", "", "git_*"]);
    assert_eq!(tools("c"), ["*", "", "*"]);
    assert_eq!(tools("d"), ["*", "message", "git_*"]);
    assert_eq!(tools("builder")[2], "git_*");
}

#[test]
fn default_profile_exists_without_a_table_and_its_own_table_replaces_single_keys() {
    let of = |text: &str| {
        let found = read(text).unwrap();
        let [default, builder, ..] = &found[..] else { panic!("{found:?}") };
        assert!(default.is_named("default") && default.is_named("defaults"), "{default:?}");
        assert!(!builder.is_named("default"), "{builder:?}");
        let paths = [default.path("model"), default.path("tools.allow[0]"), builder.path("model")];
        (default.agent.model.clone(), builder.agent.model.clone(), paths.join(" "))
    };
    let inherited = "agents.defaults.model agents.defaults.tools.allow[0] agents.builder.model";
    let offline = "offline/commands".to_owned();
    assert_eq!(of(""), (offline.clone(), offline.clone(), inherited.to_owned()));
    let own = "agents.default.model agents.defaults.tools.allow[0] agents.builder.model";
    let text = "[agents.default]\nmodel = \"a/one\"\n";
    assert_eq!(of(text), ("a/one".to_owned(), offline, own.to_owned()));
}

#[test]
fn prompt_file_of_a_profile_replaces_an_inherited_prompt_and_the_other_way_round() {
    let prompts = |text: &str, name: &str| {
        let found = read(text).unwrap().into_iter().find(|one| one.name == name).unwrap().agent;
        let file = found.prompt_file.map(|path| path.display().to_string());
        (found.prompt.map(|prompt| prompt.chars().take(9).collect::<String>()), file)
    };
    let (some, none) = (|text: &str| Some(text.to_owned()), None);
    let defaults = "[agents.defaults]\nprompt_file = \"all.md\"\n";
    let reviewer = "[agents.reviewer]\nprompt_file = \"review.md\"\n";
    let work = "[agents.work]\nprompt = \"Be brief.\"\n";
    let both = "[agents.both]\nprompt = \"One.\"\nprompt_file = \"two.md\"\n";
    let text = format!("{defaults}{reviewer}{work}{both}");
    assert_eq!(prompts(&text, "default"), (none.clone(), some("all.md")));
    assert_eq!(prompts(&text, "builder"), (some("You are a"), none.clone()));
    assert_eq!(prompts(&text, "reviewer"), (none.clone(), some("review.md")));
    assert_eq!(prompts(&text, "work"), (some("Be brief."), none));
    assert_eq!(prompts(&text, "both"), (some("One."), some("two.md")));
}

#[test]
fn shipped_profiles_that_change_nothing_have_no_tool_that_does() {
    const READING: [&str; 9] = [
        "git_branches",
        "git_diff",
        "git_log",
        "git_status",
        "list_directory",
        "outline",
        "read_file",
        "read_result",
        "search_files",
    ];
    for name in ["reviewer", "triager"] {
        let profile = SHIPPED.iter().find(|one| one.name == name).unwrap();
        assert!(profile.tools.iter().all(|tool| READING.contains(tool)), "{name}");
    }
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
            "[agents.defaulds]\nmodel = \"a/b\"\n",
            "1:9: unknown key `defaulds` in [agents]; did you mean `defaults`?",
        ),
        (
            "[agents.default]\nsessions = [\"a:b:*\"]\n",
            "2:1: `agents.default.sessions`: this profile answers all conversations that no other \
             profile answers; remove the key",
        ),
        (
            "[agents.a]\npeople = [\"a:b:c\", \"ann\"]\n",
            "2:20: `agents.a.people[1]`: \"ann\" is not a person; write channel:account:person, \
             for example \"telegram:main:123456789\"",
        ),
        (
            "[agents.a]\npeople = [\"a:b:c\"]\n[agents.b]\npeople = [\"a:b:c\"]\n",
            "4:11: `agents.b.people[0]`: the agent a answers \"a:b:c\" already; a person has one \
             agent",
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

#[test]
fn profiles_inherit_each_model_of_a_task_by_itself() {
    let text = "[agents.defaults]\nmodels = { default = \"a/one\", cheap = \"a/small\", long = \"a/long\" }\n\
        [agents.work]\nmodel = \"a/work\"\n[agents.see]\nmodels = { vision = \"a/eyes\" }\n";
    let found = read(text).unwrap();
    let of = |name: &str| {
        let agent = &found.iter().find(|profile| profile.name == name).unwrap().agent;
        let TaskModels { vision, long, .. } = agent.models.clone();
        (agent.answering_model().to_owned(), agent.cheap().cloned(), vision, long)
    };
    let some = |name: &str| Some(name.to_owned());
    let default = ("a/one".to_owned(), some("a/small"), None, some("a/long"));
    assert_eq!(of("default"), default);
    assert_eq!(of("work"), ("a/work".to_owned(), some("a/small"), None, some("a/long")));
    assert_eq!(of("see"), ("a/one".to_owned(), some("a/small"), some("a/eyes"), None));
    for (text, error) in [
        (
            "[agents.defaults]\nmodel = \"a/b\"\nmodels = { default = \"a/c\" }\n",
            "`agents.defaults.models.default`: `model` names another model; remove one of both",
        ),
        ("[agents.work]\nmodels = { visoin = \"a/c\" }\n", "unknown key `visoin`"),
    ] {
        let refused = read(text).unwrap_err();
        assert!(refused.contains(error), "{refused}");
    }
}
