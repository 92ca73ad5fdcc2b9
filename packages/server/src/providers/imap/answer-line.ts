/** imapflow's parser takes time that grows with the square of a set's length: this many bytes cost it about 2 ms. */
const SET_BYTES_MAX = 4096
/** Room for hundreds of thousands of vanished messages in one line. */
export const NUMBERS_LINE_BYTES_MAX = 4 * 1024 * 1024

/** Answers that only list numbers: several of them mean the same as one. */
const NUMBERS =
  /^(\* (?:ESEARCH(?: \(TAG "[^"]{1,100}"\))?(?: UID)? ALL|VANISHED(?: \(EARLIER\))?|SEARCH) )[\d,: ]+$/i
const LONG_SET = new RegExp(`[\\d,:*]{${SET_BYTES_MAX + 1}}`)

/**
 * Cuts an answer into pieces that the parser can read quickly. `payload` is its text without literals.
 * @returns no pieces if it is too long and can be left out; null if leaving it out would hide how a command ended
 */
export function cutAnswer(payload: Buffer, bytesMax: number): Buffer[] | null {
  if (payload.length <= SET_BYTES_MAX) return [payload]
  const line = payload.toString('latin1')
  const prefix = NUMBERS.exec(line)?.[1]
  if (prefix !== undefined) return cutNumbers(line, prefix)
  if (payload.length <= bytesMax && !LONG_SET.test(line)) return [payload]
  return line.startsWith('* ') ? [] : null
}

function cutNumbers(line: string, prefix: string): Buffer[] {
  const separator = /^\* SEARCH/i.test(prefix) ? ' ' : ','
  const pieces: Buffer[] = []
  for (let from = prefix.length; from < line.length;) {
    const isLast = line.length - from <= SET_BYTES_MAX
    const end = isLast ? line.length : line.lastIndexOf(separator, from + SET_BYTES_MAX)
    // No number is that long.
    if (end <= from) return []
    pieces.push(Buffer.from(prefix + line.slice(from, end), 'latin1'))
    from = end + 1
  }
  return pieces
}
