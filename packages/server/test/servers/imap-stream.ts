export interface ImapSplitter {
  push(chunk: Buffer): void
  /** Forgets a literal that was announced and will not come, as the other side refused it. */
  dropLiteral(): void
}

/**
 * Cuts a stream of IMAP (either direction, RFC 9051 section 4.3) into lines and literals, whatever the chunks are. A
 * line comes whole and without its CRLF; a literal comes in pieces as they arrive, after the line that announces it.
 */
export function splitImapStream(on: {
  line(line: Buffer): void
  literal(piece: Buffer): void
}): ImapSplitter {
  let pending: Buffer[] = []
  let literalBytesLeft = 0

  function takeLine(rest: Buffer): Buffer | null {
    const end = rest.indexOf(0x0a)
    if (end < 0) {
      pending.push(rest)
      return null
    }
    const head = rest.subarray(0, end)
    const raw = pending.length > 0 ? Buffer.concat([...pending, head]) : head
    pending = []
    const line = raw.at(-1) === 0x0d ? raw.subarray(0, -1) : raw
    literalBytesLeft = announcedLiteral(line)
    on.line(line)
    return rest.subarray(end + 1)
  }

  return {
    push(chunk) {
      let rest: Buffer | null = chunk
      while (rest !== null && rest.length > 0) {
        if (literalBytesLeft === 0) {
          rest = takeLine(rest)
          continue
        }
        const piece = rest.subarray(0, literalBytesLeft)
        literalBytesLeft -= piece.length
        rest = rest.subarray(piece.length)
        on.literal(piece)
      }
    },
    dropLiteral() {
      literalBytesLeft = 0
    },
  }
}

const LITERAL = /\{(\d+)([+-]?)\}$/

/** Bytes of the literal that a line announces at its end: `{12}`, `{12+}`, `{12-}` or `~{12}`; 0 where none. */
export function announcedLiteral(line: Buffer): number {
  if (line.at(-1) !== 0x7d) return 0
  return Number(LITERAL.exec(line.toString('latin1', Math.max(0, line.length - 20)))?.[1] ?? 0)
}

/** Whether a line ends by announcing a literal, and whether the client sends it without being asked to (RFC 7888). */
export function literalKind(line: string): 'none' | 'waits' | 'comes' {
  const match = LITERAL.exec(line)
  if (!match) return 'none'
  return match[2] === '' ? 'waits' : 'comes'
}
