import { z } from 'zod'
import { GRAPH_ATTACHED_AT_ONCE_BYTES_MAX, GRAPH_MIME_BYTES_MAX } from '../content-limits.ts'
import { ProviderFailure, restate } from '../failure.ts'
import type { ContentInParts, OutgoingPart, SplitContent } from '../sending.ts'
import { type AskOptions, type GraphApi, segment, type UploadRange } from './api.ts'
import { messagesWithId } from './changing/find.ts'
import { ignoredSchema, messageSchema } from './resources.ts'

/*
 * A message is made as MIME, with all of its header; large files are attached to it afterwards
 * (learn.microsoft.com/graph/outlook-send-mime-message, learn.microsoft.com/graph/outlook-large-attachments).
 */

/** Ranges of a session are multiples of 320 KiB, and at most 4 MB. */
const RANGE_BYTES = 12 * 320 * 1024
const RANGE_TRIES_MAX = 3
const ANSWER_BYTES_MAX = 16 * 1024 * 1024
const UNNAMED = 'attachment'

/** Content of which Graph makes no message: it cannot be taken apart, or a part is too large for this mailbox. */
export class TooLarge extends ProviderFailure {
  constructor() {
    super('rejected', 'The message is larger than Microsoft Graph accepts.', { isBeforeAcceptance: true })
  }
}

/** The content does not have the announced length. */
export class WrongLength extends ProviderFailure {
  constructor() {
    super('rejected', 'The message is not as long as it should be.', { isBeforeAcceptance: true })
  }
}

/** A message that is to be made. */
export interface Upload {
  internetMessageId: string
  byteLength: number
  open(): AsyncIterable<Uint8Array>
  split?: SplitContent | undefined
}

const draftSchema = messageSchema.pick({ id: true, conversationId: true, parentFolderId: true }).partial({
  parentFolderId: true,
})
export type MadeDraft = z.infer<typeof draftSchema>

/**
 * Makes a draft of a message, with all its files.
 * @param folderId null: in the folder for drafts
 * @param onMade called with its id as soon as it is there, before files are attached
 * @param onAttached called with its id once it has all of them
 */
export async function makeDraft(
  api: GraphApi,
  folderId: string | null,
  upload: Upload,
  options: AskOptions & { onMade?: (id: string) => void; onAttached?: (id: string) => Promise<void> } = {},
): Promise<MadeDraft> {
  const { onMade, onAttached, ...asking } = options
  await using content = await takeApart(api, upload)
  const draft = await postMime(api, folderId, { ...upload, ...content.rest }, asking)
  onMade?.(draft.id)
  try {
    for (const part of content.parts) {
      asking.signal?.throwIfAborted()
      await attach(api, draft.id, part, asking)
    }
    if (content.parts.length > 0) await onAttached?.(draft.id)
  } catch (error) {
    throw isMissing(error) ? restate(error, { kind: 'unavailable' }) : error
  }
  return draft
}

/**
 * Exchange does not find the draft yet, or another client has deleted or changed it; or an upload session has ended.
 * Another draft may succeed.
 */
export function isMissing(error: unknown): error is ProviderFailure {
  return error instanceof ProviderFailure && (error.kind === 'not_found' || error.kind === 'conflict')
}

async function takeApart(api: GraphApi, { byteLength, open, split }: Upload): Promise<ContentInParts> {
  if (byteLength <= GRAPH_MIME_BYTES_MAX)
    return { rest: { byteLength, open }, parts: [], [Symbol.asyncDispose]: async () => {} }
  const content = await split?.(GRAPH_MIME_BYTES_MAX)
  if (!content) throw new TooLarge()
  if (api.cloud.has.uploadSessions) return content
  if (content.parts.some(part => part.byteLength > GRAPH_ATTACHED_AT_ONCE_BYTES_MAX)) {
    await content[Symbol.asyncDispose]()
    throw new TooLarge()
  }
  return content
}

async function postMime(
  api: GraphApi,
  folderId: string | null,
  { internetMessageId, byteLength, open }: Upload,
  options: AskOptions,
): Promise<MadeDraft> {
  const mime = await readAll(open(), byteLength)
  const { status, value } = await api.ask(
    {
      method: 'POST',
      path: folderId === null ? 'messages' : `mailFolders/${segment(folderId)}/messages`,
      body: { type: 'text/plain', bytes: mime.toString('base64') },
      schema: z.union([draftSchema, ignoredSchema]),
      accepts: [200, 201],
      answerBytesMax: ANSWER_BYTES_MAX,
    },
    options,
  )
  const made = draftSchema.safeParse(value)
  if (status === 201 && made.success) return made.data
  // Anything else may be a message or none.
  const [found] = await messagesWithId(api, folderId ?? 'drafts', internetMessageId)
  if (!found) throw new TooLarge()
  return found
}

