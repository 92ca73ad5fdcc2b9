import type { SearchResult, SearchSource } from '@waxwing/contract/mail/search.ts'
import { ReadyPage } from '../../../kit/ready-page.ts'

/** The results of a source. */
export interface Found {
  /** JSON texts of `SearchResult`. */
  items: readonly string[]
  nextCursor: string | null
}

/** A page of results, as texts, with the source that answered. */
export class SearchPage extends ReadyPage<SearchResult> {
  readonly source: SearchSource

  constructor({ items, nextCursor }: Found, source: SearchSource) {
    super(items, nextCursor)
    this.source = source
  }

  protected override rest() {
    return { ...super.rest(), source: this.source }
  }
}
