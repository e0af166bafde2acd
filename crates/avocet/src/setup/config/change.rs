//! `avocet config get`, `set` and `edit`: the configuration file from the command line.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use avocet_config::{ConfigDocument, ConfigError};
use avocet_protocol::daemon::{ConfigFileError, MAX_CONFIG_BYTES};
use avocet_protocol::ignore_result;
use avocet_supervise::run_blocking;
use avocet_text::plain_io;
use futures_util::FutureExt;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::components::config_changes::{SortedChanges, changes_between};
use crate::components::config_file::FileText;
use crate::components::config_text as text;
use crate::components::places::config_place;
use crate::configuration::{Configuration, ConfigurationUse};
use crate::connection::connect_daemon;
use crate::context::CommandContext;
use crate::environment::{absolute_path, read_variable};
use crate::exit::{Exit, Failure};
use crate::output::{print_error, print_text, print_warning};
use crate::setup::init::start_questions;
use crate::stderr;

/// The defaults of keys, in TOML.
const DEFAULTS: &str = include_str!("defaults.toml");

pub(super) fn get(context: &CommandContext, key: &str) -> Result<Exit, Failure> {
    let file = read(context)?;
    let mut value = text::get(&file.text, key).map_err(command_failure)?;
    if value.is_none() {
        value = text::get(DEFAULTS, key).map_err(command_failure)?;
        if value.is_some() {
            stderr::write("not set; this is the default\n");
        }
    }
    if let Some(value) = value {
        print_text(&format!("{}\n", value.trim_end_matches('\n')))?;
        return Ok(Exit::Done);
    }
    let path = file.path.display();
    Err(command_failure(match unknown_key(context, &file, key) {
        Some(why) => why,
        None => format!("`{key}` is not in {path}, so its default applies"),
    }))
}

/// Returns the error about a key that does not exist: the one that a file with the key would have.
fn unknown_key(context: &CommandContext, file: &FileText, key: &str) -> Option<String> {
    let (text, path) = (text::set_value(&file.text, key, "").ok()?, text::key_path(key).ok()?);
    let references = ConfigurationUse::Check.used_references();
    let checked =
        ConfigDocument::parse_with(text, Some(file.path.clone()), &read_variable, references);
    let checked = checked.map_err(Failure::from);
    let checked = checked
        .and_then(|document| {
            Configuration::from_document(context, document, ConfigurationUse::Check)
        })
        .err()?;
    let ConfigError { key, is_unknown_key, message, .. } = checked.error.downcast_ref()?;
    let is_of_key = key.as_deref().is_some_and(|at| {
        path.strip_prefix(at).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    });
    (is_of_key && *is_unknown_key).then(|| message.clone())
}

pub(super) async fn set_key(
    context: &CommandContext,
    key: &str,
    value: &str,
) -> Result<Exit, Failure> {
    let file = read(context)?;
    let from_input = match value {
        "-" => Some(read_value(context, key).await?),
        _ => None,
    };
    let value = from_input.as_deref().unwrap_or(value);
    let new = text::set_value(&file.text, key, value).map_err(command_failure)?;
    if text::is_literal_secret(key, value) {
        file.check_private().map_err(|error| file_failure(&error))?;
        print_warning("the secret is now in the file; a reference such as ${NAME} keeps it out");
    }
    file.replace(context, &new).map_err(|error| file_failure(&error))?;
    let changes = changes_of(context, &file, &new).await;
    print_text(&set_text(&file, &new, key, changes.as_ref()).map_err(command_failure)?)?;
    Ok(Exit::Done)
}

/// Describes the new value of a key, and when it is in use.
fn set_text(
    file: &FileText,
    new: &str,
    key: &str,
    changes: Option<&SortedChanges>,
) -> Result<String, String> {
    let shown = |text: &str| {
        Ok::<_, String>(
            text::find_literal(text, key)?.map(|it| it.replace("\"(hidden)\"", "(hidden)")),
        )
    };
    let (now, before) = (shown(new)?.unwrap_or_default(), shown(&file.text).unwrap_or_default());
    let is_same = before.as_ref() == Some(&now);
    let before = before.map_or("it was not set".to_owned(), |before| format!("before: {before}"));
    let now = format!("{key} is now {now} ({before})");
    let Some(changes) = changes else { return Ok(format!("{now} in {}.\n", file.path.display())) };
    Ok(match (changes.live.is_empty(), changes.waiting.is_empty()) {
        (true, true) if is_same => "The value is the same as before.\n".to_owned(),
        // The value may be the default, or a reference that is not known here.
        (true, true) => format!("{now}.\n"),
        (false, true) => format!("{now}; the running daemon uses it within a few seconds.\n"),
        (true, false) => format!("{now}; the running daemon uses it after a restart.\n"),
        (false, false) => format!("{now}.\n{}", describe_changes(changes)),
    })
}

