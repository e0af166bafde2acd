//! The choice of another agent on the command line.

use std::str::FromStr;

/// The name of the program among its peers.
pub(crate) const OWN_NAME: &str = "avocet";

/// Another agent: `NAME=COMMAND`. A shell runs the command with `HOME`, the empty directory, with `MODEL_URL` and
/// `OPENAI_BASE_URL`, such as `http://127.0.0.1:4711/v1`, and with `OPENAI_API_KEY`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) name: String,
    pub(crate) command: String,
}

impl FromStr for Peer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, command) =
            text.split_once('=').ok_or("give a name and a command: NAME=COMMAND")?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name == OWN_NAME || !name.chars().all(is_name) {
            return Err(format!(
                "the name {name:?} should be of letters, digits, - and _, and not {OWN_NAME}"
            ));
        }
        if command.trim().is_empty() {
            return Err(format!("the command of {name} is empty"));
        }
        Ok(Self { name: name.to_owned(), command: command.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peer_is_a_name_and_a_command() {
        let peer: Peer = "other=program --model x=y".parse().unwrap();
        assert_eq!((peer.name.as_str(), peer.command.as_str()), ("other", "program --model x=y"));
        for wrong in ["other", "=run", "a b=run", "other= ", "avocet=run"] {
            assert!(wrong.parse::<Peer>().is_err(), "{wrong}");
        }
    }
}
