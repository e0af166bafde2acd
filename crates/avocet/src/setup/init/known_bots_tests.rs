use std::fs;
use std::path::Path;

use super::super::registered_bots;
use super::*;

const TELEGRAM_TOKEN: &str = "4711:AA-secret_bcdefghijklmnopqrstuvwxyz";

/// The bots of a platform that no channel is for.
const CHIRP: KnownBot = KnownBot {
    channel: "chirp",
    form: BotForm {
        label: "Chirp",
        token_source: "from the nest",
        token_form: "chirp and a number",
        token_option: "chirp-token-file",
        url_option: "chirp-api-url",
        url_help: "Address of the nest",
        is_token: |text| text.strip_prefix("chirp").is_some_and(|id| id.parse::<u32>().is_ok()),
        is_like_token: |text| text.starts_with("chirp"),
    },
};

fn with_a_third_bot() -> KnownBots {
    let mut bots = registered_bots();
    bots.0.push(CHIRP);
    bots
}

#[test]
fn known_bots_take_a_third_bot_from_its_form_alone() {
    let bots = with_a_third_bot();
    let channel_of = |token| bots.find_by_token(token).map(|bot| bot.channel);
    let table = [
        ("chirp42", Some("chirp")),
        (TELEGRAM_TOKEN, Some("telegram")),
        ("MTIz.secret.token", Some("discord")),
        ("chirp", None),
    ];
    for (token, expected) in table {
        assert_eq!(channel_of(token), expected, "{token}");
    }
    assert!(bots.has_token_like("chirp") && !registered_bots().has_token_like("chirp"));
    assert_eq!(
        bots.token_question(),
        "Token of your bot, from @BotFather on Telegram or from Discord's developer portal or from \
         the nest (it stays invisible; Enter for none):"
    );
    assert_eq!(
        bots.no_token_text(),
        "That is neither a Telegram token (123456:ABC...) nor a Discord token (three parts with \
         dots) nor a Chirp token (chirp and a number). Nothing was sent.\n"
    );
    let options = ["--telegram-token-file", "--discord-token-file", "--chirp-token-file"];
    assert_eq!(bots.token_options(), options);
}

#[test]
fn known_bots_read_the_options_of_a_third_bot() {
    let bots = with_a_third_bot();
    let read = |words: &[&str]| {
        let command = bots.add_options(Command::new("init"));
        let matches = command.try_get_matches_from([&["init"], words].concat());
        matches.map(|matches| bots.read_options(&matches)).map_err(|error| error.to_string())
    };
    let options = read(&["--chirp-token-file", "token", "--discord-api-url", "http://a"]).unwrap();
    let (bot, path) = options.token_file.as_ref().unwrap();
    assert_eq!((bot.channel, path.as_path()), ("chirp", Path::new("token")));
    assert_eq!(options.url_of("discord").as_deref(), Some("http://a"));
    assert_eq!(options.url_of("chirp"), None);
    let refused = read(&["--chirp-token-file", "a", "--telegram-token-file", "b"]).unwrap_err();
    assert!(refused.contains("cannot be used with"), "{refused}");
}

/// The platforms of the registry differ in their tokens: no token has the form of two.
#[test]
fn find_by_token_recognises_one_platform_only() {
    for token in [TELEGRAM_TOKEN, "MTIz.secret.token"] {
        let bots = registered_bots();
        assert_eq!(bots.0.iter().filter(|bot| (bot.form.is_token)(token)).count(), 1, "{token}");
    }
}

/// Returns the code of a file, up to its tests.
fn code_of(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    text.split("#[cfg(test)]").next().unwrap_or_default().to_lowercase()
}

#[test]
fn init_names_no_platform() {
    let setup = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/setup");
    let files = fs::read_dir(setup.join("init")).unwrap().map(|entry| entry.unwrap().path());
    let is_code = |path: &PathBuf| {
        let name = path.to_string_lossy();
        name.ends_with(".rs") && !name.ends_with("_tests.rs")
    };
    let files: Vec<_> = files.chain([setup.join("init.rs")]).filter(is_code).collect();
    assert!(files.len() > 5, "{files:?}");
    for path in files {
        let code = code_of(&path);
        for platform in registered_bots().0.iter().map(|bot| bot.channel) {
            assert!(!code.contains(platform), "{} names {platform}", path.display());
        }
    }
}
