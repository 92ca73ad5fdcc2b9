import { z } from 'zod'

/* Resources of Microsoft Graph (learn.microsoft.com/graph/api/resources/mail-api-overview), as far as they are read. */

/** Ids are opaque and compared by bytes. */
export const id = z.string().regex(/^[\x21-\x7e]{1,1024}$/)
const count = z.int().min(0).catch(0)
/** Milliseconds since 1970; null for a time that is none. */
export const time = z
  .string()
  .max(64)
  .transform(text => {
    const at = Date.parse(text)
    return Number.isNaN(at) ? null : at
  })
  .nullish()
export const text = z.string().nullish()
/** Some servers write the names of values in another case. */
const word = z
  .string()
  .max(64)
  .transform(name => name.toLowerCase())
  .nullish()

/** An array of which only the first items are read, since its item may be one of many on a page. */
export function firstOf<T extends z.ZodType>(item: T, itemsMax: number) {
  return z.preprocess(given => (Array.isArray(given) ? given.slice(0, itemsMax) : given), z.array(item))
}

const CATEGORY_LENGTH_MAX = 1_000
const category = z.string().transform(name => name.slice(0, CATEGORY_LENGTH_MAX))

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
const state = {
  id,
  '@removed': z.unknown().optional(),
  parentFolderId: id.nullish(),
  receivedDateTime: time,
  lastModifiedDateTime: time,
  isRead: z.boolean().nullish(),
  isDraft: z.boolean().nullish(),
  flag: z.object({ flagStatus: word }).nullish(),
  categories: firstOf(category, 1_000).nullish(),
}
export const stateSchema = z.object(state)
export type MessageState = z.infer<typeof stateSchema>

/** A page of states. A field that cannot be read is as if it were left out, so that its message is asked for by its id. */
export const statesSchema = pageSchema(
  z.object({
    ...state,
    parentFolderId: state.parentFolderId.catch(null),
    receivedDateTime: state.receivedDateTime.catch(null),
    lastModifiedDateTime: state.lastModifiedDateTime.catch(null),
    isRead: state.isRead.catch(null),
    isDraft: state.isDraft.catch(null),
    flag: state.flag.catch(null),
    categories: state.categories.catch(null),
  }),
)

const recipient = z.object({ emailAddress: z.object({ name: text, address: text }).nullish() }).nullish()
export type Recipient = z.infer<typeof recipient>
const recipients = firstOf(recipient, 20_000).nullish()

export const messageSchema = stateSchema.extend({
  /** Differs after each change of the message. */
  '@odata.etag': z.string().max(1_000).optional().catch(undefined),
  conversationId: text,
  internetMessageId: text,
  internetMessageHeaders: firstOf(z.object({ name: z.string(), value: text }), 5_000).nullish(),
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
  singleValueExtendedProperties: firstOf(z.object({ id: z.string().max(200), value: text }), 100).nullish(),
})
export type GraphMessage = z.infer<typeof messageSchema>
export const messagesSchema = pageSchema(messageSchema)

/** An answer without content, or whose content does not matter. */
export const ignoredSchema = z.unknown()
