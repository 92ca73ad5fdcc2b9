import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { ByteQueue } from '../byte-queue.ts'
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
const HEAD_BYTES = 1 + SALT_BYTES
const SEALED_FRAME_BYTES = FRAME_BYTES + TAG_BYTES
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
  const waiting = new ByteQueue()
  for await (const bytes of content) {
    waiting.push(bytes)
    // The last frame is sealed differently, so a frame that may be the last one waits until more comes.
    while (waiting.length > FRAME_BYTES) yield sealFrame(file, number++, false, waiting.take(FRAME_BYTES))
  }
  yield sealFrame(file, number, true, waiting.take(waiting.length))
}

/** @throws SealError before it yields anything of a frame that is not what was sealed */
export async function* openFrames(
  sealed: AsyncIterable<Buffer> | Iterable<Buffer>,
  sealing: Sealing,
): AsyncGenerator<Buffer> {
  let file: FileSeal | null = null
  let number = 0
  const waiting = new ByteQueue()
  for await (const bytes of sealed) {
    waiting.push(bytes)
    if (!file) {
      if (waiting.length < HEAD_BYTES) continue
      const head = waiting.take(HEAD_BYTES)
      if (head[0] !== FORMAT_VERSION) throw new SealError('The sealed file has an unknown format')
      file = fileOf(sealing, head.subarray(1))
    }
    while (waiting.length > SEALED_FRAME_BYTES)
      yield* openFrame(file, { number: number++, isLast: false, bytes: SEALED_FRAME_BYTES }, waiting)
  }
  if (!file || waiting.length < TAG_BYTES) throw new SealError('The sealed file is cut off')
  yield* openFrame(file, { number, isLast: true, bytes: waiting.length }, waiting)
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
  const sealed = cipher.update(content)
  // In this mode it returns nothing, but computes the tag.
  cipher.final()
  return Buffer.concat([sealed, cipher.getAuthTag()])
}

function openFrame(
  { key, context }: FileSeal,
  { number, isLast, bytes }: { number: number; isLast: boolean; bytes: number },
  sealed: ByteQueue,
): Buffer[] {
  const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(number, isLast), { authTagLength: TAG_BYTES })
  decipher.setAAD(context)
  const content = sealed.takePieces(bytes - TAG_BYTES).map(piece => decipher.update(piece))
  decipher.setAuthTag(sealed.take(TAG_BYTES))
  try {
    // In this mode it returns nothing, but checks the tag.
    decipher.final()
    return content
  } catch {
    throw new SealError('The sealed file does not open with this key and context')
  }
}