/// Reads the value of a key: from a terminal without showing it, or else the whole standard input.
async fn read_value(context: &CommandContext, key: &str) -> Result<String, Failure> {
    if io::stdin().is_terminal() {
        let mut questions = start_questions(&context.root)?;
        let question = format!("Value of {key} (it stays invisible):");
        return tokio::select! {
            // The terminal shows what is typed again after Ctrl-C, too.
            biased;
            pressed = tokio::signal::ctrl_c() => Err(interrupted_failure(pressed)),
            answer = questions.ask_secret(&question) => answer,
        };
    }
    let text =
        run_blocking(|| io::read_to_string(io::stdin().take(MAX_CONFIG_BYTES as u64))).await?;
    let text = text.map_err(|error| {
        command_failure(format!("cannot read the value from standard input: {}", plain_io(&error)))
    })?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

/// Opens an editor on a draft, until the draft can be used or the person gives up. Edits that are
/// not saved stay in the draft for the next time.
pub(super) async fn edit_file(context: &CommandContext) -> Result<Exit, Failure> {
    let file = read(context)?;
    let draft = Draft::create_beside(&file.path)?;
    // From now on, Ctrl-C does not end this process: in the editor, it is a key like others.
    let mut interrupts = signal(SignalKind::interrupt())?;
    if !draft.differs(&file.text)
        || !asks_to_continue(context, &file, &draft, &mut interrupts).await?
    {
        draft.write(&file.text)?;
    }
    let edited = edit_draft(context, &file, &draft, &mut interrupts).await;
    let is_kept = edited.is_err() && io::stdin().is_terminal() && draft.differs(&file.text);
    if is_kept {
        print_text("Your edits are kept: `avocet config edit` offers them again.\n")?;
    } else {
        draft.remove();
    }
    edited
}

/// Asks whether to go on with the draft of an earlier edit.
async fn asks_to_continue(
    context: &CommandContext,
    file: &FileText,
    draft: &Draft,
    interrupts: &mut Signal,
) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        let path = draft.path.display();
        return Err(command_failure(format!(
            "{path} has edits that are not saved; run `avocet config edit` on a terminal, or delete it"
        )));
    }
    let changed = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
    // The draft would take back what the file has got since.
    let question = if changed(&file.path) > changed(&draft.path) {
        "There are edits that were not saved, and the file was changed after them. Continue with them?"
    } else {
        "There are edits that were not saved. Continue with them?"
    };
    let mut questions = start_questions(&context.root)?;
    tokio::select! {
        biased;
        _ = interrupts.recv() => Err(interrupted_failure(Ok(()))),
        answer = questions.is_yes(question) => answer,
    }
}

async fn edit_draft(
    context: &CommandContext,
    file: &FileText,
    draft: &Draft,
    interrupts: &mut Signal,
) -> Result<Exit, Failure> {
    loop {
        run_editor(draft.path.clone()).await?;
        while interrupts.recv().now_or_never().flatten().is_some() {}
        let new = fs::read_to_string(&draft.path).map_err(|error| {
            command_failure(format!("cannot read the edited copy: {}", plain_io(&error)))
        })?;
        if new == file.text {
            print_text("Nothing has changed.\n")?;
            return Ok(Exit::Done);
        }
        let failure = match save(context, file, &new).await {
            Err(failure) if io::stdin().is_terminal() => failure,
            done => return done,
        };
        print_error(&format!("{:#}", failure.error));
        let mut questions = start_questions(&context.root)?;
        let edits_again = tokio::select! {
            biased;
            _ = interrupts.recv() => return Err(interrupted_failure(Ok(()))),
            answer = questions.is_yes("Edit the file again?") => answer?,
        };
        if !edits_again {
            return Err(command_failure("the configuration is unchanged".to_owned()));
        }
    }
}

/// The end of a command after Ctrl-C at a question.
fn interrupted_failure(pressed: io::Result<()>) -> Failure {
    match pressed {
        Ok(()) => command_failure("interrupted; the configuration is unchanged".to_owned()),
        Err(error) => error.into(),
    }
}

/// Writes a text that can be used, and says when its changes are in use.
async fn save(context: &CommandContext, file: &FileText, new: &str) -> Result<Exit, Failure> {
    file.replace(context, new).map_err(|error| file_failure(&error))?;
    let changes = changes_of(context, file, new).await;
    let path = file.path.display();
    print_text(
        &changes.map_or_else(|| format!("{path} is changed.\n"), |it| describe_changes(&it)),
    )?;
    Ok(Exit::Done)
}

