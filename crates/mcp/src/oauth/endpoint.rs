//! Requests to an authorization server: metadata, registration and tokens.

use std::sync::Arc;
use std::time::Duration;

use avocet_net::{HttpClient, HttpResponse, NetError, check_header};
use avocet_protocol::clock::{Clock, within};
use avocet_protocol::model::decode_json;
use avocet_text::Secret;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::address::shorten_text;
use super::exposed_secret::exposed_option;

/// The timeout of a request.
const LIMIT: Duration = Duration::from_secs(30);
/// The most bytes of a response.
const LONGEST_BODY: usize = 256 * 1024;
/// Fields of a form whose values are removed from errors.
const SECRET_FIELDS: [&str; 5] =
    ["client_secret", "code", "code_verifier", "refresh_token", "token"];

/// The client for authorization servers. It does not send the headers of the MCP server.
#[derive(Debug, Clone)]
pub(crate) struct OAuthHttp {
    pub(crate) client: HttpClient,
    pub(crate) clock: Arc<dyn Clock>,
}

/// The reason why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EndpointError {
    /// The authorization server refuses the request.
    #[error("the authorization server refuses it: {code}{detail}")]
    Refused {
        /// The code of RFC 6749, section 5.2, or the HTTP status.
        code: String,
        /// Further text of the server.
        detail: String,
    },
    /// There is no usable response; a retry may help.
    #[error("{0}")]
    Failed(String),
}

/// The method of client authentication (RFC 7591, section 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ClientAuthMethod {
    #[serde(rename = "none")]
    Public,
    #[serde(rename = "client_secret_basic")]
    Basic,
    #[serde(rename = "client_secret_post")]
    Post,
}

impl ClientAuthMethod {
    /// Chooses the method for a client. Without a list, servers accept `client_secret_basic`
    /// (RFC 8414, section 2).
    pub(crate) fn choose_method(has_secret: bool, supported: Option<&[String]>) -> Self {
        let has = |name: &str| supported.is_some_and(|names| names.iter().any(|one| one == name));
        match supported {
            _ if !has_secret => Self::Public,
            Some(_) if has("client_secret_basic") => Self::Basic,
            Some(_) if has("client_secret_post") => Self::Post,
            Some(_) if has("none") => Self::Public,
            _ => Self::Basic,
        }
    }
}

/// A client that is registered at an authorization server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct OAuthClient {
    pub(crate) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "exposed_option")]
    pub(crate) secret: Option<Secret>,
    pub(crate) proof: ClientAuthMethod,
}

/// The tokens of a response.
#[derive(Debug, Clone)]
pub(crate) struct GrantedTokens {
    pub(crate) access: Secret,
    pub(crate) refresh: Option<Secret>,
    /// Seconds for which the access token is valid.
    pub(crate) expires_in: Option<u64>,
    /// The granted scopes, if they differ from the requested ones.
    pub(crate) scope: Option<String>,
}

impl OAuthHttp {
    /// Fetches a JSON document; `None` if the HTTP status is 300 to 499.
    ///
    /// # Errors
    /// A message with the address and the cause.
    pub(crate) async fn get_document<T: DeserializeOwned>(
        &self,
        url: &str,
    ) -> Result<Option<T>, String> {
        let read = async {
            let response = self.client.get(url, &[("accept", "application/json")]).await?;
            let status = response.status();
            Ok((status, read_body(response).await?))
        };
        let (status, text) = self.wait_for_answer(url, read).await?;
        match status {
            200 => decode_json(text.as_bytes())
                .map(Some)
                // The text of the error could repeat text of the server.
                .map_err(|error| {
                    let (line, column) = (error.line(), error.column());
                    let url = shorten_text(url);
                    format!("the metadata at {url} cannot be read (line {line}, column {column})")
                }),
            300..=499 => Ok(None),
            _ => Err(format!("{} answers with HTTP status {status}", shorten_text(url))),
        }
    }

