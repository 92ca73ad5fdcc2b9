import type { Answered, Page } from './call.ts'

/**
 * The text of each item of a page, as the service wrote it: what signs or compares bytes must not print it again.
 * @returns as many as the page has items, in their order
 */
export function itemTexts({ text = '' }: Pick<Answered<Page>, 'text'>): string[] {
  const texts: string[] = []
  let depth = 0
  let begin = 0
  let isInString = false
  let lastString = ''
  let isOfItems = false
  // A page is valid JSON. Its last string before a list is the name of that.
  for (const { 0: token, index } of text.matchAll(/\\.|["{}[\]]/g)) {
    if (token === '"') {
      if (isInString && depth === 1) lastString = text.slice(begin, index + 1)
      else if (depth === 1) begin = index
      isInString = !isInString
    } else if (isInString) continue
    else if (token === '{' || token === '[') {
      if (depth === 1) isOfItems = lastString === '"items"'
      if (depth === 2) begin = index
      depth++
    } else {
      depth--
      if (depth === 2 && isOfItems) texts.push(text.slice(begin, index + 1))
    }
  }
  return texts
}
