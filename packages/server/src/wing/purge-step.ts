/**
 * Deletes everything that a later wing keeps of an account: files first, then rows. Returns early when the signal aborts,
 * and is repeated until it has run to its end.
 */
export type PurgeStep = (accountId: string, signal: AbortSignal) => Promise<void>
