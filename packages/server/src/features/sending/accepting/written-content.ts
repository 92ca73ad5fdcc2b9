/** Content whose pieces are written, or wait for the transaction that binds them to an entry. */
export interface WrittenContent {
  id: string
  layout: unknown
  bytes: number
  /** All of it if it is small; null if its pieces are written already. */
  piece: Buffer | null
  /** Written content that follows this one. */
  tail: WrittenTail | null
}

/** Written content that others end with. */
export interface WrittenTail {
  id: string
  bytes: number
}
