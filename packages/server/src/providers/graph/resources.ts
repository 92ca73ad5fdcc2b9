import { z } from 'zod'

/* Resources of Microsoft Graph (learn.microsoft.com/graph/api/resources/mail-api-overview), as far as they are read. */

/** Ids are opaque and compared by bytes. */
export const id = z.string().regex(/^[\x21-\x7e]{1,1024}$/)
const count = z.int().min(0).catch(0)
/** Milliseconds since 1970; null for a time that is none. */
const time = z
  .string()
  .max(64)
  .transform(text => {
    const at = Date.parse(text)
    return Number.isNaN(at) ? null : at
  })
  .nullish()
const text = z.string().nullish()
/** Some servers write the names of values in another case. */
const word = z
  .string()
  .max(64)
  .transform(name => name.toLowerCase())
  .nullish()

export const folderSchema = z.object({
  '@odata.type': z.string().optional(),
  id,
  displayName: z.string().max(1_000).catch(''),
  parentFolderId: id.nullish(),
  childFolderCount: count.default(0),
  totalItemCount: count.optional(),
  unreadItemCount: count.optional(),
  isHidden: z.boolean().nullish(),
})
export type Folder = z.infer<typeof folderSchema>

/** An answer with several items, and the links to more. */
export function pageSchema<T extends z.ZodType>(item: T) {
  return z.object({
    value: z.array(item).max(10_000),
    '@odata.count': z.int().min(0).optional(),
    '@odata.nextLink': z.string().optional(),
    '@odata.deltaLink': z.string().optional(),
  })
}

export const foldersSchema = pageSchema(folderSchema)

/** The parts of a message that may change, each of which may be left out: then it has not changed. */
export const stateSchema = z.object({
  id,
  '@removed': z.unknown().optional(),
  parentFolderId: id.nullish(),
  receivedDateTime: time,
  lastModifiedDateTime: time,
  isRead: z.boolean().nullish(),
  isDraft: z.boolean().nullish(),
  flag: z.object({ flagStatus: word }).nullish(),
  categories: z.array(z.string().max(1_000)).max(1_000).nullish(),
})
export type MessageState = z.infer<typeof stateSchema>
export const statesSchema = pageSchema(stateSchema)

const recipient = z.object({ emailAddress: z.object({ name: text, address: text }).nullish() }).nullish()
export type Recipient = z.infer<typeof recipient>
const recipients = z.array(recipient).max(20_000).nullish()

export const messageSchema = stateSchema.extend({
  /** Differs after each change of the message. */
  '@odata.etag': z.string().max(1_000).optional().catch(undefined),
  conversationId: text,
  internetMessageId: text,
  internetMessageHeaders: z
    .array(z.object({ name: z.string(), value: text }))
    .max(5_000)
    .nullish(),
  subject: text,
  bodyPreview: text,
  from: recipient,
  sender: recipient,
  toRecipients: recipients,
  ccRecipients: recipients,
  bccRecipients: recipients,
  replyTo: recipients,
  sentDateTime: time,
  createdDateTime: time,
  hasAttachments: z.boolean().nullish(),
  importance: word,
  singleValueExtendedProperties: z
    .array(z.object({ id: z.string().max(200), value: text }))
    .max(100)
    .nullish(),
})
export type GraphMessage = z.infer<typeof messageSchema>
export const messagesSchema = pageSchema(messageSchema)

/** An answer without content, or whose content does not matter. */
export const ignoredSchema = z.unknown()
