//! Roles by name.

use avocet_protocol::{Inbound, Role, Roles};

/// Everybody is an owner but `guest`.
#[derive(Debug, Default, Clone, Copy)]
pub struct FakeRoles;

impl Roles for FakeRoles {
    fn role(&self, inbound: &Inbound) -> Role {
        if inbound.sender.id.as_str() == "guest" { Role::User } else { Role::Owner }
    }
}
