//! Words for secrets that a server may ask a person for.

/// Parts of words that name a secret, in the languages of many servers.
const WITHIN: [&str; 26] = [
    "passwor",
    "passwd",
    "passphrase",
    "passcode",
    "passwort",
    "kennwort",
    "secret",
    "geheim",
    "token",
    "apikey",
    "credential",
    "zugangsdaten",
    "authoriz",
    "seedphrase",
    "recoverycode",
    "mnemonic",
    "contraseña",
    "motdepasse",
    "wachtwoord",
    "hasło",
    "пароль",
    "密码",
    "密碼",
    "パスワード",
    "비밀번호",
    "privatekey",
];
/// Whole words.
const WORDS: [&str; 15] = [
    "pin", "pins", "puk", "tan", "otp", "totp", "2fa", "mfa", "cvv", "cvc", "pwd", "pw", "key",
    "keys", "code",
];
/// Words before `code` or `key` that make it an ordinary value.
const ORDINARY: [&str; 17] = [
    "country", "postal", "post", "zip", "area", "language", "currency", "product", "project",
    "error", "status", "source", "issue", "primary", "foreign", "sort", "colour",
];

/// Returns `true` if a text names a password, a token, a key, a code or another secret.
pub(crate) fn names_secret(text: &str) -> bool {
    let lower: String =
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    if WITHIN.iter().any(|secret| lower.contains(secret)) {
        return true;
    }
    let spaced = split_words(text);
    let mut before = "";
    for word in spaced.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if WORDS.contains(&word) && !ORDINARY.contains(&before) {
            return true;
        }
        before = word;
    }
    false
}

/// Puts a space before each word of a name such as `accessKey`, in lower case.
fn split_words(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len());
    let mut last = ' ';
    for c in text.chars() {
        if c.is_uppercase() && last.is_lowercase() {
            spaced.push(' ');
        }
        spaced.extend(c.to_lowercase());
        last = c;
    }
    spaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_secret_finds_words_for_secrets() {
        let table = [
            ("Password", true),
            ("new_passwd", true),
            ("Your API key", true),
            ("accessKey", true),
            ("bearerToken", true),
            ("PIN", true),
            ("one-time code", true),
            ("The code that we sent you", true),
            ("Recovery code", true),
            ("Kennwort", true),
            ("Mot de passe", true),
            ("密码", true),
            ("Seed phrase", true),
            ("Country code", false),
            ("projectKey", false),
            ("zip code", false),
            ("Spinach", false),
            ("Keyboard", false),
            ("Decode it?", false),
            ("City", false),
        ];
        for (text, expected) in table {
            assert_eq!(names_secret(text), expected, "{text}");
        }
    }
}
