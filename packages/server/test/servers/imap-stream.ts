/**
 * Cuts a stream of IMAP (either direction, RFC 9051 section 4.3) into lines and literals, whatever the chunks are. A
 * line comes whole and without its CRLF; a literal comes in pieces as they arrive, after the line that announces it.
 */
export function splitImapStream(on: { line(line: Buffer): void; literal(piece: Buffer): void }) {
  let pending: Buffer[] = []
  let literalBytesLeft = 0

  return function push(chunk: Buffer) {
    let rest = chunk
    while (rest.length > 0) {
      if (literalBytesLeft > 0) {
        const piece = rest.subarray(0, literalBytesLeft)
        literalBytesLeft -= piece.length
        rest = rest.subarray(piece.length)
        on.literal(piece)
        continue
      }
      const end = rest.indexOf(0x0a)
      if (end < 0) {
        pending.push(rest)
        return
      }
      const raw =
        pending.length > 0 ? Buffer.concat([...pending, rest.subarray(0, end)]) : rest.subarray(0, end)
      pending = []
      rest = rest.subarray(end + 1)
      const line = raw.at(-1) === 0x0d ? raw.subarray(0, -1) : raw
      literalBytesLeft = announcedLiteral(line)
      on.line(line)
    }
  }
}

/** Octets of the literal that a line announces at its end: `{12}`, `{12+}`, `{12-}` or `~{12}`; 0 where none. */
export function announcedLiteral(line: Buffer): number {
  if (line.at(-1) !== 0x7d) return 0
  const match = /\{(\d+)[+-]?\}$/.exec(line.toString('latin1', Math.max(0, line.length - 20)))
  return match ? Number(match[1]) : 0
}
