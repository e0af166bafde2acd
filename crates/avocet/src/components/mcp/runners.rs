//! Programs that download a package at each start and run it, such as `npx`. In a sandbox without hosts
//! they would try for a minute and then give up with an error of the network.

use std::fs;
use std::path::{Path, PathBuf};

use avocet_net::Url;

use crate::environment::{home_directory, read_variable};

/// The index of packages that a runner uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PackageIndex {
    Npm,
    Python,
}

/// A program that downloads packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PackageRunner {
    name: &'static str,
    /// The words of its command line after the program, one of which has to come first.
    words: &'static [&'static str],
    index: PackageIndex,
}

const RUNNERS: [PackageRunner; 7] = [
    make_runner("npx", &[], PackageIndex::Npm),
    make_runner("npm", &["exec", "x"], PackageIndex::Npm),
    make_runner("pnpx", &[], PackageIndex::Npm),
    make_runner("pnpm", &["dlx"], PackageIndex::Npm),
    make_runner("uvx", &[], PackageIndex::Python),
    make_runner("uv", &["run", "tool", "x"], PackageIndex::Python),
    make_runner("pipx", &["run"], PackageIndex::Python),
];

const fn make_runner(
    name: &'static str,
    words: &'static [&'static str],
    index: PackageIndex,
) -> PackageRunner {
    PackageRunner { name, words, index }
}

impl PackageRunner {
    /// Returns the runner of a command; `None` if it runs an installed program.
    pub(crate) fn from_command(command: &str, args: &[String]) -> Option<&'static Self> {
        let name = Path::new(command).file_name()?.to_str()?;
        let first = args.iter().find(|word| !word.starts_with('-')).map_or("", String::as_str);
        RUNNERS.iter().find(|runner| {
            runner.name == name && (runner.words.is_empty() || runner.words.contains(&first))
        })
    }

    /// Returns the variables that make it fail at once where it would wait: without hosts, it stays
    /// away from the network, and with hosts, it asks its registry once.
    pub(crate) fn variables(&self, has_hosts: bool) -> Vec<(String, String)> {
        let variables: &[(&str, &str)] = match (self.index, has_hosts) {
            (PackageIndex::Npm, false) => &[("npm_config_offline", "true")],
            (PackageIndex::Npm, true) => &[("npm_config_fetch_retries", "0")],
            (PackageIndex::Python, false) => &[("UV_OFFLINE", "1"), ("PIP_NO_INDEX", "1")],
            (PackageIndex::Python, true) => &[("UV_HTTP_RETRIES", "0"), ("PIP_RETRIES", "0")],
        };
        let owned = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        owned.collect()
    }

    /// Says what the program waits for without `hosts`.
    pub(crate) fn describe_need(&self) -> String {
        let index = match self.index {
            PackageIndex::Npm => "the npm registry",
            PackageIndex::Python => "the Python package index, and of its files,",
        };
        format!(
            "{} downloads its package at each start, and `hosts` is empty: add the host of {index} to \
             `hosts`, or install the package and name its program as the command",
            self.name
        )
    }

    /// Returns the hosts of the registry that this user's settings name. `program` is the runner's
    /// own file, beside which npm keeps its defaults. Empty if they are unknown.
    pub(crate) fn hosts(&self, program: &Path) -> Vec<String> {
        let addresses = match self.index {
            PackageIndex::Npm => npm_registries(program),
            PackageIndex::Python => python_indexes(),
        };
        let mut hosts: Vec<String> = addresses.iter().filter_map(|text| host_of(text)).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    }
}

