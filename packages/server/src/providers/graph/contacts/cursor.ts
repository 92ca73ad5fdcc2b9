import { z } from 'zod'
import type { Cursor } from '../../mail.ts'
import { LATE_FIELDS, NONE_LATE } from '../late-items.ts'

const schema = z.object({
  version: z.literal(1),
  /** The link of the delta: everything before it is recorded. Null while the folder is compared, and without a delta. */
  link: z.string().nullable(),
  /** The link with which a comparison goes on; null if none is under way. */
  walk: z.string().nullable(),
  /** Whether its pages have only ids, since one with whole contacts could not be read. */
  isOfIds: z.boolean(),
  /** Without a delta: stands for the number of contacts and the last changes when the folder was last compared. */
  mark: z.string().nullable(),
  /** When the folder was last compared as a whole. */
  comparedAt: z.int(),
  ...LATE_FIELDS,
})

/** The state of following a folder of contacts. Times are in milliseconds since 1970. */
export type FolderCursor = z.infer<typeof schema>

/** Null if there is none, or none that this version can read: the whole folder is then compared. */
export function readCursor(cursor: Cursor | null): FolderCursor | null {
  return cursor === null ? null : (schema.safeParse(cursor).data ?? null)
}

export function freshCursor(now: number): FolderCursor {
  return {
    version: 1,
    link: null,
    walk: null,
    isOfIds: false,
    mark: null,
    comparedAt: now,
    ...NONE_LATE,
  }
}
