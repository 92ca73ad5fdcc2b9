const BEGINNING = Buffer.from('{"items":[')
const COMMA = Buffer.from(',')

/**
 * A page whose items are already JSON texts, as PostgreSQL wrote them. It reads like the object that it represents. The
 * door sends `toBytes`, so that the items are not parsed and serialized again.
 */
export class ReadyPage<Item, NextCursor extends string | null = string | null> {
  readonly #items: readonly string[]
  readonly nextCursor: NextCursor

  constructor(items: readonly string[], nextCursor: NextCursor) {
    this.#items = items
    this.nextCursor = nextCursor
  }

  get items(): Item[] {
    // The texts come from our own statements, which tests compare with the contract.
    return JSON.parse(`[${this.#items.join(',')}]`) as Item[]
  }

  /**
   * Encodes the page in UTF-8, item by item: in one text, a single character beyond Latin-1 would double its size and
   * slow it down.
   */
  toBytes(): Buffer<ArrayBuffer> {
    const parts = [BEGINNING]
    for (const item of this.#items) {
      if (parts.length > 1) parts.push(COMMA)
      parts.push(Buffer.from(item))
    }
    parts.push(Buffer.from(`],${JSON.stringify(this.rest()).slice(1)}`))
    return Buffer.concat(parts)
  }

  /** The fields after the items. */
  protected rest(): { nextCursor: NextCursor } {
    return { nextCursor: this.nextCursor }
  }
}
