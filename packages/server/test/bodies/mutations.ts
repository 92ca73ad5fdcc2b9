import type { Random } from '../seeded.ts'

type Mutation = (random: Random, raw: Buffer, other: Buffer) => Buffer

const BYTES_MAX = 40_000
/** Bytes with a meaning in mail. */
const SIGNS = Buffer.from('\r\n\0 \t-=?:;"\\(<>)%*+\x80\xff\x1b', 'latin1')
const PIECES = [
  '\r\n\r\n',
  '\n--cut\r\n',
  '\n--cut--\r\n',
  '\r\nContent-Type: multipart/mixed; boundary=cut\r\n',
  '\r\nContent-Type: multipart/digest; boundary="cut"\r\n\r\n--cut\r\n\r\n',
  '\r\nContent-Transfer-Encoding: base64\r\n',
  '\r\nContent-Transfer-Encoding: quoted-printable\r\n',
  '\r\nContent-Type: text/plain; charset=utf-7\r\n',
  '\r\nContent-Type: message/rfc822\r\n',
  "\r\nContent-Disposition: attachment; filename*0*=utf-8''%e2; filename*1*=%82\r\n",
  '=?utf-8?B?',
  '=?iso-2022-jp?Q?=1B$B?=',
  '=?iso-2022-kr?Q?=0EGQ?= =?iso-2022-kr?Q?19=0F?=',
  '\r\nContent-Type: text/plain; charset=iso-2022-jp-1\r\n',
  '\r\nContent-Type: text/plain; charset=iso-2022-kr\r\n',
  '\r\nContent-Type: text/plain; charset=hz-gb-2312\r\n',
  '\x1b$(D0!\x1b(J\\~\x1b(I1\x1b$B',
  '\x0e~{VP',
  '\r\nContent-Transfer-Encoding: x-uuencode\r\n\r\nbegin 644 a\r\n#0V%T\r\n',
  '\r\nend\r\n',
  '   \t\r\n',
  `=${' '.repeat(75)}\r\n`,
].map(piece => Buffer.from(piece, 'latin1'))

function splice(raw: Buffer, at: number, removed: number, added: Buffer): Buffer {
  return Buffer.concat([raw.subarray(0, at), added, raw.subarray(at + removed)])
}

function somewhere(random: Random, raw: Buffer): number {
  return random.between(0, raw.length)
}

/** The start and end of a line of the header. */
function fieldOf(random: Random, raw: Buffer): [start: number, end: number] {
  const text = raw.toString('latin1')
  const found = text.search(/\r?\n\r?\n/)
  const header = found < 0 ? text.length : found + 2
  const start = text.lastIndexOf('\n', random.between(0, header)) + 1
  const end = text.indexOf('\n', start) + 1
  return [start, end > start ? end : text.length]
}

const MUTATIONS: readonly Mutation[] = [
  // Changes, adds, removes or repeats bytes.
  (random, raw) => {
    const changed = Buffer.from(raw)
    if (raw.length > 0) changed[random.between(0, raw.length - 1)] = random.between(0, 255)
    return changed
  },
  (random, raw) => {
    const at = random.between(0, SIGNS.length - 1)
    return splice(raw, somewhere(random, raw), random.between(0, 1), SIGNS.subarray(at, at + 1))
  },
  (random, raw) => splice(raw, somewhere(random, raw), random.between(1, 200), Buffer.alloc(0)),
  (random, raw) => {
    const at = somewhere(random, raw)
    return splice(raw, at, 0, raw.subarray(at, at + random.between(1, 400)))
  },
  // Cuts the message off.
  (random, raw) => raw.subarray(0, somewhere(random, raw)),
  (random, raw) => raw.subarray(somewhere(random, raw)),
  // Repeats, removes or moves a field.
  (random, raw) => {
    const [start, end] = fieldOf(random, raw)
    return splice(raw, start, 0, raw.subarray(start, end))
  },
  (random, raw) => {
    const [start, end] = fieldOf(random, raw)
    return splice(raw, start, end - start, Buffer.alloc(0))
  },
  (random, raw) => {
    const [start, end] = fieldOf(random, raw)
    const without = splice(raw, start, end - start, Buffer.alloc(0))
    return splice(without, fieldOf(random, without)[0], 0, raw.subarray(start, end))
  },
  // Inserts meaningful text where it has no meaning.
  (random, raw) => splice(raw, somewhere(random, raw), 0, random.pick(PIECES)),
  // Renames or removes boundaries.
  (random, raw) => {
    const at = raw.indexOf('--', random.between(0, raw.length))
    return at < 0
      ? raw
      : splice(raw, at + 2, random.between(0, 3), Buffer.from(random.pick(['', '-', 'x', ' '])))
  },
  // Changes the kind of line ends.
  (_, raw) => Buffer.from(raw.toString('latin1').replaceAll('\r\n', '\n'), 'latin1'),
  // Inserts another message, or a piece of it.
  (random, raw, other) => splice(raw, somewhere(random, raw), 0, other),
  (random, raw, other) =>
    splice(
      raw,
      somewhere(random, raw),
      0,
      other.subarray(somewhere(random, other), somewhere(random, other)),
    ),
]

/** Returns the message with one to twelve mutations. */
export function mutate(random: Random, raw: Buffer, other: Buffer): Buffer {
  let mutated = raw.subarray(0, BYTES_MAX)
  for (let count = random.between(1, 12); count > 0; count--) {
    mutated = random
      .pick(MUTATIONS)(random, mutated, other.subarray(0, BYTES_MAX))
      .subarray(0, 2 * BYTES_MAX)
  }
  return Buffer.from(mutated)
}
