//! What a person could change to get a stronger tier here.

use std::fs;

use overnight_model::spec::Tier;

use crate::process::Holder;
use crate::sandbox::Found;

/// One line, where there is something to say.
pub(super) fn raise(found: &Found, memory: &Holder) -> Option<String> {
    let setting = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let is = |path: &str, value: &str| setting(path).as_deref() == Some(value);
    let tried = found.reasons.join("; ");
    Some(match found.tier {
        Tier::Strong => return None,
        // It was asked for by name.
        Tier::Landlock | Tier::None if found.reasons.is_empty() => return None,
        Tier::Standard if *memory == Holder::Group => return None,
        Tier::Standard => "limits held by the kernel: delegate control groups of version 2, for example \
                           `systemd-run --user --scope -p Delegate=yes overnight run`"
            .to_owned(),
        _ if is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") => {
            "standard: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0".to_owned()
        }
        _ if is("/proc/sys/kernel/unprivileged_userns_clone", "0") => {
            "standard: sudo sysctl kernel.unprivileged_userns_clone=1".to_owned()
        }
        _ if is("/proc/sys/user/max_user_namespaces", "0") => {
            "standard: sudo sysctl user.max_user_namespaces=15000".to_owned()
        }
        _ if tried.contains("/proc") => {
            "standard: run the container with --security-opt systempaths=unconfined, so that a new /proc can be mounted"
                .to_owned()
        }
        _ if in_container() => "standard: run the container with --security-opt seccomp=unconfined \
                                --security-opt apparmor=unconfined --security-opt systempaths=unconfined"
            .to_owned(),
        _ => return None,
    })
}

fn in_container() -> bool {
    ["/.dockerenv", "/run/.containerenv"].iter().any(|path| fs::exists(path).unwrap_or(false))
}
