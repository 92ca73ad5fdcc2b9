import { hash } from 'node:crypto'
import { z } from 'zod'
import { ProviderFailure } from '../failure.ts'
import type { RemoteMessage } from '../mail.ts'
import { type AskOptions, type GraphApi, segment } from './api.ts'
import { MESSAGE_QUERY, toRemoteMessage } from './message.ts'
import { type GraphMessage, messageSchema } from './resources.ts'

/*
 * Another client changes a draft in place, and its id stays. Its ETag then differs, as it does after a flag was changed or
 * Exchange itself noted something. Whether the content is another one shows in its digest.
 */

/** A body without its files. */
const DRAFT_BYTES_MAX = 8 * 1024 * 1024
const DIGEST_LENGTH = 32
const text = z.string().nullish()

const draftSchema = messageSchema.extend({
  body: z.object({ contentType: text, content: text }).nullish(),
  attachments: z
    .array(
      z.object({
        name: text,
        contentType: text,
        size: z.number().nullish(),
        isInline: z.boolean().nullish(),
        lastModifiedDateTime: text,
      }),
    )
    .nullish(),
})
type GraphDraft = z.infer<typeof draftSchema>

const DRAFT_QUERY = {
  $select: `${MESSAGE_QUERY.$select},body`,
  $expand: `${MESSAGE_QUERY.$expand},attachments($select=name,contentType,size,isInline,lastModifiedDateTime)`,
}

/** A message as Exchange describes it, and the same message as the index shows it. */
export interface ReadDraft {
  given: GraphMessage
  message: RemoteMessage
}

/** Reads a draft with the state of its content; null if it is gone. */
export async function readDraft(
  api: GraphApi,
  key: string,
  options: AskOptions = {},
): Promise<ReadDraft | null> {
  try {
    const { value } = await api.ask(
      {
        path: `messages/${segment(key)}`,
        query: DRAFT_QUERY,
        schema: draftSchema,
        accepts: [200],
        answerBytesMax: DRAFT_BYTES_MAX,
      },
      options,
    )
    return { given: value, message: withDigest(value) }
  } catch (error) {
    if (error instanceof ProviderFailure && error.kind === 'not_found') return null
    throw error
  }
}

function withDigest(draft: GraphDraft): RemoteMessage {
  const message = toRemoteMessage(draft)
  if (!message.content) return message
  return { ...message, content: { ...message.content, digest: digestOf(message, draft) } }
}

function digestOf(message: RemoteMessage, { body, attachments }: GraphDraft): string {
  const { subject, from, to, cc, bcc, replyTo, importance, references, inReplyTo, draftMark } = message
  const fields = { subject, from, to, cc, bcc, replyTo, importance, references, inReplyTo, draftMark }
  const files = (attachments ?? []).map(file => JSON.stringify(file)).toSorted()
  return hash('sha256', JSON.stringify([fields, body, files]), 'hex').slice(0, DIGEST_LENGTH)
}
