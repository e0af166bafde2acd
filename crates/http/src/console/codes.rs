//! One-time codes, which a browser exchanges for a token. They are in memory only.

use std::time::Duration;

use avocet_protocol::clock::Timestamp;
use avocet_protocol::ids::SenderId;
use avocet_text::in_hexadecimal;
use sha2::{Digest, Sha256};

use crate::secret_bytes::is_equal;

/// The time for which a code is valid.
pub(super) const CODE_TIME: Duration = Duration::from_mins(10);
/// The most open codes. One more code ends the oldest.
const MOST: usize = 16;

/// The open codes, oldest first.
#[derive(Debug, Default)]
pub(super) struct OpenCodes(Vec<OpenCode>);

#[derive(Debug)]
struct OpenCode {
    /// Comparing digests reveals nothing about the code itself.
    digest: [u8; 32],
    sender: SenderId,
    expires_at: Timestamp,
}

impl OpenCodes {
    /// Makes a code for a person.
    pub(super) fn add_code(&mut self, sender: SenderId, now: Timestamp) -> String {
        self.0.retain(|code| now < code.expires_at);
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        let code = in_hexadecimal(&random_bytes());
        let digest = Sha256::digest(code.as_bytes()).into();
        self.0.push(OpenCode { digest, sender, expires_at: now.after(CODE_TIME) });
        code
    }

    /// Ends a code, and returns its person; `None` if there is no such code.
    pub(super) fn redeem_code(&mut self, code: &str, now: Timestamp) -> Option<SenderId> {
        self.0.retain(|code| now < code.expires_at);
        let digest: [u8; 32] = Sha256::digest(code.as_bytes()).into();
        // All codes are compared, so that the time does not depend on the place in the list.
        let places = self.0.iter().enumerate();
        let found =
            places.fold(
                None,
                |found, (place, code)| {
                    if is_equal(&code.digest, &digest) { Some(place) } else { found }
                },
            );
        found.map(|place| self.0.remove(place).sender)
    }
}

/// Returns 32 random bytes: a digest of three random UUIDs with 122 random bits each.
pub(super) fn random_bytes() -> [u8; 32] {
    let parts = [(); 3].map(|()| uuid::Uuid::new_v4());
    Sha256::digest(parts.map(uuid::Uuid::into_bytes).concat()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000);

    fn sender(name: usize) -> SenderId {
        SenderId::parse(&format!("uid:{name}")).unwrap()
    }

    #[test]
    fn redeem_accepts_each_code_once_until_its_end() {
        let mut codes = OpenCodes::default();
        let (first, second) = (codes.add_code(sender(1), NOW), codes.add_code(sender(2), NOW));
        assert_ne!(first, second);
        assert_eq!(first.len(), 64);
        for wrong in ["", "x", &first[1..], &first.to_uppercase(), &format!("{first} ")] {
            assert_eq!(codes.redeem_code(wrong, NOW), None, "{wrong:?}");
        }
        assert_eq!(codes.redeem_code(&first, NOW), Some(sender(1)));
        assert_eq!(codes.redeem_code(&first, NOW), None, "used");
        assert_eq!(codes.redeem_code(&second, NOW.after(CODE_TIME)), None, "too old");
        let third = codes.add_code(sender(3), NOW);
        let last = Timestamp(NOW.after(CODE_TIME).0 - 1);
        assert_eq!(codes.redeem_code(&third, last), Some(sender(3)));
    }

    #[test]
    fn add_ends_the_oldest_code_beyond_the_limit() {
        let mut codes = OpenCodes::default();
        let made: Vec<String> = (0..=MOST).map(|name| codes.add_code(sender(name), NOW)).collect();
        assert_eq!(codes.redeem_code(&made[0], NOW), None);
        for (name, code) in made.iter().enumerate().skip(1) {
            assert_eq!(codes.redeem_code(code, NOW), Some(sender(name)));
        }
    }
}
