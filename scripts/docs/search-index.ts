import MiniSearch from 'minisearch'
import { INDEX_OPTIONS } from './browser/find.js'
import type { Page } from './page.ts'

/** The index that the search of the pages loads, as JSON. Each entry has what the list of results shows. */
export function searchIndex(pages: readonly Page[]): string {
  const index = new MiniSearch(INDEX_OPTIONS)
  const documents = pages.flatMap(page =>
    page.entries.map(({ anchor, title, names = '', text, kind }) => ({
      to: anchor === '' ? page.path : `${page.path}#${anchor}`,
      title,
      page: page.title,
      names,
      text: distinctWords(text),
      kind,
    })),
  )
  index.addAll(documents.map((document, id) => ({ id, ...document })))
  return JSON.stringify(index)
}

/** The words of a text, each once: the index is to be small, and how often a word is there hardly matters. */
function distinctWords(text: string): string {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []
  return [...new Set(words)].filter(word => word.length > 1).join(' ')
}
