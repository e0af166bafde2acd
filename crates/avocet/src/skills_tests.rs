//! The shipped skills name only tools that exist.

use avocet_skills::{FixedSkills, SHIPPED};
use avocet_tools::{BUILT_IN, skill_allows};

#[test]
fn shipped_skills_name_only_tools_that_exist_and_that_they_allow() {
    // Words in backticks that are no tools.
    const OTHERS: [&str; 4] = ["briefing", "deadline", "notes/", "path"];
    for skill in &FixedSkills::read(&[], &SHIPPED).found_skills().skills {
        let document = skill.document().unwrap();
        let allowed: Vec<&str> =
            document.allowed_tools.iter().flatten().map(|tool| tool.name.as_str()).collect();
        for name in &allowed {
            assert!(BUILT_IN.contains(name), "{}: {name}", skill.name);
        }
        let quoted = document.body.split('`').skip(1).step_by(2);
        let is_word = |quoted: &&str| {
            quoted.chars().all(|c| c.is_ascii_lowercase() || c == '_') && !OTHERS.contains(quoted)
        };
        for tool in quoted.filter(is_word) {
            let is_allowed = allowed.iter().any(|pattern| skill_allows(pattern, tool));
            assert!(is_allowed, "{}: {tool}", skill.name);
        }
    }
}
