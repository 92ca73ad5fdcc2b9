/**
 * A page whose items are JSON texts already, as PostgreSQL wrote them. It reads like the object that it stands for, and
 * `toText` is what the front door sends, so that nothing parses the items and writes them again.
 */
export class ReadyPage<Item, NextCursor extends string | null = string | null> {
  readonly #items: readonly string[]
  readonly nextCursor: NextCursor

  constructor(items: readonly string[], nextCursor: NextCursor) {
    this.#items = items
    this.nextCursor = nextCursor
  }

  get items(): Item[] {
    // The texts are made by statements of ours, which tests hold against the contract.
    return JSON.parse(`[${this.#items.join(',')}]`) as Item[]
  }

  toText(): string {
    return `{"items":[${this.#items.join(',')}],"nextCursor":${JSON.stringify(this.nextCursor)}}`
  }
}
