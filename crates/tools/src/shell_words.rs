//! Finds the programs that a shell script calls, as far as possible without running it. Used by the
//! command precheck and lists of allowed commands; the sandbox does not depend on it.

/// A command: its program and arguments, with quotes and escapes removed.
pub(crate) type Words = Vec<String>;

/// The deepest nesting of scripts that is read; deeper ones do not occur in practice.
const DEEPEST: usize = 8;

/// Programs that run another program, named in their arguments.
const WRAPPERS: [&str; 17] = [
    "!", "builtin", "busybox", "command", "doas", "env", "exec", "ionice", "nice", "nohup",
    "setsid", "stdbuf", "sudo", "time", "timeout", "unshare", "xargs",
];
/// Words after which a command begins.
const RESERVED: [&str; 8] = ["if", "then", "elif", "else", "while", "until", "do", "{"];
/// Shells, whose `-c` takes a script.
const SHELLS: [&str; 7] = ["ash", "bash", "dash", "fish", "ksh", "sh", "zsh"];

/// All commands of a script, including substitutions, subshells and nested shell scripts.
pub(crate) fn find_commands(script: &str) -> Vec<Words> {
    let mut found = Vec::new();
    read(script, 0, &mut found);
    found
}

/// The name of a command's program, without its directory.
pub(crate) fn program_name(words: &[String]) -> &str {
    words.first().map_or("", |word| word.rsplit('/').next().unwrap_or_default())
}

fn read(script: &str, depth: usize, found: &mut Vec<Words>) {
    if depth > DEEPEST {
        return;
    }
    let mut lexer = ShellLexer { rest: script, inner: Vec::new() };
    let mut words = Words::new();
    while let Some(token) = lexer.next() {
        match token {
            ShellToken::Word(word) => words.push(word),
            ShellToken::End => add_command(&std::mem::take(&mut words), depth, found),
        }
    }
    add_command(&words, depth, found);
    lexer.inner.iter().for_each(|inner| read(inner, depth + 1, found));
}

/// Adds a command, and the commands that it runs itself.
fn add_command(words: &[String], depth: usize, found: &mut Vec<Words>) {
    let start =
        words.iter().position(|word| !RESERVED.contains(&word.as_str()) && !is_assignment(word));
    let Some(words) = start.map(|start| words[start..].to_vec()) else { return };
    if depth > DEEPEST {
        return found.push(words);
    }
    let (program, arguments) = (program_name(&words).to_owned(), &words[1..]);
    if SHELLS.contains(&program.as_str())
        && let Some(at) = arguments.iter().position(|word| is_script_flag(word))
        && let Some(script) = arguments.get(at + 1)
    {
        read(script, depth + 1, found);
    } else if program == "eval" {
        read(&arguments.join(" "), depth + 1, found);
    } else if program == "find" {
        let runs = |word: &String| matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
        for command in arguments.split(runs).skip(1).filter(|command| !command.is_empty()) {
            add_command(command, depth + 1, found);
        }
    } else if WRAPPERS.contains(&program.as_str()) {
        // Skip the wrapper's options, their values and assignments.
        let is_own = |word: &String| {
            word.starts_with('-')
                || is_assignment(word)
                || word.starts_with(|c: char| c.is_ascii_digit())
        };
        if let Some(at) = arguments.iter().position(|word| !is_own(word)) {
            add_command(&arguments[at..], depth + 1, found);
        }
    }
    found.push(words);
}

fn is_script_flag(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

enum ShellToken {
    Word(String),
    End,
}

struct ShellLexer<'s> {
    rest: &'s str,
    /// Scripts inside this one.
    inner: Vec<&'s str>,
}

