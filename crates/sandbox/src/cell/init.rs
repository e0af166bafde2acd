//! The second stage: the first process of its PID namespace. It builds what is seen, starts the last
//! stage, and reaps.

use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};
use nix::sys::wait::{WaitStatus, wait};

use super::plan::Plan;
use super::root;
use super::stage::{Fault, Report, Stage, Walled, tell};
use super::tree;

pub(super) fn run(line: &str, plan: &Plan) -> Result<(), Fault> {
    nix::unistd::sethostname("cell").walled("the name of the host")?;
    root::build(plan)?;
    raise_loopback().walled("the loopback interface")?;
    // The kernel kills the namespace with its first process.
    hold(line, || ())
}

/// Starts the last stage, waits for its end, reaps what it leaves behind, and reports. `kill` kills
/// whatever is left.
pub(super) fn hold(line: &str, kill: fn()) -> Result<(), Fault> {
    let program = Stage::Exec.start(line).walled("the last stage")?;
    tree::leash(kill)?;
    let id = i32::try_from(program.id()).unwrap_or_default();
    let report = loop {
        match wait() {
            Ok(WaitStatus::Exited(pid, code)) if pid.as_raw() == id => break Report::Code(code),
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid.as_raw() == id => {
                break Report::Signal(signal as i32);
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(Fault::wall("waiting for the program", error)),
        }
    };
    kill();
    tell(&mut std::io::stderr(), &report);
    Ok(())
}

/// Raises `lo`: a program may talk to itself. It is the first interface of a network namespace.
fn raise_loopback() -> nix::Result<()> {
    const NEW_LINK: u16 = 16;
    const REQUEST_AND_ACKNOWLEDGE: u16 = 0x1 | 0x4;
    const UP: u32 = 0x1;
    // struct nlmsghdr, struct ifinfomsg: <linux/netlink.h>, <linux/rtnetlink.h>.
    let mut message = Vec::with_capacity(32);
    message.extend(32_u32.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    message.extend(1_u32.to_ne_bytes());
    message.extend(0_u32.to_ne_bytes());
    message.extend([0; 4]);
    message.extend(1_i32.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    let socket = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )?;
    sendto(socket.as_raw_fd(), &message, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
    let mut answer = [0_u8; 256];
    let read = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    // struct nlmsgerr behind the header: an error, or 0.
    match answer[..read].get(16..20).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes)
    {
        Some(0) => Ok(()),
        Some(error) => Err(Errno::from_raw(-error)),
        None => Err(Errno::EBADMSG),
    }
}
