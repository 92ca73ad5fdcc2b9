const BEGINNING = Buffer.from('{"items":[')
const COMMA = Buffer.from(',')

/**
 * A page whose items are JSON texts already, as PostgreSQL wrote them. It reads like the object that it stands for, and
 * `toBytes` is what the front door sends, so that nothing parses the items and writes them again.
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

  /** In UTF-8, each item by itself: joined, one character beyond Latin-1 would double them all, and slow down the rest. */
  toBytes(): Buffer<ArrayBuffer> {
    const parts = [BEGINNING]
    for (const item of this.#items) {
      if (parts.length > 1) parts.push(COMMA)
      parts.push(Buffer.from(item))
    }
    parts.push(Buffer.from(`],${JSON.stringify(this.rest()).slice(1)}`))
    return Buffer.concat(parts)
  }

  /** What follows the items. */
  protected rest(): { nextCursor: NextCursor } {
    return { nextCursor: this.nextCursor }
  }
}