async function readAll(content: AsyncIterable<Uint8Array>, byteLength: number): Promise<Buffer> {
  const whole = Buffer.allocUnsafe(byteLength)
  let at = 0
  for await (const piece of content) {
    if (at + piece.length > byteLength) throw new WrongLength()
    whole.set(piece, at)
    at += piece.length
  }
  if (at !== byteLength) throw new WrongLength()
  return whole
}

async function attach(
  api: GraphApi,
  messageId: string,
  part: OutgoingPart,
  options: AskOptions,
): Promise<void> {
  if (part.byteLength > GRAPH_ATTACHED_AT_ONCE_BYTES_MAX)
    return attachInSession(api, messageId, part, options)
  const content = await readAll(part.open(), part.byteLength)
  await api.ask(
    {
      method: 'POST',
      path: `messages/${segment(messageId)}/attachments`,
      json: {
        '@odata.type': '#microsoft.graph.fileAttachment',
        ...describe(part),
        contentBytes: content.toString('base64'),
      },
      schema: ignoredSchema,
      accepts: [201],
      // The answer repeats the content.
      answerBytesMax: ANSWER_BYTES_MAX,
    },
    options,
  )
}

function describe({ filename, contentType, contentId, isInline }: OutgoingPart) {
  return { name: filename ?? UNNAMED, contentType, isInline, ...(contentId !== null && { contentId }) }
}

const sessionSchema = z.object({ uploadUrl: z.string().max(16_384) })
/** Failures that a mailbox without upload sessions gives, such as a shared one. */
const SESSIONLESS = new Set(['forbidden', 'rejected', 'unsupported'])

async function attachInSession(
  api: GraphApi,
  messageId: string,
  part: OutgoingPart,
  options: AskOptions,
): Promise<void> {
  const { uploadUrl } = await beginSession(api, messageId, part, options)
  const total = part.byteLength
  let from = 0
  for await (const bytes of rangesOf(part)) {
    await putRange(api, uploadUrl, { from, total, bytes }, options)
    from += bytes.length
  }
  if (from !== total) throw new WrongLength()
}

async function beginSession(api: GraphApi, messageId: string, part: OutgoingPart, options: AskOptions) {
  const { name, ...traits } = describe(part)
  try {
    const { value } = await api.ask(
      {
        method: 'POST',
        path: `messages/${segment(messageId)}/attachments/createUploadSession`,
        json: { AttachmentItem: { attachmentType: 'file', name, size: part.byteLength, ...traits } },
        schema: sessionSchema,
        accepts: [200, 201],
      },
      options,
    )
    return value
  } catch (error) {
    if (error instanceof ProviderFailure && SESSIONLESS.has(error.kind)) throw new TooLarge()
    throw error
  }
}

/**
 * Sends a range. If that fails, it is open how much of it the session has, and it would refuse what it has: the session
 * is asked where to go on.
 */
async function putRange(
  api: GraphApi,
  uploadUrl: string,
  { from, total, bytes }: UploadRange,
  options: AskOptions,
): Promise<void> {
  const end = from + bytes.length
  let at = from
  for (let tries = 1; tries <= RANGE_TRIES_MAX; tries++) {
    try {
      const rest = { from: at, total, bytes: bytes.subarray(at - from) }
      const next = await api.putRange(uploadUrl, rest, options)
      if (next === null || next === end) return
    } catch (error) {
      const mayGoOn =
        error instanceof ProviderFailure && (error.kind === 'unavailable' || error.kind === 'conflict')
      if (!mayGoOn || options.signal?.aborted || tries === RANGE_TRIES_MAX) throw error
    }
    at = await findNext(api, uploadUrl, options)
    // A session that has the whole file ends.
    if (at < from || at > end || at === total) break
    if (at === end) return
  }
  throw lostUpload()
}

async function findNext(api: GraphApi, uploadUrl: string, options: AskOptions): Promise<number> {
  try {
    const next = await api.findNextRange(uploadUrl, options)
    if (next !== null) return next
  } catch (error) {
    if (!(error instanceof ProviderFailure && error.isPermanent)) throw error
  }
  throw lostUpload()
}

function lostUpload(): ProviderFailure {
  return new ProviderFailure('unavailable', 'Microsoft Graph lost the upload of an attachment.')
}

/** The content in ranges, which have the same length except the last one. */
async function* rangesOf({ byteLength, open }: OutgoingPart): AsyncGenerator<Buffer> {
  let held: Uint8Array[] = []
  let heldBytes = 0
  let bytes = 0
  for await (const piece of open()) {
    bytes += piece.length
    if (bytes > byteLength) throw new WrongLength()
    held.push(piece)
    heldBytes += piece.length
    if (heldBytes < RANGE_BYTES) continue
    const all = Buffer.concat(held)
    let at = 0
    for (; all.length - at >= RANGE_BYTES; at += RANGE_BYTES) yield all.subarray(at, at + RANGE_BYTES)
    held = [all.subarray(at)]
    heldBytes = all.length - at
  }
  if (heldBytes > 0) yield Buffer.concat(held)
}
