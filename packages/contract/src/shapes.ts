import { z } from 'zod'

/** Length of a text in Unicode code points, as the interface counts characters. */
function codePoints(value: string): number {
  // A string never has more code points than UTF-16 units, and most have as many.
  let count = 0
  for (const _ of value) count += 1
  return count
}

/** A string whose length is bounded in Unicode code points, and that PostgreSQL can hold. */
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

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** An id in an answer: a lower-case UUID. */
export const uuid = z.string().regex(UUID).meta({ format: 'uuid' })

/** An id in a query or body. Upper case is accepted and lowered. */
export const uuidInput = z.string().regex(UUID, 'must be a UUID').toLowerCase().meta({ format: 'uuid' })

/**
 * An id in a path. Any string passes here: a malformed one names nothing, so whoever requires the row refuses it with
 * the resource's own 404.
 */
export const pathId = z.string().brand<'PathId'>().meta({ format: 'uuid' })
export type PathId = z.infer<typeof pathId>

/** The parameters of a path under an account; `.extend` it for ids below. */
export const accountPath = z.strictObject({ accountId: pathId.describe('The account’s `id`.') })

/** An instant in an answer: ISO 8601 in UTC with milliseconds and `Z`. */
export const timestamp = z.iso.datetime({ precision: 3 })

/** An email address in a query or body. */
export const emailInput = z
  .email({ error: ({ input }) => (input === undefined ? undefined : 'must be an email address') })
  .max(320)

export const address = z
  .object({
    name: z.string().nullable().describe('The display name.'),
    address: z.string().describe('Empty where the sender gives only a name, as bounces do.'),
  })
  .meta({ id: 'Address' })
export type Address = z.infer<typeof address>

/** The answer of an operation that `produces` something else than JSON: sent as it comes, in pieces. */
export interface Download {
  /** As the sender says; the answer's Content-Type is one of a few that no browser runs. */
  contentType: string
  fileName: string | null
  content: AsyncIterable<Uint8Array>
}

export const download = z.custom<Download>(
  value => typeof value === 'object' && value !== null && 'content' in value,
)

/** A position in the event feed as a positive 64-bit decimal. */
export const eventId = z
  .string()
  .regex(/^[0-9]{1,19}$/)
  .meta({ id: 'EventId', description: 'A position in the event feed. Later events have greater ones.' })

export const microsoftCloud = z
  .enum(['global', 'gcc-high', 'dod', 'china'])
  .meta({ id: 'MicrosoftCloud', description: 'The Microsoft cloud that an account lies in.' })
export const bodyStorage = z.enum(['none', 'cache', 'full']).meta({
  id: 'BodyStorage',
  description: 'What is stored of bodies: nothing, what was read once, or everything that is indexed.',
})
export type BodyStorage = z.infer<typeof bodyStorage>
export const optOutHandling = z.enum(['off', 'review', 'suppress']).meta({
  id: 'OptOutHandling',
  description: 'What a reply that asks for no more mail leads to: nothing, a review, or a suppression.',
})

/** A page of a list. `nextCursor` is null on the last page. */
export function pageOf<T extends z.ZodType>(item: T) {
  const nextCursor = z.string().min(1).max(512).nullable()
  return z.object({
    items: z.array(item),
    nextCursor: nextCursor.describe('Where the next page begins; null on the last one.'),
  })
}

/** Where the next page begins. Opaque; one that the list did not issue is refused as `invalid_cursor`, not here. */
export const cursor = z.string().meta({ maxLength: 512 }).describe('`nextCursor` of the page before.')

/** A boolean in a query: exactly `true` or `false`. */
export const queryBoolean = z.preprocess(
  (value: string) => (value === 'true' ? true : value === 'false' ? false : value),
  z.boolean('must be true or false'),
)

/** A text in a query, its length counted in Unicode code points. */
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
  return queryInteger(1, max).default(byDefault).describe('Items of a page, at most.')
}

/** A list in a query: the parameter is repeated, or its values are separated by commas. */
export function queryList<T extends z.ZodType>(item: T, max = 100) {
  const read = (value: string | string[]) => [value].flat().flatMap(part => part.split(','))
  return z.preprocess(read, z.array(item).min(1).max(max))
}

/** An instant in a query or body: ISO 8601 with `Z` or an offset. Reads as a Date. */
export const timestampInput = z.iso
  .datetime({
    offset: true,
    error: 'must be an ISO 8601 date-time with seconds and Z or an offset; in a URL, + is written %2B',
  })
  .transform(value => new Date(value))
