//! Flow control (RFC 9113 section 5.2): what the server may send, and what it lets us send.

use crate::h2::limits::WINDOW_BYTES_MAX;

/// The window of every stream and connection before settings (section 6.9.2).
pub(crate) const WINDOW_BYTES: u32 = 65_535;

/// Room for bytes from the server.
///
/// A server that sends more than it may cannot be caught: half of each window, which is more than a frame, is always
/// left, for it is filled again as soon as the other half was read. No harm is done: nothing is kept of a body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReceiveWindow {
    left: u32,
}

impl ReceiveWindow {
    /// A full window of `bytes`.
    pub(crate) fn new(bytes: u32) -> Self {
        Self { left: bytes }
    }

    /// Takes room for `bytes` from a window of `full` bytes, and fills it again once half of it is used. Returns what was
    /// added.
    #[inline]
    pub(crate) fn take(&mut self, bytes: u32, full: u32) -> Option<u32> {
        self.left = self.left.saturating_sub(bytes);
        if self.left > full / 2 {
            return None;
        }
        let added = full - self.left;
        self.left = full;
        Some(added)
    }
}

/// Room for bytes to the server. Less than none after it has made its windows smaller (section 6.9.2).
#[derive(Debug, Clone, Copy)]
pub(crate) struct SendWindow {
    left: i64,
}

impl SendWindow {
    /// A window of `bytes`.
    pub(crate) fn new(bytes: u32) -> Self {
        Self { left: i64::from(bytes) }
    }

    /// How many bytes may be sent.
    #[inline]
    pub(crate) fn room(self) -> usize {
        usize::try_from(self.left).unwrap_or(0)
    }

    /// Takes room for `bytes`, at most [`Self::room`].
    #[inline]
    pub(crate) fn take(&mut self, bytes: usize) {
        self.left -= i64::try_from(bytes).expect("invariant: at most as much as there is room");
    }

    /// Changes the window, and returns whether it stays below 2^31.
    pub(crate) fn change(&mut self, by: i64) -> bool {
        self.left += by;
        self.left <= i64::from(WINDOW_BYTES_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_filled_when_half_of_it_is_used() {
        let mut window = ReceiveWindow::new(100);
        assert_eq!(window.take(49, 100), None);
        assert_eq!(window.take(1, 100), Some(50));
        assert_eq!(window.take(50, 100), Some(50));
        assert_eq!(window.take(100, 100), Some(100));
    }

    #[test]
    fn a_window_may_be_less_than_empty() {
        let mut window = SendWindow::new(10);
        window.take(8);
        assert!(window.change(-10));
        assert_eq!(window.room(), 0);
        assert!(window.change(9));
        assert_eq!(window.room(), 1);
        assert!(window.change(i64::from(WINDOW_BYTES_MAX) - 1));
        assert!(!window.change(1));
    }
}
