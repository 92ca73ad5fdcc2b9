import type { DeltaItem, DeltaPage } from './delta.ts'
import { LinkExpired } from './failure.ts'

/** Asks for the page of a link. Throws `LinkExpired` if Graph does not know the link. */
type Ask<Item extends DeltaItem> = (link: string) => Promise<DeltaPage<Item>>

/** Pages that were read to see whether anything changed, by their links. Following takes them. */
export class KeptPages<Item extends DeltaItem> {
  readonly #pages = new Map<string, DeltaPage<Item>>()

  clear(): void {
    this.#pages.clear()
  }

  /** Whether anything changed since a link. A page with changes is kept. A link that expired counts as a change. */
  async hasNews(link: string, ask: Ask<Item>): Promise<boolean> {
    const page = await this.read(link, ask)
    if (page === null) return true
    const isNews = page.items.length > 0 || page.removed.length > 0 || !page.isLast
    if (isNews) this.#pages.set(link, page)
    return isNews
  }

  /** The page of a link, which is asked for unless it was kept. Null if Graph no longer knows the link. */
  async read(link: string, ask: Ask<Item>): Promise<DeltaPage<Item> | null> {
    const kept = this.#pages.get(link)
    this.#pages.delete(link)
    if (kept) return kept
    try {
      return await ask(link)
    } catch (error) {
      if (error instanceof LinkExpired) return null
      throw error
    }
  }
}
