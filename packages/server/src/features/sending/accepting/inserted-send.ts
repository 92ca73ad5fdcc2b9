/** What an entry says that the database has decided. */
export interface InsertedSend {
  dueAt: Date
  createdAt: Date
  updatedAt: Date
  /** Whether the worker is to be woken for it. */
  isSoon: boolean
}
