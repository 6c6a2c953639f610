//! Which requests were answered already.

use std::collections::VecDeque;

/// Clients that are remembered; the one that was silent longest is forgotten first.
const CLIENTS: usize = 1024;

/// What each client asked last. A client has one call at a time, with rising numbers: a request that
/// is not newer than the last one was doubled or overtaken by the network, and nobody waits for its
/// answer any more.
#[derive(Debug)]
pub(super) struct ReplyCache {
    /// Client and number, the most recent one at the end.
    last: VecDeque<(i64, i64)>,
}

impl ReplyCache {
    pub(super) fn new() -> Self {
        let last = VecDeque::with_capacity(CLIENTS);
        Self { last }
    }

    /// Whether a request is to be answered; the same one never twice, while its client is remembered.
    /// Allocates nothing.
    pub(super) fn is_new(&mut self, client: i64, number: i64) -> bool {
        let known = self.last.iter().rposition(|(it, _)| *it == client);
        if let Some(at) = known {
            if self.last[at].1 >= number {
                return false;
            }
            self.last.remove(at);
        } else if self.last.len() == CLIENTS {
            self.last.pop_front();
        }
        self.last.push_back((client, number));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubled_or_overtaken_request_is_not_new() {
        let mut reply_cache = ReplyCache::new();
        assert!(reply_cache.is_new(7, 1));
        assert!(!reply_cache.is_new(7, 1), "doubled");
        assert!(reply_cache.is_new(7, 3));
        assert!(!reply_cache.is_new(7, 2), "overtaken");
        assert!(reply_cache.is_new(8, 1), "of another client");
    }

    #[test]
    fn a_flood_of_clients_takes_no_more_memory_and_forgets_the_silent_ones() {
        let mut reply_cache = ReplyCache::new();
        assert!(reply_cache.is_new(-1, 5));
        assert!(reply_cache.is_new(-2, 5));
        for client in 0..2000 {
            assert!(reply_cache.is_new(client, 0));
            assert!(reply_cache.is_new(-1, 6 + client), "it goes on asking");
        }
        assert_eq!(reply_cache.last.len(), CLIENTS);
        assert!(
            !reply_cache.is_new(-1, 2005),
            "remembered, as it spoke last"
        );
        assert!(reply_cache.is_new(-2, 5), "silent for longest");
    }
}
