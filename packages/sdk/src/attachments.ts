/** The service takes no more bytes of attachments than this in a message. */
const BYTES_MAX = 25 * 1024 * 1024

/** Bytes of a file, in one of the forms that programs have them in. */
export type AttachmentSource = Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array>

export interface AttachmentOptions {
  filename: string
  /** The media type. By default, a `Blob` has its own, and anything else is `application/octet-stream`. */
  contentType?: string
  /** The name that `cid:` links in the HTML use. The file is then shown within the HTML. */
  contentId?: string
}

/** An attachment as sends and drafts take it. */
export interface AttachedFile {
  filename: string
  contentType?: string
  contentId?: string
  isInline?: boolean
  /** Base64. */
  content: string
}

/**
 * Reads a file for the field `attachments` of a send or draft.
 * @throws RangeError if it has more than 25 MiB, before more of it is read
 */
export async function attachment(
  source: AttachmentSource,
  options: AttachmentOptions,
): Promise<AttachedFile> {
  const { filename, contentId } = options
  const contentType =
    options.contentType ?? (source instanceof Blob && source.type !== '' ? source.type : undefined)
  return {
    filename,
    ...(contentType === undefined ? {} : { contentType }),
    ...(contentId === undefined ? {} : { contentId, isInline: true }),
    content: toBase64(await readBytes(source, filename)),
  }
}

async function readBytes(source: AttachmentSource, filename: string): Promise<Uint8Array> {
  if (source instanceof Uint8Array) return requireSize(source, source.length, filename)
  if (source instanceof ArrayBuffer) return requireSize(new Uint8Array(source), source.byteLength, filename)
  if (source instanceof Blob) {
    requireSize(source, source.size, filename)
    return new Uint8Array(await source.arrayBuffer())
  }
  return readStream(source, filename)
}

async function readStream(stream: ReadableStream<Uint8Array>, filename: string): Promise<Uint8Array> {
  const reader = stream.getReader()
  const pieces: Uint8Array[] = []
  let size = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      if (!(value instanceof Uint8Array)) throw new TypeError(`The stream of ${filename} must give bytes`)
      requireSize(value, (size += value.length), filename)
      pieces.push(value)
    }
  } catch (error) {
    await reader.cancel(error).catch(() => {})
    throw error
  }
  const bytes = new Uint8Array(size)
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  return bytes
}

function requireSize<T>(value: T, size: number, filename: string): T {
  if (size > BYTES_MAX) throw new RangeError(`${filename} has more than 25 MiB`)
  return value
}

/** In steps, since the arguments of a call are limited; each is whole groups of three bytes. */
const STEP_BYTES = 3 * 8192

function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += STEP_BYTES)
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + STEP_BYTES)))
  return text
}
