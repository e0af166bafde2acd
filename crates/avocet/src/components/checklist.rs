//! Finds out whether a checklist has a task, so that a file without one costs no model call. The
//! files of OpenClaw and nanobot begin as templates, whose sentences are no tasks.

/// The beginnings of the sentences in the templates of other programs, in lower case.
const TEMPLATE: [&str; 8] = [
    "keep this file empty",
    "add tasks below",
    "this file is checked ",
    "if this file has no tasks",
    "tasks are checked ",
    "该文件每",
    "在下方添加",
    "如果本文件没有任务",
];
/// The names of sections with tasks that are done, in lower case.
const DONE: [&str; 4] = ["completed", "completed tasks", "done", "已完成"];
/// The beginnings of rules for the answer, in lower case.
const RULES: [&str; 8] = [
    "if nothing ",
    "when nothing ",
    "if there is nothing ",
    "otherwise",
    "reply heartbeat_ok",
    "reply with heartbeat_ok",
    "respond with heartbeat_ok",
    "heartbeat_ok",
];
/// The words for an empty list, in lower case.
const NOTHING: [&str; 9] = [
    "empty",
    "n/a",
    "no active tasks",
    "no tasks",
    "no tasks yet",
    "none",
    "nothing",
    "无",
    "暂无",
];
/// The word that means silence in these files.
const HEARTBEAT_OK: &str = "heartbeat_ok";

/// Returns `true` if a line is more than a heading, a comment, an empty list entry, a sentence of a
/// template or a task that is done.
pub(crate) fn has_entries(text: &str) -> bool {
    let text = without_comments(text.trim_start_matches('\u{feff}'));
    let mut done_level = None;
    without_front_matter(&text).lines().any(|line| {
        let line = line.trim();
        let level = line.len() - line.trim_start_matches('#').len();
        if level > 0 {
            if done_level.is_none_or(|done| level <= done) {
                let heading = line.trim_matches(['#', ' ', ':', '*']).to_lowercase();
                done_level = DONE.contains(&heading.as_str()).then_some(level);
            }
            return false;
        }
        done_level.is_none() && is_entry(line)
    })
}

fn is_entry(line: &str) -> bool {
    if line.starts_with("```") {
        return false;
    }
    let marks = ['-', '*', '+', '[', ']', '_', '>', '=', ' '];
    let entry = line.trim_start_matches(marks);
    let entry =
        entry.strip_prefix(['x', 'X']).filter(|rest| rest.starts_with(']')).unwrap_or(entry);
    let entry = entry.trim_start_matches(marks).to_lowercase();
    let entry = entry.replace(['`', '"', '*'], "");
    let is_number = entry.trim_end_matches(['.', ')', ' ']).chars().all(|c| c.is_ascii_digit());
    let is_template = TEMPLATE.iter().any(|start| entry.starts_with(start));
    // A rule for the answer: "If nothing needs attention, reply HEARTBEAT_OK."
    let is_rule =
        entry.contains(HEARTBEAT_OK) && RULES.iter().any(|start| entry.starts_with(start));
    let words = entry.trim_matches(|c: char| !c.is_alphanumeric());
    !is_number && !is_template && !is_rule && !NOTHING.contains(&words)
}

fn without_comments(text: &str) -> String {
    let mut rest = text;
    let mut shown = String::new();
    while let Some((before, comment)) = rest.split_once("<!--") {
        shown.push_str(before);
        rest = comment.split_once("-->").map_or("", |(_, after)| after);
    }
    shown.push_str(rest);
    shown
}

/// Skips lines of `key: value` between two lines of `---` at the start.
fn without_front_matter(text: &str) -> &str {
    let start = text.trim_start_matches('\u{FEFF}').trim_start();
    let inner = start.strip_prefix("---\n").or_else(|| start.strip_prefix("---\r\n"));
    match inner.and_then(|inner| inner.split_once("\n---")) {
        Some((_, body)) => body,
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_entries_ignores_headings_comments_and_empty_list_entries() {
        let empty = [
            "",
            "\n \n",
            "# Heartbeat\n## Daily\n",
            "<!-- look\nat it -->\n# H",
            "- [ ]\n- \n*",
            "- [x]\n1.\n2)\n",
            "# H\n\n---\n\n***\n",
        ];
        for text in empty {
            assert!(!has_entries(text), "{text:?}");
        }
        for text in [
            "- water the plants",
            "# H\nlook at the mail",
            "<!-- a --> b",
            "1. x",
            "- [x] x-ray the plants",
            "xylophone",
            "# Completed\n- old\n# Active\n- new",
            "- If nothing is in the inbox, write to Bob",
        ] {
            assert!(has_entries(text), "{text:?}");
        }
    }

    #[test]
    fn has_entries_ignores_the_templates_of_other_programs() {
        for text in [
            "# HEARTBEAT.md\n\n# Keep this file empty (or with only comments) to skip heartbeat API \
             calls.\n\n# Add tasks below when you want the agent to check something periodically.\n",
            "---\ntitle: \"HEARTBEAT.md Template\"\nread_when:\n  - Bootstrapping\n---\n\n# HEARTBEAT.md \
             Template\n\n```markdown\n# Keep this file empty (or with only comments) to skip heartbeat \
             API calls.\n```\n",
            "Keep this file empty (or with only comments) to skip heartbeat API calls.\n\nAdd tasks \
             below when you want the agent to check something periodically.\n",
            "# Heartbeat Tasks\n\nThis file is checked every 30 minutes by your nanobot agent.\nAdd \
             tasks below that you want the agent to work on periodically.\n\nIf this file has no tasks \
             (only headers and comments), the agent will skip the heartbeat.\n\n## Active Tasks\n\n<!-- \
             Add your periodic tasks below this line -->\n\n\n## Completed\n\n<!-- Move completed \
             tasks here or delete them -->\n### Old\n- done\n",
            "# 心跳任务\n\n该文件每 30 分钟由你的 nanobot 代理检查一次。\n在下方添加你希望代理定期执行的任务。\n\n\
             如果本文件没有任务（仅有标题或注释），代理会跳过心跳检查。\n\n## 活动任务\n\n## 已完成\n",
            "# HEARTBEAT.md\n\n- If nothing needs attention, reply HEARTBEAT_OK.\n",
            "# HEARTBEAT.md\n\nReply with `HEARTBEAT_OK`.\n",
            "**Otherwise, reply \"HEARTBEAT_OK\".**",
            "HEARTBEAT_OK\n",
            "## Active Tasks\n\n_(none)_\n\n## Completed\n- [x] old\n",
            "## Active Tasks\n- No active tasks.\n",
            "\u{feff}# HEARTBEAT.md\r\n\r\n- [ ]\r\n<!-- x\r\ny -->\r\n",
            "```\n# Keep this file empty (or with only comments) to skip heartbeat API calls.\n```\n",
        ] {
            assert!(!has_entries(text), "{text:?}");
        }
        for text in [
            "- Reply to Bob; if nothing came, HEARTBEAT_OK",
            "- If no mail came since 5 pm, tell me, else HEARTBEAT_OK",
            "- none of the lamps may be on at night",
            "Nothing may stay in the inbox.",
        ] {
            assert!(has_entries(text), "{text:?}");
        }
        let task = "# HEARTBEAT.md\n\n- Check the inbox for new mail.\n- If nothing is pending, reply \
                    HEARTBEAT_OK.\n";
        assert!(has_entries(task));
    }
}
