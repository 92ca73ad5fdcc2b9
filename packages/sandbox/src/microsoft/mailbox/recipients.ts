import type { Recipient } from './message.ts'

const RECIPIENTS_MAX = 1_000

/** The recipients in a header such as To, whose encoded words are decoded. */
export function parseRecipients(value: string): Recipient[] {
  const found: Recipient[] = []
  for (const item of itemsOf(value)) {
    const angle = /^(.*)<([^<>]*)>[^<>]*$/s.exec(item)
    const address = (angle ? (angle[2] ?? '') : item.replaceAll(/\([^()]*\)/g, '')).trim()
    if (!address.includes('@')) continue
    found.push({ name: nameOf(angle?.[1] ?? '') || address, address })
    if (found.length === RECIPIENTS_MAX) break
  }
  return found
}

/** Splits at commas and semicolons outside quotes and angle brackets; the name of a group is left out. */
function itemsOf(value: string): string[] {
  const items = value.match(/(?:"(?:\\.|[^"\\])*"|<[^<>]*>|[^,;"<])+/g) ?? []
  return items.map(item => item.replace(/^[^"<@:]*:/, '').trim())
}

function nameOf(text: string): string {
  const name = text.trim()
  return name.startsWith('"') ? name.replaceAll(/^"|"$/g, '').replaceAll(/\\(.)/g, '$1') : name
}
