//! The trust of past turns, which a block keeps.

use std::sync::Arc;

use avocet_protocol::access::Trust;
use avocet_protocol::chat::Inbound;
use avocet_protocol::ids::TurnId;
use parking_lot::Mutex;

/// The lowest trust of past turns, except for the roles of the senders, which may change during a
/// turn.
#[derive(Debug)]
pub(crate) struct PastTrust {
    pub(crate) trust: Trust,
    /// A message of each sender, without its content.
    pub(crate) senders: Vec<Inbound>,
}

/// The mark up to which an owner trusts a conversation, as in
/// [`Past::trusted_to`](avocet_protocol::store::Past::trusted_to).
type TrustMark = Option<(TurnId, Option<u32>)>;

/// The trust of the turns of a block. It changes only with the mark up to which an owner trusts the
/// conversation.
#[derive(Debug, Default)]
pub(crate) struct BlockTrust(Mutex<Option<(TrustMark, Arc<PastTrust>)>>);

impl BlockTrust {
    /// Returns the trust with this mark. Calls `compute` if it is not kept. The result is kept if
    /// `compute` also returns `true`.
    pub(crate) fn get_or_compute(
        &self,
        trusted_to: TrustMark,
        compute: impl FnOnce() -> (PastTrust, bool),
    ) -> Arc<PastTrust> {
        let mut kept = self.0.lock();
        if let Some((mark, trust)) = &*kept
            && *mark == trusted_to
        {
            return trust.clone();
        }
        let (trust, lasts) = compute();
        let trust = Arc::new(trust);
        if lasts {
            *kept = Some((trusted_to, trust.clone()));
        }
        trust
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn get_or_compute_keeps_the_trust_of_one_mark_if_it_lasts() {
        let kept = BlockTrust::default();
        let computed = |turn, trust, lasts| {
            let mut is_new = false;
            let found = kept.get_or_compute(Some((TurnId(turn), None)), || {
                is_new = true;
                (PastTrust { trust, senders: Vec::new() }, lasts)
            });
            (found.trust, is_new)
        };
        assert_eq!(computed(1, Trust::User, false), (Trust::User, true));
        assert_eq!(computed(1, Trust::Low, true), (Trust::Low, true), "the first did not last");
        assert_eq!(computed(1, Trust::Full, true), (Trust::Low, false));
        assert_eq!(computed(2, Trust::Full, true), (Trust::Full, true), "another mark");
    }
}