    async fn wait_for_answer<T>(
        &self,
        url: &str,
        request: impl Future<Output = Result<T, NetError>>,
    ) -> Result<T, String> {
        let address = || shorten_text(url.split('?').next().unwrap_or_default());
        match within(self.clock.as_ref(), LIMIT, request).await {
            Ok(answer) => answer.map_err(|error| format!("no answer from {}: {error}", address())),
            Err(_) => Err(format!("{} did not answer within {} s", address(), LIMIT.as_secs())),
        }
    }

    /// Registers a client (RFC 7591).
    ///
    /// # Errors
    /// [`EndpointError`] if the server refuses it.
    pub(crate) async fn register_client(
        &self,
        url: &str,
        redirect: &str,
        scope: Option<&str>,
        supported: Option<&[String]>,
    ) -> Result<OAuthClient, EndpointError> {
        let is_public = supported.is_none_or(|names| names.iter().any(|name| name == "none"));
        let proof = if is_public {
            ClientAuthMethod::Public
        } else {
            ClientAuthMethod::choose_method(true, supported)
        };
        let mut client = json!({
            "client_name": "Avocet",
            "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": proof,
        });
        if let Some(scope) = scope {
            client["scope"] = json!(scope);
        }
        let body = serde_json::to_vec(&client).unwrap_or_default();
        let post = self.client.post_json(url, &[("accept", "application/json")], body);
        let answer = self.json_of_answer(url, post, &[]).await?;
        let text = |key: &str| answer[key].as_str().map(str::to_owned);
        let id = text("client_id").ok_or_else(|| unusable_answer("has no client_id"))?;
        let secret = text("client_secret").filter(|secret| !secret.is_empty()).map(Secret::new);
        let stated = serde_json::from_value(answer["token_endpoint_auth_method"].clone()).ok();
        let proof =
            stated.unwrap_or_else(|| ClientAuthMethod::choose_method(secret.is_some(), supported));
        Ok(OAuthClient { id, secret, proof })
    }

    /// Asks for tokens (RFC 6749, section 3.2).
    ///
    /// # Errors
    /// [`EndpointError`] if the server grants none, or the response is unusable.
    pub(crate) async fn request_tokens(
        &self,
        url: &str,
        client: &OAuthClient,
        fields: &[(&str, &str)],
    ) -> Result<GrantedTokens, EndpointError> {
        let answer = self.post_form(url, client, fields).await?;
        parse_tokens(&answer)
    }

    /// Revokes a token (RFC 7009).
    ///
    /// # Errors
    /// [`EndpointError`] if the server refuses it.
    pub(crate) async fn revoke_token(
        &self,
        url: &str,
        client: &OAuthClient,
        token: &Secret,
    ) -> Result<(), EndpointError> {
        self.post_form(url, client, &[("token", token.expose())]).await.map(drop)
    }

    async fn post_form(
        &self,
        url: &str,
        client: &OAuthClient,
        fields: &[(&str, &str)],
    ) -> Result<Value, EndpointError> {
        let secret = client.secret.as_ref().map_or("", Secret::expose);
        let basic = format!("{}:{}", form_encoded(&client.id), form_encoded(secret));
        let basic = format!("Basic {}", STANDARD.encode(basic));
        let (mut fields, mut headers) = (fields.to_vec(), vec![("accept", "application/json")]);
        match client.proof {
            ClientAuthMethod::Basic => headers.push(("authorization", &*basic)),
            ClientAuthMethod::Public => fields.push(("client_id", &*client.id)),
            ClientAuthMethod::Post => {
                fields.extend([("client_id", &*client.id), ("client_secret", secret)]);
            }
        }
        let secrets = fields.iter().filter(|(name, _)| SECRET_FIELDS.contains(name));
        let secrets: Vec<&str> = secrets.map(|(_, value)| *value).chain([secret, &basic]).collect();
        self.json_of_answer(url, self.client.post_fields(url, &headers, &fields), &secrets).await
    }