impl<'s> ShellLexer<'s> {
    fn next(&mut self) -> Option<ShellToken> {
        loop {
            let first = self.rest.chars().next()?;
            match first {
                ' ' | '\t' | '\r' => self.skip_bytes(1),
                '\\' if self.rest.starts_with("\\\n") => self.skip_bytes(2),
                '#' => self.skip_bytes(self.rest.find('\n').unwrap_or(self.rest.len())),
                '\n' | ';' | '&' | '|' | '(' | ')' => {
                    self.skip_bytes(1);
                    return Some(ShellToken::End);
                }
                '<' | '>' => self.skip_redirection(),
                '}' if self.rest[1..].chars().next().is_none_or(|c| " \t\n;&|)".contains(c)) => {
                    self.skip_bytes(1);
                    return Some(ShellToken::End);
                }
                _ => {
                    let word = self.read_word();
                    let is_stream = word.bytes().all(|byte| byte.is_ascii_digit());
                    if !(is_stream && self.rest.starts_with(['<', '>'])) {
                        return Some(ShellToken::Word(word));
                    }
                }
            }
        }
    }

    /// Skips the target of a redirection. `<(...)` begins a command instead.
    fn skip_redirection(&mut self) {
        if self.rest[1..].starts_with('(') {
            return self.skip_bytes(1);
        }
        let target = self.rest.trim_start_matches(['<', '>', '&', '|', '-']);
        self.rest = target.trim_start_matches([' ', '\t']);
        if !self.rest.starts_with(['\n', ';', '&', '|', '(', ')']) {
            self.read_word();
        }
    }

    fn read_word(&mut self) -> String {
        let mut word = String::new();
        while let Some(next) = self.rest.chars().next() {
            match next {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                '\\' => {
                    self.skip_bytes(1);
                    self.take_char(&mut word, true);
                }
                '\'' => {
                    self.skip_bytes(1);
                    let end = self.rest.find('\'').unwrap_or(self.rest.len());
                    word.push_str(&self.rest[..end]);
                    self.skip_bytes(end + 1);
                }
                '"' => {
                    self.skip_bytes(1);
                    self.read_quoted(&mut word);
                }
                '$' | '`' => self.read_substitution(&mut word),
                _ => self.take_char(&mut word, false),
            }
        }
        word
    }

    /// Reads up to the closing quote.
    fn read_quoted(&mut self, word: &mut String) {
        while let Some(next) = self.rest.chars().next() {
            match next {
                '"' => return self.skip_bytes(1),
                '\\' => {
                    self.skip_bytes(1);
                    self.take_char(word, true);
                }
                '$' | '`' => self.read_substitution(word),
                _ => self.take_char(word, false),
            }
        }
    }

    /// Sets the script of `$(...)` or backticks aside. A variable stays as its name.
    fn read_substitution(&mut self, word: &mut String) {
        if let Some(inner) = self.rest.strip_prefix("$(") {
            let end = closing_offset(inner);
            self.inner.push(&inner[..end]);
            self.rest = inner[end..].strip_prefix(')').unwrap_or_default();
        } else if let Some(inner) = self.rest.strip_prefix('`') {
            let end = inner.find('`').unwrap_or(inner.len());
            self.inner.push(&inner[..end]);
            self.rest = inner[end..].strip_prefix('`').unwrap_or_default();
        } else {
            self.take_char(word, false);
        }
    }

    /// Takes one character. A line break after a backslash is dropped.
    fn take_char(&mut self, word: &mut String, escaped: bool) {
        if let Some(next) = self.rest.chars().next() {
            if !(escaped && next == '\n') {
                word.push(next);
            }
            self.skip_bytes(next.len_utf8());
        }
    }

    fn skip_bytes(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }
}

/// The offset of the `)` that closes a bracket opened before this text.
fn closing_offset(text: &str) -> usize {
    let (mut depth, mut quote, mut escaped) = (1_u32, None, false);
    for (at, c) in text.char_indices() {
        match (c, quote) {
            _ if std::mem::take(&mut escaped) => {}
            ('\\', None | Some('"')) => escaped = true,
            (c, Some(open)) if c == open => quote = None,
            (_, Some(_)) => {}
            ('\'' | '"', None) => quote = Some(c),
            ('(', None) => depth += 1,
            (')', None) if depth == 1 => return at,
            (')', None) => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
#[path = "shell_words_tests.rs"]
mod tests;