/// Returns the host of an address, with its port if that is not the usual one.
fn host_of(address: &str) -> Option<String> {
    let url = Url::parse(address.trim().trim_matches(['"', '\''])).ok()?;
    let host = url.host_str()?;
    Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

fn npm_registries(program: &Path) -> Vec<String> {
    let named = ["npm_config_registry", "NPM_CONFIG_REGISTRY"];
    let named = named.iter().find_map(|name| read_variable(name));
    let file = home_directory().map(|home| home.join(".npmrc"));
    let settings = file.and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
    let scoped = values_of(&settings, |key| key.starts_with('@') && key.ends_with(":registry"));
    let own = values_of(&settings, |key| key == "registry").pop();
    let registry = named.or(own).or_else(|| npm_default(program));
    registry.into_iter().chain(scoped).collect()
}

/// Returns the registry that npm uses without settings.
fn npm_default(program: &Path) -> Option<String> {
    let program = program.canonicalize().ok()?;
    let places = program.ancestors().flat_map(|above| {
        ["node_modules/npm-registry-fetch", "npm-registry-fetch"]
            .map(|package| above.join(package).join("lib/default-opts.js"))
    });
    let text = places.filter_map(|place: PathBuf| fs::read_to_string(place).ok()).next()?;
    let (_, rest) = text.split_once("registry: '")?;
    rest.split_once('\'').map(|(address, _)| address.to_owned())
}

fn python_indexes() -> Vec<String> {
    let names = ["UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"];
    let named: Vec<String> = names.iter().filter_map(|name| read_variable(name)).collect();
    if !named.is_empty() {
        return named;
    }
    let below = [".config/pip/pip.conf", ".pip/pip.conf", ".config/uv/uv.toml"];
    let files = home_directory().into_iter().flat_map(|home| below.map(|file| home.join(file)));
    let files = files.chain([PathBuf::from("/etc/pip.conf")]);
    let texts = files.filter_map(|file| fs::read_to_string(file).ok());
    texts.flat_map(|text| values_of(&text, |key| key == "index-url" || key == "url")).collect()
}

/// Returns the values of lines `KEY = VALUE` with such a key.
fn values_of(text: &str, fits: impl Fn(&str) -> bool) -> Vec<String> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    let pairs = pairs.filter(|(key, _)| fits(key.trim()));
    pairs.map(|(_, value)| value.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runner_of_a_command_is_known_by_its_words() {
        let of = |line: &str| {
            let mut words = line.split(' ').map(str::to_owned);
            let command = words.next().unwrap();
            PackageRunner::from_command(&command, &words.collect::<Vec<_>>())
                .map(|runner| runner.name)
        };
        for (line, runner) in [
            ("npx -y mcp-x", Some("npx")),
            ("/home/a/.nvm/versions/node/v22/bin/npx mcp-x", Some("npx")),
            ("npm exec mcp-x", Some("npm")),
            ("npm start", None),
            ("uvx mcp-x", Some("uvx")),
            ("uv --quiet run x.py", Some("uv")),
            ("uv pip list", None),
            ("node npx", None),
        ] {
            assert_eq!(of(line), runner, "{line}");
        }
    }

    #[test]
    fn host_of_an_address_has_its_port() {
        for (address, host) in [
            ("https://npm.example.org/", Some("npm.example.org")),
            ("'http://127.0.0.1:4873/x'", Some("127.0.0.1:4873")),
            ("${REGISTRY}", None),
        ] {
            assert_eq!(host_of(address).as_deref(), host, "{address}");
        }
        let settings = "; mine\n@a:registry=https://a.example/\nregistry = https://b.example/\n";
        assert_eq!(values_of(settings, |key| key == "registry"), ["https://b.example/"]);
    }

    #[test]
    fn npm_default_is_read_from_npm_itself() {
        let home = tempfile::TempDir::new().unwrap();
        let npm = home.path().join("lib/node_modules/npm");
        let package = npm.join("node_modules/npm-registry-fetch/lib");
        fs::create_dir_all(&package).unwrap();
        fs::create_dir_all(npm.join("bin")).unwrap();
        fs::write(npm.join("bin/npx-cli.js"), "").unwrap();
        let defaults = "module.exports = {\n  registry: 'https://npm.example.org/',\n}\n";
        fs::write(package.join("default-opts.js"), defaults).unwrap();
        let found = npm_default(&npm.join("bin/npx-cli.js"));
        assert_eq!(found.as_deref(), Some("https://npm.example.org/"));
    }
}
