import { z } from 'zod'

/* Resources of the Gmail API (developers.google.com/workspace/gmail/api/reference/rest/v1), as far as they are read. */

/** Ids are opaque, even if they look like numbers. */
const id = z.string().regex(/^[\x21-\x7e]{1,255}$/)
const labelId = z.string().min(1).max(255)
/** A number of 64 bits. */
const digits = z.string().regex(/^\d{1,20}$/)
const count = z.int().min(0).catch(0)

export const profileSchema = z.object({
  emailAddress: z.string().max(320),
  messagesTotal: count.default(0),
  historyId: digits,
})

export const labelSchema = z.object({
  id: labelId,
  name: z.string().max(1_000).catch(''),
  type: z.enum(['system', 'user']).catch('user'),
  messagesTotal: count.optional(),
  messagesUnread: count.optional(),
})
export type Label = z.infer<typeof labelSchema>
export const labelsSchema = z.object({ labels: z.array(labelSchema).default([]) })

const refSchema = z.object({ id, threadId: id })
export type MessageRef = z.infer<typeof refSchema>
const labelIds = z.array(labelId).max(10_000)

export const messagesSchema = z.object({
  messages: z.array(refSchema).default([]),
  nextPageToken: z.string().max(4_096).optional(),
  resultSizeEstimate: count.optional(),
})

export const headerSchema = z.object({ name: z.string(), value: z.string() })
export const partSchema = z.object({
  partId: z.string().optional(),
  mimeType: z.string().optional(),
  filename: z.string().optional(),
  headers: z.array(headerSchema).default([]),
  body: z
    .object({ attachmentId: z.string().optional(), size: count.optional(), data: z.string().optional() })
    .optional(),
  get parts() {
    return z.array(partSchema).optional()
  },
})
export type Part = z.infer<typeof partSchema>

/** The part of a message that changes: its labels. */
export const stateSchema = refSchema.extend({
  labelIds: labelIds.default([]),
  internalDate: digits.optional(),
})
export type State = z.infer<typeof stateSchema>
export const messageSchema = stateSchema.extend({
  snippet: z.string().default(''),
  sizeEstimate: count.optional(),
  payload: partSchema.optional(),
})
export type Message = z.infer<typeof messageSchema>
export const rawMessageSchema = stateSchema.extend({
  snippet: z.string().default(''),
  sizeEstimate: count.optional(),
  raw: z.string(),
})
export type RawMessage = z.infer<typeof rawMessageSchema>
export const threadSchema = z.object({ id, messages: z.array(messageSchema).default([]) })
/** A message that was written, or whose labels were changed. */
export const createdSchema = refSchema.extend({ labelIds: labelIds.default([]) })
/** An answer without content. */
export const emptySchema = z.unknown()

export const draftRefSchema = z.object({ id, message: refSchema })
export const draftsSchema = z.object({
  drafts: z.array(draftRefSchema).default([]),
  nextPageToken: z.string().max(4_096).optional(),
})
export const draftSchema = z.object({ id, message: messageSchema })
export type Draft = z.infer<typeof draftSchema>

const touched = z.object({ message: refSchema.extend({ labelIds: labelIds.optional() }) })
const touches = z.array(touched).default([])
export const historySchema = z.object({
  history: z
    .array(
      z.object({
        id: digits,
        messagesAdded: touches,
        messagesDeleted: touches,
        labelsAdded: touches,
        labelsRemoved: touches,
      }),
    )
    .default([]),
  nextPageToken: z.string().max(4_096).optional(),
  historyId: digits,
})
export type HistoryRecord = z.infer<typeof historySchema>['history'][number]
