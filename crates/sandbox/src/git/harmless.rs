//! Lists the harmless entries of a git configuration, which run nothing and lead nowhere. Every
//! other entry counts as dangerous, so that the keys of a newer git do, too.

/// The position of an entry: in `[section]`, or in `[section "subsection"]`.
#[derive(PartialEq, Eq)]
enum At {
    Section,
    Subsection,
}

/// Sections, and the names in them. An empty list stands for all names.
const HARMLESS: &[(&str, At, &[&str])] = &[
    ("advice", At::Section, &[]),
    ("branch", At::Section, &["autosetupmerge", "autosetuprebase", "sort"]),
    ("branch", At::Subsection, &["description", "merge", "pushremote", "rebase", "remote"]),
    ("color", At::Section, &[]),
    ("color", At::Subsection, &[]),
    ("column", At::Section, &[]),
    (
        "core",
        At::Section,
        &[
            "abbrev",
            "autocrlf",
            "bare",
            "bigfilethreshold",
            "checkstat",
            "commentchar",
            "commitgraph",
            "compression",
            "eol",
            "filemode",
            "ignorecase",
            "logallrefupdates",
            "longpaths",
            "multipackindex",
            "precomposeunicode",
            "preloadindex",
            "protecthfs",
            "protectntfs",
            "quotepath",
            "repositoryformatversion",
            "safecrlf",
            "sharedrepository",
            "sparsecheckout",
            "sparsecheckoutcone",
            "splitindex",
            "symlinks",
            "trustctime",
            "untrackedcache",
            "whitespace",
        ],
    ),
    (
        "diff",
        At::Section,
        &[
            "algorithm",
            "colormoved",
            "context",
            "ignoresubmodules",
            "renamelimit",
            "renames",
            "submodule",
        ],
    ),
    (
        "extensions",
        At::Section,
        &[
            "compatobjectformat",
            "objectformat",
            "partialclone",
            "refstorage",
            "relativeworktrees",
            "worktreeconfig",
        ],
    ),
    (
        "fetch",
        At::Section,
        &["fsckobjects", "parallel", "prune", "prunetags", "recursesubmodules", "writecommitgraph"],
    ),
    (
        "gc",
        At::Section,
        &[
            "auto",
            "autodetach",
            "autopacklimit",
            "packrefs",
            "pruneexpire",
            "reflogexpire",
            "writecommitgraph",
        ],
    ),
    ("index", At::Section, &[]),
    ("init", At::Section, &["defaultbranch"]),
    ("lfs", At::Section, &["repositoryformatversion"]),
    ("lfs", At::Subsection, &["access", "locksverify"]),
    ("maintenance", At::Section, &["auto", "strategy"]),
    (
        "merge",
        At::Section,
        &["conflictstyle", "directoryrenames", "ff", "renames", "renormalize", "stat"],
    ),
    ("pull", At::Section, &["ff", "rebase"]),
    (
        "push",
        At::Section,
        &["autosetupremote", "default", "followtags", "recursesubmodules", "useforceifincludes"],
    ),
    ("rebase", At::Section, &["autosquash", "autostash", "rebasemerges", "stat", "updaterefs"]),
    (
        "receive",
        At::Section,
        &["autogc", "denycurrentbranch", "denydeletes", "denynonfastforwards", "fsckobjects"],
    ),
    ("remote", At::Section, &["pushdefault"]),
    (
        "remote",
        At::Subsection,
        &[
            "fetch",
            "followremotehead",
            "mirror",
            "partialclonefilter",
            "promisor",
            "prune",
            "prunetags",
            "push",
            "skipdefaultupdate",
            "skipfetchall",
            "tagopt",
        ],
    ),
    ("rerere", At::Section, &["autoupdate", "enabled"]),
    ("stash", At::Section, &[]),
    ("status", At::Section, &[]),
    ("submodule", At::Section, &["active", "fetchjobs", "propagatebranches", "recurse"]),
    (
        "submodule",
        At::Subsection,
        &["active", "branch", "fetchrecursesubmodules", "ignore", "path"],
    ),
    ("tag", At::Section, &["sort"]),
    ("transfer", At::Section, &["fsckobjects", "unpacklimit"]),
    ("user", At::Section, &["email", "name", "useconfigonly"]),
    ("worktree", At::Section, &["guessremote", "userelativepaths"]),
];

/// Returns `true` if every value of this entry is harmless.
pub(super) fn is_listed(section: &str, has_subsection: bool, name: &str) -> bool {
    let at = if has_subsection { At::Subsection } else { At::Section };
    let mut fitting = HARMLESS.iter().filter(|(one, place, _)| *one == section && *place == at);
    fitting.any(|(_, _, names)| names.is_empty() || names.contains(&name))
}
