import { z } from 'zod'

/** Length of a text in Unicode code points, as the interface counts characters. */
function codePoints(value: string): number {
  // A string never has more code points than UTF-16 units, and usually has the same number.
  let count = 0
  for (const _ of value) count += 1
  return count
}

/** A string that PostgreSQL can store, with its length limited in Unicode code points. */
export function text(bounds: { min?: number; max: number }) {
  const { min = 0, max } = bounds
  return z
    .string()
    .refine(value => !value.includes('\0'), 'must not contain the character NUL')
    .refine(value => value.length <= max || codePoints(value) <= max, `must have at most ${max} characters`)
    .refine(
      value => min === 0 || codePoints(value) >= min,
      min === 1 ? 'must not be empty' : `must have at least ${min} characters`,
    )
    .meta(min === 0 ? { maxLength: max } : { minLength: min, maxLength: max })
}

/** A text that becomes part of a header field: no control character, and so no line break. */
export function singleLine(bounds: { min?: number; max: number }) {
  return text(bounds).refine(
    value => !/\p{Cc}/u.test(value),
    'must not contain line breaks or other control characters',
  )
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** An id in an answer: a lower-case UUID. */
export const uuid = z.string().regex(UUID).meta({ format: 'uuid' })

/** An id in a query or body. Upper case is accepted and converted to lower case. */
export const uuidInput = z.string().regex(UUID, 'must be a UUID').toLowerCase().meta({ format: 'uuid' })

/**
 * An id in a path. Any string passes here: a malformed id names nothing, so the operation refuses it with the 404 of
 * its resource.
 */
export const pathId = z.string().brand<'PathId'>().meta({ format: 'uuid' })
export type PathId = z.infer<typeof pathId>

/** A name in a path that is no UUID. Any string passes, as with `pathId`. */
export const pathName = z.string().brand<'PathId'>()

/** The path parameters of an operation on one account. Use `.extend` to add ids below it. */
export const accountPath = z.strictObject({ accountId: pathId.describe('The account’s `id`.') })

/** A time in an answer: ISO 8601 in UTC with milliseconds and `Z`. */
export const timestamp = z.iso.datetime({ precision: 3 })

/** An email address in a query or body. */
export const emailInput = z
  .email({ error: ({ input }) => (input === undefined ? undefined : 'must be an email address') })
  .max(320)

export const address = z
  .object({
    name: z.string().nullable().describe('The display name.'),
    address: z.string().describe('Empty if the sender gives only a name, as bounces do.'),
  })
  .meta({ id: 'Address' })
export type Address = z.infer<typeof address>

/** The answer of an operation that `produces` something other than JSON. It is streamed in pieces. */
export interface Download {
  /** As the sender declared it. The answer's Content-Type is one of the few that no browser runs. */
  contentType: string
  fileName: string | null
  content: AsyncIterable<Uint8Array>
}

export const download = z.custom<Download>(
  value => typeof value === 'object' && value !== null && 'content' in value,
)

/** The media type of Server-Sent Events. */
export const EVENT_STREAM = 'text/event-stream'

/** The answer of an operation that produces `EVENT_STREAM`: the texts of the stream, as long as the caller stays. */
export interface EventStream {
  content: AsyncIterable<string>
}

export const eventStream = z.custom<EventStream>(
  value => typeof value === 'object' && value !== null && 'content' in value,
)

/** A position in the event feed as a positive 64-bit decimal. */
export const eventId = z
  .string()
  .regex(/^[0-9]{1,19}$/, 'must be the id of an event')
  .meta({ id: 'EventId', description: 'A position in the event feed. Later events have greater positions.' })

export const microsoftCloud = z
  .enum(['global', 'gcc-high', 'dod', 'china'])
  .meta({ id: 'MicrosoftCloud', description: 'The Microsoft cloud that the account is in.' })
export const oauthProvider = z
  .enum(['google', 'microsoft'])
  .meta({ id: 'OAuthProvider', description: 'The provider that a user signs in with.' })
export type OAuthProvider = z.infer<typeof oauthProvider>
export const bodyStorage = z.enum(['none', 'cache', 'full']).meta({
  id: 'BodyStorage',
  description: 'Which bodies are stored: none, those that were read once, or those of all indexed messages.',
})
export type BodyStorage = z.infer<typeof bodyStorage>
export const optOutHandling = z.enum(['off', 'review', 'suppress']).meta({
  id: 'OptOutHandling',
  description: 'Reaction to a reply that asks for no more mail: nothing, a review, or a suppression.',
})

/** A page of a list, named after its items: `AccountPage`. `nextCursor` is null on the last page. */
export function pageOf<T extends z.ZodType>(item: T) {
  const nextCursor = z.string().min(1).max(512).nullable()
  return z
    .object({
      items: z.array(item),
      nextCursor: nextCursor.describe('The cursor of the next page; null on the last page.'),
    })
    .meta({ id: `${idOf(item)}Page` })
}

/** All of a short list, named after its items: `MailboxCollection`. */
export function collectionOf<T extends z.ZodType>(item: T) {
  return z.object({ items: z.array(item) }).meta({ id: `${idOf(item)}Collection` })
}

function idOf(schema: z.ZodType): string {
  const id = schema.meta()?.id
  if (id === undefined) throw new Error('The items of a list need an id, after which the list is named')
  return id
}

/** The cursor of a list. Opaque. Whether the list issued it is checked later, with `invalid_cursor`. */
export const cursor = z.string().meta({ maxLength: 512 }).describe('`nextCursor` of the previous page.')

/** A boolean in a query: exactly `true` or `false`. */
export const queryBoolean = z.preprocess(
  (value: string) => (value === 'true' ? true : value === 'false' ? false : value),
  z.boolean('must be true or false'),
)

/** A text in a query, with its length limited in Unicode code points. */
export function queryText(min: number, max: number) {
  return text({ min, max })
}

/** An integer in a query, in decimal digits. */
export function queryInteger(min: number, max: number) {
  const read = (value: string) => (/^-?\d{1,15}$/.test(value) ? Number(value) : value)
  const message = `must be an integer from ${min} to ${max}`
  return z.preprocess(read, z.int(message).min(min, message).max(max, message))
}

/** The page size of a list. */
export function pageLimit(max: number, byDefault: number) {
  return queryInteger(1, max).default(byDefault).describe('Maximum number of items on the page.')
}

/** A list in a query: the parameter is repeated, or its values are separated by commas. */
export function queryList<T extends z.ZodType>(item: T, max = 100) {
  const read = (value: string | string[]) => [value].flat().flatMap(part => part.split(','))
  return z.preprocess(read, z.array(item).min(1).max(max))
}

/** A time in a query or body: ISO 8601 with `Z` or an offset. Parsed to a Date. */
export const timestampInput = z.iso
  .datetime({
    offset: true,
    error: 'must be an ISO 8601 date-time with seconds and Z or an offset; in a URL, + is written %2B',
  })
  .transform(value => new Date(value))