    /// Returns the JSON of a response. Removes the secrets of the request from a refusal.
    async fn json_of_answer(
        &self,
        url: &str,
        request: impl Future<Output = Result<HttpResponse, NetError>>,
        secrets: &[&str],
    ) -> Result<Value, EndpointError> {
        let read = async {
            let response = request.await?;
            let status = response.status();
            Ok((status, read_body(response).await?))
        };
        let (status, text) =
            self.wait_for_answer(url, read).await.map_err(EndpointError::Failed)?;
        let answer: Value = decode_json(text.as_bytes()).unwrap_or_default();
        if (200..=299).contains(&status) {
            return Ok(answer);
        }
        if status >= 500 || status == 429 {
            let why = format!("the authorization server answers with HTTP status {status}");
            return Err(EndpointError::Failed(why));
        }
        let secrets = secrets.iter().filter(|secret| !secret.is_empty());
        let redacted = secrets.fold(
            answer["error_description"].as_str().unwrap_or_default().to_owned(),
            |text, one| text.replace(one, "[secret]"),
        );
        let code = answer["error"].as_str().filter(|code| is_code(code)).map(str::to_owned);
        let detail =
            if redacted.is_empty() { redacted } else { format!(" ({})", shorten_text(&redacted)) };
        Err(EndpointError::Refused {
            code: code.unwrap_or_else(|| format!("HTTP status {status}")),
            detail,
        })
    }
}

/// Returns `true` if a text can be an error code, such as `invalid_grant`.
pub(super) fn is_code(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

async fn read_body(response: HttpResponse) -> Result<String, NetError> {
    match response.read_beginning(LONGEST_BODY).await? {
        (_, true) => Err(NetError::TooLong(LONGEST_BODY)),
        (text, false) => Ok(text),
    }
}

fn unusable_answer(why: &str) -> EndpointError {
    EndpointError::Failed(format!("the answer of the authorization server {why}"))
}

fn parse_tokens(answer: &Value) -> Result<GrantedTokens, EndpointError> {
    let text = |key: &str| answer[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let access = text("access_token").ok_or_else(|| unusable_answer("has no access_token"))?;
    let is_bearer = text("token_type").is_none_or(|kind| kind.eq_ignore_ascii_case("bearer"));
    if !is_bearer {
        return Err(unusable_answer("has a token of another type than Bearer"));
    }
    let access = Secret::new(access);
    check_header("authorization", &access)
        .map_err(|_| unusable_answer("has a token that cannot be sent in a header"))?;
    let lifetime = &answer["expires_in"];
    // Some servers write the number as a string.
    let expires_in = lifetime.as_u64().or_else(|| lifetime.as_str()?.parse().ok());
    let refresh = text("refresh_token").map(Secret::new);
    Ok(GrantedTokens { access, refresh, expires_in, scope: text("scope") })
}

/// Encodes a part of the header for `client_secret_basic` (RFC 6749, section 2.3.1).
fn form_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b' ' => encoded.push('+'),
            b'*' | b'-' | b'.' | b'_' => encoded.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => encoded.push(char::from(byte)),
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_proof_follows_the_list_of_the_server() {
        use ClientAuthMethod::{Basic, Post, Public};
        let list = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        for (has_secret, supported, expected) in [
            (false, None, Public),
            (false, Some(list(&["client_secret_basic"])), Public),
            (true, None, Basic),
            (true, Some(list(&["client_secret_post", "client_secret_basic"])), Basic),
            (true, Some(list(&["client_secret_post"])), Post),
            (true, Some(list(&["none"])), Public),
            (true, Some(list(&["private_key_jwt"])), Basic),
        ] {
            assert_eq!(ClientAuthMethod::choose_method(has_secret, supported.as_deref()), expected);
        }
    }

    #[test]
    fn granted_refuses_answers_without_a_usable_token() {
        for answer in [
            json!({}),
            json!(null),
            json!({"access_token": ""}),
            json!({"access_token": "a\nb"}),
            json!({"access_token": "a", "token_type": "mac"}),
        ] {
            assert!(parse_tokens(&answer).is_err(), "{answer}");
        }
        let good = json!({"access_token": "a", "token_type": "bearer", "expires_in": "60"});
        assert_eq!(parse_tokens(&good).unwrap().expires_in, Some(60));
    }

    #[test]
    fn form_encoded_keeps_only_plain_characters() {
        assert_eq!(form_encoded("a b:c*-._~%"), "a+b%3Ac*-._%7E%25");
    }
}