/// Returns the changes for the running daemon; `None` without a daemon, or if the old text had a
/// fault.
async fn changes_of(context: &CommandContext, file: &FileText, new: &str) -> Option<SortedChanges> {
    if !has_daemon(context).await {
        return None;
    }
    let (changes, unresolved) = changes_between(context, &file.path, &file.text, new).ok()?;
    warn_of_unresolved(&unresolved, &file.text, new);
    Some(changes)
}

/// Names the keys with changed references whose values are not known here.
pub(super) fn warn_of_unresolved(unresolved: &BTreeSet<String>, old: &str, new: &str) {
    let is_changed = |key: &&String| text::get(old, key) != text::get(new, key);
    let keys: Vec<&str> = unresolved.iter().filter(is_changed).map(String::as_str).collect();
    if !keys.is_empty() {
        let keys = keys.join(", ");
        print_warning(&format!("references without a value here were not compared: {keys}"));
    }
}

fn describe_changes(changes: &SortedChanges) -> String {
    let lists = [
        (&changes.live, "The running daemon uses these keys within a few seconds"),
        (&changes.waiting, "These keys need a restart of the daemon"),
    ];
    let lines = lists.into_iter().filter(|(keys, _)| !keys.is_empty()).map(|(keys, text)| {
        let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
        format!("{text}: {}\n", keys.join(", "))
    });
    let text: String = lines.collect();
    if text.is_empty() { "The values are the same as before.\n".to_owned() } else { text }
}

async fn has_daemon(context: &CommandContext) -> bool {
    let Ok(configuration) = Configuration::load(context, ConfigurationUse::Daemon) else {
        return false;
    };
    matches!(connect_daemon(context, &configuration).await, Ok(Some(_)))
}

pub(super) fn read(context: &CommandContext) -> Result<FileText, Failure> {
    let path = config_place(&context.cli).ok_or_else(|| {
        command_failure(
            "there is no home directory, so the file has no place; give --config FILE".to_owned(),
        )
    })?;
    FileText::read(absolute_path(&path)?).map_err(|error| file_failure(&error))
}

/// The ending tells editors that the text is TOML.
const DRAFT: &str = ".avocet-config-draft.toml";

/// The copy of the file for the editor, beside it. Only its owner can read it.
struct Draft {
    path: PathBuf,
}

impl Draft {
    /// Removes copies of older versions, which had a random name and stayed after a crash.
    fn create_beside(file: &Path) -> Result<Self, Failure> {
        let directory = file.parent().filter(|directory| directory.is_dir());
        let directory = directory.ok_or_else(|| {
            let path = file.display();
            command_failure(format!("the directory of {path} does not exist; make it first"))
        })?;
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_str().and_then(|name| name.strip_prefix(".avocet-config-"));
            let id = name.and_then(|name| name.strip_suffix(".toml"));
            if id.is_some_and(|id| uuid::Uuid::try_parse(id).is_ok()) {
                ignore_result(fs::remove_file(entry.path()), "the next change tries again");
            }
        }
        Ok(Self { path: directory.join(DRAFT) })
    }

    /// Returns `true` if there are edits.
    fn differs(&self, text: &str) -> bool {
        fs::read(&self.path).is_ok_and(|draft| draft != text.as_bytes())
    }

    fn write(&self, text: &str) -> Result<(), Failure> {
        self.remove();
        write_new(&self.path, text).map_err(|error| {
            command_failure(format!("cannot write {}: {}", self.path.display(), plain_io(&error)))
        })
    }

    fn remove(&self) {
        ignore_result(
            fs::remove_file(&self.path),
            "usually there is none; a draft that stays fails the next write, which says so",
        );
    }
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

/// Runs the editor of the person on a file, and waits for its end.
async fn run_editor(path: PathBuf) -> Result<(), Failure> {
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(read_variable);
    let editor = editor.unwrap_or_else(|| "vi".to_owned());
    let mut words = editor.split_whitespace().map(str::to_owned);
    let program = words.next().unwrap_or_else(|| "vi".to_owned());
    let mut command = Command::new(&program);
    command.args(words).arg(path);
    let ended = run_blocking(move || command.status()).await?;
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(command_failure(format!("the editor {program} failed: {status}"))),
        Err(error) => Err(command_failure(format!(
            "cannot run the editor {program}: {}; set VISUAL or EDITOR",
            plain_io(&error)
        ))),
    }
}

pub(super) fn command_failure(message: String) -> Failure {
    Failure::new(Exit::Failed, message)
}

pub(super) fn file_failure(error: &ConfigFileError) -> Failure {
    let exit = match error {
        ConfigFileError::Unusable(_) | ConfigFileError::TooLong(_) => Exit::Configuration,
        ConfigFileError::Changed(_) => Exit::TryLater,
        ConfigFileError::BadEdit(_) | ConfigFileError::Failed(_) => Exit::Failed,
    };
    Failure::new(exit, error.to_string())
}
