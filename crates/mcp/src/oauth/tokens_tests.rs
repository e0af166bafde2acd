use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use tempfile::TempDir;
use tokio::sync::Semaphore;

use super::super::endpoint::ClientAuthMethod;
use super::*;

fn login() -> StoredLogin {
    StoredLogin {
        url: "https://mcp.example/mcp".to_owned(),
        resource: "https://mcp.example/mcp".to_owned(),
        token_endpoint: "https://mcp.example/token".to_owned(),
        revocation_endpoint: None,
        client: OAuthClient { id: "me".to_owned(), secret: None, proof: ClientAuthMethod::Public },
        access_token: Secret::new("the-access-token".to_owned()),
        refresh_token: Some(Secret::new("the-refresh-token".to_owned())),
        expires_at: Some(5),
        lifetime: None,
        scopes: BTreeSet::new(),
    }
}

#[tokio::test]
async fn token_file_is_private_and_debug_hides_the_tokens() {
    let home = TempDir::new().unwrap();
    let path = home.path().join("data/mcp-tokens.json");
    let file = TokenFile::new(Some(path.clone()));
    assert!(file.get("web").unwrap().login.is_none());
    let mut writer = file.lock_file().await.unwrap();
    writer.entry_of("web").login = Some(login());
    writer.entry_of("empty");
    assert!(!format!("{writer:?}").contains("-token\""), "{writer:?}");
    writer.write().unwrap();
    let read = file.get("web").unwrap().login.unwrap();
    assert_eq!(read.access_token.expose(), "the-access-token");
    assert_eq!(read.refresh_token.unwrap().expose(), "the-refresh-token");
    assert!(!fs::read_to_string(&path).unwrap().contains("empty"));
    for made in [&path, &path.with_extension("lock")] {
        let mode = fs::metadata(made).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", made.display());
    }
    assert_eq!(fs::metadata(home.path().join("data")).unwrap().permissions().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn token_file_has_one_writer_at_a_time() {
    let home = TempDir::new().unwrap();
    let file = TokenFile::new(Some(home.path().join("mcp-tokens.json")));
    let first = file.lock_file().await.unwrap();
    let (other, order) = (file.clone(), Arc::new(Semaphore::new(0)));
    let released = order.clone();
    let second = async move {
        let mut writer = other.lock_file().await.unwrap();
        assert_eq!(released.available_permits(), 1);
        writer.entry_of("b").login = Some(login());
        writer.write().unwrap();
    };
    let first = async {
        let mut first = first;
        first.entry_of("a").login = Some(login());
        order.add_permits(1);
        first.write().unwrap();
    };
    tokio::join!(second, first);
    assert!(file.get("a").unwrap().login.is_some() && file.get("b").unwrap().login.is_some());
}

#[tokio::test]
async fn token_file_follows_no_links_and_overwrites_no_other_file() {
    let home = TempDir::new().unwrap();
    let (path, other) = (home.path().join("mcp-tokens.json"), home.path().join("other"));
    let (file, lock) = (TokenFile::new(Some(path.clone())), path.with_extension("lock"));
    fs::write(&other, "kept").unwrap();
    std::os::unix::fs::symlink(&other, &lock).unwrap();
    assert!(file.lock_file().await.is_err());
    fs::remove_file(&lock).unwrap();
    fs::hard_link(&other, &lock).unwrap();
    assert!(file.lock_file().await.unwrap_err().contains("not a regular file with one name"));
    fs::remove_file(&lock).unwrap();
    std::os::unix::fs::symlink(&other, path.with_extension("new")).unwrap();
    let mut writer = file.lock_file().await.unwrap();
    writer.entry_of("web").login = Some(login());
    writer.write().unwrap();
    assert_eq!(fs::read_to_string(&other).unwrap(), "kept");
    assert!(file.get("web").unwrap().login.is_some());
}

#[test]
fn renew_before_expiry_is_at_most_a_quarter_of_the_lifetime() {
    for (lifetime, seconds) in [(None, 60), (Some(3600), 60), (Some(60), 15), (Some(0), 0)] {
        let login = StoredLogin { lifetime, ..login() };
        assert_eq!(login.renew_before_expiry(), Duration::from_secs(seconds));
    }
}

#[tokio::test]
async fn damaged_token_file_is_an_error_without_its_content() {
    let home = TempDir::new().unwrap();
    let path = home.path().join("mcp-tokens.json");
    fs::write(&path, "{\"web\": the-access-token").unwrap();
    let error = TokenFile::new(Some(path)).get("web").unwrap_err();
    assert!(error.contains("cannot be read (line 1"), "{error}");
    assert!(!error.contains("the-access-token"), "{error}");
}

#[test]
fn has_expired_compares_the_end() {
    assert!(login().has_expired(Timestamp(5)));
    assert!(!login().has_expired(Timestamp(4)));
    assert!(!StoredLogin { expires_at: None, ..login() }.has_expired(Timestamp(i64::MAX)));
}
