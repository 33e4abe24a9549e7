package halfclose

import (
	"encoding/binary"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// The kernel's interface for one socket (linux/sock_diag.h, linux/inet_diag.h).
const (
	diagByFamily  = 20 // SOCK_DIAG_BY_FAMILY
	diagShutdown  = 8  // INET_DIAG_SHUTDOWN, an attribute
	allStates     = 0xffffffff
	messageSize   = 72 // of struct inet_diag_msg
	stateAt       = 1  // in it
	inodeAt       = 68
	finWait1      = 4
	finWait2      = 5
	receiveClosed = 1 // RCV_SHUTDOWN
	answerSize    = 4 << 10
)

// reads looks at the socket with these addresses, the client's end: it has ended
// its sending side, a program holds it, and its receiving side is open. When a
// program closes the whole socket, the last is gone before the FIN is sent.
func reads(local, remote netip.AddrPort) bool {
	raw, err := ask(query(local, remote))
	if err != nil {
		return false
	}
	messages, err := syscall.ParseNetlinkMessage(raw)
	if err != nil || len(messages) == 0 || messages[0].Header.Type != diagByFamily || len(messages[0].Data) < messageSize {
		return false // there is no such socket, or the kernel does not say
	}
	m := messages[0].Data
	state, inode := m[stateAt], binary.NativeEndian.Uint32(m[inodeAt:])
	return (state == finWait1 || state == finWait2) && inode != 0 && sides(m[messageSize:])&receiveClosed == 0
}

// query is the request for one socket: struct inet_diag_req_v2 behind a netlink
// header.
func query(local, remote netip.AddrPort) []byte {
	family := byte(unix.AF_INET)
	if local.Addr().Is6() {
		family = unix.AF_INET6
	}
	b := make([]byte, unix.NLMSG_HDRLEN, unix.NLMSG_HDRLEN+56)
	b = append(b, family, unix.IPPROTO_TCP, 1<<(diagShutdown-1), 0)
	b = binary.NativeEndian.AppendUint32(b, allStates)
	b = binary.BigEndian.AppendUint16(b, local.Port())
	b = binary.BigEndian.AppendUint16(b, remote.Port())
	for _, a := range []netip.Addr{local.Addr(), remote.Addr()} {
		var room [16]byte
		copy(room[:], a.AsSlice())
		b = append(b, room[:]...)
	}
	b = binary.NativeEndian.AppendUint32(b, 0)               // any interface
	b = binary.NativeEndian.AppendUint64(b, ^uint64(0))      // any cookie
	binary.NativeEndian.PutUint32(b, uint32(len(b)))         //nolint:gosec // 72
	binary.NativeEndian.PutUint16(b[4:], diagByFamily)       // the message's type
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST) // one socket, no dump
	binary.NativeEndian.PutUint32(b[8:], 1)                  // a number of ours
	return b
}

// ask sends a request to the kernel, which answers before the call returns.
func ask(request []byte) ([]byte, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }() // it was only asked
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	answer := make([]byte, answerSize)
	n, _, err := unix.Recvfrom(fd, answer, unix.MSG_DONTWAIT)
	return answer[:max(n, 0)], err
}

// sides returns which sides of the socket are closed; an old kernel names none.
func sides(attributes []byte) byte {
	for len(attributes) > unix.SizeofRtAttr {
		size := int(binary.NativeEndian.Uint16(attributes))
		kind := binary.NativeEndian.Uint16(attributes[2:])
		if size <= unix.SizeofRtAttr || size > len(attributes) {
			return 0
		}
		if kind == diagShutdown {
			return attributes[unix.SizeofRtAttr]
		}
		attributes = attributes[min((size+3)&^3, len(attributes)):]
	}
	return 0
}
