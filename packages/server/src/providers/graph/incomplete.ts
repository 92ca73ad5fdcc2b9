import type { NewMessage } from '../changing.ts'
import type { GraphApi } from './api.ts'
import { type GraphMessage, ignoredSchema } from './resources.ts'

/*
 * Large files are attached to a draft once it is there. Until it has all of them it is incomplete. It has a field in its
 * header for that from the beginning, and a property of the same name, which is written last, makes it complete.
 */

const FIELD = 'X-Waxwing-Files'
const INCOMPLETE = 'incomplete'
const COMPLETE = 'complete'
const LINE = Buffer.from(`${FIELD}: ${INCOMPLETE}\r\n`)
/** The answer to a change comes with the body. */
const CHANGED_BYTES_MAX = 8 * 1024 * 1024

/** The field as Exchange keeps it as a property. */
export const FILES_PROPERTY = `String {00020386-0000-0000-C000-000000000046} Name ${FIELD}`

/** Whether files of a draft of ours are still to be attached, or were never, since its process died. */
export function isIncomplete({
  internetMessageHeaders,
  singleValueExtendedProperties,
}: Pick<GraphMessage, 'internetMessageHeaders' | 'singleValueExtendedProperties'>): boolean {
  const name = FIELD.toLowerCase()
  const values = new Set(
    [
      ...(internetMessageHeaders ?? []).filter(field => field.name.toLowerCase() === name),
      ...(singleValueExtendedProperties ?? []).filter(({ id }) => id.toLowerCase().endsWith(` name ${name}`)),
    ].map(({ value }) => value?.trim()),
  )
  return values.has(INCOMPLETE) && !values.has(COMPLETE)
}

/** The same message; if it is taken apart, the draft that is made of its rest is incomplete. */
export function incompleteUntilDone(message: NewMessage): NewMessage {
  const { split } = message
  if (!split) return message
  return {
    ...message,
    async split(restBytesMax) {
      const content = await split(restBytesMax - LINE.length)
      if (!content || content.parts.length === 0) return content
      const { rest, parts } = content
      return {
        rest: {
          byteLength: LINE.length + rest.byteLength,
          async *open() {
            yield LINE
            yield* rest.open()
          },
        },
        parts,
        [Symbol.asyncDispose]: () => content[Symbol.asyncDispose](),
      }
    },
  }
}

/** Records that a draft has all its files. */
export async function completeDraft(api: GraphApi, path: string): Promise<void> {
  await api.ask({
    method: 'PATCH',
    path,
    json: { singleValueExtendedProperties: [{ id: FILES_PROPERTY, value: COMPLETE }] },
    schema: ignoredSchema,
    accepts: [200],
    answerBytesMax: CHANGED_BYTES_MAX,
  })
}
