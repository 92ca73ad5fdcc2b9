import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { SealError } from '../seal.ts'

/*
 * A sealed file: version (1 byte), salt (32), then frames of 64 KiB of content, each with its tag (16). The key of the
 * file is derived from the owner's key and the salt, so that the nonce of a frame may be its number; the last frame's
 * differs, so that frames can be neither dropped nor reordered. (The STREAM construction of Hoang, Reyhanitabar,
 * Rogaway and Vizár, 2015.) Each frame also authenticates what the file belongs to: a file that was moved to another
 * owner does not open.
 */

const FORMAT_VERSION = 1
const SALT_BYTES = 32
const TAG_BYTES = 16
const FRAME_BYTES = 64 * 1024
const KEY_BYTES = 32

/** The key and the context that a file is sealed with. */
export interface Sealing {
  key: KeyObject
  /** The owner of the file: tenant, account, message. */
  context: readonly string[]
}

export async function* sealFrames(
  content: AsyncIterable<Buffer> | Iterable<Buffer>,
  sealing: Sealing,
): AsyncGenerator<Buffer> {
  const salt = randomBytes(SALT_BYTES)
  const file = fileOf(sealing, salt)
  yield Buffer.concat([Buffer.of(FORMAT_VERSION), salt])
  let number = 0
  let rest: Buffer = Buffer.alloc(0)
  for await (const bytes of content) {
    rest = Buffer.concat([rest, bytes])
    // The last frame is sealed differently, so a frame that may be the last one waits until more comes.
    while (rest.length > FRAME_BYTES) {
      yield sealFrame(file, number++, false, rest.subarray(0, FRAME_BYTES))
      rest = rest.subarray(FRAME_BYTES)
    }
  }
  yield sealFrame(file, number, true, rest)
}

/** @throws SealError before it yields anything of a frame that is not what was sealed */
export async function* openFrames(
  sealed: AsyncIterable<Buffer> | Iterable<Buffer>,
  sealing: Sealing,
): AsyncGenerator<Buffer> {
  let file: FileSeal | null = null
  let number = 0
  let rest: Buffer = Buffer.alloc(0)
  for await (const bytes of sealed) {
    rest = Buffer.concat([rest, bytes])
    if (!file) {
      if (rest.length < 1 + SALT_BYTES) continue
      if (rest[0] !== FORMAT_VERSION) throw new SealError('The sealed file has an unknown format')
      file = fileOf(sealing, rest.subarray(1, 1 + SALT_BYTES))
      rest = rest.subarray(1 + SALT_BYTES)
    }
    while (rest.length > FRAME_BYTES + TAG_BYTES) {
      yield openFrame(file, number++, false, rest.subarray(0, FRAME_BYTES + TAG_BYTES))
      rest = rest.subarray(FRAME_BYTES + TAG_BYTES)
    }
  }
  if (!file || rest.length < TAG_BYTES) throw new SealError('The sealed file is cut off')
  yield openFrame(file, number, true, rest)
}

interface FileSeal {
  key: KeyObject
  context: Buffer
}

function fileOf({ key, context }: Sealing, salt: Uint8Array): FileSeal {
  return {
    key: createSecretKey(Buffer.from(hkdfSync('sha256', key, salt, 'waxwing blob', KEY_BYTES))),
    context: Buffer.from(JSON.stringify(context)),
  }
}

function nonceOf(number: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12)
  nonce.writeUInt32BE(number, 7)
  nonce[11] = isLast ? 1 : 0
  return nonce
}

function sealFrame({ key, context }: FileSeal, number: number, isLast: boolean, content: Buffer): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, nonceOf(number, isLast), { authTagLength: TAG_BYTES })
  cipher.setAAD(context)
  return Buffer.concat([cipher.update(content), cipher.final(), cipher.getAuthTag()])
}

function openFrame({ key, context }: FileSeal, number: number, isLast: boolean, frame: Buffer): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(number, isLast), { authTagLength: TAG_BYTES })
  decipher.setAAD(context)
  decipher.setAuthTag(frame.subarray(frame.length - TAG_BYTES))
  const content = decipher.update(frame.subarray(0, frame.length - TAG_BYTES))
  try {
    return Buffer.concat([content, decipher.final()])
  } catch {
    throw new SealError('The sealed file does not open with this key and context')
  }
}
