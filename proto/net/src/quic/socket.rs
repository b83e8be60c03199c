//! The buffers of a UDP socket: all that holds datagrams while the endpoint's thread is busy.

use std::net::UdpSocket;

use nix::sys::socket::{getsockopt, setsockopt, sockopt};

/// Some 5 ms at 12 Gbit/s. The kernel's default, 212 KB, is less than two bursts of segmentation offload.
const WANTED_BYTES: usize = 8 << 20;

/// The buffer sizes that the kernel granted, in its own count (twice the payload, for its bookkeeping).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpBuffers {
    /// The socket that sends.
    pub send: usize,
    /// For receiving. Well below 8 MiB? `net.core.rmem_max` bounds it.
    pub receive: usize,
}

/// Makes both buffers as large as is allowed, up to 8 MiB. Best effort: QUIC works with small ones, it loses more.
pub fn enlarge_buffers(socket: &UdpSocket) -> UdpBuffers {
    // The administrator may go beyond the bounds; others are granted as much as the bounds allow.
    #[cfg(target_os = "linux")]
    {
        if setsockopt(socket, sockopt::SndBufForce, &WANTED_BYTES).is_err() {
            let _ = setsockopt(socket, sockopt::SndBuf, &WANTED_BYTES);
        }
        if setsockopt(socket, sockopt::RcvBufForce, &WANTED_BYTES).is_err() {
            let _ = setsockopt(socket, sockopt::RcvBuf, &WANTED_BYTES);
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = setsockopt(socket, sockopt::SndBuf, &WANTED_BYTES);
        let _ = setsockopt(socket, sockopt::RcvBuf, &WANTED_BYTES);
    }
    UdpBuffers {
        send: getsockopt(socket, sockopt::SndBuf).unwrap_or(0),
        receive: getsockopt(socket, sockopt::RcvBuf).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_grow_as_far_as_allowed() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let before = getsockopt(&socket, sockopt::RcvBuf).unwrap();
        let granted = enlarge_buffers(&socket);
        assert!(granted.receive >= before && granted.send > 0, "{granted:?}");
    }
}
