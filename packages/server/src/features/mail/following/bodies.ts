/** Stores the bodies of one account while this process follows it. No method throws. */
export interface Bodies extends AsyncDisposable {
  /** Called with the ids of messages after they are recorded, in the first sync, too. Returns at once. */
  onRecorded(messageIds: readonly string[]): void
  /** Called when the settings of the account may have changed, or its first sync is complete. Returns at once. */
  wake(): void
  /** Called with the sources that came with messages, by lasting id, after these are recorded. */
  keepSources(sources: ReadonlyMap<string, Buffer>): Promise<void>
}

/** For followers of accounts whose bodies are not stored. */
export const NO_BODIES: Bodies = {
  onRecorded() {},
  wake() {},
  keepSources: () => Promise.resolve(),
  [Symbol.asyncDispose]: () => Promise.resolve(),
}
