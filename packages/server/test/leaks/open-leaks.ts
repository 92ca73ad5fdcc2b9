import type { Kind } from './ledger.ts'

/** Kinds of leaks by test file, from the folder of this package. */
export type OpenLeaks = Readonly<Record<string, readonly Kind[]>>

/** Test files that still leave something open. The list only shrinks: a file that leaves no such thing fails, too. */
export const OPEN_LEAKS: OpenLeaks = {}
