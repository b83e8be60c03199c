//! The kernel's data about a TCP connection that no safe interface has: segments that were sent again, and what kept
//! the connection from sending.
//!
//! It is there on Linux only.

use std::os::fd::BorrowedFd;

/// The kernel's data about a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TcpInfo {
    /// Segments that this end has sent again since the connection began. The counter wraps at 2^32.
    pub(crate) retransmits: u32,
    /// Payload of one segment that this end sends, in bytes.
    pub(crate) segment_bytes: u32,
    /// The largest packet that the way takes, in bytes, as far as it was found out.
    pub(crate) mtu_bytes: u32,
    /// Bytes that the other end has acknowledged.
    pub(crate) acked_bytes: u64,
    /// Bytes that the kernel has taken and not sent yet.
    pub(crate) unsent_bytes: u32,
    /// The time that something was to be sent or acknowledged, in us; 0 before Linux 4.10, as are the next two.
    pub(crate) busy_us: u64,
    /// The part of `busy_us` in which the other end's receive window kept the kernel from sending, in us.
    pub(crate) receiver_us: u64,
    /// The part of `busy_us` in which this end's send buffer kept the kernel from sending, in us.
    pub(crate) buffer_us: u64,
    /// The rate at which bytes were delivered last, in bytes a second.
    pub(crate) delivery_bytes_per_s: u64,
}

/// Returns the kernel's data about this connection; `None` when the kernel does not give them.
#[cfg(target_os = "linux")]
pub(crate) fn tcp_info(socket: BorrowedFd<'_>) -> Option<TcpInfo> {
    use std::mem::{MaybeUninit, offset_of};
    use std::os::fd::AsRawFd as _;

    let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut len = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the descriptor is open for as long as it is borrowed; the kernel writes at most `len` bytes, which is the
    // size of `info`, and says in `len` how many it wrote; it keeps neither pointer.
    #[allow(unsafe_code)]
    let outcome = unsafe {
        let (info, len) = (info.as_mut_ptr().cast(), &raw mut len);
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, info, len)
    };
    // An older kernel has fewer fields, and says so by the length.
    let needed = offset_of!(libc::tcp_info, tcpi_total_retrans) + size_of::<u32>();
    if outcome != 0 || (len as usize) < needed {
        return None;
    }
    // SAFETY: it was zeroed, and every field of it is an integer: any bytes, and so the kernel's, make a valid one.
    #[allow(unsafe_code)]
    let info = unsafe { info.assume_init() };
    Some(TcpInfo {
        retransmits: info.tcpi_total_retrans,
        segment_bytes: info.tcpi_snd_mss,
        mtu_bytes: info.tcpi_pmtu,
        acked_bytes: info.tcpi_bytes_acked,
        unsent_bytes: info.tcpi_notsent_bytes,
        busy_us: info.tcpi_busy_time,
        receiver_us: info.tcpi_rwnd_limited,
        buffer_us: info.tcpi_sndbuf_limited,
        delivery_bytes_per_s: info.tcpi_delivery_rate,
    })
}

/// Always none: this system does not say it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn tcp_info(_socket: BorrowedFd<'_>) -> Option<TcpInfo> {
    None
}

/// The name of the algorithm by which this connection's sender finds out what the way carries; empty when the system
/// does not say.
#[cfg(target_os = "linux")]
pub(crate) fn congestion_control(socket: BorrowedFd<'_>) -> String {
    use nix::sys::socket::getsockopt;
    use nix::sys::socket::sockopt::TcpCongestion;

    let name = getsockopt(&socket, TcpCongestion).unwrap_or_default();
    name.to_string_lossy().trim_end_matches('\0').to_owned()
}

/// Always empty: this system does not say it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn congestion_control(_socket: BorrowedFd<'_>) -> String {
    String::new()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn connections_are_told_from_what_is_none() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let info = tcp_info(near.as_fd()).unwrap();
        assert!(info.segment_bytes > 0 && info.mtu_bytes > 0, "{info:?}");
        assert_ne!(congestion_control(near.as_fd()), "");
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(tcp_info(udp.as_fd()), None);
    }
}
