//! The names of files that usually hold passwords, keys and tokens.

/// Patterns of paths, compared in lower case. `**/` is any directory, `/**` everything below one.
pub(super) const NAMES: &[&str] = &[
    // Keys and passwords by the name of the file alone.
    "**/*.key",
    "**/*.p12",
    "**/*.pem",
    "**/*.pfx",
    "**/.authinfo",
    "**/.authinfo.gpg",
    "**/.boto",
    "**/.databrickscfg",
    "**/.env",
    "**/.env.*",
    "**/.git-credentials",
    "**/.gitcookies",
    "**/.htpasswd",
    "**/.msmtprc",
    "**/.my.cnf",
    "**/.mylogin.cnf",
    "**/.netrc",
    "**/.npmrc",
    "**/.pgpass",
    "**/.pypirc",
    "**/.s3cfg",
    "**/.terraformrc",
    "**/.vault-token",
    "**/_netrc",
    "**/application_default_credentials.json",
    "**/credentials",
    "**/credentials.json",
    "**/credentials.tfrc.json",
    "**/credentials.toml",
    "**/id_dsa",
    "**/id_ecdsa",
    "**/id_ecdsa_sk",
    "**/id_ed25519",
    "**/id_ed25519_sk",
    "**/id_rsa",
    "**/rclone.conf",
    // Directories in which command line tools keep their tokens.
    "**/.aws/**",
    "**/.azure/**",
    "**/.bluemix/**",
    "**/.cloudflared/**",
    "**/.composer/auth.json",
    "**/.config/composer/auth.json",
    "**/.config/configstore/**",
    "**/.config/containers/auth.json",
    "**/.config/doctl/**",
    "**/.config/gcloud/**",
    "**/.config/gh/hosts.yml",
    "**/.config/glab-cli/config.yml",
    "**/.config/hcloud/**",
    "**/.config/heroku/**",
    "**/.config/hub",
    "**/.config/netlify/**",
    "**/.config/ngrok/**",
    "**/.config/op/**",
    "**/.config/pip/pip.conf",
    "**/.config/scw/**",
    "**/.config/sops/**",
    "**/.config/stripe/**",
    "**/.docker/config.json",
    "**/.fly/config.yml",
    "**/.gem/credentials",
    "**/.gnupg/**",
    "**/.gradle/gradle.properties",
    "**/.huggingface/token",
    "**/.cache/huggingface/token",
    "**/.kube/**",
    "**/.local/share/keyrings/**",
    "**/.m2/settings-security.xml",
    "**/.m2/settings.xml",
    "**/.nuget/nuget/nuget.config",
    "**/.oci/**",
    "**/.password-store/**",
    "**/.pip/pip.conf",
    "**/.pulumi/credentials.json",
    "**/.ssh/**",
    "**/.subversion/auth/**",
];

/// Names of secret files with public content: they show which keys a project needs.
pub(super) const HARMLESS: &[&str] = &["**/.env.example"];

/// Directories in which package managers keep public downloads. They are large, and a test key in
/// them is harmless.
const PACKAGES: &[&str] = &[
    ".asdf/installs",
    ".gradle/caches",
    ".m2/repository",
    ".nvm/versions",
    ".pyenv/versions",
    ".rbenv/versions",
    ".rustup/toolchains",
    ".sdkman/candidates",
    "dist-packages",
    "git/checkouts",
    "git/db",
    "go/pkg",
    "mise/installs",
    "node_modules",
    "registry/cache",
    "registry/index",
    "registry/src",
    "site-packages",
];

/// Returns `true` if package managers keep their downloads in this directory.
pub(crate) fn is_of_packages(directory: &std::path::Path) -> bool {
    PACKAGES.iter().any(|packages| directory.ends_with(packages))
}

/// Returns every directory name that is part of a pattern. A file below such a directory is a
/// secret as long as the directory keeps its name.
pub(super) fn secret_directories() -> impl Iterator<Item = &'static str> {
    let above = |pattern: &'static str| pattern.rsplit_once('/').map_or("", |(above, _)| above);
    NAMES.iter().flat_map(move |pattern| above(pattern).split('/')).filter(|name| *name != "**")
}
