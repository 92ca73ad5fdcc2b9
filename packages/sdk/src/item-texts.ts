import type { Answered, Page } from './call.ts'

/**
 * The text of each item of a page, as the service wrote it: what signs or compares bytes must not print an item anew.
 * @returns as many as the page has items, in their order
 */
export function itemTexts({ text = '' }: Pick<Answered<Page>, 'text'>): string[] {
  const texts: string[] = []
  let depth = 0
  let begin = 0
  let isInString = false
  // A page is valid JSON. Nothing else in it is as deep as its items.
  for (const { 0: token, index } of text.matchAll(/\\.|["{}[\]]/g)) {
    if (token === '"') isInString = !isInString
    else if (isInString) continue
    else if (token === '{' || token === '[') {
      if (depth === 2) begin = index
      depth++
    } else {
      depth--
      if (depth === 2) texts.push(text.slice(begin, index + 1))
    }
  }
  return texts
}
