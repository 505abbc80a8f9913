// Package stdio carries MCP over two byte streams, one JSON-RPC message per
// line, and survives what real clients send.
//
// It is a [mcp.Transport] for the go-sdk. The SDK's own stdio transport ends
// the session at the first line that is not JSON, at a byte order mark, at a
// batch and at an over-long line, and throws away the answers that are still
// being worked on when the input ends. This one keeps these promises instead:
//
//   - Blank lines, a byte order mark, CRLF and a last line without a newline
//     are accepted. Bytes that are not UTF-8 are read as U+FFFD.
//   - A line that is not JSON is answered with -32700 and id null; a JSON line
//     that is no request (a batch, a wrong version, an id that is neither
//     string nor integer or is still in use) with -32600 and its id where it has
//     a usable one. The session goes on.
//   - A line over MaxLine bytes is answered with -32600 and skipped up to its
//     newline. No more than MaxLine bytes of it are ever held.
//   - What looks like a response is never answered, so that two peers cannot
//     send each other errors forever.
//   - A call that the client cancelled gets no answer, as the protocol demands.
//   - When the input ends, calls in flight are answered first (for at most
//     Drain); then the session ends without an error.
//     Nobody is waited for when Out is a pipe that nobody can read any more.
//   - Only whole lines are written, each by one Write, in the order in which the
//     answers are ready. A client that does not read holds up neither calls nor
//     the reading of more, until it has left 512 calls or 16 MB open: then no more
//     is read, and after two minutes without a line that goes out the session ends.
//   - A panic in what the SDK calls here is an answer or the end of the session,
//     not of the process.
//
// The package knows nothing of tools or notes. A Transport serves one session.
package stdio
