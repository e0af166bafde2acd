//! The clients of the socket, from `[gateway.clients]`.

use std::collections::BTreeSet;

use avocet_config::{ConfigDocument, ConfigError, ConfigSettings, GatewayClient};
use avocet_gateway::{
    ChatPatterns, ClientIdentity, Clients, METHODS, NamedClient, SocketGroup, SocketPlace,
    SystemUsers,
};
use avocet_protocol::access::ClientRole;
use avocet_protocol::ids::SenderId;
use nix::unistd::{Group, User};

use crate::configuration::Configuration;
use crate::registry::key_error;

/// Checks the tables, without asking the system about users.
pub(crate) fn check_clients(
    document: &ConfigDocument,
    settings: &ConfigSettings,
) -> Result<(), ConfigError> {
    for (name, client) in &settings.gateway.clients {
        let error = |key: &str, why: String| {
            key_error(document, &format!("gateway.clients.{name}"), key, &why)
        };
        match client.check() {
            // A left-out secret has only a placeholder, which cannot be checked.
            Err((key, why))
                if !document.is_unresolved(&format!("gateway.clients.{name}.{key}")) =>
            {
                return Err(error(key, why));
            }
            Ok(()) | Err(_) => {}
        }
        let unknown = |method: &&String| !METHODS.iter().any(|known| known.name == **method);
        if let Some(method) = client.methods.iter().flatten().find(unknown) {
            let known: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
            let why = format!("there is no method `{method}`; there are {}", known.join(", "));
            return Err(error("methods", why));
        }
        name_client(name, client, ClientIdentity::default()).map_err(|why| error("role", why))?;
    }
    Ok(())
}

/// Makes the clients. Looks up users and groups.
pub(crate) fn read_clients(
    document: &ConfigDocument,
    settings: &ConfigSettings,
) -> Result<Clients, ConfigError> {
    let client = |(name, client): (&String, &GatewayClient)| {
        let error = |key: &str, why: String| {
            key_error(document, &format!("gateway.clients.{name}"), key, &why)
        };
        let users = system_users(client).map_err(|(key, why)| error(key, why))?;
        let identity = ClientIdentity { users, token: client.token.clone() };
        name_client(name, client, identity).map_err(|why| error("role", why))
    };
    let clients = settings.gateway.clients.iter().map(client);
    Ok(Clients::new(clients.collect::<Result<_, ConfigError>>()?))
}

/// Returns the place of the socket. Looks up its group.
pub(crate) fn socket_place(configuration: &Configuration) -> Result<SocketPlace, ConfigError> {
    let Configuration { document, settings, socket, .. } = configuration;
    let group = settings.gateway.group.as_deref().map(|name| {
        let found = find_group(name);
        let found = found.map_err(|why| key_error(document, "gateway", "group", &why))?;
        Ok(SocketGroup { name: name.to_owned(), gid: found.gid.as_raw() })
    });
    Ok(SocketPlace { path: socket.clone(), group: group.transpose()? })
}

/// Returns the senders of clients that may do everything.
pub(crate) fn operator_ids(settings: &ConfigSettings) -> BTreeSet<SenderId> {
    let clients = settings.gateway.clients.iter();
    let operators = clients.filter(|(_, client)| client.role == ClientRole::Operator);
    operators.filter_map(|(name, _)| SenderId::parse(&format!("client:{name}")).ok()).collect()
}

fn name_client(
    name: &str,
    client: &GatewayClient,
    identity: ClientIdentity,
) -> Result<NamedClient, String> {
    let chats = ChatPatterns::new(client.chats.clone());
    let methods = client.methods.as_ref().map(|methods| methods.iter().cloned().collect());
    NamedClient::new(name, identity, client.role, chats, methods).map_err(|error| error.to_string())
}

/// Returns the users that the client may run as; `None` if the token alone decides.
fn system_users(client: &GatewayClient) -> Result<Option<SystemUsers>, (&'static str, String)> {
    let GatewayClient { uid, user, group, .. } = client;
    let mut users = SystemUsers::default();
    users.uids.extend(*uid);
    if let Some(name) = user {
        let found = find_user(name).map_err(|error| ("user", error))?;
        let missing = || ("user", format!("this system has no user `{name}`; create it first"));
        users.uids.insert(found.ok_or_else(missing)?);
    }
    if let Some(name) = group {
        let found = find_group(name).map_err(|error| ("group", error))?;
        users.gids.insert(found.gid.as_raw());
        for member in &found.mem {
            users.uids.extend(find_user(member).map_err(|error| ("group", error))?);
        }
    }
    let named = uid.is_some() || user.is_some() || group.is_some();
    Ok(named.then_some(users))
}

fn find_user(name: &str) -> Result<Option<u32>, String> {
    let found = User::from_name(name);
    let found = found.map_err(|error| format!("cannot look up the user `{name}`: {error}"))?;
    Ok(found.map(|user| user.uid.as_raw()))
}

fn find_group(name: &str) -> Result<Group, String> {
    let found = Group::from_name(name);
    let found = found.map_err(|error| format!("cannot look up the group `{name}`: {error}"))?;
    found.ok_or_else(|| format!("this system has no group `{name}`; create it first"))
}

#[cfg(test)]
#[path = "clients_tests.rs"]
mod tests;
