/** The parts of a multipart body, each with its headers. */
export function partsBetween(body: Buffer, boundary: string): Buffer[] {
  const parts: Buffer[] = []
  const delimiter = Buffer.from(`--${boundary}`)
  let from = -1
  for (let at = body.indexOf(delimiter); at >= 0; at = body.indexOf(delimiter, at + delimiter.length)) {
    if (at > 0 && body[at - 1] !== 10) continue
    if (from >= 0) parts.push(body.subarray(from, at - (body[at - 2] === 13 ? 2 : 1)))
    const lineEnd = body.indexOf(10, at)
    if (lineEnd < 0 || body.subarray(at + delimiter.length, at + delimiter.length + 2).toString() === '--')
      return parts
    from = lineEnd + 1
  }
  return parts
}

/** Parts a MIME part, or an HTTP message, at its first empty line. */
export function splitHead(part: Buffer): { head: string; body: Buffer } {
  const match = /\r?\n\r?\n/.exec(part.toString('latin1'))
  if (part[0] === 10 || (part[0] === 13 && part[1] === 10))
    return { head: '', body: part.subarray(part[0] === 10 ? 1 : 2) }
  if (!match) return { head: part.toString('latin1'), body: Buffer.alloc(0) }
  return {
    head: part.subarray(0, match.index).toString('latin1'),
    body: part.subarray(match.index + match[0].length),
  }
}
