//! Sandboxes for long-running programs that the operator has configured, such as channels in other
//! languages.

use std::path::Path;
use std::sync::Arc;

use avocet_net::{HostsProxy, InterfaceAddresses};
use avocet_sandbox::{Isolation, ProgramSandbox, SandboxLimits};
use avocet_tools::OpenHosts;

use crate::registry::ChildAccess;

use super::{Shells, real_paths};

impl Shells {
    /// Returns the sandbox for such a program, with the limits of [sandbox] except for processor
    /// time, which is unlimited.
    ///
    /// # Errors
    /// The reason, as a sentence for the operator, if this system has no sandbox or the access would
    /// break it.
    pub(crate) fn child_sandbox(&self, access: ChildAccess) -> Result<ProgramSandbox, String> {
        let ChildAccess { environment, read, write, hosts } = access;
        let Some(sandbox) = &self.sandbox else {
            return Err("this system has no sandbox for programs; `avocet doctor` says why".into());
        };
        let (readable, writable) = (real_paths(&read), real_paths(&write));
        if let Some((path, why)) = self.unsafe_place(&writable, &readable) {
            return Err(format!("{}: {why}", path.display()));
        }
        // It could replace that directory by a link, which the next sandbox would mount.
        if let Some(root) = writable.iter().find(|root| self.is_above_writable(root)) {
            return Err(format!(
                "{}: a workspace or another directory that programs may change is below it; choose \
                 a directory beside it",
                root.display()
            ));
        }
        let has_hosts = !hosts.is_empty();
        let proxy = || {
            let proxy = HostsProxy::new(
                hosts,
                Arc::new(InterfaceAddresses::default()),
                sandbox.clock.clone(),
            );
            Arc::new(OpenHosts::from_proxy(proxy)) as Arc<dyn avocet_sandbox::ProgramProxy>
        };
        let files = readable.iter().filter(|path| path.is_file());
        let named = files.map(|path| path.display().to_string());
        let shown = sandbox.secrets_but.iter().flatten().cloned().chain(named).collect();
        Ok(ProgramSandbox {
            environment: merge_environment(&sandbox.environment, environment),
            proxy: has_hosts.then(proxy),
            secrets_but: Some(shown),
            limits: SandboxLimits { cpu_seconds: u64::MAX, ..sandbox.limits },
            readable,
            writable,
            ..sandbox.clone()
        })
    }
}

impl Shells {
    /// Returns `true` if such a program may change this workspace.
    pub(crate) fn can_open(&self, workspace: &Path) -> bool {
        let real = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
        self.unsafe_for(&real).is_none() && !self.is_above_writable(&real)
    }

    /// Returns `true` if another directory that programs may change is below this one.
    fn is_above_writable(&self, root: &Path) -> bool {
        self.writable.iter().any(|path| path != root && path.starts_with(root))
    }

    /// Returns `true` if programs in sandboxes can reach hosts that are opened to them.
    pub(crate) fn opens_hosts(&self) -> bool {
        self.layers.best_isolation() == Isolation::Namespaces
    }
}

/// Returns the variables of both; the later ones win.
fn merge_environment(
    base: &[(String, String)],
    added: Vec<(String, String)>,
) -> Vec<(String, String)> {
    let kept = base.iter().filter(|(name, _)| !added.iter().any(|(other, _)| other == name));
    kept.cloned().collect::<Vec<_>>().into_iter().chain(added).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_replaces_variables_of_the_base() {
        let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
        };
        let base = pairs(&[("PATH", "/bin"), ("HOME", "/tmp")]);
        let both = merge_environment(&base, pairs(&[("HOME", "/srv"), ("KEY", "1")]));
        assert_eq!(both, pairs(&[("PATH", "/bin"), ("HOME", "/srv"), ("KEY", "1")]));
    }
}
