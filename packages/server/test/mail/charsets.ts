/** Encodes text in the charsets of mail, by inverting Node's decoders. */
/** A charset with fewer characters in the upper half of a byte has some that take two bytes. */
const SINGLE_BYTE_SIZE_MIN = 80

const encoders = new Map<string, Map<string, number[]>>()

export function encodeText(text: string, charset: string): Buffer {
  const label = charset.toLowerCase()
  if (label === 'utf-8') return Buffer.from(text, 'utf8')
  if (label === 'us-ascii') return Buffer.from(text, 'latin1')
  if (label === 'utf-7') return encodeUtf7(text)
  if (label === 'iso-2022-jp') return encodeIso2022Jp(text)
  const table = tableOf(label)
  const bytes = Buffer.allocUnsafe(text.length * 2)
  let length = 0
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0
    if (code < 0x80) bytes[length++] = code
    else {
      const encoded = table.get(character)
      if (!encoded) throw new Error(`${charset} has no ${character}`)
      for (const byte of encoded) bytes[length++] = byte
    }
  }
  return bytes.subarray(0, length)
}

function tableOf(label: string) {
  const known = encoders.get(label)
  if (known) return known
  const table = new Map<string, number[]>()
  const decoder = new TextDecoder(label)
  const learn = (...bytes: number[]) => {
    const text = decoder.decode(Buffer.from(bytes))
    if ([...text].length === 1 && text !== '\ufffd' && !table.has(text)) table.set(text, bytes)
  }
  for (let byte = 0x80; byte <= 0xff; byte++) learn(byte)
  if (table.size < SINGLE_BYTE_SIZE_MIN) learnPairs(learn)
  encoders.set(label, table)
  return table
}

function learnPairs(learn: (lead: number, trail: number) => void) {
  for (let lead = 0x81; lead <= 0xfe; lead++)
    for (let trail = 0x40; trail <= 0xfe; trail++) learn(lead, trail)
}

/** RFC 1468: JIS X 0208 between ESC $ B and ESC ( B, which is EUC-JP without its high bits. */
function encodeIso2022Jp(text: string) {
  const pieces: Buffer[] = []
  for (const [run] of text.matchAll(/[\0-\x7f]+|[^\0-\x7f]+/g)) {
    const isAscii = run.charCodeAt(0) < 0x80
    const bytes = isAscii ? Buffer.from(run) : Buffer.from(encodeText(run, 'euc-jp').map(byte => byte & 0x7f))
    pieces.push(...(isAscii ? [bytes] : [Buffer.from('\x1b$B'), bytes, Buffer.from('\x1b(B')]))
  }
  return Buffer.concat(pieces)
}

/** RFC 2152. */
function encodeUtf7(text: string) {
  const encoded = text.replace(/\+|[^\0-\x7f]+/g, run => {
    if (run === '+') return '+-'
    return `+${Buffer.from(run, 'utf16le').swap16().toString('base64').replace(/=+$/, '')}-`
  })
  return Buffer.from(encoded, 'latin1')
}
