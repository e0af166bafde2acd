use std::fmt::Write;

use avocet_protocol::access::ClientRole;

use super::*;

/// The page of the book with the table of methods.
const PAGE: &str = include_str!("../../../docs/src/build/socket.md");

#[test]
fn methods_are_sorted_by_name_without_repetition() {
    assert!(METHODS.is_sorted_by(|one, next| one.name < next.name));
}

#[test]
fn methods_are_in_the_book_with_their_roles() {
    for method in METHODS {
        let MethodDescription { name, least, .. } = method;
        let row = PAGE.lines().find(|line| line.starts_with(&format!("| `{name}` | ")));
        let row = row.unwrap_or_else(|| panic!("socket.md has no row of {name}"));
        assert!(row.ends_with(&format!("| {least} |")), "{name} needs the role {least}: {row}");
    }
    let rows = PAGE.lines().filter(|line| {
        let role = line.trim_end_matches(" |").rsplit(' ').next().unwrap_or_default();
        line.starts_with("| `") && ClientRole::ALL.iter().any(|one| one.as_str() == role)
    });
    assert_eq!(rows.count(), METHODS.len(), "socket.md has a row of an unknown method");
}

#[test]
fn methods_of_each_role() {
    let mut all = String::new();
    for role in ClientRole::ALL {
        let own = METHODS.iter().filter(|method| method.least == role);
        let names: Vec<&str> = own.map(|method| method.name).collect();
        writeln!(all, "{role}: {}", names.join(" ")).unwrap();
    }
    assert_eq!(
        all,
        "observer: agents.list approval.list dead.list dead.show events.list hello job.list \
         job.show mcp.list mcp.tools memory.list memory.log memory.show ping schedule.list \
         schedule.show sessions.list sessions.options \
         sessions.search sessions.sent sessions.show status subscribe task.list task.show trace \
         usage wait\n\
         sender: ask ask.json attach dead.retry file.get job.cancel send \
         sessions.branch sessions.change sessions.set_option task.cancel\n\
         approver: approval.decide\n\
         channel: cursor.move message.withdraw publish\n\
         operator: config.check config.diff config.form config.save config.show dead.drop doctor \
         editor.attach job.submit link.add \
         link.list link.remove mcp.approve memory.add \
         memory.consolidate memory.forget memory.sync memory.undo pair.approve pair.deny \
         pair.list people.list people.remove resume_all rules.add rules.list rules.remove schedule.add schedule.change session.servers \
         sessions.delete stop_all subscriber.list subscriber.remove web.browsers web.open web.sign_out\n"
    );
}
