import { createHash, randomFillSync } from 'node:crypto'

const RANDOM = new Uint8Array(10 * 256)
let randomAt = RANDOM.length
let lastMilliseconds = 0
let counter = 0

/**
 * A UUID version 7 (RFC 9562 section 5.7), lower case. The ids of one process ascend strictly: within a millisecond by
 * a counter in the 12 bits of rand_a that starts at random. When the counter overflows, the next millisecond is used
 * early.
 */
export function newId(now: number = Date.now()): string {
  if (now > lastMilliseconds) {
    lastMilliseconds = now
    counter = takeRandom(2).readUInt16BE() & 0x7ff
  } else if (++counter > 0xfff) {
    lastMilliseconds++
    counter = 0
  }
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(lastMilliseconds, 0, 6)
  bytes.writeUInt16BE(0x7000 | counter, 6)
  bytes.set(takeRandom(8), 8)
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f)
  return printId(bytes)
}

/** Comes before every id. */
export const FIRST_ID = '00000000-0000-0000-0000-000000000000'

/** The lowest id that a process can create at that time, in milliseconds since 1970. */
export function firstIdAt(milliseconds: number): string {
  const hex = Math.max(0, Math.floor(milliseconds)).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Whether PostgreSQL would accept the text as a `uuid` in its usual notation. */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}

function takeRandom(size: number) {
  if (randomAt + size > RANDOM.length) {
    randomFillSync(RANDOM)
    randomAt = 0
  }
  const taken = Buffer.from(RANDOM.subarray(randomAt, randomAt + size))
  randomAt += size
  return taken
}

/** When an id of `newId` was made; null for any other id. */
export function timeOfId(id: string): number | null {
  return id[14] === '7' ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : null
}

/** A UUID version 5 (RFC 9562 section 5.5): the same for the same name in the same namespace, which is a UUID. */
export function derivedId(namespace: string, name: string): string {
  const digest = createHash('sha1')
    .update(Buffer.from(namespace.replaceAll('-', ''), 'hex'))
    .update(name)
  const bytes = digest.digest().subarray(0, 16)
  bytes[6] = 0x50 | ((bytes[6] ?? 0) & 0x0f)
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f)
  return printId(bytes)
}

function printId(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
