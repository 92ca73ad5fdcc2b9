import type { Contact } from '@waxwing/contract/contacts/contacts.ts'

/** The lines of a card (RFC 2426 section 2.6). */
export function unfold(card: string): string[] {
  return card.replace(/\r?\n[ \t]/g, '').split(/\r?\n/)
}

/** The value of a field of a card that has no escaped characters. */
export function fieldOf(card: string, name: string): string {
  const line = unfold(card).find(one => one.startsWith(`${name}:`) || one.startsWith(`${name};`))
  return line?.slice(line.indexOf(':') + 1) ?? ''
}

/** A contact in words that are the same for each provider. */
export const inWords = (name: string, nickname: string, notes: string) => `${name}: ${nickname}, ${notes}`

/** A card of the server, in words that can be compared with those of the index. */
export function describeCard(card: string): string {
  return inWords(fieldOf(card, 'FN'), fieldOf(card, 'NICKNAME'), fieldOf(card, 'NOTE'))
}

export function describeContact({ displayName, nickname, notes }: Contact): string {
  return inWords(displayName ?? '', nickname ?? '', notes ?? '')
}
